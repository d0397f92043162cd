// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What every rule on size sweeps asks of them.
#pragma once

#include <string>

#include "verdict/foreign/rules.hpp"

namespace shunt::verdict::foreign {

/// "64 KiB".
[[nodiscard]] std::string size(double bytes);
/// bytes / time where both are printed: finer than the two printed decimals.
[[nodiscard]] double fine_rate(const logs::SweepRow& row);
/// The row with the highest rate; nullptr if none has a rate.
[[nodiscard]] const logs::SweepRow* best_row(const logs::Sweep& sweep);
/// "mlx5_0"; empty if the sweep does not say.
[[nodiscard]] std::string device_of(const logs::Sweep& sweep);
/// "RDMA write mlx5_0", with the file where there are several.
[[nodiscard]] std::string title(const Situation& s, const logs::Sweep& sweep);

/// size-cliff: the rate falls to less than a half from one size to the next, and stays there.
void judge_cliff(const Situation& s, const logs::Sweep& sweep, Findings& findings);
/// size-cliff: one size takes twice the time of a larger one.
void judge_inversion(const Situation& s, const logs::Sweep& sweep, Findings& findings);

}  // namespace shunt::verdict::foreign
