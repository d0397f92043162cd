// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Size sweeps: collectives (nccl-tests), point-to-point links (perftest, OSU, transfers), tables.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "base/units.hpp"
#include "logs/nccl.hpp"
#include "logs/ratings.hpp"
#include "logs/text.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Operation;
using logs::Path;
using logs::Sweep;
using logs::SweepRow;

std::string size(double bytes) {
  return format_size(saturating_cast<std::uint64_t>(bytes));
}

/// bytes / time where both are printed: finer than the two printed decimals.
double fine_rate(const SweepRow& row) {
  if (row.time_us && *row.time_us > 0) return row.size_bytes / *row.time_us / 1e3;
  return row.rate_gbs.value_or(0);
}

const SweepRow* best_row(const Sweep& sweep) {
  const SweepRow* best = nullptr;
  for (const SweepRow& row : sweep.rows) {
    if (row.rate_gbs && (best == nullptr || *row.rate_gbs > *best->rate_gbs)) best = &row;
  }
  return best;
}

/// Peers by the count column: size / (count · element); 0 where it does not tell.
int ranks_by_count(const Sweep& sweep) {
  if (sweep.operation != Operation::kAllToAll && sweep.operation != Operation::kAllGather) return 0;
  const auto type = sweep.settings.find("type");
  const SweepRow& row = sweep.rows.back();
  if (type == sweep.settings.end() || !row.count || *row.count <= 0) return 0;
  const double element = logs::nccl_type_bytes(type->second);
  const double peers = element > 0 ? row.size_bytes / (*row.count * element) : 0;
  return peers > 1.5 && peers < 1e5 ? saturating_round<int>(peers) : 0;
}

/// Ranks: as the header lists them, by the count column, else from busbw/algbw, whose two printed
/// decimals leave a range: within it a multiple of 8 is taken, as machines have 8 GPUs.
std::optional<int> ranks_of(const Situation& s, const Sweep& sweep) {
  if (const auto world = s.evidence.number("world", sweep.source.file)) {
    if (*world >= 2) return saturating_cast<int>(*world);
  }
  for (const Sweep& other : s.evidence.sweeps) {
    if (other.source.file == sweep.source.file && other.format == "nccl-tests" &&
        !other.rows.empty()) {
      if (const int ranks = ranks_by_count(other); ranks > 1) return ranks;
    }
  }
  const SweepRow* best = best_row(sweep);
  if (best == nullptr || !best->bus_gbs || *best->rate_gbs <= 0.2) return std::nullopt;
  const bool all_reduce = sweep.operation == Operation::kAllReduce;
  const double ratio = *best->bus_gbs / fine_rate(*best);
  if (all_reduce && std::fabs(ratio - 1) < 0.01) return 2;
  const double slack = 0.005 / fine_rate(*best);
  const auto low = logs::ranks_from_bus_ratio(ratio - slack, all_reduce);
  const auto high = logs::ranks_from_bus_ratio(ratio + slack, all_reduce);
  if (low && high) {
    const int multiple = (*low + 7) / 8 * 8;
    if (multiple >= 8 && multiple <= *high) return multiple;
  }
  return logs::ranks_from_bus_ratio(ratio, all_reduce);
}

std::string title(const Situation& s, const Sweep& sweep) {
  std::string out = sweep.title.empty() ? logs::to_string(sweep.operation) : sweep.title;
  const auto device = sweep.settings.find("device");
  if (device != sweep.settings.end()) out += " " + device->second;
  if (s.evidence.files.size() > 1) {
    out += " (" + s.evidence.files[static_cast<std::size_t>(sweep.source.file)].name + ")";
  }
  return out;
}

void wrong_data(const Situation& s, const Sweep& sweep, Findings& findings) {
  const SweepRow* first = nullptr;
  for (const SweepRow& row : sweep.rows) {
    if (row.wrong && *row.wrong > 0) {
      first = &row;
      break;
    }
  }
  if (first == nullptr && !sweep.out_of_bounds_failed) return;
  Finding finding = Build("wrong-data", Severity::kCritical, Confidence::kHigh, title(s, sweep));
  finding.sentence =
      first != nullptr
          ? fmt::format(
                "The benchmark's own check found {:.0f} wrong values at {}: its figures are void.",
                *first->wrong,
                size(first->size_bytes))
          : "The benchmark reports values out of bounds: its figures are void.";
  if (first != nullptr)
    finding.evidence.push_back({"row", first->source.text, place(s, first->source)});
  finding.action = "Fix the data first: driver, firmware, ordering, GPU memory.";
  findings.push_back(std::move(finding));
}

void cliff(const Situation& s, const Sweep& sweep, Findings& findings) {
  const SweepRow* before = nullptr;
  const SweepRow* after = nullptr;
  double worst = 2.0;
  for (std::size_t i = 1; i < sweep.rows.size(); ++i) {
    const SweepRow& a = sweep.rows[i - 1];
    const SweepRow& b = sweep.rows[i];
    if (!a.rate_gbs || !b.rate_gbs || b.size_bytes <= a.size_bytes || a.size_bytes < 65536)
      continue;
    if (*b.rate_gbs <= 0) continue;
    // A single odd row recovers; a cliff stays.
    double later = 0;
    for (std::size_t j = i + 1; j < sweep.rows.size(); ++j) {
      later = std::max(later, sweep.rows[j].rate_gbs.value_or(0));
    }
    const double drop = fine_rate(a) / fine_rate(b);
    if (drop > worst && later < 0.7 * *a.rate_gbs) {
      worst = drop;
      before = &a;
      after = &b;
    }
  }
  if (before == nullptr) return;
  Finding finding = Build("size-cliff",
                          Severity::kWarning,
                          Confidence::kHigh,
                          fmt::format("{}, above {}", title(s, sweep), size(before->size_bytes)));
  finding.sentence = fmt::format(
      "The rate falls from {} at {} to {} at {}, to 1/{:.1f}{}: another path or algorithm above "
      "that "
      "size, not a full link.",
      gbs(fine_rate(*before)),
      size(before->size_bytes),
      gbs(fine_rate(*after)),
      size(after->size_bytes),
      worst,
      before->time_us && after->time_us
          ? fmt::format(" ({:.2f} → {:.2f} ms, {:.1f} × the time for {:.0f} × the bytes)",
                        *before->time_us / 1e3,
                        *after->time_us / 1e3,
                        *after->time_us / *before->time_us,
                        after->size_bytes / before->size_bytes)
          : "");
  finding.evidence.push_back({"last fast row", before->source.text, place(s, before->source)});
  finding.evidence.push_back({"first slow row", after->source.text, place(s, after->source)});
  finding.action =
      "NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=TUNING shows the switch of algorithm or "
      "protocol; compare with NCCL_ALGO and NCCL_PROTO fixed.";
  finding.confirm = "PFC and ECN counters during the large sizes";
  findings.push_back(std::move(finding));
}

void odd_rows(const Situation& s, const Sweep& sweep, Findings& findings) {
  const SweepRow* odd = nullptr;
  double worst = 3;
  for (const SweepRow& row : sweep.rows) {
    if (!row.time_us || !row.in_place_time_us || row.size_bytes < 65536) continue;
    const double ratio =
        std::max(*row.time_us / *row.in_place_time_us, *row.in_place_time_us / *row.time_us);
    if (ratio > worst) {
      worst = ratio;
      odd = &row;
    }
  }
  if (odd == nullptr) return;
  findings.push_back(
      Build("stalls", Severity::kNotice, Confidence::kMedium, title(s, sweep))
          .say(fmt::format(
              "At {} out of place takes {:.0f} µs and in place {:.0f} µs: some iterations "
              "stopped; the row is no rate.",
              size(odd->size_bytes),
              *odd->time_us,
              *odd->in_place_time_us))
          .fact("row", odd->source.text, place(s, odd->source)));
}

/// Node traffic of a collective, each way, GB/s; 0 if not known to leave a node.
double node_rate(const Sweep& sweep, int ranks, double per_node) {
  const SweepRow* best = best_row(sweep);
  const double nodes = ranks / per_node;
  if (best == nullptr || nodes <= 1) return 0;
  if (sweep.operation == Operation::kAllToAll) {
    return fine_rate(*best) * (ranks - per_node) / ranks * per_node;
  }
  return best->bus_gbs.value_or(0);
}

/// One GPU a process: the slot, not the NICs, is the ceiling.
bool one_gpu_path(const Situation& s, const Sweep& sweep, int ranks, Findings& findings) {
  const int file = sweep.source.file;
  const auto per_process = s.evidence.number("gpus_per_process", file);
  const auto processes = s.evidence.number("processes", file);
  const Shape& shape = s.shapes[static_cast<std::size_t>(file)];
  const double nics = shape.nics_per_node ? shape.nics_per_node->value : 1;
  const SweepRow* best = best_row(sweep);
  if (ranks != 2 || best == nullptr || !processes || *processes != 2 ||
      per_process.value_or(1) != 1 || nics < 2) {
    return false;
  }
  const double rate = fine_rate(*best);
  if (rate < 0.6 * 52 || rate > 63) return false;
  findings.push_back(
      Build("pcie-bound", Severity::kNotice, Confidence::kHigh, "one GPU a node")
          .say(fmt::format(
              "{} ({:.0f} Gb/s) is near the limit of the only path this GPU has: {} of one "
              "400 Gb/s NIC, {} of the ~52 GB/s usable of PCIe Gen5 x16. {:g} NICs cannot "
              "feed one GPU: their sum needs at least as many GPUs.",
              gbs(rate),
              rate * 8,
              percent(rate / 50),
              percent(rate / 52),
              nics))
          .because(
              "n = 2 (algbw = busbw), one GPU a process: all data passes one x16 slot, 63 GB/s raw "
              "at Gen5")
          .fact("best row", best->source.text, place(s, best->source))
          .act("Expect one NIC's rate here; use a GPU per NIC to reach the sum."));
  return true;
}

void collective_shares(const Situation& s, int file, Findings& findings) {
  std::string text;
  double highest = 0;
  Finding finding;
  for (const Sweep& sweep : s.evidence.sweeps) {
    if (sweep.source.file != file || sweep.format != "nccl-tests") continue;
    const auto ranks = ranks_of(s, sweep);
    const SweepRow* best = best_row(sweep);
    if (!ranks || best == nullptr) continue;
    if (one_gpu_path(s, sweep, *ranks, findings)) return;
    const Shape& shape = s.shapes[static_cast<std::size_t>(file)];
    const double per = shape.ranks_per_node ? shape.ranks_per_node->value : 8;
    const double node = node_rate(sweep, *ranks, per);
    if (node <= 0) continue;
    highest = std::max(highest, node);
    text += fmt::format("{}{} {} a node each way ({:.1f} Gb/s)",
                        text.empty() ? "" : ", ",
                        logs::to_string(sweep.operation),
                        gbs(node),
                        node * 8);
    finding.evidence.push_back(
        {logs::to_string(sweep.operation),
         fmt::format(
             "algbw {:.3f} GB/s, busbw/algbw = {:.4g} → {} ranks; {} a node, {:g} GPUs a node{}",
             fine_rate(*best),
             best->bus_gbs.value_or(0) / fine_rate(*best),
             *ranks,
             gbs(node),
             per,
             shape.ranks_per_node ? "" : " assumed"),
         place(s, best->source)});
  }
  if (highest <= 0) return;
  const Rating& rating = s.ratings[static_cast<std::size_t>(file)];
  const double limit = rating.known() ? rating.gbs : highest < 0.8 * 12.5 ? 12.5 : 50;
  if (highest >= 0.8 * limit) return;
  const Finding shell = Build("underused",
                              Severity::kWarning,
                              rating.known() ? Confidence::kHigh : Confidence::kMedium,
                              "node NICs");
  finding.id = shell.id;
  finding.severity = shell.severity;
  finding.confidence = shell.confidence;
  finding.where = shell.where;
  finding.sentence = fmt::format(
      "Not saturated: {}; even a single {:.0f} Gb/s NIC a node would be only {} used{}. {}",
      text,
      limit * 8,
      percent(highest / limit),
      rating.known() ? "" : " (no NIC rate in the input)",
      finding.evidence.size() > 1
          ? "Both meet about the same node limit: a network path problem common to them, not a "
            "defect "
            "of one collective."
          : "Only one rail or NIC is effective, or data goes through the host.");
  finding.derivation =
      "all-reduce (ring): a node's NICs carry about busbw each way; all-to-all: algbw × "
      "share of peers on other nodes × GPUs a node";
  finding.action =
      "NCCL_DEBUG=INFO: which NET devices, GDRDMA or not, how many channels a NIC; check "
      "that every GPU has its NIC.";
  finding.confirm = "port_xmit_data of every NIC before and after";
  findings.push_back(std::move(finding));
}

// ---- links ----------------------------------------------------------------------------------

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

void link_verdict(const Situation& s, const Sweep& sweep, Findings& findings) {
  const SweepRow* best = best_row(sweep);
  if (best == nullptr || *best->rate_gbs < 0.1) return;
  const int file = sweep.source.file;
  const Rating& rating = s.ratings[static_cast<std::size_t>(file)];
  const double rate = *best->rate_gbs;
  const auto fitting = logs::smallest_fitting_rate(file_best(s, file));
  if (!rating.known() && !fitting) return;
  const double limit = rating.known() ? rating.gbs : *fitting;
  const double share = rate / limit;
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
  if (share >= 0.85) {
    findings.push_back(Build("saturated", Severity::kInfo, sure, where)
                           .say(fmt::format("Healthy: {:.4g} Gb/s = {} is {} of a {}.",
                                            rate * 8,
                                            gbs(rate),
                                            percent(share),
                                            basis))
                           .fact("best row", best->source.text, place(s, best->source)));
  } else if (share < 0.8) {
    findings.push_back(
        Build("underused",
              rating.known() ? Severity::kWarning : Severity::kInfo,
              rating.known() ? sure : Confidence::kLow,
              where)
            .say(fmt::format(
                "{:.4g} Gb/s = {} is {} of a {}.", rate * 8, gbs(rate), percent(share), basis))
            .fact("best row", best->source.text, place(s, best->source))
            .act("Larger messages, more QPs, the NIC nearest to the memory; say the port's rate: "
                 "--set "
                 "rate=…"));
  } else {
    findings.push_back(Build("own-node-counted", Severity::kInfo, sure, where)
                           .say(fmt::format("{:.4g} Gb/s = {} is {} of a {}: close to full.",
                                            rate * 8,
                                            gbs(rate),
                                            percent(share),
                                            basis)));
    findings.back().id = "saturated";
    findings.back().confidence = Confidence::kLow;
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

// ---- tables ---------------------------------------------------------------------------------

/// Sizes that both sweeps have, with the ratio a/b.
std::vector<std::pair<double, double>> ratios(const Sweep& a, const Sweep& b) {
  std::vector<std::pair<double, double>> out;
  for (const SweepRow& x : a.rows) {
    for (const SweepRow& y : b.rows) {
      if (x.size_bytes == y.size_bytes && x.rate_gbs && y.rate_gbs && *x.rate_gbs > 0 &&
          *y.rate_gbs > 0) {
        out.emplace_back(x.size_bytes, *x.rate_gbs / *y.rate_gbs);
      }
    }
  }
  return out;
}

std::string span_of(const std::vector<std::pair<double, double>>& pairs) {
  const auto [low, high] =
      std::ranges::minmax_element(pairs, {}, &std::pair<double, double>::second);
  return fmt::format("{:.2f}-{:.2f} ×", low->second, high->second);
}

void rails(const Situation& s, const Sweep& aligned, const Sweep& cross, Findings& findings) {
  const auto pairs = ratios(aligned, cross);
  if (pairs.size() < 2) return;
  const bool every = std::ranges::all_of(pairs, [](const auto& p) { return p.second > 1.3; });
  if (!every) return;
  const SweepRow* top_a = best_row(aligned);
  const SweepRow* top_c = best_row(cross);
  const double limit = 50;
  Finding finding = Build("cross-rail", Severity::kWarning, Confidence::kHigh, "all sizes");
  finding.sentence = fmt::format(
      "Cross-rail traffic runs at {} of rail-aligned traffic at every size ({} faster aligned): "
      "the "
      "path decides (incast, cross-rail hops), not the message size. Best {} across, {} aligned.",
      percent(*top_c->rate_gbs / *top_a->rate_gbs),
      span_of(pairs),
      gbs(*top_c->rate_gbs),
      gbs(*top_a->rate_gbs));
  const Rating& rating = s.ratings[static_cast<std::size_t>(aligned.source.file)];
  const double basis = rating.known() ? rating.gbs : limit;
  for (const auto& [bytes, ratio] : pairs) {
    for (const SweepRow& row : aligned.rows) {
      if (row.size_bytes != bytes) continue;
      finding.evidence.push_back(
          {size(bytes),
           fmt::format("aligned {} ({} of {}), cross {} ({}); {:.2f} ×; {:.2f} and {:.2f} M "
                       "messages/s",
                       gbs(*row.rate_gbs),
                       percent(*row.rate_gbs / basis),
                       gbs(basis),
                       gbs(*row.rate_gbs / ratio),
                       percent(*row.rate_gbs / ratio / basis),
                       ratio,
                       *row.rate_gbs * 1e3 / bytes,
                       *row.rate_gbs / ratio * 1e3 / bytes),
           place(s, row.source)});
    }
  }
  finding.derivation = rating.known() ? rating.from : "share of a 400 Gb/s NIC per GPU (assumed)";
  finding.action =
      "Send along rails only (same local index on every node) and forward inside the node.";
  findings.push_back(std::move(finding));
}

void two_libraries(const Situation& s, const Sweep& a, const Sweep& b, Findings& findings) {
  const auto pairs = ratios(a, b);
  if (pairs.size() < 3) return;
  const auto last = std::ranges::max_element(pairs, {}, &std::pair<double, double>::first);
  const Sweep& fast = last->second >= 1 ? a : b;
  const Sweep& slow = last->second >= 1 ? b : a;
  const double ratio = std::max(last->second, 1 / last->second);
  if (ratio < 1.4) return;
  const auto slope = [](const Sweep& sweep) -> double {
    const std::size_t n = sweep.rows.size();
    if (n < 2 || !sweep.rows[n - 1].time_us || !sweep.rows[n - 2].time_us) return 0;
    const SweepRow& x = sweep.rows[n - 2];
    const SweepRow& y = sweep.rows[n - 1];
    const double factor = y.rate_gbs.value_or(0) * *y.time_us * 1e3 / y.size_bytes;
    return (y.size_bytes - x.size_bytes) * factor / (*y.time_us - *x.time_us) / 1e3;
  };
  double cross_low = 0;
  double cross_high = 0;
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    if ((pairs[i - 1].second - 1) * (pairs[i].second - 1) < 0) {
      cross_low = pairs[i - 1].first;
      cross_high = pairs[i].first;
    }
  }
  const SweepRow& row = slow.rows.back();
  const double factor =
      row.time_us && row.rate_gbs ? *row.rate_gbs * *row.time_us * 1e3 / row.size_bytes : 1;
  Finding finding = Build("software-bound",
                          Severity::kNotice,
                          Confidence::kHigh,
                          slow.settings.count("column") ? slow.settings.at("column") : slow.title);
  finding.sentence = fmt::format(
      "Not a link fault: on the same links {} reaches {} at {} where {} stays at {} ({:.1f} × "
      "apart), so "
      "the slower implementation is the limit.{}",
      fast.settings.count("column") ? fast.settings.at("column") : fast.title,
      gbs(fast.rows.back().rate_gbs.value_or(0)),
      size(last->first),
      slow.settings.count("column") ? slow.settings.at("column") : slow.title,
      gbs(slow.rows.back().rate_gbs.value_or(0)),
      ratio,
      cross_low > 0
          ? fmt::format(" Below {}-{} it is the faster one.", size(cross_low), size(cross_high))
          : "");
  if (slope(slow) > 0 && slope(fast) > 0) {
    finding.derivation = fmt::format(
        "slope between the last two sizes: {} and {}; printed rates count "
        "{:.2g} × the size column (peers)",
        gbs(slope(slow)),
        gbs(slope(fast)),
        factor);
  }
  finding.evidence.push_back({"last row", row.source.text, place(s, row.source)});
  findings.push_back(std::move(finding));
}

}  // namespace

void judge_collectives(const Situation& s, Findings& findings) {
  for (const Sweep& sweep : s.evidence.sweeps) {
    if (sweep.format != "nccl-tests") continue;
    wrong_data(s, sweep, findings);
    cliff(s, sweep, findings);
    odd_rows(s, sweep, findings);
  }
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    collective_shares(s, file, findings);
  }
}

namespace {

/// The same test on several ports: one well below its partners.
void uneven_ports(const Situation& s, Findings& findings) {
  const Sweep* fast = nullptr;
  const Sweep* slow = nullptr;
  for (const Sweep& sweep : s.evidence.sweeps) {
    if (sweep.format != "perftest" || best_row(sweep) == nullptr) continue;
    if (fast != nullptr &&
        (sweep.operation != fast->operation || sweep.rows.size() != fast->rows.size() ||
         sweep.rows.back().size_bytes != fast->rows.back().size_bytes)) {
      continue;
    }
    if (fast == nullptr || *best_row(sweep)->rate_gbs > *best_row(*fast)->rate_gbs) fast = &sweep;
    if (slow == nullptr || *best_row(sweep)->rate_gbs < *best_row(*slow)->rate_gbs) slow = &sweep;
  }
  if (fast == nullptr || fast == slow) return;
  const SweepRow& top = *best_row(*fast);
  const SweepRow& low = *best_row(*slow);
  const double share = *low.rate_gbs / *top.rate_gbs;
  if (share > 0.65 || *top.rate_gbs < 1) return;
  findings.push_back(
      Build("link-downgraded", Severity::kWarning, Confidence::kMedium, title(s, *slow))
          .say(fmt::format(
              "{} reaches {:.4g} Gb/s where {} reaches {:.4g} in the same test ({}): one "
              "port runs below its partner.",
              title(s, *slow),
              *low.rate_gbs * 8,
              title(s, *fast),
              *top.rate_gbs * 8,
              percent(share)))
          .fact("slow port", low.source.text, place(s, low.source))
          .fact("fast port", top.source.text, place(s, top.source))
          .act("Compare rate and width of both ports (ibstat), their PCIe links (lspci -vv LnkSta) "
               "and "
               "which GPU or NUMA node each is near to."));
}

}  // namespace

void judge_links(const Situation& s, Findings& findings) {
  uneven_ports(s, findings);
  for (const Sweep& sweep : s.evidence.sweeps) {
    if (sweep.path != Path::kWire) continue;
    link_verdict(s, sweep, findings);
    if (sweep.format == "perftest") perftest_rows(s, sweep, findings);
    if (sweep.format == "transfer") fixed_cost(s, sweep, findings);
    if (sweep.format != "perftest") cliff(s, sweep, findings);
  }
}

void judge_tables(const Situation& s, Findings& findings) {
  const auto& sweeps = s.evidence.sweeps;
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    for (std::size_t j = i + 1; j < sweeps.size(); ++j) {
      const Sweep& a = sweeps[i];
      const Sweep& b = sweeps[j];
      if (a.format != "table" || b.format != "table" || a.source.file != b.source.file) continue;
      const bool a_cross = logs::contains_ci(a.title, "cross-rail");
      const bool b_cross = logs::contains_ci(b.title, "cross-rail");
      const bool a_rail = logs::contains_ci(a.title, "rail");
      const bool b_rail = logs::contains_ci(b.title, "rail");
      if (a_rail && b_rail && a_cross != b_cross) {
        a_cross ? rails(s, b, a, findings) : rails(s, a, b, findings);
      } else if (!a_rail && a.group == b.group) {
        two_libraries(s, a, b, findings);
      }
    }
  }
}

}  // namespace shunt::verdict::foreign
