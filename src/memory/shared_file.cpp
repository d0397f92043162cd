// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "base/units.hpp"

namespace shunt::memory {
namespace {

std::string memfd_name(std::uint64_t cookie) {
  return fmt::format("shunt-{:016x}", cookie);
}

/// Never 0. Falls back on the clock where the kernel's generator is not ready.
std::uint64_t random_cookie() {
  std::uint64_t value = 0;
  if (::getrandom(&value, sizeof(value), GRND_NONBLOCK) != sizeof(value)) {
    value = Random::mix(now_ns() ^ (static_cast<std::uint64_t>(::getpid()) << 32));
  }
  return value | 1;
}

std::uint64_t own_pid_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

FileAddress own_address() {
  FileAddress address;
  address.machine = this_machine();
  address.pid_namespace = own_pid_namespace();
  address.cookie = random_cookie();
  address.pid = ::getpid();
  return address;
}

/// Whether `fd` is the memfd that carries `cookie` in its name.
bool carries(int fd, std::uint64_t cookie) {
  std::array<char, 64> name{};
  const std::string link = fmt::format("/proc/self/fd/{}", fd);
  const ssize_t length = ::readlink(link.c_str(), name.data(), name.size());
  if (length <= 0) return false;
  return std::string_view(name.data(), static_cast<std::size_t>(length))
             .rfind("/memfd:" + memfd_name(cookie) + " ", 0) == 0;
}

Unexpected reserve_failed(int sys, std::size_t bytes) {
  if (sys == EFBIG) {
    return fail(ErrorCode::kOutOfMemory,
                ErrorScope::kOperation,
                "cannot reserve {} of shared memory: the file size limit is lower; raise it "
                "(ulimit -f unlimited)",
                format_size(bytes));
  }
  if (sys == ENOSPC || sys == ENOMEM) {
    return fail(ErrorCode::kOutOfMemory,
                ErrorScope::kOperation,
                "cannot reserve {} of shared memory: the machine has not that much left; use fewer "
                "ranks or smaller buffers",
                format_size(bytes));
  }
  return system_error(sys, "cannot reserve {} of shared memory", format_size(bytes));
}

}  // namespace

MachineId this_machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  file >> text;
  std::string digits;
  for (const char c : text) {
    if (c != '-') digits += c;
  }
  MachineId id;
  if (digits.size() != 32) return id;
  std::from_chars(digits.data(), digits.data() + 16, id.high, 16);
  std::from_chars(digits.data() + 16, digits.data() + 32, id.low, 16);
  return id;
}

Result<SharedFile> SharedFile::create(std::size_t bytes) {
  SharedFile file;
  file.address = own_address();
  file.address.bytes = bytes;
  file.fd.reset(::memfd_create(memfd_name(file.address.cookie).c_str(), MFD_CLOEXEC));
  if (!file.fd.valid()) return system_error(errno, "cannot create shared memory (memfd_create)");
  file.address.fd = file.fd.get();
  int failed = 0;
  do {
    failed = ::fallocate(file.fd.get(), 0, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  } while (failed == EINTR);
  if (failed != 0) return reserve_failed(failed, bytes);
  return file;
}

Result<UniqueFd> open_shared(const FileAddress& address, int rank) {
  const FileAddress mine = own_address();
  if (address.machine != mine.machine) {
    return usage_error(
        "rank {} runs on another machine but was placed on this rank's node; node peers share "
        "memory: correct the ranks per node, or the order in which ranks are placed",
        rank);
  }
  if (address.pid_namespace != mine.pid_namespace) {
    return fail(ErrorCode::kUnsupported,
                ErrorScope::kUsage,
                "rank {} of this node is in another pid namespace, so its memory cannot be opened; "
                "start the ranks of a node in one container, or with --pid=host",
                rank);
  }
  const std::string path = fmt::format("/proc/{}/fd/{}", address.pid, address.fd);
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid()) {
    const int sys = errno;
    if (sys == ENOENT || sys == ESRCH) {
      return fail(ErrorCode::kPeerLost,
                  ErrorScope::kFatal,
                  "rank {} (pid {}) is gone: its memory cannot be opened",
                  rank,
                  address.pid);
    }
    if (sys == EACCES || sys == EPERM) {
      return fail(
          ErrorCode::kPermission,
          ErrorScope::kUsage,
          "the memory of rank {} (pid {}) may not be opened; run all ranks of a node as one "
          "user and without changed capabilities",
          rank,
          address.pid);
    }
    return system_error(sys, "cannot open the memory of rank {} ({})", rank, path);
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    return system_error(errno, "cannot examine the memory of rank {} ({})", rank, path);
  }
  if (!carries(fd.get(), address.cookie) ||
      static_cast<std::uint64_t>(status.st_size) != address.bytes) {
    return fail(ErrorCode::kPeerLost,
                ErrorScope::kFatal,
                "{} is not the memory that rank {} announced ({}): that process is gone and its "
                "number was given to another",
                path,
                rank,
                format_size(address.bytes));
  }
  return fd;
}

}  // namespace shunt::memory
