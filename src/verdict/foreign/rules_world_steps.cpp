// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Rates over the number of ranks: one operation falls where another of the same table does not.
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Sample;

/// What must be equal for two series to be of one table and setting.
using Setting = std::tuple<int, std::string, double>;
/// Operation, type, variant, path.
using What = std::tuple<logs::Operation, std::string, std::string, logs::Path>;
/// By number of ranks.
using Series = std::map<double, const Sample*>;

std::map<Setting, std::map<What, Series>> series_of(const logs::Evidence& evidence) {
  std::map<Setting, std::map<What, Series>> all;
  for (const Sample& sample : evidence.samples) {
    const auto ranks = sample.settings.find("ranks");
    if (ranks == sample.settings.end() || !sample.rate_gbs || *sample.rate_gbs <= 0 ||
        sample.format == "published") {
      continue;
    }
    const auto sms = sample.settings.find("sms");
    const Setting setting{
        sample.source.file, sample.group, sms == sample.settings.end() ? 0 : sms->second};
    all[setting][{sample.operation, sample.dtype, sample.variant, sample.path}].emplace(
        ranks->second, &sample);
  }
  return all;
}

std::string name_of(const Sample& sample) {
  std::string name = logs::to_string(sample.operation);
  if (!sample.dtype.empty()) name += fmt::format(" ({})", sample.dtype);
  return name;
}

/// One operation's fall between two neighbouring numbers of ranks, and one that held meanwhile.
struct Fall {
  const Sample* before = nullptr;
  const Sample* after = nullptr;
  const Sample* held = nullptr;
  double ratio = 1;
  double held_ratio = 0;
};

void look_for_held(const std::map<What, Series>& operations, Fall& fall) {
  const double few = fall.before->settings.at("ranks");
  const double many = fall.after->settings.at("ranks");
  for (const auto& [what, series] : operations) {
    const auto a = series.find(few);
    const auto b = series.find(many);
    if (a == series.end() || b == series.end() || a->second->path != fall.before->path) continue;
    const double ratio = *b->second->rate_gbs / *a->second->rate_gbs;
    if (ratio > fall.held_ratio) {
      fall.held_ratio = ratio;
      fall.held = b->second;
    }
  }
}

Fall worst_fall(const std::map<What, Series>& operations) {
  Fall worst;
  for (const auto& [what, series] : operations) {
    for (auto at = series.begin(); at != series.end(); ++at) {
      const auto next = std::next(at);
      if (next == series.end()) break;
      const double ratio = *next->second->rate_gbs / *at->second->rate_gbs;
      if (ratio >= 0.6 || ratio >= worst.ratio) continue;
      Fall fall{at->second, next->second, nullptr, ratio, 0};
      look_for_held(operations, fall);
      if (fall.held_ratio >= 0.85) worst = fall;
    }
  }
  return worst;
}

}  // namespace

void judge_world_steps(const Situation& s, Findings& findings) {
  Fall worst;
  for (const auto& [setting, operations] : series_of(s.evidence)) {
    const Fall fall = worst_fall(operations);
    if (fall.before != nullptr && fall.ratio < worst.ratio) worst = fall;
  }
  if (worst.before == nullptr) return;
  findings.push_back(
      Build("runs-differ", Severity::kWarning, Confidence::kMedium, name_of(*worst.before))
          .say(fmt::format(
              "From {:g} to {:g} ranks {} falls from {} to {} ({:.2f} ×), where {} keeps {:.2f} of "
              "its rate over the same links: not the links' limit, but a path, size or algorithm "
              "that this operation alone takes with more ranks.",
              worst.before->settings.at("ranks"),
              worst.after->settings.at("ranks"),
              name_of(*worst.before),
              gbs(*worst.before->rate_gbs),
              gbs(*worst.after->rate_gbs),
              worst.ratio,
              name_of(*worst.held),
              worst.held_ratio))
          .fact("fewer ranks", worst.before->source.text, place(s, worst.before->source))
          .fact("more ranks", worst.after->source.text, place(s, worst.after->source))
          .act(
              fmt::format("Profile {} at both sizes: buffers, chunks a peer and the tuning chosen; "
                          "repeat it at the larger size.",
                          logs::to_string(worst.before->operation)))
          .confirm("the times of its kernels at both numbers of ranks"));
}

}  // namespace shunt::verdict::foreign
