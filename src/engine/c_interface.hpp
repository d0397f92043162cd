// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What the interfaces for C share: c_interface.cpp (shunt.h) and c_device.cpp (device.h). Errors
// become status codes and a text of the calling thread, structs that may grow become options.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "shunt/shunt.h"
#include "shunt/shunt.hpp"

struct shunt_world {
  shunt::World world;
};

namespace shunt::c {

/// Keeps the text for shunt_last_error(). Both allocate at most the text.
shunt_status report(const Status& status);
shunt_status report_no_memory();

/// Runs `body`, which returns a Status or throws only where memory runs out.
template <typename Body>
shunt_status guarded(Body&& body) {
  try {
    return report(body());
  } catch (const std::bad_alloc&) {
    return report_no_memory();
  }
}

[[nodiscard]] Status not_null(const void* pointer, const char* what);

/// Of a struct of `size` bytes as its caller knows it: those beyond `known` must be zero.
[[nodiscard]] Status check_struct(const unsigned char* bytes,
                                  std::size_t size,
                                  std::size_t known,
                                  const char* what);

/// The caller's struct over `known`, this library's defaults.
template <typename Struct>
[[nodiscard]] Status take(const Struct* from, const char* what, Struct* known) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  SHUNT_TRY(not_null(from, what));
  SHUNT_TRY(check_struct(
      reinterpret_cast<const unsigned char*>(from), from->struct_size, sizeof(Struct), what));
  std::memcpy(known, from, std::min(from->struct_size, sizeof(Struct)));
  return {};
}

/// The same for buffers on the CPU and on devices: structs with a `buffer`.
template <typename Handle>
shunt_status allocate(Handle* handle, std::size_t bytes, void** memory) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(handle, "buffer"));
    SHUNT_TRY(not_null(memory, "memory"));
    auto made = handle->buffer.allocate(bytes);
    if (!made) return Unexpected(std::move(made).error());
    *memory = *made;
    return {};
  });
}
template <typename Handle>
void release(Handle* handle, void* memory) {
  if (handle != nullptr) handle->buffer.release(memory);
}
template <typename Handle>
shunt_status status_of(const Handle* handle) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(handle, "buffer"));
    return handle->buffer.status();
  });
}

[[nodiscard]] Result<BufferOptions> to_options(const shunt_buffer_options* options);
[[nodiscard]] Result<DispatchOutput> to_output(const shunt_dispatch_output* from);
/// Null targets are left out; `rows_from` has room for all ranks.
void give(const Received& received, int64_t* rows, int64_t* overflow, int64_t* rows_from);

}  // namespace shunt::c
