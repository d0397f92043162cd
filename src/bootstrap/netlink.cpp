// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/netlink.hpp"

#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace shunt::bootstrap {
namespace {

constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + 3) / 4 * 4;
}

/// Answers come from the kernel at once; this only keeps a broken one from hanging us.
constexpr timeval kPatience{5, 0};

}  // namespace

NetlinkRequest::NetlinkRequest(std::uint16_t type, std::uint16_t flags) {
  nlmsghdr header{};
  header.nlmsg_type = type;
  header.nlmsg_flags = static_cast<std::uint16_t>(flags | NLM_F_REQUEST);
  append(&header, sizeof(header));
}

void NetlinkRequest::append(const void* data, std::size_t bytes) {
  const std::size_t at = bytes_.size();
  bytes_.resize(at + padded(bytes));
  if (bytes > 0) std::memcpy(bytes_.data() + at, data, bytes);
}

void NetlinkRequest::attribute_bytes(std::uint16_t type, const void* data, std::size_t bytes) {
  const nlattr header{static_cast<std::uint16_t>(sizeof(nlattr) + bytes), type};
  append(&header, sizeof(header));
  append(data, bytes);
}

NetlinkRequest& NetlinkRequest::text(std::uint16_t type, std::string_view value) {
  const std::string terminated(value);
  attribute_bytes(type, terminated.c_str(), terminated.size() + 1);
  return *this;
}

NetlinkRequest& NetlinkRequest::nested(std::uint16_t type,
                                       const std::function<void(NetlinkRequest&)>& fill) {
  const std::size_t at = bytes_.size();
  attribute_bytes(type, nullptr, 0);
  fill(*this);
  const auto length = static_cast<std::uint16_t>(bytes_.size() - at);
  std::memcpy(bytes_.data() + at, &length, sizeof(length));
  return *this;
}

std::optional<std::span<const std::byte>> find_attribute(std::span<const std::byte> attributes,
                                                         std::uint16_t type) {
  while (attributes.size() >= sizeof(nlattr)) {
    const auto header = read_structure<nlattr>(attributes);
    if (header.nla_len < sizeof(nlattr) || header.nla_len > attributes.size()) break;
    if ((header.nla_type & NLA_TYPE_MASK) == type) {
      return attributes.subspan(sizeof(nlattr), header.nla_len - sizeof(nlattr));
    }
    if (padded(header.nla_len) >= attributes.size()) break;
    attributes = attributes.subspan(padded(header.nla_len));
  }
  return std::nullopt;
}

Result<Netlink> Netlink::open() {
  UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket.valid()) return system_error(errno, "cannot open a netlink socket");
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return system_error(errno, "cannot bind a netlink socket");
  }
  return Netlink(std::move(socket));
}

Status Netlink::send(NetlinkRequest& request) {
  auto header = read_structure<nlmsghdr>(request.bytes_);
  header.nlmsg_len = static_cast<std::uint32_t>(request.bytes_.size());
  header.nlmsg_seq = ++sequence_;
  std::memcpy(request.bytes_.data(), &header, sizeof(header));
  const ssize_t sent = ::send(socket_.get(), request.bytes_.data(), request.bytes_.size(), 0);
  if (sent == static_cast<ssize_t>(request.bytes_.size())) return {};
  return system_error(errno, "cannot send a netlink request");
}

Result<int> Netlink::request(NetlinkRequest request) {
  auto header = read_structure<nlmsghdr>(request.bytes_);
  header.nlmsg_flags |= NLM_F_ACK;
  std::memcpy(request.bytes_.data(), &header, sizeof(header));
  SHUNT_TRY(send(request));
  std::array<std::byte, 16384> buffer;
  while (true) {
    const ssize_t n = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(errno, "no answer to a netlink request");
    const auto answer = std::span<const std::byte>(buffer).first(static_cast<std::size_t>(n));
    const auto answered = read_structure<nlmsghdr>(answer);
    if (answered.nlmsg_seq != sequence_ || answered.nlmsg_type != NLMSG_ERROR) continue;
    return -read_structure<nlmsgerr>(answer.subspan(NLMSG_HDRLEN)).error;
  }
}

Result<std::vector<std::vector<std::byte>>> Netlink::dump(NetlinkRequest request) {
  auto asked = read_structure<nlmsghdr>(request.bytes_);
  asked.nlmsg_flags |= NLM_F_DUMP;
  std::memcpy(request.bytes_.data(), &asked, sizeof(asked));
  SHUNT_TRY(send(request));
  std::vector<std::vector<std::byte>> messages;
  std::vector<std::byte> buffer(65536);
  while (true) {
    const ssize_t n = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(errno, "no answer to a netlink dump");
    auto rest = std::span<const std::byte>(buffer).first(static_cast<std::size_t>(n));
    while (rest.size() >= NLMSG_HDRLEN) {
      const auto header = read_structure<nlmsghdr>(rest);
      if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > rest.size()) break;
      const auto body = rest.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
      if (header.nlmsg_type == NLMSG_DONE) return messages;
      if (header.nlmsg_type == NLMSG_ERROR) {
        return system_error(-read_structure<nlmsgerr>(body).error, "a netlink dump was refused");
      }
      messages.emplace_back(body.begin(), body.end());
      rest = rest.subspan(std::min<std::size_t>(padded(header.nlmsg_len), rest.size()));
    }
  }
}

}  // namespace shunt::bootstrap
