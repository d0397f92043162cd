// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Link states of mlxlink, ibportstate and ibnetdiscover.
//   "mlxlink -d mlx5_2 -c", "Operational Info", "Speed  : IB-HDR", "Width : 4x", counters below
//   "# Port info: Lid 7 port 3", "LinkWidthActive:.....4X", "Peer PortInfo:"
//   "[5] "H-0002…"[1](2c9…)  # "node-a HCA-1" lid 9 4xHDR"
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "logs/links/speeds.hpp"
#include "logs/readers.hpp"
#include "logs/text.hpp"
#include "logs/words.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

/// "4x", "4X" → 4.
int lanes_of(std::string_view text) {
  const auto number = number_at(text, 0);
  const auto lanes = number ? index_of(*number) : std::nullopt;
  if (!lanes || *lanes > 12 || number->end >= text.size()) return 0;
  return to_lower(text[number->end]) == 'x' ? *lanes : 0;
}

/// "IB-HDR" on `lanes` lanes, "200GbE", "400G" → Gb/s.
std::optional<double> speed_gbit(std::string_view speed, int lanes) {
  if (starts_with_ci(speed, "IB-")) return named_gbit(lanes, speed.substr(3));
  const auto number = number_at(speed, 0);
  if (!number || number->value <= 0 || number->value > 3200) return std::nullopt;
  const std::string_view unit = speed.substr(number->end);
  return starts_with_ci(unit, "G") ? std::optional(number->value) : std::nullopt;
}

/// The fastest lane rate that a list like "(NDR,HDR,EDR)" names, for one lane; 0 if none.
double fastest_lane(std::string_view list) {
  double fastest = 0;
  for (const std::string_view word : split_words(list, "(),")) {
    fastest = std::max(fastest, named_gbit(1, word).value_or(0));
  }
  return fastest;
}

/// mlxlink's blocks of "key : value".
class MlxlinkReader {
 public:
  MlxlinkReader(const Document& document, Sink& sink) : document_(document), sink_(sink) {}

  void run() {
    for (std::size_t at = 0; at < document_.lines.size(); ++at) {
      const std::string_view text = document_.lines[at].text;
      if (text.empty() || sink_.claimed(at)) continue;
      if (const std::size_t d = text.find("-d "); contains_ci(text, "mlxlink") && d != kNone) {
        const auto words = split_space(text.substr(d + 3));
        if (!words.empty()) device_ = std::string(words.front());
        sink_.claim(at);
      } else if (equals_ci(text, "Operational Info")) {
        close();
        open_ = LinkFact{};
        open_->source = sink_.source(at);
        sink_.claim(at);
      } else if (open_ || contains_ci(text, "Physical Counters and BER")) {
        take_field(text, at);
      }
    }
    close();
  }

 private:
  void take_field(std::string_view text, std::size_t at) {
    static constexpr std::array<std::string_view, 5> kTitles{"Supported Info",
                                                             "Troubleshooting Info",
                                                             "Physical Counters and BER Info",
                                                             "Tool Information",
                                                             "Module Info"};
    for (const std::string_view title : kTitles) {
      if (equals_ci(text, title)) sink_.claim(at);
    }
    const std::size_t colon = text.find(':');
    if (colon == kNone || colon == 0 || colon > 48) return;
    const std::string key = lowered(trim(text.substr(0, colon)));
    const std::string_view value = trim(text.substr(colon + 1));
    if (!apply(key, value, at) && !known(key)) return;
    sink_.claim(at);
  }

  static bool known(std::string_view key) {
    static constexpr std::array<std::string_view, 12> kKnown{"physical state",
                                                             "fec",
                                                             "loopback mode",
                                                             "auto negotiation",
                                                             "status opcode",
                                                             "group opcode",
                                                             "recommendation",
                                                             "time since last clear [min]",
                                                             "effective physical ber",
                                                             "raw physical ber",
                                                             "symbol ber",
                                                             "raw physical errors per lane"};
    return std::ranges::find(kKnown, key) != kKnown.end();
  }

  bool apply(std::string_view key, std::string_view value, std::size_t at) {
    if (open_ && key == "state") {
      open_->state = lowered(value);
    } else if (open_ && key == "speed") {
      open_->speed = std::string(value);
    } else if (open_ && key == "width") {
      lanes_ = lanes_of(value);
    } else if (starts_with_ci(key, "enabled link speed")) {
      enabled_ = fastest_lane(value);
    } else if (starts_with_ci(key, "supported cable speed")) {
      cable_ = fastest_lane(value);
    } else {
      return take_counter(key, value, at);
    }
    return true;
  }

  bool take_counter(std::string_view key, std::string_view value, std::size_t at) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kCounters{
        {{"effective physical errors", "Effective Physical Errors"},
         {"symbol errors", "Symbol Errors"},
         {"link down counter", "Link Down Counter"},
         {"link error recovery counter", "Link Error Recovery Counter"}}};
    for (const auto& [name, printed] : kCounters) {
      const auto count = key == name ? parse_count(value) : std::nullopt;
      if (!count) continue;
      if (counters_.values.empty()) counters_.source = sink_.source(at);
      counters_.values.push_back({std::string(printed), *count, document_.lines[at].number});
      return true;
    }
    return false;
  }

  void close() {
    if (open_ && !open_->speed.empty()) {
      const int lanes = lanes_ > 0 ? lanes_ : 4;
      const bool infiniband = starts_with_ci(open_->speed, "IB-");
      open_->tool = "mlxlink";
      open_->owner = device_.empty() ? "port" : device_;
      open_->fabric = infiniband ? "InfiniBand" : "Ethernet";
      open_->gbit_per_s = speed_gbit(open_->speed, lanes);
      // Two lanes of HDR or NDR are what a split cable gives; one lane is nobody's design.
      const double lane = infiniband ? std::min(enabled_, cable_) : 0;
      const int full = lanes == 1 ? 4 : lanes;
      if (lane > 0) open_->possible_gbit_per_s = lane * full;
      if (lane <= 0 && infiniband && full > lanes) {
        open_->possible_gbit_per_s = speed_gbit(open_->speed, full);
      }
      if (lanes_ > 0) open_->speed = fmt::format("{}x {}", lanes_, open_->speed);
      sink_.recognised("mlxlink");
      sink_.evidence().links.push_back(std::move(*open_));
    }
    if (!counters_.values.empty()) {
      counters_.tool = "mlxlink";
      counters_.device = device_;
      sink_.recognised("mlxlink");
      sink_.evidence().counters.push_back(std::move(counters_));
    }
    counters_ = {};
    open_.reset();
    lanes_ = 0;
    enabled_ = 0;
    cable_ = 0;
  }

  const Document& document_;
  Sink& sink_;
  std::string device_;
  std::optional<LinkFact> open_;
  CounterFact counters_;
  int lanes_ = 0;
  double enabled_ = 0;  ///< Gb/s of one lane.
  double cable_ = 0;
};

/// ibportstate: one block an end; a link can do what both ends enable.
class PortStateReader {
 public:
  PortStateReader(const Document& document, Sink& sink) : document_(document), sink_(sink) {}

  void run() {
    for (std::size_t at = 0; at < document_.lines.size(); ++at) {
      const std::string_view text = document_.lines[at].text;
      if (text.empty() || sink_.claimed(at)) continue;
      if (contains_ci(text, "Peer PortInfo:")) {
        peer_ = true;
        sink_.claim(at);
      } else if (equals_ci(text, "PortInfo:") || contains_ci(text, "# Port info: Lid")) {
        take_title(text, at);
      } else if (open_) {
        take_field(text, at);
      }
    }
    close();
  }

 private:
  struct End {
    std::string name;
    int lanes = 0;
    int most_lanes = 0;
    double lane = 0;       ///< Signalling rate, Gb/s.
    double most_lane = 0;  ///< Fastest one that is enabled.
    std::string state;
    std::string physical;
    [[nodiscard]] double gbit() const { return infiniband_gbit(lanes, lane); }
    [[nodiscard]] double possible() const { return infiniband_gbit(most_lanes, most_lane); }
  };

  void take_title(std::string_view text, std::size_t at) {
    sink_.claim(at);
    if (equals_ci(text, "PortInfo:")) {
      close();
      return;
    }
    if (!peer_) close();
    const std::size_t lid = find_ci(text, "Lid");
    End& end = ends_[peer_ ? 1 : 0];
    end.name = lowered(trim(text.substr(lid)));
    if (!open_) source_ = sink_.source(at);
    open_ = true;
  }

  void take_field(std::string_view text, std::size_t at) {
    const std::size_t colon = text.find(':');
    if (colon == kNone || colon == 0 || colon > 40) return;
    const std::string_view key = text.substr(0, colon);
    std::string_view value = text.substr(colon + 1);
    while (!value.empty() && (value[0] == '.' || is_space(value[0]))) value.remove_prefix(1);
    if (!starts_with_ci(key, "Link") && !starts_with_ci(key, "PhysLink")) return;
    End& end = ends_[peer_ ? 1 : 0];
    if (equals_ci(key, "LinkState")) end.state = lowered(value);
    if (equals_ci(key, "PhysLinkState")) end.physical = lowered(value);
    if (equals_ci(key, "LinkWidthActive")) end.lanes = lanes_of(value);
    if (equals_ci(key, "LinkWidthEnabled")) {
      for (const std::string_view word : split_words(value)) {
        end.most_lanes = std::max(end.most_lanes, lanes_of(word));
      }
    }
    const bool extended = contains_ci(key, "Ext");
    if (starts_with_ci(key, "LinkSpeed")) {
      for (const Number& number : all_numbers(value)) {
        if (contains_ci(key, "Active") && number.value > 0 && (extended || end.lane == 0)) {
          end.lane = number.value;
        }
        if (contains_ci(key, "Enabled")) end.most_lane = std::max(end.most_lane, number.value);
      }
    }
    sink_.claim(at);
  }

  void close() {
    const End& local = ends_[0];
    const End& peer = ends_[1];
    const bool down = !local.state.empty() && local.state != "active";
    if (open_ && down) {
      // Width and speed of a port that is down are leftovers.
      LinkFact fact;
      fact.source = source_;
      fact.tool = "ibportstate";
      fact.kind = LinkKind::kPort;
      fact.owner = local.name;
      fact.fabric = "InfiniBand";
      fact.state = local.state;
      fact.physical = local.physical;
      sink_.recognised("ibportstate");
      sink_.evidence().links.push_back(std::move(fact));
    } else if (open_ && local.lanes > 0 && local.lane > 0) {
      LinkFact fact;
      fact.source = source_;
      fact.tool = "ibportstate";
      fact.kind = LinkKind::kCable;
      fact.owner = local.name;
      fact.peer = peer.name;
      fact.fabric = "InfiniBand";
      fact.state = local.state;
      fact.gbit_per_s = local.gbit();
      fact.speed = fmt::format("{}X {}", local.lanes, infiniband_name(local.lane));
      // The two ends of a cable run at one width: where they print two, the narrower one counts.
      if (peer.lanes > 0 && peer.lane > 0 && peer.gbit() < local.gbit()) {
        fact.gbit_per_s = peer.gbit();
        fact.speed = fmt::format("{}X {}", peer.lanes, infiniband_name(peer.lane));
      }
      if (local.possible() > 0 && peer.possible() > 0) {
        fact.possible_gbit_per_s = std::min(local.possible(), peer.possible());
      }
      sink_.recognised("ibportstate");
      sink_.evidence().links.push_back(std::move(fact));
    }
    ends_ = {};
    peer_ = false;
    open_ = false;
  }

  const Document& document_;
  Sink& sink_;
  Source source_;
  std::array<End, 2> ends_;
  bool peer_ = false;
  bool open_ = false;
};

/// ibnetdiscover: ports of a switch or adapter, one a line, the width and generation at its end.
void read_netdiscover(const Document& document, Sink& sink) {
  std::string owner;
  for (std::size_t at = 0; at < document.lines.size(); ++at) {
    const std::string_view text = document.lines[at].text;
    if (text.empty() || sink.claimed(at)) continue;
    const bool device = starts_with_ci(text, "Switch\t") || starts_with_ci(text, "Switch ") ||
                        starts_with_ci(text, "Ca\t") || starts_with_ci(text, "Ca ");
    const std::size_t comment = text.find('#');
    if (device && comment != kNone && text.find('"') < comment) {
      const std::size_t open = text.find('"', comment);
      const std::size_t close = open == kNone ? kNone : text.find('"', open + 1);
      owner = close == kNone ? "" : std::string(text.substr(open + 1, close - open - 1));
      sink.claim(at);
      continue;
    }
    // The port in brackets looks like a launcher's tag: the cleaner may have taken it for a rank.
    const bool bracket = text[0] == '[';
    const bool tagged = text[0] == '"' && document.lines[at].rank.has_value();
    if (!(bracket || tagged) || comment == kNone || text.find('"') > comment) continue;
    const auto words = split_space(text.substr(comment));
    const std::string_view last = words.back();
    const int lanes = lanes_of(last);
    const std::size_t cross = last.find_first_of("xX");
    const auto gbit = lanes > 0 ? named_gbit(lanes, last.substr(cross + 1)) : std::nullopt;
    const auto port = bracket ? number_at(text, 1) : std::nullopt;
    if (!gbit || (bracket && !port)) continue;
    LinkFact fact;
    fact.source = sink.source(at);
    fact.tool = "ibnetdiscover";
    fact.kind = LinkKind::kCable;
    fact.owner = owner;
    fact.number = port ? index_of(*port).value_or(0) : *document.lines[at].rank;
    fact.fabric = "InfiniBand";
    fact.state = "active";
    fact.gbit_per_s = gbit;
    fact.speed = fmt::format("{}X {}", lanes, last.substr(cross + 1));
    const std::size_t open = text.find('"', comment);
    const std::size_t close = open == kNone ? kNone : text.find('"', open + 1);
    if (close != kNone) fact.peer = std::string(text.substr(open + 1, close - open - 1));
    sink.claim(at);
    sink.recognised("ibnetdiscover");
    sink.evidence().links.push_back(std::move(fact));
  }
}

}  // namespace

void read_port_tools(const Document& document, Sink& sink) {
  MlxlinkReader(document, sink).run();
  PortStateReader(document, sink).run();
  read_netdiscover(document, sink);
}

}  // namespace shunt::logs
