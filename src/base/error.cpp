// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"

#include <cstring>

#include "shunt/types.hpp"

namespace shunt {

std::string Error::to_string() const {
  if (sys == 0) return message;
  char text[128];
  const char* said = ::strerror_r(sys, text, sizeof(text));
  return fmt::format("{}: {}", message, said);
}

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kOutOfMemory:
      return "out of memory";
    case ErrorCode::kSystem:
      return "system";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kPeerLost:
      return "peer lost";
    case ErrorCode::kProtocol:
      return "protocol";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kPermission:
      return "permission";
    case ErrorCode::kPoisoned:
      return "poisoned";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

const char* to_string(ErrorScope scope) {
  switch (scope) {
    case ErrorScope::kUsage:
      return "usage";
    case ErrorScope::kOperation:
      return "operation";
    case ErrorScope::kPeer:
      return "peer";
    case ErrorScope::kDevice:
      return "device";
    case ErrorScope::kFatal:
      return "fatal";
  }
  return "unknown";
}

const char* to_string(DType type) {
  switch (type) {
    case DType::kF32:
      return "fp32";
    case DType::kBF16:
      return "bf16";
    case DType::kF16:
      return "fp16";
  }
  return "unknown";
}

std::optional<DType> parse_dtype(std::string_view name) {
  if (name == "fp32" || name == "f32" || name == "float32") return DType::kF32;
  if (name == "bf16" || name == "bfloat16") return DType::kBF16;
  if (name == "fp16" || name == "f16" || name == "float16") return DType::kF16;
  return std::nullopt;
}

}  // namespace shunt
