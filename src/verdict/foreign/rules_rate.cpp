// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// High-throughput dispatch and combine: is the link full, what do the printed rates count, and is
// another link the nearer limit.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "logs/ratings.hpp"
#include "logs/text.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rate_evidence.hpp"
#include "verdict/foreign/rules_list.hpp"
#include "verdict/foreign/scale_up.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Operation;

constexpr double kFull = 0.85;
constexpr double kUnder = 0.795;  // Prints as 80 %.

/// Operations of a file with a wire rate, the ones a reader asks about first in front.
std::vector<const Op*> wired(const Situation& s, int file) {
  std::vector<const Op*> out;
  for (const Op* op : s.ops_of(file)) {
    if (op->wire && op->rdma->rate > 0) out.push_back(op);
  }
  return out;
}

std::string file_name(const Situation& s, int file) {
  return s.evidence.files.size() > 1 ? s.evidence.files[static_cast<std::size_t>(file)].name
                                     : std::string("NIC");
}

std::string list_wires(const std::vector<const Op*>& ops, const Rating& rating) {
  std::string out;
  std::size_t shown = 0;
  const bool bests = std::ranges::any_of(ops, [](const Op* op) { return op->variant == "best"; });
  std::size_t listed = 0;
  for (const Op* op : ops) listed += bests && op->variant == "average" ? 0 : 1;
  for (const Op* op : ops) {
    if (bests && op->variant == "average") continue;
    if (++shown > 4) break;
    out += fmt::format("{}{} {} ({:.0f} Gb/s)",
                       out.empty() ? "" : ", ",
                       op->name(),
                       gbs(*op->wire),
                       *op->wire * 8);
    if (rating.known()) out += fmt::format(" = {}", percent(*op->wire / rating.gbs));
  }
  if (listed > 4) out += fmt::format(", and {} more", listed - 4);
  return out;
}

void add_wire_facts(const Situation& s,
                    const std::vector<const Op*>& ops,
                    const Rating& rating,
                    double nodes,
                    Finding& finding) {
  for (const Op* op : ops) {
    finding.evidence.push_back({op->name(),
                                fmt::format("printed {} (RDMA), wire {} = {:.0f} Gb/s: {}",
                                            gbs(op->rdma->rate),
                                            gbs(*op->wire),
                                            *op->wire * 8,
                                            short_share(rating, *op->wire)),
                                place(s, op->rdma->sample->source)});
  }
  if (ops.front()->remote_only) {
    finding.derivation =
        "wire = printed: rdma_bw counts the rows of other nodes only, each rank's rows once";
    return;
  }
  finding.derivation = fmt::format(
      "wire = printed × (N − 1) / N with N = {:g} nodes: the printed rate counts one copy per "
      "(token, node), the own node included, which never leaves the node",
      nodes);
}

/// One sentence on the scale-up side; empty if nothing is known of it.
std::string nvl_sentence(const Situation& s, int file, const std::vector<const Op*>& ops) {
  const double rate = largest_nvl(ops);
  if (rate <= 0) return {};
  const NvlLimit limit = nvl_limit(s, file);
  if (limit.known) {
    return fmt::format(" Scale-up at {} is {} of {} ({} one way): {}.",
                       gbs(rate),
                       percent(rate / limit.rating),
                       limit.name,
                       gbs(limit.rating),
                       rate > 0.85 * limit.usable ? "near its limit" : "not the limit");
  }
  if (rate > 0.8 * 160 && rate < 1.1 * 160) {
    return fmt::format(
        " NVLink at {} is {} of the ~160 GB/s an H800-class GPU has usable, {} of an "
        "H100's 450 (no GPU model in the input).",
        gbs(rate),
        percent(rate / 160),
        percent(rate / 450));
  }
  if (rate < 0.8 * 160) {
    return fmt::format(
        " NVLink at {} is {} of an H100's 450 GB/s: not the limit on any recent "
        "GPU.",
        gbs(rate),
        percent(rate / 450));
  }
  return {};
}

std::string advice(const Situation& s, int file) {
  std::string out =
      "Look above the wire: NIC shared or wrongly mapped, IBGDA falling back to the CPU, too few "
      "QPs, RoCE traffic class, launch skew.";
  const auto* mapping = s.evidence.find("NVSHMEM_ENABLE_NIC_PE_MAPPING", file);
  for (const Op* op : s.ops_of(file)) {
    if (op->format != "hybridep") continue;
    out =
        "In this order: RoCE traffic class (everything in priority 0), one QP path or one plane of "
        "the NIC, small per-token writes with few SMs, chunks that do not fill their waves.";
    break;
  }
  if (mapping != nullptr && mapping->value == "1") {
    out +=
        " NVSHMEM_ENABLE_NIC_PE_MAPPING=1 is set: it is known to put all ranks of a node on one "
        "NIC under DeepEP; print the mapping.";
  }
  return out;
}

/// If all ranks of a node shared one NIC, would it be beyond what a NIC can carry?
std::string sharing_bound(const Shape& shape, const Rating& rating, double wire) {
  const double ranks = shape.ranks_per_node ? shape.ranks_per_node->value : 8;
  const double nic = rating.known() ? rating.gbs * shape.gpus_per_nic() : 50;
  if (shape.gpus_per_nic() > 1 || wire * ranks <= nic || wire * 2 > nic) return {};
  return fmt::format(
      "all {:g} ranks on one NIC would need {}: excluded on {}; {} ranks "
      "sharing is possible",
      ranks,
      gbs(wire * ranks),
      gbs(nic),
      nic / wire < 3 ? "2" : fmt::format("2 to {:.0f}", std::floor(nic / wire)));
}

void judge_file(const Situation& s, int file, Findings& findings) {
  const auto ops = wired(s, file);
  if (ops.empty()) return;
  const Shape& shape = s.shapes[static_cast<std::size_t>(file)];
  const Rating& rating = s.ratings[static_cast<std::size_t>(file)];
  const auto top = std::ranges::max_element(ops, {}, [](const Op* op) { return *op->wire; });
  const double wire = *(*top)->wire;
  const double share = deciding_share(rating, wire);
  const Confidence sure = rating.known() ? Confidence::kHigh : Confidence::kMedium;
  if (share > 1.03) return;  // exceeds-link speaks.
  std::string id = "own-node-counted";
  Severity severity = Severity::kNotice;
  std::string verdict;
  if (share >= kFull && rating.known()) {
    id = "saturated";
    verdict = "The NIC is full";
  } else if (share >= kUnder) {
    verdict = rating.known() ? "The NIC is close to full"
              : wire > 50.5  ? "The NIC is close to full if it is an 800G one"
              : share >= kFull
                  ? "A 400G NIC would be full, an 800G one half used (as if one of two "
                    "planes carried all)"
                  : "The NIC is close to full if it is a 400G one";
  } else {
    id = "underused";
    severity = Severity::kWarning;
    verdict = rating.known() ? "The NIC is not saturated"
              : wire > 50.5  ? "An 800 Gb/s NIC is not saturated"
                             : "A 400 Gb/s NIC is not saturated";
  }
  Finding finding = Build(id, severity, sure, file_name(s, file));
  finding.sentence = fmt::format("{}: the wire carries {} per GPU; the highest is {}.{}",
                                 verdict,
                                 list_wires(ops, rating),
                                 share_of_link(rating, wire),
                                 nvl_sentence(s, file, ops));
  add_wire_facts(s, ops, rating, (*top)->nodes->value, finding);
  add_rate_evidence(s, file, ops, finding);
  if (rating.known())
    finding.evidence.push_back({"NIC rate per GPU", gbs(rating.gbs), rating.from});
  if (const auto bound = sharing_bound(shape, rating, wire); !bound.empty() && id == "underused") {
    finding.evidence.push_back({"NIC sharing", bound, "arithmetic"});
  }
  if (shape.gpus_per_nic() > 1) {
    finding.evidence.push_back(
        {"GPUs per NIC",
         fmt::format(
             "{:g}: each NIC carries {}", shape.gpus_per_nic(), gbs(wire * shape.gpus_per_nic())),
         shape.nics_per_node->from});
  }
  if (id == "underused") {
    finding.action = advice(s, file);
  } else {
    finding.action = "Only fewer bytes help: FP8 dispatch, deduplication, expert placement.";
  }
  finding.confirm = rating.known()
                        ? "port_xmit_data of each NIC before and after, with the elapsed time"
                        : "the NIC's rate (--set rate=400G) and port_xmit_data before and after";
  findings.push_back(std::move(finding));
}

/// A wire rate at one half of a NIC with two planes or ports.
void one_plane(const Situation& s, int file, Findings& findings) {
  const Rating& rating = s.ratings[static_cast<std::size_t>(file)];
  const auto ops = wired(s, file);
  if (!rating.known() || rating.gbs < 99 || ops.empty()) return;
  const auto top = std::ranges::max_element(ops, {}, [](const Op* op) { return *op->wire; });
  const double share = *(*top)->wire / rating.gbs;
  if (share < 0.42 || share > 0.515) return;
  findings.push_back(
      Build("one-plane", Severity::kNotice, Confidence::kMedium, rating.what)
          .say(fmt::format(
              "The wire rate {} sits at one half of the {}: if the card has two 400 Gb/s "
              "planes or ports, one of them carries all traffic.",
              gbs(*(*top)->wire),
              rating.what))
          .because("within 0.42 and 0.515 of the rating; one saturated 400 Gb/s plane is 0.45-0.5")
          .fact("NIC rate", gbs(rating.gbs), rating.from)
          .act("Spread queue pairs over both planes (several QPs a peer, multi-port NVSHMEM), or "
               "list "
               "both ports.")
          .confirm("port_xmit_data of each plane before and after"));
}

void explain_own_node(const Situation& s, int file, Findings& findings) {
  const auto ops = wired(s, file);
  if (ops.empty() || ops.front()->remote_only) return;
  const Op& op = *ops.front();
  const double nodes = op.nodes->value;
  const double share = logs::remote_share(nodes);
  const Rating& rating = s.ratings[static_cast<std::size_t>(file)];
  const bool beyond =
      std::ranges::any_of(ops, [](const Op* one) { return one->wire && *one->wire > 50.5; });
  const double limit = rating.known() ? rating.gbs : beyond ? 100 : 50;
  Finding finding =
      Build("own-node-counted", Severity::kInfo, Confidence::kHigh, file_name(s, file));
  finding.sentence = fmt::format(
      "The printed RDMA rate counts tokens that stay on their own node: with {:g} nodes the wire "
      "carries {:.4g} of it ({} printed, {} on the wire). Printed values up to {} are legal on a "
      "{} link.",
      nodes,
      share,
      gbs(op.rdma->rate),
      gbs(*op.wire),
      gbs(limit / share),
      gbs(limit));
  finding.derivation =
      fmt::format("(N − 1) / N = {:.4g} for uniform routing over N = {:g} nodes", share, nodes);
  finding.evidence.push_back({"nodes", fmt::format("{:g}", nodes), op.nodes->from});
  findings.push_back(std::move(finding));
}

/// Without a node count only bounds can be given.
void no_nodes(const Situation& s, int file, Findings& findings) {
  const Shape& shape = s.shapes[static_cast<std::size_t>(file)];
  const Op* op = nullptr;
  for (const Op* candidate : s.ops_of(file)) {
    if (candidate->rdma && !candidate->wire && candidate->rdma->rate > 0.5 &&
        (op == nullptr || candidate->rdma->rate > op->rdma->rate)) {
      op = candidate;
    }
  }
  if (op == nullptr || (shape.nodes && shape.nodes->value > 1)) return;
  const Rating& rating = s.ratings[static_cast<std::size_t>(file)];
  const double low = op->rdma->rate * 0.5;
  const double high = op->rdma->rate * (shape.nodes ? 0 : 1);
  if (high <= 0) return;
  const double limit = rating.known() ? rating.gbs : 50;
  const bool under = high < kUnder * limit;
  Finding finding = Build(under ? "underused" : "own-node-counted",
                          under ? Severity::kWarning : Severity::kNotice,
                          Confidence::kMedium,
                          file_name(s, file));
  finding.sentence = fmt::format(
      "{} prints {} (RDMA). If that counts the own node, as the peers' benchmarks do, the wire "
      "carries (N−1)/N of it: {} with 2 nodes, {} with 4, {} with 8. At 2 nodes that is {}. The "
      "number of nodes is not in the input.",
      op->name(),
      gbs(op->rdma->rate),
      gbs(low),
      gbs(op->rdma->rate * 0.75),
      gbs(op->rdma->rate * 0.875),
      share_of_link(rating, low));
  finding.evidence.push_back({"printed", gbs(op->rdma->rate), place(s, op->rdma->sample->source)});
  finding.action = "Say how many nodes: --set nodes=2.";
  findings.push_back(std::move(finding));
}

}  // namespace

void judge_rates(const Situation& s, Findings& findings) {
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    judge_file(s, file, findings);
    one_plane(s, file, findings);
    no_nodes(s, file, findings);
    explain_own_node(s, file, findings);
  }
}

}  // namespace shunt::verdict::foreign
