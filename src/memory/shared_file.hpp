// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Nameless shared memory of one process that others of the same machine can open: a memfd, found
// through /proc/PID/fd. Nothing remains once the last process that holds it is gone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fd.hpp"
#include "shunt/result.hpp"

namespace shunt::memory {

/// The running kernel's identifier: equal on two ranks if they can share memory.
struct MachineId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const MachineId&, const MachineId&) = default;
};

[[nodiscard]] MachineId this_machine();

/// How a peer finds and recognises a SharedFile. Exchanged between ranks as bytes.
struct FileAddress {
  MachineId machine;
  std::uint64_t pid_namespace = 0;
  std::uint64_t cookie = 0;  ///< Random, part of the memfd's name: tells a reused pid or fd.
  std::uint64_t bytes = 0;
  std::int32_t pid = 0;
  std::int32_t fd = -1;
};

/// A memfd of this process, its space reserved.
struct SharedFile {
  UniqueFd fd;
  FileAddress address;

  /// `bytes` is a number of whole pages.
  [[nodiscard]] static Result<SharedFile> create(std::size_t bytes);
};

/// Opens the file that `rank` announced, which must hold it open until this returns. Errors say why
/// it cannot be reached: another machine, another pid namespace, a lack of rights, a dead process.
[[nodiscard]] Result<UniqueFd> open_shared(const FileAddress& address, int rank);

}  // namespace shunt::memory
