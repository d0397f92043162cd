// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"

namespace shunt {
namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Follows links, so that the file behind one is replaced and not the link.
std::string resolve(std::string path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? std::string(real.get()) : std::move(path);
}

std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}.tmp-{}-{}", path, ::getpid(), counter.fetch_add(1));
}

}  // namespace

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return system_error(errno, "cannot write {}", path);
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

OutputFile::OutputFile(std::string path, std::string temporary, UniqueFd fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {
  buffer_.reserve(kBufferBytes);
}

OutputFile::~OutputFile() {
  if (fd_.valid() && !temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<OutputFile> OutputFile::create(std::string path) {
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    return usage_error("{} is a directory; give the name of a file", path);
  }
  if (exists && !S_ISREG(info.st_mode)) {
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.valid()) return system_error(errno, "cannot open {} for writing", path);
    return OutputFile(std::move(path), "", std::move(fd));
  }
  if (exists) path = resolve(std::move(path));
  std::string temporary = temporary_name(path);
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd.valid()) return system_error(errno, "cannot create {}", path);
  return OutputFile(std::move(path), std::move(temporary), std::move(fd));
}

Status OutputFile::flush() {
  SHUNT_TRY(write_all(fd_.get(), buffer_, path_));
  buffer_.clear();
  return {};
}

Status OutputFile::write(std::string_view bytes) {
  written_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBufferBytes) SHUNT_TRY(flush());
  if (bytes.size() >= kBufferBytes) return write_all(fd_.get(), bytes, path_);
  buffer_.append(bytes);
  return {};
}

Status OutputFile::commit() {
  SHUNT_TRY(flush());
  if (temporary_.empty()) {
    fd_.reset();
    return {};
  }
  if (::fsync(fd_.get()) != 0) return system_error(errno, "cannot sync {}", path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return system_error(errno, "cannot rename {} to {}", temporary_, path_);
  }
  fd_.reset();
  // Makes the rename itself durable; some file systems refuse it, and the data is safe anyway.
  const UniqueFd directory(::open(directory_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.valid()) ::fsync(directory.get());
  return {};
}

Status write_file(const std::string& path, std::string_view contents) {
  auto file = OutputFile::create(path);
  if (!file) return Unexpected(std::move(file).error());
  SHUNT_TRY(file->write(contents));
  return file->commit();
}

Result<std::string> read_file(const std::string& path, std::size_t limit_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return system_error(errno, "cannot open {}", path);
  std::string contents;
  char chunk[16384];
  for (;;) {
    const ssize_t n = ::read(fd.get(), chunk, sizeof(chunk));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(errno, "cannot read {}", path);
    if (n == 0) return contents;
    if (contents.size() + static_cast<std::size_t>(n) > limit_bytes) {
      return usage_error("{} is larger than {}", path, format_size(limit_bytes));
    }
    contents.append(chunk, static_cast<std::size_t>(n));
  }
}

}  // namespace shunt
