// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The words of the libfabric engine's failures. Off the hot path: they allocate.
#pragma once

#include <string>
#include <string_view>

#include "fabric/fabric.hpp"
#include "fabric/ofi.hpp"

namespace shunt::fabric::ofi {

/// `error` is one of libfabric's numbers (positive), `detail` what else is known.
[[nodiscard]] Error put_failed(const Put& put,
                               std::string_view provider,
                               int error,
                               std::string_view detail);

/// For a put that is not sent because `first` befell its peer.
[[nodiscard]] Error put_not_sent(const Put& put, const Error& first);

/// An error of the queue that belongs to no put.
[[nodiscard]] Error arrival_failed(std::string_view provider, int error, std::string_view detail);

[[nodiscard]] Error queue_failed(std::string_view provider, int error);

/// What the provider says of an entry of its error queue.
[[nodiscard]] std::string provider_words(fid_cq* queue, const fi_cq_err_entry& entry);

}  // namespace shunt::fabric::ofi
