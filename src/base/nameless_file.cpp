// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "base/nameless_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include <stdlib.h>

#include "base/error.hpp"
#include "base/file.hpp"

namespace shunt {
namespace {

/// Some file systems cannot make a file without a name: it is made with one, and loses it.
UniqueFd open_in(const std::string& folder) {
  UniqueFd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd.valid()) return fd;
  std::string name = folder + "/shunt-XXXXXX";
  fd.reset(::mkostemp(name.data(), O_CLOEXEC));
  if (fd.valid()) ::unlink(name.c_str());
  return fd;
}

}  // namespace

Result<NamelessFile> NamelessFile::create() {
  std::vector<std::string> folders{"/var/tmp", "/tmp"};
  if (const char* chosen = ::getenv("TMPDIR"); chosen != nullptr && *chosen != '\0') {
    folders = {chosen};
  }
  int error = 0;
  for (const std::string& folder : folders) {
    UniqueFd fd = open_in(folder);
    if (fd.valid()) return NamelessFile(std::move(fd), folder);
    error = errno;
  }
  return system_error(error,
                      "cannot make a temporary file in {} (set TMPDIR to a folder that can be "
                      "written)",
                      folders.front());
}

Status NamelessFile::append(std::string_view bytes) {
  auto written = write_all(fd_.get(), bytes, "a temporary file in " + folder_);
  if (written) return {};
  written.error().message += " (set TMPDIR to a folder with more room)";
  return written;
}

std::string NamelessFile::path() const {
  return "/proc/self/fd/" + std::to_string(fd_.get());
}

}  // namespace shunt
