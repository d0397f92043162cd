// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes on the socket between a rank of a local launch and its parent. Both ends are one program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bootstrap/names.hpp"
#include "bootstrap/world.hpp"
#include "shunt/result.hpp"

namespace shunt::bootstrap {

using Bytes = std::vector<std::byte>;

[[nodiscard]] Bytes encode(const Error& error);
[[nodiscard]] Result<Error> decode_error(std::span<const std::byte> bytes);
[[nodiscard]] Bytes encode(const Blobs& blobs);
[[nodiscard]] Result<Blobs> decode_blobs(std::span<const std::byte> bytes);

struct Message {
  enum class Kind : std::uint32_t {
    kEnter = 1,   ///< rank → parent: a collective call; body = its blob
    kDone = 2,    ///< rank → parent: finished; body = its result
    kFailed = 3,  ///< rank → parent: finished with an error; parent → rank: the world has failed
    kRound = 4,   ///< parent → rank: the call is complete; body = Blobs
  };
  Kind kind = Kind::kEnter;
  Call call = Call::kBarrier;  ///< Of kEnter and kRound.
  Bytes body;
};

/// A header of 16 bytes (kind, call, length of the body) and the body.
[[nodiscard]] Bytes encode(const Message& message);

/// Turns a stream of bytes, cut anywhere, back into messages.
class Decoder {
 public:
  void append(std::span<const std::byte> bytes);
  /// The next whole message, if there is one.
  [[nodiscard]] std::optional<Message> next();

 private:
  Bytes pending_;
  std::size_t consumed_ = 0;
};

}  // namespace shunt::bootstrap
