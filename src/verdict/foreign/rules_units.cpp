// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Units: a printed rate that its own bytes and time give again only with another unit, or that fits
// its link only as bits.
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"
#include "verdict/foreign/sweeps.hpp"

namespace shunt::verdict::foreign {
namespace {

struct Unit {
  double factor;  ///< Printed rate over bytes / time.
  double slack;
  const char* reading;
  bool notice;  ///< A few per cent: worth knowing, no fault.
};

/// Powers of two and eight are the only unit mistakes that happen.
constexpr std::array<Unit, 4> kUnits{{
    {8.0, 0.04, "the figure is in Gb/s, not GB/s", false},
    {0.125, 0.04, "bytes were taken for bits: the rate is eight times the printed one", false},
    {1e9 / 1073741824.0, 0.004, "GB/s is GiB/s (2^30)", true},
    {1e6 / 1048576.0, 0.004, "MB/s is MiB/s (2^20)", true},
}};

const Unit* unit_of(double factor) {
  for (const Unit& unit : kUnits) {
    if (std::fabs(factor / unit.factor - 1) <= unit.slack) return &unit;
  }
  return nullptr;
}

void report(const Situation& s,
            const std::string& where,
            double printed,
            double again,
            const Unit& unit,
            const logs::Source& source,
            Findings& findings) {
  findings.push_back(
      Build("units", unit.notice ? Severity::kInfo : Severity::kWarning, Confidence::kHigh, where)
          .say(
              fmt::format("Printed {}, but its bytes over its time give {}, {:.4g} times less: {}.",
                          gbs(printed),
                          gbs(again),
                          printed / again,
                          unit.reading))
          .because(fmt::format("{:.5g} / {:.5g} = {:.4g}", printed, again, printed / again))
          .fact("line", source.text, place(s, source))
          .act("Take bytes over time; say the unit when quoting the figure."));
}

/// Of a sweep the row with the finest figures; rounding of small rates proves nothing.
void sweep_units(const Situation& s, const logs::Sweep& sweep, Findings& findings) {
  if (sweep.path != logs::Path::kWire) return;
  int agree = 0;
  int rows = 0;
  const Unit* common = nullptr;
  const logs::SweepRow* example = nullptr;
  for (const logs::SweepRow& row : sweep.rows) {
    if (!row.rate_gbs || !row.time_us || *row.time_us <= 0 || *row.rate_gbs < 0.5 ||
        row.size_bytes <= 0 || row.size_inferred) {
      continue;
    }
    ++rows;
    const Unit* unit = unit_of(*row.rate_gbs / (row.size_bytes / *row.time_us / 1e3));
    if (unit == nullptr || (common != nullptr && unit != common)) continue;
    common = unit;
    example = &row;
    ++agree;
  }
  if (common == nullptr || agree != rows || agree < 2) return;
  report(s,
         title(s, sweep),
         *example->rate_gbs,
         example->size_bytes / *example->time_us / 1e3,
         *common,
         example->source,
         findings);
}

/// A link's rate that only fits when the figure counts bits.
void beyond_link(const Situation& s, const logs::Sweep& sweep, Findings& findings) {
  const Rating& rating = s.ratings[static_cast<std::size_t>(sweep.source.file)];
  const logs::SweepRow* best = best_row(sweep);
  if (sweep.path != logs::Path::kWire || sweep.format == "perftest" || best == nullptr ||
      !rating.known()) {
    return;
  }
  const double limit = rating.gbs * (rating.ambiguous ? 2 : 1);
  const double rate = *best->rate_gbs;
  if (rate <= 1.05 * limit || rate / 8 > 1.03 * limit || rate / 8 < 0.3 * limit) return;
  findings.push_back(
      Build("units", Severity::kWarning, Confidence::kMedium, title(s, sweep))
          .say(fmt::format(
              "{} is more than the {} carries; as {:.4g} Gb/s it would be {}, {} of it. "
              "Probably bits, printed as bytes.",
              gbs(rate),
              rating.what,
              rate,
              gbs(rate / 8),
              percent(rate / 8 / rating.gbs)))
          .fact("row", best->source.text, place(s, best->source))
          .act("Look up the tool's unit, or run ib_write_bw --report_gbits beside it."));
}

/// The same for one printed operation with bytes of its own.
void sample_units(const Situation& s, Findings& findings) {
  for (const logs::Sample& sample : s.evidence.samples) {
    if (!sample.rate_gbs || !sample.time_us || !sample.bytes || *sample.rate_gbs <= 0) continue;
    const double again = *sample.bytes / *sample.time_us / 1e3;
    const double factor = *sample.rate_gbs / again;
    if (!std::isfinite(factor) ||
        (std::fabs(factor - 8) > 0.3 && std::fabs(factor - 0.125) > 0.005)) {
      continue;
    }
    if (const Unit* unit = unit_of(factor)) {
      report(s,
             logs::to_string(sample.operation),
             *sample.rate_gbs,
             again,
             *unit,
             sample.source,
             findings);
      return;
    }
  }
}

/// A card of two planes, a bond: one rate as two utilisations.
void ambiguous_rating(const Situation& s, int file, Findings& findings) {
  const Rating& rating = s.ratings[static_cast<std::size_t>(file)];
  if (!rating.known() || !rating.ambiguous) return;
  const bool planes = rating.what.find("ConnectX-8") != std::string::npos;
  const double other = planes ? rating.gbs / 2 : rating.gbs * 2;
  double wire = 0;
  std::string what;
  for (const Op* op : s.ops_of(file)) {
    if (!op->wire || *op->wire <= wire) continue;
    wire = *op->wire;
    what = op->name();
  }
  if (wire <= 0) return;
  findings.push_back(
      Build("rating-ambiguous", Severity::kNotice, Confidence::kHigh, rating.what)
          .say(fmt::format("{} may stand for {}. {} at {} is {} of {} or {} of {}{}.",
                           rating.what,
                           planes ? "one port of 800 Gb/s or two planes of 400 Gb/s"
                                  : "one member of a bond or the whole bond",
                           what,
                           gbs(wire),
                           percent(wire / rating.gbs),
                           gbs(rating.gbs),
                           percent(wire / other),
                           gbs(other),
                           wire > 1.03 * other ? " (which it exceeds, so the first is right)" : ""))
          .fact("rating", gbs(rating.gbs), rating.from)
          .act(planes
                   ? "ibstat or devlink show how many ports the card presents and at which rate; "
                     "list every plane in the NIC list."
                   : "cat /sys/class/net/<interface>/speed and the bond's slaves decide."));
}

}  // namespace

void judge_units(const Situation& s, Findings& findings) {
  for (const logs::Sweep& sweep : s.evidence.sweeps) {
    sweep_units(s, sweep, findings);
    beyond_link(s, sweep, findings);
  }
  sample_units(s, findings);
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    ambiguous_rating(s, file, findings);
  }
}

}  // namespace shunt::verdict::foreign
