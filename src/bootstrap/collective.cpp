// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/collective.hpp"

#include <string>

namespace shunt::bootstrap {
namespace {

constexpr std::size_t kHeader = 2;  // ErrorCode and ErrorScope, one byte each; then the message.

std::vector<std::byte> encode(const Status& status) {
  std::vector<std::byte> blob;
  if (status) return blob;
  const std::string text = status.error().to_string();
  blob.resize(kHeader + text.size());
  blob[0] = static_cast<std::byte>(status.error().code);
  blob[1] = static_cast<std::byte>(status.error().scope);
  std::memcpy(blob.data() + kHeader, text.data(), text.size());
  return blob;
}

}  // namespace

Status agree(World& world, Status mine, std::string_view what) {
  const Result<Blobs> all = world.all_gather(encode(mine));
  if (!mine) return mine;
  if (!all) {
    Error error = all.error();
    error.message = fmt::format("{}: {}", what, error.message);
    return Unexpected(std::move(error));
  }
  for (std::size_t rank = 0; rank < all->size(); ++rank) {
    const std::vector<std::byte>& blob = (*all)[rank];
    if (blob.empty()) continue;
    if (blob.size() < kHeader) {
      return fail(ErrorCode::kProtocol,
                  ErrorScope::kFatal,
                  "{}: rank {} sent a malformed status; all ranks must run the same version",
                  what,
                  rank);
    }
    const std::string text(reinterpret_cast<const char*>(blob.data() + kHeader),
                           blob.size() - kHeader);
    return fail(static_cast<ErrorCode>(blob[0]),
                static_cast<ErrorScope>(blob[1]),
                "rank {}: {}",
                rank,
                text);
  }
  return {};
}

}  // namespace shunt::bootstrap
