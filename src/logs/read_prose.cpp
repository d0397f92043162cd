// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What people write around a paste: hardware names, "2 nodes", "400 Gb/s NIC", "put_bw 47 GB/s".
// Counts least of all origins.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "logs/facts.hpp"
#include "logs/ratings.hpp"
#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::size_t kLongestLine = 4096;

bool names_a_nic(std::string_view text) {
  static constexpr std::array<std::string_view, 22> kWords{
      "nic",  "nics", "rnic", "ib",           "infiniband", "roce",     "hca", "port",
      "link", "cx7",  "cx8",  "efa",          "ethernet",   "rail",     "ndr", "network",
      "hdr",  "edr",  "fdr",  "interconnect", "rdma",       "slingshot"};
  return find_rating(RatedPart::kNic, text) != nullptr ||
         std::ranges::any_of(kWords,
                             [&](std::string_view w) { return find_word_ci(text, w) != kNone; });
}

/// "two" … "eight" or a number that ends right before `at`.
std::optional<int> count_before(std::string_view text, std::size_t at) {
  if (at > 1 && text[at - 1] == '-' && text[at - 2] == '-') return std::nullopt;  // An option.
  for (;;) {
    if (at > 0 && (is_space(text[at - 1]) || text[at - 1] == '-' || text[at - 1] == 'x' ||
                   text[at - 1] == '*')) {
      --at;
    } else if (at > 1 && text.substr(at - 2, 2) == "\xC3\x97") {  // ×
      at -= 2;
    } else {
      break;
    }
  }
  std::size_t begin = at;
  while (begin > 0 && is_digit(text[begin - 1])) --begin;
  if (begin < at) {
    // "thor-2 NICs", "v1.2 nodes": part of a name.
    if (begin > 0 &&
        (is_alpha(text[begin - 1]) || text[begin - 1] == '.' || text[begin - 1] == '_' ||
         (text[begin - 1] == '-' && begin > 1 && is_alpha(text[begin - 2])))) {
      return std::nullopt;
    }
    const auto number = whole_number(text.substr(begin, at - begin));
    if (number && number->value >= 1 && number->value <= 4096) {
      return static_cast<int>(number->value);
    }
    return std::nullopt;
  }
  static constexpr std::array<std::string_view, 7> kWords{
      "two", "three", "four", "five", "six", "seven", "eight"};
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if (at >= kWords[i].size() &&
        equals_ci(text.substr(at - kWords[i].size(), kWords[i].size()), kWords[i])) {
      // "between two GPUs" speaks of any pair.
      const std::string_view before = trim(text.substr(0, at - kWords[i].size()));
      if (before.size() >= 7 && equals_ci(before.substr(before.size() - 7), "between")) {
        return std::nullopt;
      }
      return static_cast<int>(i) + 2;
    }
  }
  return std::nullopt;
}

/// "2*H20 nodes" counts the nodes, "8 x H20" the GPUs; a remark in brackets may stand between.
bool nodes_follow(std::string_view after) {
  after = trim(after);
  if (!after.empty() && after[0] == '(') {
    const std::size_t close = after.find(')');
    if (close == kNone) return false;
    after = trim(after.substr(close + 1));
  }
  return std::ranges::any_of(
      std::array<std::string_view, 4>{"node", "server", "machine", "host"},
      [after](std::string_view word) { return starts_with_ci(after, word); });
}

/// Where a vendor's and series' names in front of a GPU's model begin: "2× AMD Instinct MI355X".
std::size_t begin_of_name(std::string_view text, std::size_t at) {
  static constexpr std::array<std::string_view, 6> kNames{
      "NVIDIA", "AMD", "Instinct", "Tesla", "DGX", "HGX"};
  for (bool moved = true; moved;) {
    moved = false;
    const std::string_view before = trim(text.substr(0, at));
    for (const std::string_view name : kNames) {
      if (before.size() < name.size() ||
          !equals_ci(before.substr(before.size() - name.size()), name)) {
        continue;
      }
      at = static_cast<std::size_t>(before.data() - text.data()) + before.size() - name.size();
      moved = true;
    }
  }
  return at;
}

void read_parts(std::string_view text, std::size_t line, Sink& sink) {
  if (const Rated* gpu = find_rating(RatedPart::kGpu, text)) {
    sink.config(line, "gpu", gpu->name, Origin::kProse);
  }
  if (const Rated* nic = find_rating(RatedPart::kNic, text)) {
    sink.config(line, "nic", nic->name, Origin::kProse);
  }
  if (contains_ci(text, "FP8 dispatch")) sink.config(line, "dispatch_dtype", "fp8", Origin::kProse);
  if (const Rated* instance = find_rating(RatedPart::kInstance, text)) {
    sink.config(line, "instance", instance->name, Origin::kProse);
  }
  if (const Rated* pcie = find_rating(RatedPart::kPcie, text);
      pcie != nullptr && contains_ci(text, "pci")) {
    sink.config(line, "pcie", pcie->name, Origin::kProse);
  }
}

void read_counts(std::string_view text, std::size_t line, Sink& sink) {
  for (const std::string_view word : {"nodes", "node", "servers", "machines", "hosts"}) {
    std::size_t at = find_word_ci(text, word);
    // "8nodes" is glued to its count.
    if (const std::size_t glued = find_ci(text, word);
        at == kNone && glued != kNone && glued > 0 && is_digit(text[glued - 1])) {
      at = glued;
    }
    if (at == kNone) continue;
    const auto count = count_before(text, at);
    // "node 1" names a node; "1 node" and "2-node" count them.
    if (count && *count <= 512) {
      sink.config(line, "nodes", fmt::format("{}", *count), Origin::kProse);
      break;
    }
  }
  for (const std::string_view word : {"single node",
                                      "single-node",
                                      "single server",
                                      "single machine",
                                      "single host",
                                      "one server",
                                      "one machine"}) {
    if (find_word_ci(text, word) == kNone) continue;
    sink.config(line, "nodes", "1", Origin::kProse);
    break;
  }
  if (contains_ci(text, "dual node") || contains_ci(text, "dual-node")) {
    sink.config(line, "nodes", "2", Origin::kProse);
  }
  for (const std::string_view word : {"NICs",
                                      "HCAs",
                                      "RNICs",
                                      "IB cards",
                                      "IB NICs",
                                      "RDMA NICs",
                                      "network cards",
                                      "IB network cards",
                                      "IB per node",
                                      "IB per server",
                                      "NIC per node",
                                      "HCA per node"}) {
    const std::size_t at = find_word_ci(text, word);
    if (at == kNone) continue;
    if (const auto count = count_before(text, at); count && *count <= 32) {
      sink.config(line, "nics_per_node", fmt::format("{}", *count), Origin::kProse);
      break;
    }
  }
  for (const std::string_view word : {"GPUs", "ranks"}) {
    const std::size_t at = find_word_ci(text, word);
    if (at == kNone) continue;
    if (const auto count = count_before(text, at); count && *count > 1) {
      sink.config(
          line, *count > 8 ? "world" : "ranks_per_node", fmt::format("{}", *count), Origin::kProse);
    }
  }
  if (const Rated* gpu = find_rating(RatedPart::kGpu, text)) {
    for (const std::string_view spelling : split(gpu->spellings, '|')) {
      const std::size_t at = find_ci(text, spelling);
      if (at == kNone) continue;
      const auto count = count_before(text, begin_of_name(text, at));
      if (!count || *count < 2) continue;
      const bool nodes = nodes_follow(text.substr(at + spelling.size()));
      sink.config(line,
                  nodes        ? "nodes"
                  : *count > 8 ? "world"
                               : "ranks_per_node",
                  fmt::format("{}", *count),
                  Origin::kProse);
    }
  }
  for (std::size_t at = find_ci(text, "EP"); at != kNone; at = find_ci(text, "EP", at + 1)) {
    if (at > 0 && (is_alpha(text[at - 1]) || text[at - 1] == '_')) continue;
    const auto number = number_at(text, at + 2);
    if (number && number->begin <= at + 3 && number->decimals == 0 && number->value >= 2 &&
        number->value <= 4096) {
      sink.config(line, "world", fmt::format("{:.0f}", number->value), Origin::kProse);
    }
  }
}

bool is_port_rate(double gbit) {
  static constexpr std::array<double, 12> kRates{
      10, 25, 40, 50, 56, 100, 200, 400, 800, 1600, 3200, 6400};
  return std::ranges::find(kRates, gbit) != kRates.end();
}

/// "400 Gb/s", "400Gbps", "400G", "2x400G": a NIC's rate if the line is about NICs.
void read_rates(std::string_view text, std::size_t line, Sink& sink) {
  if (!names_a_nic(text)) return;
  for (const Number& number : all_numbers(text)) {
    std::string_view unit = text.substr(number.end);
    while (!unit.empty() && (is_space(unit[0]) || unit[0] == '-')) unit.remove_prefix(1);
    const bool spelled = starts_with_ci(unit, "gb/s") || starts_with_ci(unit, "gbps") ||
                         starts_with_ci(unit, "gbit") || starts_with_ci(unit, "gbe");
    const bool bytes = unit.substr(0, 4) == "GB/s" || unit.substr(0, 4) == "GBps";
    const bool short_form =
        !unit.empty() && (unit[0] == 'G' || unit[0] == 'g') &&
        (unit.size() == 1 || (!is_alpha(unit[1]) && unit[1] != '/') ||
         (unit.size() > 1 && unit[1] == 'b' && (unit.size() == 2 || !is_alpha(unit[2]))));
    // "400G/s" of a port means bits; below 100 it could be either.
    const bool sloppy = starts_with_ci(unit, "g/s") && number.value >= 100;
    if (bytes || !(spelled || short_form || sloppy) || !is_port_rate(number.value)) continue;
    // "4 x 400G": that many NICs.
    std::size_t before = number.begin;
    while (before > 0 && is_space(text[before - 1])) --before;
    const bool times = before > 0 && (text[before - 1] == 'x' || text[before - 1] == '*');
    const bool cross = before > 1 && text.substr(before - 2, 2) == "\xC3\x97";  // ×
    if (times || cross) {
      const auto count = count_before(text, before - (times ? 1 : 2));
      if (count && *count >= 2 && *count <= 32) {
        sink.config(line, "nics_per_node", fmt::format("{}", *count), Origin::kProse);
      }
    }
    // "3200 Gb/s per node" is eight GPUs' share; a port beyond 800 Gb/s does not exist.
    const bool node = number.value > 800;
    sink.config(
        line, node ? "node_rate" : "rate", fmt::format("{:g}", number.value / 8), Origin::kProse);
  }
  const Rated* link = find_rating(RatedPart::kLink, text);
  if (link != nullptr && sink.evidence().find("rate", sink.file()) == nullptr) {
    sink.config(line, "rate", fmt::format("{:g}", link->gbs), Origin::kProse);
  }
}

/// A rate that somebody measured on the bare link: "put_bw 47 GB/s", "fi_write ceiling 24.3 GB/s".
void read_ceiling(std::string_view text, std::size_t line, Sink& sink) {
  for (const std::string_view word :
       {"ceiling", "put_bw", "ib_write_bw", "fi_write", "ib_send_bw", "line rate"}) {
    const std::size_t at = find_ci(text, word);
    if (at == kNone) continue;
    for (const Number& number : all_numbers(text.substr(at))) {
      std::string_view unit = text.substr(at + number.end);
      while (!unit.empty() && is_space(unit[0])) unit.remove_prefix(1);
      // GB and Gb differ by eight: only the b's case tells.
      const bool bytes = unit.substr(0, 4) == "GB/s" || unit.substr(0, 4) == "GBps";
      const bool bits = unit.substr(0, 4) == "Gb/s" || unit.substr(0, 4) == "Gbps";
      if (!(bytes || bits) || number.value <= 0) continue;
      // "85 % of the line rate (341/400 Gb/s)": the rating itself, which nobody measured.
      if (bits && word == "line rate" && is_port_rate(number.value)) continue;
      const double gbs = bytes ? number.value : number.value / 8;
      sink.config(line, "ceiling", fmt::format("{:g}", gbs), Origin::kProse);
      return;
    }
  }
}

/// "I reach ~10GB/s with another library": one rate, reached, by other means than the paste's.
void read_claim(const std::string& text, std::size_t line, Sink& sink) {
  static constexpr std::array<std::string_view, 12> kReached{"reach",
                                                             "reached",
                                                             "get",
                                                             "got",
                                                             "achieve",
                                                             "achieved",
                                                             "see",
                                                             "saw",
                                                             "measure",
                                                             "measured",
                                                             "obtain",
                                                             "gives"};
  static constexpr std::array<std::string_view, 7> kMeans{
      "with", "using", "without", "when", "if", "via", "through"};
  // What should be is not what was.
  static constexpr std::array<std::string_view, 14> kNot{"expect",
                                                         "expected",
                                                         "should",
                                                         "shouldn't",
                                                         "theoretical",
                                                         "would",
                                                         "could",
                                                         "only",
                                                         "max",
                                                         "peak",
                                                         "rated",
                                                         "supposed",
                                                         "capable",
                                                         "up to"};
  const auto in = [&text](std::string_view word) { return find_word_ci(text, word) != kNone; };
  if (text.size() > 300 || text.back() == '?' || !std::ranges::any_of(kReached, in) ||
      !std::ranges::any_of(kMeans, in) || std::ranges::any_of(kNot, in)) {
    return;
  }
  std::optional<double> rate;
  for (const Number& number : all_numbers(text)) {
    std::string_view unit = text;
    unit.remove_prefix(number.end);
    while (!unit.empty() && is_space(unit[0])) unit.remove_prefix(1);
    const bool bytes = unit.substr(0, 4) == "GB/s" || unit.substr(0, 4) == "GBps";
    const bool bits = unit.substr(0, 4) == "Gb/s" || starts_with_ci(unit, "gbit") ||
                      (!bytes && starts_with_ci(unit, "gbps"));
    const bool mega = starts_with_ci(unit, "MB/s");
    if (!bytes && !bits && !mega) continue;
    if (rate) return;
    rate = number.value * (bytes ? 1.0 : bits ? 0.125 : 1e-3);
  }
  if (!rate || *rate <= 0 || *rate > 1e5) return;
  sink.evidence().claims.push_back({*rate, sink.source(line)});
  sink.claim(line);
}

}  // namespace

void read_prose(const Document& document, Sink& sink) {
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const Line& line = document.lines[i];
    if (line.text.empty() || line.text.size() > kLongestLine) continue;
    const bool heading = line.heading == static_cast<int>(i);
    if (sink.claimed(i) && !heading) {
      // A command may be quoted inside a sentence that counts nodes.
      if (contains_ci(line.text, ".py ")) read_counts(line.text, i, sink);
      continue;
    }
    const std::size_t before = sink.evidence().config.size();
    if (!sink.claimed(i)) read_fact_line(document, i, sink);
    read_parts(line.text, i, sink);
    read_counts(line.text, i, sink);
    read_rates(line.text, i, sink);
    read_ceiling(line.text, i, sink);
    if (!sink.claimed(i)) read_claim(line.text, i, sink);
    if (sink.evidence().config.size() > before) sink.claim(i);
  }
}

}  // namespace shunt::logs
