// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// NCCL_DEBUG=INFO output of NCCL, RCCL and their plugins: which network was chosen, over which
// devices, whether with GPUDirect, and what was set in the environment.
//   host:pid:tid [dev] NCCL INFO Channel 00/0 : 1[17000] -> 0[17000] [receive] via NET/IB/0/GDRDMA
//   host:pid:tid [dev] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:…
// Lines that carry nothing of this kind are claimed: they are known, and silent on performance.
#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

class NcclInfo {
 public:
  NcclInfo(const Document& document, Sink& sink) : document_(document), sink_(sink) {}

  void read() {
    for (std::size_t i = 0; i < document_.lines.size(); ++i) {
      const std::string_view text = document_.lines[i].text;
      if (sink_.claimed(i) || text.empty()) continue;
      if (const std::size_t version = text.find("NCCL version "); version != kNone) {
        read_version(i, text.substr(version + 13));
      } else if (const std::size_t info = text.find("NCCL INFO"); info != kNone) {
        sink_.recognised("NCCL INFO");
        read_info(i, trim(text.substr(info + 9)));
        sink_.claim(i);
      }
    }
    if (ranks_ > 1) {
      sink_.config(ranks_line_, "world", fmt::format("{}", ranks_), Origin::kLog);
    }
    if (devices_ > 1) {
      sink_.config(devices_line_, "nics_per_node", fmt::format("{}", devices_), Origin::kLog);
    }
  }

 private:
  /// Every rank and channel prints the same: once is enough.
  void map(std::size_t i, std::string_view kind, std::string_view value) {
    if (!seen_.emplace(fmt::format("{} {}", kind, value)).second) return;
    Mapping mapping;
    mapping.kind = std::string(kind);
    mapping.value = std::string(value.substr(0, 120));
    sink_.add(i, std::move(mapping));
  }

  static std::string_view after(std::string_view text, std::string_view key) {
    const std::size_t at = find_ci(text, key);
    return at == kNone ? std::string_view{} : trim(text.substr(at + key.size()));
  }

  void read_version(std::size_t i, std::string_view rest) {
    const auto words = split_space(rest);
    if (words.empty() || !is_digit(words.front()[0])) return;
    sink_.config(i, "nccl_version", words.front(), Origin::kLog);
    sink_.claim(i);
  }

  void read_info(std::size_t i, std::string_view text) {
    if (read_channel(i, text)) return;
    if (starts_with_ci(text, "NET/IB") && contains_ci(text, "No device found")) {
      map(i, "nccl-no-ib", "NET/IB : No device found");
    } else if (contains_ci(text, "GPU Direct RDMA") && contains_ci(text, "disabled")) {
      map(i, "nccl-gdr-off", text);
    } else if (starts_with_ci(text, "NET/") && contains_ci(text, "Using [")) {
      read_devices(i, text);
    } else if (const auto network = after(text, "Using network "); !network.empty()) {
      map(i, "nccl-network", network);
    } else if (const auto provider = after(text, "Selected provider is "); !provider.empty()) {
      map(i, "nccl-network", trim(provider.substr(0, provider.find(','))));
    } else if (const auto value = after(text, " set by environment to "); !value.empty()) {
      read_environment(i, text.substr(0, text.find(" set by environment")), value);
    } else if (starts_with_ci(text, "=== System")) {
      map(i, "nccl-system", text);
    } else if (const auto ranks = number_after(text, "nranks ")) {
      // Several communicators: the widest one is the job.
      const int count = index_of(*ranks).value_or(0);
      if (count > ranks_) {
        ranks_ = count;
        ranks_line_ = i;
      }
    }
  }

  /// "Channel 02/0 : 0[0] -> 1[0] [send] via NET/IB/4", "Ring 00 : 7 -> 0 [receive] via NET/IB/0",
  /// "Channel 06/0 : 0[0] -> 7[7] via P2P/CUMEM", "… via SHM/direct/direct"
  bool read_channel(std::size_t i, std::string_view text) {
    const std::size_t via = text.find(" via ");
    if (via == kNone || text.find("->") == kNone) return false;
    const auto words = split_space(text.substr(via + 5));
    if (words.empty()) return false;
    const std::string_view path = words.front();
    if (starts_with_ci(path, "NET/")) {
      map(i, "nccl-net", path);
    } else if (starts_with_ci(path, "P2P") || starts_with_ci(path, "SHM")) {
      map(i, "nccl-peer", path.substr(0, path.find('/')));
    } else if (path == "direct" && words.size() > 2 && equals_ci(words[1], "shared")) {
      map(i, "nccl-peer", "SHM");
    } else {
      return false;
    }
    return true;
  }

  /// "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB ib0:192.0.2.1<0>"; sockets print no fabric.
  void read_devices(std::size_t i, std::string_view text) {
    const bool ib = starts_with_ci(text, "NET/IB");
    const std::string_view list = text.substr(0, text.find(';'));
    int count = 0;
    for (std::size_t at = list.find('['); at != kNone; at = list.find('[', at + 1)) {
      const auto number = number_at(list, at + 1);
      const std::size_t close = list.find(']', at);
      if (close == kNone || !number || number->end != close) continue;
      const auto words = split_space(list.substr(close + 1));
      if (words.empty() || words.front()[0] == '[') continue;
      map(i, ib ? "nccl-hca" : "nccl-interface", ib ? words.front() : interface_of(words.front()));
      ++count;
    }
    if (ib && count > devices_) {
      devices_ = count;
      devices_line_ = i;
    }
  }

  /// "eth0:192.0.2.1<0>" without its address.
  static std::string_view interface_of(std::string_view word) {
    return word.substr(0, word.find(':'));
  }

  void read_environment(std::size_t i, std::string_view name, std::string_view value) {
    const std::size_t space = name.rfind(' ');
    if (space != kNone) name = name.substr(space + 1);
    value = trim(value);
    while (!value.empty() && value.back() == '.') value.remove_suffix(1);
    if (name.empty() || value.empty()) return;
    sink_.config(i, name, value, Origin::kEnvironment);
  }

  const Document& document_;
  Sink& sink_;
  std::unordered_set<std::string> seen_;
  int ranks_ = 0;
  std::size_t ranks_line_ = 0;
  int devices_ = 0;
  std::size_t devices_line_ = 0;
};

}  // namespace

void read_nccl_info(const Document& document, Sink& sink) {
  NcclInfo(document, sink).read();
}

}  // namespace shunt::logs
