// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/padded_gather.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/error.hpp"

namespace shunt::bootstrap {
namespace {

struct Header {
  std::uint64_t bytes;
  std::int32_t rank;
  Call call;
  std::uint8_t padding[3];
};
static_assert(sizeof(Header) == 16);

Status check(const std::vector<Header>& headers, int rank) {
  const auto self = static_cast<std::size_t>(rank);
  for (std::size_t place = 0; place < headers.size(); ++place) {
    const Header& header = headers[place];
    if (header.rank != static_cast<std::int32_t>(place)) {
      return fail(
          ErrorCode::kProtocol,
          ErrorScope::kFatal,
          "the all-gather returned the bytes of rank {} at place {}; it must return them in "
          "rank order, and each rank must give its own rank",
          header.rank,
          place);
    }
    if (header.call != headers[self].call) {
      return Unexpected(calls_differ(header.rank, header.call, headers[self].call));
    }
  }
  return {};
}

}  // namespace

Result<Blobs> padded_gather(
    int rank, int size, Call call, std::span<const std::byte> mine, const EqualGather& gather) {
  const auto count = static_cast<std::size_t>(size);
  const Header header{mine.size(), rank, call, {}};
  std::vector<Header> headers(count);
  SHUNT_TRY(gather(std::as_bytes(std::span<const Header, 1>(&header, 1)),
                   std::as_writable_bytes(std::span(headers))));
  SHUNT_TRY(check(headers, rank));
  std::uint64_t largest = 0;
  for (const Header& other : headers) largest = std::max(largest, other.bytes);
  Blobs blobs(count);
  if (largest == 0) return blobs;
  std::vector<std::byte> padded(largest);
  std::copy(mine.begin(), mine.end(), padded.begin());
  std::vector<std::byte> all(largest * count);
  SHUNT_TRY(gather(padded, all));
  for (std::size_t r = 0; r < count; ++r) {
    const auto part = std::span<const std::byte>(all).subspan(largest * r, headers[r].bytes);
    blobs[r].assign(part.begin(), part.end());
  }
  return blobs;
}

}  // namespace shunt::bootstrap
