// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/ofi_address.hpp"

#include "base/error.hpp"
#include "fabric/put_check.hpp"

namespace shunt::fabric::ofi {
namespace {

constexpr std::uint32_t kMagic = 0x41464853;  // "SHFA"
constexpr std::uint32_t kVersion = 2;

class Writer {
 public:
  template <typename T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
    }
  }
  void raw(std::span<const std::byte> data) {
    bytes_.insert(bytes_.end(), data.begin(), data.end());
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads past the end give zeros and empty spans, and leave ok() false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
  T number() {
    T value = 0;
    const auto bytes = raw(sizeof(T));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<T>(static_cast<T>(bytes[i]) << (8 * i));
    }
    return value;
  }
  std::span<const std::byte> raw(std::size_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace

std::vector<std::byte> encode(const RankAddress& address) {
  Writer writer;
  writer.number(kMagic);
  writer.number(kVersion);
  writer.number(static_cast<std::uint32_t>(address.provider.size()));
  writer.number(static_cast<std::uint32_t>(address.regions.size()));
  writer.number(static_cast<std::uint32_t>(address.endpoints.size()));
  writer.raw(std::as_bytes(std::span(address.provider)));
  for (const RegionAddress& region : address.regions) {
    writer.number(region.bytes);
    writer.number(region.base);
  }
  for (const EndpointAddress& endpoint : address.endpoints) {
    for (const std::uint64_t key : endpoint.keys) writer.number(key);
    writer.number(static_cast<std::uint32_t>(endpoint.name.size()));
    writer.raw(endpoint.name);
  }
  return writer.take();
}

Result<RankAddress> decode(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  if (reader.number<std::uint32_t>() != kMagic) {
    return fail(ErrorCode::kCorrupt,
                ErrorScope::kPeer,
                "an address of {} bytes is not one of libfabric's: do all ranks use the same "
                "fabric?",
                bytes.size());
  }
  const auto version = reader.number<std::uint32_t>();
  if (version != kVersion) {
    return fail(ErrorCode::kProtocol,
                ErrorScope::kPeer,
                "the address has version {}, this rank reads {}: run the same build everywhere",
                version,
                kVersion);
  }
  RankAddress address;
  const auto provider_bytes = reader.number<std::uint32_t>();
  const auto regions = reader.number<std::uint32_t>();
  const auto endpoints = reader.number<std::uint32_t>();
  for (const std::byte letter : reader.raw(provider_bytes)) {
    address.provider.push_back(static_cast<char>(letter));
  }
  // Bounded by the input, not by the numbers that it claims.
  Space space;
  bool allowed = true;
  for (std::uint32_t i = 0; i < regions && reader.ok() && allowed; ++i) {
    RegionAddress region;
    region.bytes = reader.number<std::uint64_t>();
    region.base = reader.number<std::uint64_t>();
    allowed = space.add(region.bytes);
    address.regions.push_back(region);
  }
  for (std::uint32_t i = 0; i < endpoints && reader.ok() && allowed; ++i) {
    EndpointAddress endpoint;
    for (std::size_t r = 0; r < address.regions.size(); ++r) {
      endpoint.keys.push_back(reader.number<std::uint64_t>());
    }
    const auto name_bytes = reader.number<std::uint32_t>();
    const auto name = reader.raw(name_bytes);
    endpoint.name.assign(name.begin(), name.end());
    address.endpoints.push_back(std::move(endpoint));
  }
  if (!reader.at_end() || !allowed || address.endpoints.empty() || address.regions.empty()) {
    return fail(ErrorCode::kCorrupt,
                ErrorScope::kPeer,
                "an address of {} bytes is cut short or damaged",
                bytes.size());
  }
  return address;
}

}  // namespace shunt::fabric::ofi
