// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/ofi_words.hpp"

#include <array>
#include <cerrno>

namespace shunt::fabric::ofi {
namespace {

bool means_peer_lost(int error) {
  switch (error) {
    case FI_ECONNRESET:
    case FI_ECONNREFUSED:
    case FI_ECONNABORTED:
    case FI_ENOTCONN:
    case FI_ESHUTDOWN:
    case FI_ETIMEDOUT:
    case FI_EHOSTUNREACH:
    case FI_ENETUNREACH:
    case FI_ECANCELED:
    case FI_EIO:
    case EPIPE:
      return true;
    default:
      return false;
  }
}

}  // namespace

Error put_failed(const Put& put, std::string_view provider, int error, std::string_view detail) {
  return Error{means_peer_lost(error) ? ErrorCode::kPeerLost : ErrorCode::kSystem,
               ErrorScope::kPeer,
               fmt::format("a put of {} bytes to peer {} (queue pair {}, {}): {} ({})",
                           put.bytes,
                           put.peer,
                           put.qp,
                           provider,
                           fi_strerror(error),
                           detail),
               0};
}

Error put_not_sent(const Put& put, const Error& first) {
  return Error{
      first.code,
      ErrorScope::kPeer,
      fmt::format("a put of {} bytes to peer {} was not sent, since one before had failed: {}",
                  put.bytes,
                  put.peer,
                  first.message),
      0};
}

Error arrival_failed(std::string_view provider, int error, std::string_view detail) {
  return Error{ErrorCode::kPeerLost,
               ErrorScope::kPeer,
               fmt::format("{}: an arrival failed: {} ({})", provider, fi_strerror(error), detail),
               0};
}

Error queue_failed(std::string_view provider, int error) {
  return Error{ErrorCode::kSystem,
               ErrorScope::kDevice,
               fmt::format("{}: the completion queue failed: {} (if it ran over: raise the option "
                           "arrivals)",
                           provider,
                           fi_strerror(error)),
               0};
}

std::string provider_words(fid_cq* queue, const fi_cq_err_entry& entry) {
  std::array<char, 256> text{};
  const char* said =
      fi_cq_strerror(queue, entry.prov_errno, entry.err_data, text.data(), text.size());
  return fmt::format(
      "provider error {}: {}", entry.prov_errno, said == nullptr ? "no words" : said);
}

}  // namespace shunt::fabric::ofi
