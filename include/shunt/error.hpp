// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace shunt {

/// What went wrong, coarse enough to act upon. Stable; new codes are added at the end.
enum class ErrorCode {
  kInvalidArgument,  ///< A value that the caller gave is not allowed.
  kUnsupported,      ///< Not available in this build or on this machine.
  kOutOfMemory,      ///< Host, shared or device memory could not be had.
  kSystem,           ///< A system or library call failed; see Error::sys.
  kTimeout,          ///< A bounded wait expired.
  kPeerLost,         ///< A rank died, was cut off, or reported an error of its own.
  kProtocol,         ///< Ranks disagree: different configuration or order of operations.
  kCorrupt,          ///< Input or file contents cannot be what they claim to be.
  kPermission,       ///< The user lacks a right that this needs.
  kPoisoned,         ///< The object failed earlier; the message is the first failure's.
  kInternal,         ///< A bug of ours.
};

/// How far the damage goes.
enum class ErrorScope {
  kUsage,      ///< Nothing happened; correct the call and try again.
  kOperation,  ///< This operation failed; the object lives.
  kPeer,       ///< A peer is unusable.
  kDevice,     ///< A device or NIC is unusable.
  kFatal,      ///< The whole world is unusable.
};

/// A failure, complete enough to print as it stands.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  ErrorScope scope = ErrorScope::kOperation;
  std::string message;  ///< What failed, on which object, and what is allowed or to try.
  int sys = 0;          ///< errno of the failed call, 0 if none.

  /// The message, followed by the system's text for `sys` where there is one.
  [[nodiscard]] std::string to_string() const;
};

[[nodiscard]] const char* to_string(ErrorCode code);
[[nodiscard]] const char* to_string(ErrorScope scope);

}  // namespace shunt
