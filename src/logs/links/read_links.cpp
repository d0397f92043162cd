// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "logs/links/speeds.hpp"
#include "logs/readers.hpp"
#include "logs/text.hpp"
#include "logs/topology/labels.hpp"
#include "logs/words.hpp"

namespace shunt::logs {
namespace {

/// "PORT_ACTIVE (4)", "4: ACTIVE", "Active" → "active".
std::string state_word(std::string_view text) {
  for (const std::string_view word : split_words(text, "():")) {
    if (!is_alpha(word.front())) continue;
    const std::string low = lowered(word);
    return low.substr(0, 5) == "port_" ? low.substr(5) : low;
  }
  return {};
}

/// The text between the first pair of single quotes.
std::string quoted(std::string_view text) {
  const std::size_t open = text.find('\'');
  const std::size_t close = open == std::string_view::npos ? open : text.find('\'', open + 1);
  return close == std::string_view::npos ? std::string()
                                         : std::string(text.substr(open + 1, close - open - 1));
}

struct KeyValue {
  std::string key;
  std::string_view value;
};

std::optional<KeyValue> key_value(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > 40) return std::nullopt;
  return KeyValue{lowered(trim(text.substr(0, colon))), trim(text.substr(colon + 1))};
}

/// ibstat, ibstatus, ibv_devinfo, ethtool, nvidia-smi nvlink: a device's title, then its fields.
class LinkReader {
 public:
  LinkReader(const Document& document, Sink& sink) : document_(document), sink_(sink) {}

  void run() {
    for (std::size_t at = 0; at < document_.lines.size(); ++at) {
      const std::string& text = document_.lines[at].text;
      if (text.empty() || sink_.claimed(at)) continue;
      if (take_title(text, at) || take_one_line(text, at) || take_cable(at) ||
          take_nvlink(text, at) || take_pcie(text, at)) {
        continue;
      }
      take_field(text, at);
    }
    close();
  }

 private:
  bool take_title(std::string_view text, std::size_t at) {
    LinkFact fact;
    if (text.substr(0, 4) == "CA '") {
      fact.tool = "ibstat";
      fact.owner = quoted(text);
    } else if (starts_with_ci(text, "infiniband device '")) {
      fact.tool = "ibstatus";
      fact.owner = quoted(text);
      if (const auto port = number_after(text, " port ")) {
        fact.number = index_of(*port).value_or(0);
      }
    } else if (starts_with_ci(text, "hca_id:")) {
      fact.tool = "ibv_devinfo";
      fact.owner = std::string(trim(text.substr(7)));
    } else if (starts_with_ci(text, "settings for ") && text.back() == ':') {
      fact.tool = "ethtool";
      fact.owner = std::string(text.substr(13, text.size() - 14));
      fact.netdev = fact.owner;
      fact.fabric = "Ethernet";
    } else {
      return false;
    }
    open(std::move(fact), at);
    return true;
  }

  void open(LinkFact fact, std::size_t at) {
    close();
    sink_.claim(at);
    fact.source = sink_.source(at);
    open_ = std::move(fact);
    told_ = false;
    last_field_ = at;
  }

  void close() {
    if (open_ && told_) {
      sink_.recognised(open_->tool);
      sink_.evidence().links.push_back(std::move(*open_));
    }
    open_.reset();
  }

  void take_field(std::string_view text, std::size_t at) {
    // Fields stand right under their title; what comes later belongs to something else.
    if (!open_ || at > last_field_ + 24) return;
    const auto field = key_value(text);
    if (!field) return;
    if (apply(*field)) {
      sink_.claim(at);
      last_field_ = at;
    }
  }

  bool apply(const KeyValue& field) {
    const std::string& key = field.key;
    if (key == "port guid") return true;
    if (key.substr(0, 5) == "port " || key == "port") {
      return next_port(key == "port" ? field.value : std::string_view(key).substr(5));
    }
    if (key == "state") return told(open_->state, state_word(field.value));
    if (key == "physical state" || key == "phys state" || key == "phys_state") {
      open_->physical = state_word(field.value);
      return true;
    }
    if (key == "link detected") return told(open_->state, field.value == "yes" ? "up" : "down");
    if (key == "link layer" || key == "link_layer") return told(open_->fabric, field.value);
    if (key == "rate" || key == "speed" || key == "active_speed") {
      // ibv_devinfo prints the lane's rate; its width stands on a line of its own.
      if (key == "active_speed") return told(open_->speed, field.value);
      open_->gbit_per_s = printed_gbit(field.value);
      told_ = true;
      const std::size_t open = field.value.find('(');
      if (open != std::string_view::npos) {
        open_->speed = std::string(split(field.value.substr(open + 1), ')').front());
      }
      return true;
    }
    if (key == "ca type" || key == "vendor_part_id") {
      if (open_->model.empty()) open_->model = std::string(field.value);
      return true;
    }
    static constexpr std::string_view kPlain[] = {
        "number of ports",  "firmware version", "hardware version",
        "node guid",        "node_guid",        "system image guid",
        "sys_image_guid",   "base lid",         "lmc",
        "sm lid",           "capability mask",  "default gid",
        "transport",        "fw_ver",           "vendor_id",
        "hw_ver",           "board_id",         "phys_port_cnt",
        "max_mtu",          "active_mtu",       "sm_lid",
        "port_lid",         "port_lmc",         "duplex",
        "auto-negotiation", "port_cap_flags",   "active_width",
        "sm lid",           "base lid"};
    for (const std::string_view known : kPlain) {
      if (key == known) return true;
    }
    return false;
  }

  bool told(std::string& place, std::string_view value) {
    place = std::string(value);
    told_ = true;
    return true;
  }

  bool next_port(std::string_view number) {
    const auto port = whole_number(trim(number));
    if (!port || port->value < 1 || port->value > 255) return false;
    if (told_) {
      LinkFact next;
      next.tool = open_->tool;
      next.owner = open_->owner;
      next.model = open_->model;
      next.source = open_->source;
      const std::size_t at = last_field_;
      close();
      open_ = std::move(next);
      told_ = false;
      last_field_ = at;
    }
    open_->number = index_of(*port).value_or(0);
    return true;
  }

  /// "mlx5_0 port 1 ==> eth0 (Up)"; "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev
  /// eth0";
  /// ".../mlx5_0/ports/1/rate:400 Gb/sec (4X NDR)".
  bool take_one_line(std::string_view text, std::size_t at) {
    const auto words = split_words(text);
    LinkFact fact;
    if (words.size() >= 6 && words[1] == "port" && words[3] == "==>") {
      fact.tool = "ibdev2netdev";
      fact.owner = std::string(words[0]);
      fact.number = small_count(words[2]).value_or(1);
      fact.netdev = std::string(words[4]);
      fact.state = state_word(words[5]);
    } else if (words.size() >= 4 && words[0] == "link" && words[2] == "state") {
      const auto parts = split(words[1], '/');
      fact.tool = "rdma link";
      fact.owner = std::string(parts.front());
      fact.number = parts.size() > 1 ? small_count(parts[1]).value_or(1) : 1;
      fact.state = lowered(words[3]);
      for (std::size_t i = 4; i + 1 < words.size(); ++i) {
        if (words[i] == "netdev") fact.netdev = std::string(words[i + 1]);
      }
    } else if (const std::size_t ports = text.find("/ports/"); ports != std::string_view::npos) {
      const std::size_t rate = text.find("/rate:", ports);
      if (rate == std::string_view::npos) return false;
      const std::size_t slash = text.rfind('/', ports - 1);
      fact.tool = "sysfs";
      fact.owner = std::string(text.substr(slash + 1, ports - slash - 1));
      fact.number = small_count(text.substr(ports + 7, rate - ports - 7)).value_or(1);
      fact.gbit_per_s = printed_gbit(text.substr(rate + 6));
    } else {
      return false;
    }
    return push(std::move(fact), at);
  }

  bool push(LinkFact fact, std::size_t at) {
    close();
    sink_.claim(at);
    fact.source = sink_.source(at);
    sink_.recognised(fact.tool);
    sink_.evidence().links.push_back(std::move(fact));
    return true;
  }

  /// iblinkinfo: `… 3 1[ ] ==( 4X 25.78125 Gbps Active/ LinkUp)==> 1 1[ ] "host HCA-1" ( )`.
  bool take_cable(std::size_t at) {
    const std::string& text = document_.lines[at].text;
    const std::size_t open = text.find("==(");
    const std::size_t close = text.find(")==>");
    if (open == std::string::npos) {
      if ((text.substr(0, 4) == "CA: " || text.substr(0, 8) == "Switch: " ||
           text.substr(0, 8) == "Switch 0") &&
          text.back() == ':') {
        cable_owner_ = text.substr(0, text.size() - 1);
        sink_.claim(at);
        return true;
      }
      return false;
    }
    if (close == std::string::npos || close < open) {
      sink_.truncated(at, "iblinkinfo");
      return true;
    }
    LinkFact fact;
    fact.tool = "iblinkinfo";
    fact.kind = LinkKind::kCable;
    fact.owner = cable_owner_;
    fact.fabric = "InfiniBand";
    fill_cable(fact,
               std::string_view(text).substr(open + 3, close - open - 3),
               std::string_view(text).substr(close + 4));
    const auto before = split_words(std::string_view(text).substr(0, open), "[]");
    if (!before.empty()) fact.number = small_count(before.back()).value_or(0);
    return push(std::move(fact), at);
  }

  static void fill_cable(LinkFact& fact, std::string_view inside, std::string_view after) {
    const auto words = split_words(inside, "/");
    std::size_t next = 0;
    int lanes = 0;
    if (words.size() >= 3 && words[0].back() == 'X') {
      lanes = small_count(words[0].substr(0, words[0].size() - 1)).value_or(0);
      if (const auto lane = whole_number(words[1])) {
        fact.gbit_per_s = infiniband_gbit(lanes, lane->value);
        fact.speed = fmt::format("{} {}", words[0], infiniband_name(lane->value));
      }
      next = 3;
    }
    fact.state = next < words.size() ? lowered(words[next]) : std::string();
    const std::size_t quote = after.find('"');
    const std::size_t end = quote == std::string_view::npos ? quote : after.find('"', quote + 1);
    if (end != std::string_view::npos) {
      fact.peer = std::string(after.substr(quote + 1, end - quote - 1));
    }
    if (const auto could = number_after(after, "Could be ")) {
      // "Could be 53.125 Gbps" names a lane rate, "Could be 4X" a width.
      const bool width = could->end < after.size() && after[could->end] == 'X';
      if (!width && lanes > 0) fact.possible_gbit_per_s = infiniband_gbit(lanes, could->value);
      if (width && lanes > 0 && fact.gbit_per_s) {
        fact.possible_gbit_per_s = *fact.gbit_per_s / lanes * could->value;
      }
    }
  }

  /// "Link 4: 26.562 GB/s", "Link 4: <inactive>", also behind a health check's words.
  bool take_nvlink(std::string_view text, std::size_t at) {
    if (text.substr(0, 4) == "GPU " && find_ci(text, "(uuid") != std::string_view::npos) {
      gpu_ = std::string(text.substr(0, text.find(':')));
      const std::size_t colon = text.find(':');
      const std::size_t uuid = find_ci(text, "(uuid");
      gpu_model_ = colon < uuid ? std::string(trim(text.substr(colon + 1, uuid - colon - 1))) : "";
      sink_.claim(at);
      return true;
    }
    if (const auto gpu = number_after(text, "check_nvlink_status: GPU ")) {
      gpu_ = fmt::format("GPU {}", index_of(*gpu).value_or(0));
      gpu_model_.clear();
      checked_ = true;
    }
    if (take_gpu_test(text, at)) return true;
    const std::size_t link = text.find("Link ");
    if (link == std::string_view::npos || gpu_.empty() || (link > 0 && !checked_)) return false;
    const auto number = number_at(text, link + 5);
    if (!number || number->end >= text.size() || text[number->end] != ':') return false;
    const std::string_view value = trim(text.substr(number->end + 1));
    LinkFact fact;
    fact.tool = checked_ ? "health check" : "nvidia-smi nvlink -s";
    fact.kind = LinkKind::kNvlink;
    fact.owner = gpu_;
    fact.model = gpu_model_;
    fact.number = index_of(*number).value_or(0);
    if (contains_ci(value, "inactive")) {
      fact.state = "inactive";
    } else if (const auto rate = number_at(value, 0); rate && contains(value, "GB/s")) {
      fact.state = "active";
      fact.gb_per_s = rate->value;
    } else {
      return false;
    }
    return push(std::move(fact), at);
  }

  /// "P2P test on GPU 1 to GPU 0 failed. Bandwidth 256.63 is less than 335."
  bool take_gpu_test(std::string_view text, std::size_t at) {
    const auto from = number_after(text, "P2P test on GPU ");
    const auto rate = number_after(text, "Bandwidth ");
    const auto expected = number_after(text, "is less than ");
    if (!from || !rate || !expected) return false;
    const auto to = number_after(text, "to GPU ");
    LinkFact fact;
    fact.tool = "health check";
    fact.kind = LinkKind::kGpuTest;
    fact.owner = fmt::format("GPU {}", index_of(*from).value_or(0));
    fact.peer = to ? fmt::format("GPU {}", index_of(*to).value_or(0)) : "";
    fact.gb_per_s = rate->value;
    fact.expected_gb_per_s = expected->value;
    return push(std::move(fact), at);
  }

  /// lspci: "LnkSta: Speed 16GT/s (downgraded), Width x8 (downgraded)" after its LnkCap.
  bool take_pcie(std::string_view text, std::size_t at) {
    const bool capability = starts_with_ci(text, "LnkCap:");
    if (!capability && !starts_with_ci(text, "LnkSta:")) {
      const auto words = split_words(text);
      if (words.size() > 2 && words[0].size() >= 7 && words[0][words[0].size() - 2] == '.' &&
          contains(words[0], ":")) {
        pcie_device_ = std::string(words[0]);
      }
      return false;
    }
    const auto speed = number_after(text, "Speed ", "GT/s");
    const auto width = number_after(text, "Width x");
    if (!speed || !width) return false;
    const double usable = pcie_gb_per_s(speed->value, index_of(*width).value_or(0)) * 8;
    if (capability) {
      pcie_possible_ = usable;
      sink_.claim(at);
      return true;
    }
    LinkFact fact;
    fact.tool = "lspci";
    fact.kind = LinkKind::kPcie;
    fact.owner = pcie_device_;
    fact.speed = fmt::format("{}GT/s x{}", speed->value, width->value);
    fact.gbit_per_s = usable;
    fact.possible_gbit_per_s = pcie_possible_;
    pcie_possible_.reset();
    return push(std::move(fact), at);
  }

  const Document& document_;
  Sink& sink_;
  std::optional<LinkFact> open_;
  bool told_ = false;
  std::size_t last_field_ = 0;
  std::string cable_owner_;
  std::string gpu_;
  std::string gpu_model_;
  bool checked_ = false;
  std::string pcie_device_;
  std::optional<double> pcie_possible_;
};

}  // namespace

void read_links(const Document& document, Sink& sink) {
  LinkReader(document, sink).run();
}

}  // namespace shunt::logs
