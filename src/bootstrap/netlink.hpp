// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Enough of rtnetlink to build and read links: requests with nested attributes, acknowledgements
// and dumps. Needs neither the ip and tc programs nor a library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "shunt/result.hpp"

namespace shunt::bootstrap {

/// One request under construction. Everything is padded to 4 bytes, as the kernel wants it.
class NetlinkRequest {
 public:
  /// `body` is the fixed structure that the message type begins with.
  template <typename Body>
  NetlinkRequest(std::uint16_t type, std::uint16_t flags, const Body& body)
      : NetlinkRequest(type, flags) {
    append(&body, sizeof(Body));
  }

  template <typename Value>
  NetlinkRequest& attribute(std::uint16_t type, const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    attribute_bytes(type, &value, sizeof(Value));
    return *this;
  }
  NetlinkRequest& text(std::uint16_t type, std::string_view value);  ///< With its final zero.
  /// An attribute that holds what `fill` appends: attributes, or a structure followed by them.
  NetlinkRequest& nested(std::uint16_t type, const std::function<void(NetlinkRequest&)>& fill);
  template <typename Body>
  NetlinkRequest& structure(const Body& body) {
    append(&body, sizeof(Body));
    return *this;
  }

 private:
  friend class Netlink;
  NetlinkRequest(std::uint16_t type, std::uint16_t flags);
  void append(const void* data, std::size_t bytes);
  void attribute_bytes(std::uint16_t type, const void* data, std::size_t bytes);

  std::vector<std::byte> bytes_;
};

/// The value of the first attribute of `type` among `attributes`, where there is one.
[[nodiscard]] std::optional<std::span<const std::byte>> find_attribute(
    std::span<const std::byte> attributes, std::uint16_t type);

/// The first sizeof(T) bytes as a T; zeroes where there are fewer (an older kernel's structure).
template <typename T>
[[nodiscard]] T read_structure(std::span<const std::byte> bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), bytes.size() < sizeof(T) ? bytes.size() : sizeof(T));
  return value;
}

/// A socket to the kernel, bound for ever to the network namespace that it was opened in. One
/// thread at a time; not to be used on both sides of a fork.
class Netlink {
 public:
  [[nodiscard]] static Result<Netlink> open();

  /// Carries the request out. Returns 0 or the kernel's errno.
  [[nodiscard]] Result<int> request(NetlinkRequest request);
  /// The messages that answer a dump, each without its header.
  [[nodiscard]] Result<std::vector<std::vector<std::byte>>> dump(NetlinkRequest request);

 private:
  explicit Netlink(UniqueFd socket) : socket_(std::move(socket)) {}
  [[nodiscard]] Status send(NetlinkRequest& request);

  UniqueFd socket_;
  std::uint32_t sequence_ = 0;
};

}  // namespace shunt::bootstrap
