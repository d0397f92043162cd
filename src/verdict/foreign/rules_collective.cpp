// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Sweeps of collectives (nccl-tests): wrong data, odd rows, and what a node's NICs carried.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "logs/nccl.hpp"
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

/// One rank: busbw is zero by definition, the time is that of a local copy.
bool ran_alone(const Sweep& sweep) {
  const SweepRow* best = best_row(sweep);
  return best != nullptr && *best->rate_gbs > 1 && best->bus_gbs && *best->bus_gbs == 0;
}

void alone(const Situation& s, const Sweep& sweep, Findings& findings) {
  if (!ran_alone(sweep)) return;
  const SweepRow& best = *best_row(sweep);
  const auto processes = s.evidence.number("processes", sweep.source.file);
  findings.push_back(
      Build("ranks-missing", Severity::kWarning, Confidence::kHigh, title(s, sweep))
          .say(fmt::format(
              "Every process ran alone: bus bandwidth is 0 at an algorithm bandwidth of {}, which "
              "is a copy inside one GPU. Nothing crossed a link{}.",
              gbs(*best.rate_gbs),
              processes && *processes > 1
                  ? fmt::format(", although {:g} processes were started", *processes)
                  : ""))
          .because("busbw = algbw × (n − 1) / n, or twice that: 0 only for n = 1")
          .fact("row", best.source.text, place(s, best.source))
          .act("Build nccl-tests with MPI=1 (each process printed its own header and rank 0), or "
               "give -g the number of GPUs.")
          .confirm("the list of ranks under \"Using devices\": one rank a GPU, numbered through"));
}

void odd_rows(const Situation& s, const Sweep& sweep, Findings& findings) {
  if (ran_alone(sweep)) return;
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

/// Below this size a collective's time is latency, whatever the links are.
constexpr double kTellingBytes = 4.0 * 1024 * 1024;

/// More than one NIC's worth leaves a node: what share of all its NICs, as far as they are known.
void node_share(const Situation& s,
                int file,
                double node,
                const std::string& text,
                Finding finding,
                Findings& findings) {
  const Rating& rating = s.ratings[static_cast<std::size_t>(file)];
  const Shape& shape = s.shapes[static_cast<std::size_t>(file)];
  const double gpus = shape.ranks_per_node ? shape.ranks_per_node->value : 8;
  finding.where = "node NICs";
  finding.derivation =
      "all-reduce (ring): a node's NICs carry about busbw each way, less where the switch or "
      "NVLink reduces; all-to-all: algbw × share of peers on other nodes × GPUs a node";
  finding.confirm = "port_xmit_data of every NIC before and after";
  if (!rating.known() || !shape.nics_per_node) {
    finding.id = "unrated";
    finding.severity = Severity::kInfo;
    finding.confidence = Confidence::kMedium;
    const std::string full =
        rating.known()
            ? fmt::format("{:.1f} times {} ({})", node / rating.gbs, rating.what, gbs(rating.gbs))
            : fmt::format("{:.1f} NICs of 200 Gb/s or {:.1f} of 400 Gb/s", node / 25, node / 50);
    finding.sentence = fmt::format(
        "Several NICs carry it: {}, as much as {} at full rate. How many a node has is not in the "
        "input, so this is no utilisation.",
        text,
        full);
    finding.action = "Say it: --set rate=400G and --set nics_per_node=8.";
  } else {
    const double capacity = rating.gbs * gpus;
    const double share = node / capacity;
    if (share > 1.03) return;
    const bool full = share >= 0.85;
    finding.id = full ? "saturated" : "underused";
    finding.severity = share >= 0.8 ? Severity::kInfo : Severity::kNotice;
    finding.confidence = Confidence::kMedium;
    finding.sentence =
        fmt::format("{}: {}, {} of the {} that its {:g} NICs carry.",
                    full ? "The node's NICs are full" : "The node's NICs are not full",
                    text,
                    percent(share),
                    gbs(capacity),
                    shape.nics_per_node->value);
    if (!full) finding.action = "Number of channels and NICs in use: NCCL_DEBUG=INFO.";
  }
  findings.push_back(std::move(finding));
}

void collective_shares(const Situation& s, int file, Findings& findings) {
  std::string text;
  double highest = 0;
  double largest = 0;
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
    largest = std::max(largest, sweep.rows.back().size_bytes);
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
  if (largest < kTellingBytes) {
    findings.push_back(
        Build("small-messages", Severity::kInfo, Confidence::kHigh, "node NICs")
            .say(fmt::format("The sweep ends at {}: up to there a collective is bound by latency "
                             "({}). Nothing follows for the links.",
                             size(largest),
                             text))
            .act("Continue the sweep to 1 GiB or more (-e 1G)."));
    return;
  }
  const Rating& rating = s.ratings[static_cast<std::size_t>(file)];
  const double limit = rating.known() ? rating.gbs : highest < 0.8 * 12.5 ? 12.5 : 50;
  if (highest >= 0.8 * limit) {
    node_share(s, file, highest, text, std::move(finding), findings);
    return;
  }
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

}  // namespace

void judge_collectives(const Situation& s, Findings& findings) {
  for (const Sweep& sweep : s.evidence.sweeps) {
    // Pasted without its tool's head: all-to-all over sizes all the same.
    if (sweep.format == "table" && sweep.path == logs::Path::kAlgorithm) {
      judge_cliff(s, sweep, findings);
    }
    if (sweep.format != "nccl-tests") continue;
    wrong_data(s, sweep, findings);
    alone(s, sweep, findings);
    judge_cliff(s, sweep, findings);
    odd_rows(s, sweep, findings);
  }
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    collective_shares(s, file, findings);
  }
}

}  // namespace shunt::verdict::foreign
