// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/mapping.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "base/error.hpp"
#include "base/units.hpp"

#ifndef MADV_POPULATE_WRITE  // Linux 5.14, absent from glibc before 2.35.
#define MADV_POPULATE_WRITE 23
#endif

namespace shunt::memory {

Result<std::size_t> whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  constexpr auto kLargest = static_cast<std::size_t>(std::numeric_limits<off_t>::max());
  if (bytes == 0) return usage_error("a heap of 0 bytes is not allowed; at least 1");
  if (bytes > kLargest - page) {
    return usage_error("a heap of {} bytes does not fit an address space", bytes);
  }
  return (bytes + page - 1) / page * page;
}

Mapping::~Mapping() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

Result<Mapping> Mapping::anonymous(std::size_t bytes, const HeapOptions& options) {
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    return fail(ErrorCode::kOutOfMemory,
                ErrorScope::kOperation,
                "cannot map {} of private memory (errno {})",
                format_size(bytes),
                errno);
  }
  Mapping mapping(base, bytes);
  SHUNT_TRY(mapping.prepare(options));
  return mapping;
}

Result<Mapping> Mapping::shared(int fd, std::size_t bytes, const HeapOptions& options) {
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) {
    return system_error(errno, "cannot map {} of shared memory", format_size(bytes));
  }
  Mapping mapping(base, bytes);
  SHUNT_TRY(mapping.prepare(options));
  return mapping;
}

Status Mapping::prepare(const HeapOptions& options) {
  if (options.huge_pages) ::madvise(base_, bytes_, MADV_HUGEPAGE);  // A hint; failure is no error.
  if (!options.populate) return {};
  if (::madvise(base_, bytes_, MADV_POPULATE_WRITE) == 0) return {};
  const int sys = errno;
  if (sys == EINVAL) return {};  // A kernel before 5.14: pages come at their first touch.
  if (sys == ENOMEM || sys == EFAULT || sys == EHWPOISON) {
    return fail(ErrorCode::kOutOfMemory,
                ErrorScope::kOperation,
                "cannot have all of {} of heap memory; use a smaller heap or fewer ranks",
                format_size(bytes_));
  }
  return system_error(sys, "cannot touch {} of heap memory", format_size(bytes_));
}

}  // namespace shunt::memory
