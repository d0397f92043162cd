// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "shunt/result.hpp"

namespace shunt {

/// A file on disk without a name, for bytes that come once and must be read more often. Its space
/// is given back with the object, however the process ends. Move-only; one thread.
class NamelessFile {
 public:
  /// In TMPDIR; where that is not set, in /var/tmp or else /tmp (which is often memory).
  [[nodiscard]] static Result<NamelessFile> create();

  /// A full disk is an error that names the folder and what to do.
  [[nodiscard]] Status append(std::string_view bytes);
  /// Opens the bytes from their beginning, as often as wanted, while this object lives.
  [[nodiscard]] std::string path() const;

 private:
  NamelessFile(UniqueFd fd, std::string folder) : fd_(std::move(fd)), folder_(std::move(folder)) {}

  UniqueFd fd_;
  std::string folder_;
};

}  // namespace shunt
