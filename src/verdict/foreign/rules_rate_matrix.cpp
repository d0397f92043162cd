// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Copy rates between devices: pairs below their peers, the level of all of them against PCIe and
// NVLink, hosts' slots.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "logs/ratings.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rate_pairs.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::RateMatrix;

using Pair = RatePair;

/// What PCIe x16 generation large copies at `gbs` belong to; 0 if none.
int pcie_generation(double gbs) {
  if (gbs > 9 && gbs < 14.6) return 3;
  if (gbs > 18 && gbs < 28) return 4;
  if (gbs > 36 && gbs < 58) return 5;
  return 0;
}

std::string pair_list(const std::vector<Pair>& pairs) {
  std::string text;
  for (std::size_t i = 0; i < pairs.size() && i < 6; ++i) {
    text += fmt::format(
        "{}{} → {} {}", i == 0 ? "" : ", ", pairs[i].from, pairs[i].to, gbs(pairs[i].gbs));
  }
  if (pairs.size() > 6) text += fmt::format(" and {} more", pairs.size() - 6);
  return text;
}

/// What all of several slow pairs have in common: " All lead to rank 11."
std::string in_common(const std::vector<Pair>& low, bool ranks) {
  if (low.size() < 3) return {};
  const char* kind = ranks ? "rank" : "GPU";
  const auto all = [&low](auto&& holds) { return std::ranges::all_of(low, holds); };
  const int from = low.front().from;
  const int to = low.front().to;
  if (all([to](const Pair& pair) { return pair.to == to; })) {
    return fmt::format(" All of them lead to {} {}.", kind, to);
  }
  if (all([from](const Pair& pair) { return pair.from == from; })) {
    return fmt::format(" All of them start at {} {}.", kind, from);
  }
  for (const int end : {from, to}) {
    if (all([end](const Pair& pair) { return pair.from == end || pair.to == end; })) {
      return fmt::format(" All of them have {} {} at one end.", kind, end);
    }
  }
  return {};
}

/// True if some pairs are far below the others.
bool uneven_pairs(const Situation& s, const RateMatrix& matrix, Findings& findings) {
  if (matrix.peer_off) return false;
  const auto pairs = device_pairs(matrix);
  const auto low = behind(pairs);
  if (low.empty()) return false;
  const bool few = low.size() * 2 <= pairs.size();
  const char* what = matrix.ranks ? "ranks" : "GPUs";
  const double crossing = best_of(pairs, true);
  findings.push_back(
      Build("gpu-links-uneven",
            few ? Severity::kWarning : Severity::kNotice,
            Confidence::kHigh,
            fmt::format("{} rates between {}", matrix.ranks ? "transfer" : "copy", what))
          .say(fmt::format(
              "{} of {} directions between {} stay below {:g} of the best{}: {}.{} {}An "
              "all-to-all {} runs at the pace of these pairs.",
              low.size(),
              pairs.size(),
              what,
              kBehind,
              crossing > 0 ? " of their kind" : fmt::format(" ({})", gbs(best_of(pairs))),
              pair_list(low),
              in_common(low, matrix.ranks),
              crossing > 0 ? fmt::format("The best inside a node is {}, between nodes "
                                         "{}. ",
                                         gbs(best_of(pairs)),
                                         gbs(crossing))
                           : "",
              matrix.ranks ? "of all ranks" : "inside the node"))
          .fact("matrix", matrix.title, place(s, matrix.source))
          .because("one direction; bidirectional figures halved")
          .act(matrix.ranks
                   ? "Look at what the slow pairs have in common: one rank (its NIC, slot or "
                     "clocks), one node, or one path between two switches."
                   : "nvidia-smi topo -m and nvlink -s (or rocm-smi --showtopo): is the link of "
                     "these pairs missing, or are they joined by PCIe only, as some boards are "
                     "built?")
          .confirm(matrix.ranks ? "the same matrix again, and the port counters of the slow ranks"
                                : "the topology matrix of the same machine"));
  return true;
}

/// A matrix of ranks without a pair that stays behind.
void level_of_ranks(const Situation& s, const RateMatrix& matrix, Findings& findings) {
  const auto pairs = device_pairs(matrix);
  const std::size_t block = block_of(matrix);
  const double inside = best_of(pairs);
  const double crossing = best_of(pairs, true);
  findings.push_back(
      Build("unrated", Severity::kInfo, Confidence::kMedium, "transfer rates between ranks")
          .say(block > 0
                   ? fmt::format("Pairs run at up to {} inside blocks of {} ranks and {} between "
                                 "them: nodes, it seems, and no pair stays behind its like.",
                                 gbs(inside),
                                 block,
                                 gbs(crossing))
                   : fmt::format("All {} directions run at {} of the best ({}) or more: no pair "
                                 "stays behind.",
                                 pairs.size(),
                                 kBehind,
                                 gbs(inside)))
          .fact("matrix", matrix.title, place(s, matrix.source))
          .act("Say what the links are: --set rate=400G (NIC), --set gpu=H100 (NVLink)."));
}

/// All pairs alike: at which link's rate.
void level_of_pairs(const Situation& s, const RateMatrix& matrix, Findings& findings) {
  const auto pairs = device_pairs(matrix);
  if (pairs.empty() || matrix.peer_off) return;
  if (matrix.ranks) {
    level_of_ranks(s, matrix, findings);
    return;
  }
  const double most = best_of(pairs);
  double least = most;
  for (const Pair& pair : pairs) least = std::min(least, pair.gbs);
  const auto* gpu = s.evidence.find("gpu", matrix.source.file);
  const logs::Rated* rated =
      gpu == nullptr ? nullptr : logs::find_rating(logs::RatedPart::kGpu, gpu->value);
  const double nvlink = rated == nullptr ? 0 : rated->gbs;
  const int generation = pcie_generation(most);
  const double slot = best_of(host_pairs(matrix));
  const std::string range =
      most - least < 0.02 * most ? gbs(most) : fmt::format("{} to {}", gbs(least), gbs(most));
  Finding finding = Build("unrated", Severity::kInfo, Confidence::kMedium, "copies between GPUs");
  // Bridges are optional: a slot's rate is a slot's, however large a part of a small link it is.
  const bool bridged = rated != nullptr && rated->bridged > 0;
  const bool slot_rate = bridged && generation > 0 && most < 0.6 * nvlink;
  if (nvlink > 0 && most > 0.2 * nvlink && !slot_rate) {
    finding.sentence = fmt::format("Copies between GPUs run at {}, {} of {}'s {} one way{}.",
                                   range,
                                   percent(most / nvlink),
                                   rated->name,
                                   gbs(nvlink),
                                   most > 0.7 * nvlink ? ": healthy" : "");
    if (most > 0.7 * nvlink) finding.id = "nvlink-bound";
  } else if (slot > 0 && most > 1.5 * slot) {
    finding.sentence = fmt::format(
        "Copies between GPUs run at {}, more than the {} that this machine's slots carry: a direct "
        "link between the GPUs (NVLink, xGMI), whose rating is not in the input.",
        range,
        gbs(slot));
    finding.action = "Name the GPU, or paste nvidia-smi topo -m or rocm-smi --showtopo.";
  } else if (generation > 0) {
    finding.id = nvlink > 0 && !bridged ? "nvlink-missing" : "pcie-bound";
    finding.severity = nvlink > 0 && !bridged ? Severity::kWarning : Severity::kNotice;
    finding.sentence = fmt::format(
        "Copies between GPUs run at {}: what PCIe Gen{} x16 carries{}.{}",
        range,
        generation,
        generation == 5   ? ", or two NVLinks of 25 GB/s"
        : generation == 4 ? ", or one NVLink of 25 GB/s"
                          : "",
        bridged ? fmt::format(
                      " {} reaches {} with a bridge to one partner: none is in use between these.",
                      rated->name,
                      gbs(nvlink))
        : nvlink > 0
            ? fmt::format(
                  " {} has NVLink for {}: it is not in use between them.", rated->name, gbs(nvlink))
        : least < 0.9 * most ? " The slower pairs cross another bridge or socket."
                             : "");
    finding.action = "nvidia-smi topo -m shows which pairs have NVLink; without it this is all.";
  } else {
    finding.sentence =
        fmt::format("Copies between GPUs run at {}; the link's rating is not in the input.", range);
    finding.action = "Name the GPU: --set gpu=H100, or paste nvidia-smi topo -m.";
  }
  finding.evidence.push_back({"matrix", matrix.title, place(s, matrix.source)});
  findings.push_back(std::move(finding));
}

/// Slots: one GPU far below its like.
void slots(const Situation& s, const RateMatrix& matrix, Findings& findings) {
  const auto pairs = host_pairs(matrix);
  const double most = best_of(pairs);
  const auto marked = cells_behind(matrix);
  std::vector<int> low;
  for (const Pair& pair : pairs) {
    if (marked[pair.cell] && std::ranges::find(low, pair.to) == low.end()) low.push_back(pair.to);
  }
  if (low.empty() || pairs.size() < 2) return;
  findings.push_back(
      Build("link-downgraded", Severity::kWarning, Confidence::kMedium, "host and GPU")
          .say(fmt::format("GPU {} copies {} the host at less than 0.6 of the best GPU's {}: its "
                           "slot has fewer lanes or an older generation, or the path crosses "
                           "sockets.",
                           fmt::join(low, ", "),
                           matrix.to_host ? "to" : "from",
                           gbs(most)))
          .fact("matrix", matrix.title, place(s, matrix.source))
          .act("lspci -vv: LnkSta of that GPU under load; pin the copy to its NUMA node.")
          .confirm("nvidia-smi -q: PCIe generation and width, current and maximum"));
}

/// Host to device against device to host.
void directions(const Situation& s, int file, Findings& findings) {
  const RateMatrix* down = nullptr;
  const RateMatrix* up = nullptr;
  for (const RateMatrix& matrix : s.evidence.rate_matrices) {
    if (matrix.source.file != file || !matrix.host_rows || matrix.bidirectional) continue;
    const RateMatrix*& place_of = matrix.to_host ? up : down;
    if (place_of == nullptr) place_of = &matrix;
  }
  if (down == nullptr || up == nullptr) return;
  const double to_gpu = best_of(host_pairs(*down));
  const double to_host = best_of(host_pairs(*up));
  if (to_gpu <= 0 || to_host <= 0) return;
  const double ratio = std::max(to_gpu, to_host) / std::min(to_gpu, to_host);
  if (ratio < 1.25) return;
  findings.push_back(
      Build("pcie-bound", Severity::kNotice, Confidence::kMedium, "host and GPU")
          .say(fmt::format("Host → GPU reaches {}, GPU → host {} ({:.1f} × apart) over the same "
                           "slots: the slots carry the higher rate, so the slower direction is "
                           "limited by host memory, IOMMU or the copy's method.",
                           gbs(to_gpu),
                           gbs(to_host),
                           ratio))
          .fact("host to GPU", down->title, place(s, down->source))
          .fact("GPU to host", up->title, place(s, up->source))
          .act("Compare copy engines (ce) with kernels (sm); bind to the GPU's NUMA node; relaxed "
               "ordering and read requests of the slot."));
}

}  // namespace

void judge_rate_matrices(const Situation& s, Findings& findings) {
  std::vector<int> leveled;
  for (const RateMatrix& matrix : s.evidence.rate_matrices) {
    slots(s, matrix, findings);
    // One word on the level of a file's GPUs: its first matrix with peer access.
    const int file = matrix.source.file;
    if (std::ranges::find(leveled, file) != leveled.end() || matrix.peer_off ||
        device_pairs(matrix).empty()) {
      continue;
    }
    leveled.push_back(file);
    if (!uneven_pairs(s, matrix, findings)) level_of_pairs(s, matrix, findings);
  }
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    directions(s, file, findings);
  }
}

}  // namespace shunt::verdict::foreign
