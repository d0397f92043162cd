// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Sweeps of one link: perftest, OSU, transfers.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "logs/ratings.hpp"
#include "logs/text.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"
#include "verdict/foreign/sweeps.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Operation;
using logs::Path;
using logs::Sweep;
using logs::SweepRow;

double file_best(const Situation& s, int file) {
  double best = 0;
  for (const Sweep& sweep : s.evidence.sweeps) {
    if (sweep.source.file != file || sweep.path != Path::kWire) continue;
    if (const SweepRow* row = best_row(sweep)) best = std::max(best, *row->rate_gbs);
  }
  return best;
}

int listed_devices(const Situation& s, int file) {
  for (const auto& fact : s.evidence.config) {
    if (fact.source.file == file && fact.key == "UCX_NET_DEVICES") {
      return static_cast<int>(logs::split(fact.value, ',').size());
    }
  }
  return 1;
}

/// Messages too small to say what a link carries: their number a second is the limit.
bool message_rate_bound(const Situation& s, const Sweep& sweep, Findings& findings) {
  constexpr double kTellingBytes = 4 * 1024;
  const SweepRow* best = best_row(sweep);
  if (best == nullptr || best->size_bytes >= kTellingBytes || best->size_bytes <= 0 ||
      *best->rate_gbs <= 0)
    return false;
  const double rate = best->message_rate.value_or(*best->rate_gbs * 1e9 / best->size_bytes);
  if (!std::isfinite(rate)) return false;
  const auto qps = sweep.settings.find("qps");
  findings.push_back(
      Build("small-messages", Severity::kInfo, Confidence::kHigh, title(s, sweep))
          .say(fmt::format("The largest message is {}: {:.3g} million of them a second carry {} "
                           "({:.3g} Gb/s). The message rate is the limit; nothing follows for the "
                           "link.",
                           size(best->size_bytes),
                           rate / 1e6,
                           gbs(*best->rate_gbs),
                           *best->rate_gbs * 8))
          .because(fmt::format("{:.4g} messages/s × {:.0f} B", rate, best->size_bytes))
          .fact("row", best->source.text, place(s, best->source))
          .act(
              fmt::format("For the link's rate use 64 KiB or more; for more messages a second more "
                          "QPs than {}.",
                          qps == sweep.settings.end() ? "one" : qps->second)));
  return true;
}

void beyond_rating(const Situation& s,
                   const Sweep& sweep,
                   const SweepRow& best,
                   const Rating& rating,
                   Findings& findings) {
  findings.push_back(
      Build("exceeds-link", Severity::kWarning, Confidence::kMedium, title(s, sweep))
          .say(
              fmt::format("{} is {:.2f} × the {}: not a rate of that one link. Wrong unit, several "
                          "ports together, both directions summed, a path that never left the "
                          "node, or another rating.",
                          gbs(*best.rate_gbs),
                          *best.rate_gbs / rating.gbs,
                          rating.what))
          .fact("best row", best.source.text, place(s, best.source))
          .fact("rating", gbs(rating.gbs), rating.from)
          .act("Say the rating (--set rate=…), or run one port in one direction."));
}

/// GPU memory on both sides, more than a NIC carries, and a matrix with NVLink beside it: the GPUs
/// are of one node and their own link is the measure.
bool over_nvlink(const Situation& s, const Sweep& sweep, double rate, Findings& findings) {
  const auto buffers = sweep.settings.find("buffers");
  if (buffers == sweep.settings.end() || buffers->second != "device → device" || rate < 50.5) {
    return false;
  }
  const double link = nvlink_from_topology(s.evidence);
  const SweepRow& best = *best_row(sweep);
  const bool rated = link > 0 && rate < 1.05 * link;
  const double share = rated ? rate / link : 0;
  findings.push_back(
      Build(share >= 0.85 ? "nvlink-bound" : "unrated",
            Severity::kInfo,
            Confidence::kMedium,
            title(s, sweep))
          .say(rated
                   ? fmt::format("{} between GPUs is {} of their NVLink in the matrix ({}){}.",
                                 gbs(rate),
                                 percent(share),
                                 gbs(link),
                                 share >= 0.85 ? ": healthy, that link is full" : "")
                   : fmt::format("{} between GPUs: more than a NIC of 400 Gb/s carries, so a path "
                                 "inside a node; its rating is not in the input.",
                                 gbs(rate)))
          .fact("best row", best.source.text, place(s, best.source)));
  return true;
}

/// No rating, and no standard port that this would fill: a rate and nothing more.
void unrated_link(const Situation& s,
                  const Sweep& sweep,
                  const std::string& rate,
                  double share,
                  double fitting,
                  Findings& findings) {
  const SweepRow& best = *best_row(sweep);
  findings.push_back(
      Build("unrated", Severity::kInfo, Confidence::kMedium, title(s, sweep))
          .say(fmt::format("{}; the port's rate is not in the input, so this is no utilisation (of "
                           "a {:g} Gb/s port, the smallest that carries it, {}).",
                           rate,
                           fitting * 8,
                           percent(share)))
          .fact("best row", best.source.text, place(s, best.source))
          .act("Say the port's rate: --set rate=…, or add ibstat's output."));
}

/// Another test of the same paste that comes near what the link carries.
const Sweep* fuller_test(const Situation& s, const Sweep& sweep, double limit) {
  const Sweep* best = nullptr;
  for (const Sweep& other : s.evidence.sweeps) {
    const SweepRow* row = best_row(other);
    if (&other == &sweep || other.source.file != sweep.source.file || other.path != Path::kWire ||
        row == nullptr || device_of(other) != device_of(sweep) ||
        other.settings.count("bidirectional") != 0) {
      continue;
    }
    if (*row->rate_gbs < 0.8 * limit || *row->rate_gbs > 1.05 * limit) continue;
    if (best == nullptr || *row->rate_gbs > *best_row(*best)->rate_gbs) best = &other;
  }
  return best;
}

void link_verdict(const Situation& s, const Sweep& sweep, Findings& findings) {
  const SweepRow* best = best_row(sweep);
  if (best == nullptr || message_rate_bound(s, sweep, findings) || *best->rate_gbs < 0.1) return;
  const int file = sweep.source.file;
  const Rating& rating = s.ratings[static_cast<std::size_t>(file)];
  // A bidirectional test prints the sum of both ways; a link is rated for one.
  const bool both = sweep.settings.count("bidirectional") != 0;
  const double rate = *best->rate_gbs / (both ? 2 : 1);
  const auto fitting = logs::smallest_fitting_rate(file_best(s, file) / (both ? 2 : 1));
  if (!rating.known() && over_nvlink(s, sweep, rate, findings)) return;
  if (!rating.known() && !fitting) return;
  const double limit = rating.known() ? rating.gbs : *fitting;
  const double share = rate / limit;
  if (rating.known() && rate > 1.05 * limit * (rating.ambiguous ? 2 : 1)) {
    beyond_rating(s, sweep, *best, rating, findings);
    return;
  }
  const int devices = listed_devices(s, file);
  const std::string where = sweep.group.empty() ? title(s, sweep) : sweep.group;
  const std::string basis =
      rating.known() ? rating.what
                     : fmt::format(
                           "{:g} Gb/s port (the smallest standard rate that carries it; the "
                           "input does not print the rate)",
                           limit * 8);
  if (devices >= 2 && rate > 0.62 * 31.5 && rate < 27 && sweep.format == "osu") {
    findings.push_back(
        Build("pcie-bound", Severity::kNotice, Confidence::kMedium, "PCIe slot")
            .say(fmt::format(
                "{} over {} ports stays below what one PCIe Gen4 x16 slot carries (~26 GB/s "
                "usable, 31.5 raw): the slot is the ceiling for both ports together. That "
                "is {} of one {:g} Gb/s port and {} of two.",
                gbs(rate),
                devices,
                percent(rate / limit),
                limit * 8,
                percent(rate / limit / devices)))
            .because("16 GT/s × 16 lanes × 128/130 / 8 = 31.5 GB/s")
            .fact("best row", best->source.text, place(s, best->source))
            .act("Two ports of one card share its slot; use two cards, or Gen5.")
            .confirm("lspci -vv: LnkSta of the card"));
    return;
  }
  const Confidence sure = rating.known() ? Confidence::kHigh : Confidence::kMedium;
  const std::string said = fmt::format("{:.4g} Gb/s = {}{}",
                                       rate * 8,
                                       gbs(rate),
                                       both ? " one way (half of the printed sum of both)" : "");
  if (share >= 0.85) {
    findings.push_back(
        Build("saturated", Severity::kInfo, sure, where)
            .say(fmt::format("Healthy: {} is {} of a {}.", said, percent(share), basis))
            .fact("best row", best->source.text, place(s, best->source)));
  } else if (share < 0.8 && !rating.known()) {
    unrated_link(s, sweep, said, share, limit, findings);
  } else if (share < 0.8) {
    const Sweep* other = fuller_test(s, sweep, limit);
    findings.push_back(
        Build("underused", other != nullptr ? Severity::kNotice : Severity::kWarning, sure, where)
            .say(fmt::format(
                "{} is {} of a {}{}.",
                said,
                percent(share),
                basis,
                other == nullptr
                    ? ""
                    : fmt::format("; {} reaches {} over it, so the link is not at fault but how "
                                  "this test was run",
                                  title(s, *other),
                                  gbs(*best_row(*other)->rate_gbs))))
            .fact("best row", best->source.text, place(s, best->source))
            .act("Larger messages, more QPs, the NIC nearest to the memory; say the port's rate: "
                 "--set "
                 "rate=…"));
  } else {
    findings.push_back(
        Build("saturated", Severity::kInfo, Confidence::kLow, where)
            .say(fmt::format("{} is {} of a {}: close to full.", said, percent(share), basis)));
  }
}

bool duration_mode(const Situation& s, int file) {
  for (const auto& fact : s.evidence.config) {
    if (fact.source.file == file && fact.key == "command" &&
        fact.value.find(" -D") != std::string::npos) {
      return true;
    }
  }
  return false;
}

void perftest_rows(const Situation& s, const Sweep& sweep, Findings& findings) {
  const bool timed = duration_mode(s, sweep.source.file);
  const std::string where = sweep.group.empty() ? title(s, sweep) : sweep.group;
  for (const SweepRow& row : sweep.rows) {
    if (row.message_rate && row.rate_gbs && *row.rate_gbs > 0.01 && *row.message_rate > 0) {
      const double again = *row.message_rate * row.size_bytes / 1e9;
      if (std::isfinite(again) && std::fabs(again / *row.rate_gbs - 1) > 0.02) {
        findings.push_back(Build("rate-mismatch", Severity::kWarning, Confidence::kHigh, where)
                               .say(fmt::format("Message rate × size = {} but the row prints {}.",
                                                gbs(again),
                                                gbs(*row.rate_gbs)))
                               .fact("row", row.source.text, place(s, row.source)));
        break;
      }
    }
  }
  const SweepRow* best = best_row(sweep);
  if (best == nullptr || !best->iterations || *best->rate_gbs <= 0) return;
  const double ms = *best->iterations * best->size_bytes / *best->rate_gbs / 1e6;
  if (!timed && ms < 50 && *best->rate_gbs > 1) {
    findings.push_back(
        Build("short-run", Severity::kNotice, Confidence::kHigh, where)
            .say(fmt::format("{:.0f} iterations of {} last {:.1f} ms: too short for a verdict.",
                             *best->iterations,
                             size(best->size_bytes),
                             ms))
            .act("Run again with -D 10.")
            .fact("row", best->source.text, place(s, best->source)));
  }
  if (best->peak_gbs && *best->peak_gbs > 0.01 && *best->rate_gbs / *best->peak_gbs < 0.85) {
    findings.push_back(
        Build("stalls", Severity::kNotice, Confidence::kMedium, where)
            .say(fmt::format("Unstable: the average is {} of the peak ({:.4g} of {:.4g} Gb/s).",
                             percent(*best->rate_gbs / *best->peak_gbs),
                             *best->rate_gbs * 8,
                             *best->peak_gbs * 8))
            .fact("row", best->source.text, place(s, best->source)));
  }
}

/// Small sizes that cost a fixed time each: one operation in flight.
void fixed_cost(const Situation& s, const Sweep& sweep, Findings& findings) {
  const SweepRow* best = best_row(sweep);
  if (best == nullptr || sweep.rows.size() < 4) return;
  const SweepRow& first = sweep.rows.front();
  if (!first.rate_gbs || *first.rate_gbs <= 0 || *first.rate_gbs > 0.05 * *best->rate_gbs) return;
  const double cost = first.size_bytes / *first.rate_gbs / 1e3;
  int fits = 0;
  int rows = 0;
  const SweepRow* below = nullptr;
  const SweepRow* above = nullptr;
  for (const SweepRow& row : sweep.rows) {
    if (!row.rate_gbs || *row.rate_gbs <= 0) continue;
    ++rows;
    const double model = row.size_bytes / (cost + row.size_bytes / *best->rate_gbs / 1e3) / 1e3;
    if (std::fabs(model / *row.rate_gbs - 1) < 0.35) ++fits;
    if (*row.rate_gbs < 0.5 * *best->rate_gbs) below = &row;
    if (above == nullptr && *row.rate_gbs >= 0.5 * *best->rate_gbs) above = &row;
  }
  if (fits * 10 < rows * 7 || below == nullptr || above == nullptr || cost > 1000) return;
  findings.push_back(
      Build("small-messages", Severity::kInfo, Confidence::kHigh, title(s, sweep))
          .say(fmt::format(
              "Small sizes are latency-bound: each message costs about {:.1f} µs before its "
              "bytes (one operation in flight); half the plateau is reached between {} and "
              "{}. Not a link fault.",
              cost,
              size(below->size_bytes),
              size(above->size_bytes)))
          .because(fmt::format("time = {:.1f} µs + bytes / {}: fits {} of {} rows",
                               cost,
                               gbs(*best->rate_gbs),
                               fits,
                               rows))
          .act("More operations in flight (queue depth, QPs) to fill the pipe at small sizes."));
}

}  // namespace

void judge_links(const Situation& s, Findings& findings) {
  for (const Sweep& sweep : s.evidence.sweeps) {
    if (sweep.format != "perftest") judge_inversion(s, sweep, findings);
    if (sweep.path != Path::kWire) continue;
    link_verdict(s, sweep, findings);
    if (sweep.format == "perftest") perftest_rows(s, sweep, findings);
    if (sweep.format == "transfer") fixed_cost(s, sweep, findings);
    if (sweep.format != "perftest") judge_cliff(s, sweep, findings);
  }
}

}  // namespace shunt::verdict::foreign
