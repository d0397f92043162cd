// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Which rank uses which NIC, as printed.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "logs/text.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/low_latency.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Mapping;

std::string list(const std::map<std::string, std::set<int>>& users) {
  std::string out;
  for (const auto& [device, ranks] : users) {
    out += fmt::format("{}{} ← {}", out.empty() ? "" : "; ", device, fmt::join(ranks, ", "));
  }
  return out;
}

void shared_nics(const Situation& s, int file, Findings& findings) {
  std::map<std::string, std::set<int>> users;
  const Mapping* first = nullptr;
  for (const Mapping& mapping : s.evidence.mappings) {
    if (mapping.source.file != file || mapping.kind != "nic" || !mapping.rank) continue;
    users[mapping.value].insert(*mapping.rank);
    if (first == nullptr) first = &mapping;
  }
  if (first == nullptr) return;
  std::size_t most = 0;
  for (const auto& [device, ranks] : users) most = std::max(most, ranks.size());
  const bool bond = first->value.find("bond") != std::string::npos;
  const auto ll = low_latency_of(s, file);
  if (most >= 2) {
    Finding finding = Build("nic-shared", Severity::kWarning, Confidence::kHigh, "NIC map");
    finding.sentence = fmt::format("{} GPUs share each NIC ({}).", most, list(users));
    if (ll && ll->nodes && ll->pair_us > 0) {
      const double wire = ll->pair_bytes / ll->pair_us / 1e3 * logs::remote_share(*ll->nodes);
      double best_us = ll->pair_us;
      for (const auto& [rank, sample] : ll->pair) {
        if (sample->min_us) best_us = std::min(best_us, *sample->min_us);
      }
      const double each = wire * static_cast<double>(most);
      const double best = each * ll->pair_us / best_us;
      finding.sentence += fmt::format(
          " Each {} carries {} ({:.0f} Gb/s) on average, {} at the fastest iteration{}: NVLink is "
          "not "
          "the reason.",
          bond ? "bond" : "NIC",
          gbs(each),
          each * 8,
          gbs(best),
          bond ? fmt::format("; of 2 × 200 Gb/s that is {}, about one member port's worth",
                             percent(each / 50))
               : fmt::format("; {} of 400 Gb/s", percent(each / 50)));
      finding.derivation =
          fmt::format("{} × remote share {:.2f} × {} GPUs; assumes that NVLink serves the own node",
                      gbs(ll->pair_bytes / ll->pair_us / 1e3),
                      logs::remote_share(*ll->nodes),
                      most);
    }
    finding.evidence.push_back({"map", first->source.text, place(s, first->source)});
    finding.action =
        bond ? "Read both members' port counters, the LAG hash and the UDP source port; "
               "at least two QPs a peer."
             : "One NIC per GPU where the machine has them.";
    findings.push_back(std::move(finding));
  } else {
    findings.push_back(Build("nic-map", Severity::kInfo, Confidence::kHigh, "NIC map")
                           .say(fmt::format("Each printed rank has its own NIC: {}.", list(users)))
                           .fact("map", first->source.text, place(s, first->source)));
  }
  if (bond) {
    findings.push_back(
        Build("rating-ambiguous", Severity::kNotice, Confidence::kHigh, first->value)
            .say("The NIC is a bond: its rate is that of one member or of both. Utilisation is "
                 "given against both readings, never silently against one.")
            .act("cat /sys/class/net/<interface>/speed and the bond's slaves decide."));
  }
}

/// NVSHMEM's dev_id lines: an index into its own list.
void device_ids(const Situation& s, int file, Findings& findings) {
  std::map<int, std::string> ids;
  std::set<int> alive;
  int world = 0;
  const Mapping* first = nullptr;
  for (const Mapping& mapping : s.evidence.mappings) {
    if (mapping.source.file != file || !mapping.rank) continue;
    if (mapping.kind == "dev_id") {
      ids[*mapping.rank] = mapping.value;
      if (first == nullptr) first = &mapping;
    }
    if (mapping.kind == "bootstrap") {
      alive.insert(*mapping.rank);
      if (const auto n = logs::whole_number(mapping.value)) world = logs::index_of(*n).value_or(0);
    }
  }
  if (first == nullptr) return;
  std::set<std::string> distinct;
  std::string pairs;
  for (const auto& [rank, id] : ids) {
    distinct.insert(id);
    pairs += fmt::format("{}{}→{}", pairs.empty() ? "" : ", ", rank, id);
  }
  std::set<int> missing;
  const int expected = std::clamp(world > 0 ? std::min(world, 8) : 8, 1, 64);
  for (int rank = 0; rank < expected; ++rank) {
    if (ids.count(rank) == 0) missing.insert(rank);
  }
  const bool one_each = distinct.size() == ids.size();
  Finding finding = Build(one_each ? "nic-map" : "nic-shared",
                          one_each ? Severity::kNotice : Severity::kWarning,
                          Confidence::kHigh,
                          "NVSHMEM devices");
  finding.sentence = fmt::format(
      "{} (local rank → NVSHMEM device index {}): {} distinct of {}. The index counts NVSHMEM's "
      "own "
      "list, not mlx5 numbers.{}",
      one_each ? "Each of the ranks shown has its own NIC" : "Ranks share a NIC",
      pairs,
      distinct.size(),
      ids.size(),
      missing.empty()
          ? ""
          : fmt::format(" Nothing can be said for local ranks {}.", fmt::join(missing, ", ")));
  finding.evidence.push_back({"line", first->source.text, place(s, first->source)});
  finding.action =
      "Print the device list beside it to name the NICs. No bandwidth statement follows.";
  findings.push_back(std::move(finding));
  if (!missing.empty()) {
    std::set<int> shown_alive;
    for (const int rank : missing) {
      if (alive.count(rank) != 0) shown_alive.insert(rank);
    }
    findings.push_back(
        Build("ranks-missing", Severity::kInfo, Confidence::kHigh, "device lines")
            .say(fmt::format("Local ranks {} have no device line{}; lines may be missing from the "
                             "paste: no sign of a dead rank.",
                             fmt::join(missing, ", "),
                             shown_alive.empty()
                                 ? std::string()
                                 : fmt::format(" ({} took part in bootstrap, so were alive)",
                                               fmt::join(shown_alive, ", ")))));
  }
}

}  // namespace

void judge_device_maps(const Situation& s, Findings& findings) {
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    shared_nics(s, file, findings);
    device_ids(s, file, findings);
  }
}

}  // namespace shunt::verdict::foreign
