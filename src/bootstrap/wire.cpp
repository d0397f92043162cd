// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/wire.hpp"

#include <cstring>
#include <string>

#include "base/error.hpp"

namespace shunt::bootstrap {
namespace {

struct Header {
  std::uint32_t kind;
  std::uint32_t call;
  std::uint64_t bytes;
};
static_assert(sizeof(Header) == 16);

template <typename T>
void put(Bytes& out, const T& value) {
  out.resize(out.size() + sizeof(T));
  std::memcpy(out.data() + out.size() - sizeof(T), &value, sizeof(T));
}

/// Takes a T off the front of `bytes`; false where it is too short.
template <typename T>
bool get(std::span<const std::byte>& bytes, T& value) {
  if (bytes.size() < sizeof(T)) return false;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes = bytes.subspan(sizeof(T));
  return true;
}

Unexpected malformed(const char* what) {
  return fail(ErrorCode::kProtocol,
              ErrorScope::kFatal,
              "malformed {} from another rank; all ranks must run the same version",
              what);
}

}  // namespace

Bytes encode(const Error& error) {
  Bytes out;
  put(out, static_cast<std::int32_t>(error.code));
  put(out, static_cast<std::int32_t>(error.scope));
  put(out, static_cast<std::int32_t>(error.sys));
  const auto text = std::as_bytes(std::span(error.message.data(), error.message.size()));
  out.insert(out.end(), text.begin(), text.end());
  return out;
}

Result<Error> decode_error(std::span<const std::byte> bytes) {
  std::int32_t code = 0;
  std::int32_t scope = 0;
  std::int32_t sys = 0;
  if (!get(bytes, code) || !get(bytes, scope) || !get(bytes, sys)) return malformed("error");
  return Error{static_cast<ErrorCode>(code),
               static_cast<ErrorScope>(scope),
               std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
               sys};
}

Bytes encode(const Blobs& blobs) {
  Bytes out;
  put(out, static_cast<std::uint64_t>(blobs.size()));
  for (const Bytes& blob : blobs) put(out, static_cast<std::uint64_t>(blob.size()));
  for (const Bytes& blob : blobs) out.insert(out.end(), blob.begin(), blob.end());
  return out;
}

Result<Blobs> decode_blobs(std::span<const std::byte> bytes) {
  std::uint64_t count = 0;
  if (!get(bytes, count) || count > bytes.size() / sizeof(std::uint64_t)) return malformed("blobs");
  std::vector<std::uint64_t> sizes(count);
  for (std::uint64_t& size : sizes) {
    if (!get(bytes, size)) return malformed("blobs");
  }
  Blobs blobs;
  blobs.reserve(count);
  for (const std::uint64_t size : sizes) {
    if (size > bytes.size()) return malformed("blobs");
    const auto blob = bytes.first(size);
    blobs.emplace_back(blob.begin(), blob.end());
    bytes = bytes.subspan(size);
  }
  if (!bytes.empty()) return malformed("blobs");
  return blobs;
}

Bytes encode(const Message& message) {
  Bytes out;
  out.reserve(sizeof(Header) + message.body.size());
  put(out,
      Header{static_cast<std::uint32_t>(message.kind),
             static_cast<std::uint32_t>(message.call),
             message.body.size()});
  out.insert(out.end(), message.body.begin(), message.body.end());
  return out;
}

void Decoder::append(std::span<const std::byte> bytes) {
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(consumed_));
  consumed_ = 0;
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
}

std::optional<Message> Decoder::next() {
  std::span<const std::byte> rest = std::span<const std::byte>(pending_).subspan(consumed_);
  Header header{};
  if (!get(rest, header) || rest.size() < header.bytes) return std::nullopt;
  const auto body = rest.first(header.bytes);
  consumed_ += sizeof(Header) + header.bytes;
  return Message{static_cast<Message::Kind>(header.kind),
                 static_cast<Call>(header.call),
                 {body.begin(), body.end()}};
}

}  // namespace shunt::bootstrap
