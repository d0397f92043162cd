// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a file, plain, gzip or zstd, told apart by their first bytes. Bounded memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "shunt/result.hpp"

namespace shunt::trace {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills up to `size` bytes; 0 at the end or after an error.
  [[nodiscard]] virtual std::size_t read(char* data, std::size_t size) = 0;
  /// Why read() stopped early; empty at a clean end.
  [[nodiscard]] virtual std::string failure() const { return {}; }
};

[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path);
/// `bytes` must outlive the source.
[[nodiscard]] std::unique_ptr<ByteSource> memory_bytes(std::string_view bytes);

}  // namespace shunt::trace
