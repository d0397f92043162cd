// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "shunt/result.hpp"

namespace shunt {

/// A file that appears under its name complete or not at all: written beside it, then synced and
/// renamed by commit(). Without commit() nothing is left and a former file stays as it was. A path
/// that names a device or a pipe is written directly. Buffered; one thread.
class OutputFile {
 public:
  [[nodiscard]] static Result<OutputFile> create(std::string path);

  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  [[nodiscard]] Status write(std::string_view bytes);
  /// Once; nothing may be written afterwards.
  [[nodiscard]] Status commit();
  /// Bytes taken by write() so far.
  [[nodiscard]] std::uint64_t written() const { return written_; }

 private:
  OutputFile(std::string path, std::string temporary, UniqueFd fd);
  [[nodiscard]] Status flush();

  std::string path_;
  std::string temporary_;  ///< Empty: path_ itself is open.
  UniqueFd fd_;
  std::string buffer_;
  std::uint64_t written_ = 0;
};

/// write() until all is taken, EINTR and short writes included.
[[nodiscard]] Status write_all(int fd, std::string_view bytes, const std::string& path);

/// OutputFile in one call.
[[nodiscard]] Status write_file(const std::string& path, std::string_view contents);

/// The whole file; one that exceeds `limit_bytes` is refused with kInvalidArgument.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t limit_bytes);

}  // namespace shunt
