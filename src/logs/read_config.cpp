// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Settings found anywhere in the text: environment assignments, command lines, [config] lines of
// the tests. Sees claimed lines too: a command line may hold a record of its own.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::size_t kLongestLine = 16384;

struct Alias {
  std::string_view name;
  std::string_view key;
};

/// Environment variables, options and [config] words that mean a canonical key.
constexpr std::array<Alias, 50> kAliases{{
    {"num_tokens_per_rank", "tokens"},
    {"num_tokens", "tokens"},
    {"num-tokens", "tokens"},
    {"max-tokens", "tokens"},
    {"max_tokens", "tokens"},
    {"num_max_tokens_per_rank", "tokens"},
    {"tokens_per_rank", "tokens"},
    {"tokens-per-rank", "tokens"},
    {"num-tokens-per-rank", "tokens"},
    {"tokens", "tokens"},
    {"max_num_of_tokens_per_rank", "max_tokens"},
    {"hidden_dim", "hidden"},
    {"hidden-dim", "hidden"},
    {"hidden_size", "hidden"},
    {"hidden-size", "hidden"},
    {"hidden", "hidden"},
    {"topk", "topk"},
    {"top_k", "topk"},
    {"top-k", "topk"},
    {"num_topk", "topk"},
    {"num-topk", "topk"},
    {"num-experts-per-token", "topk"},
    {"num_experts_per_token", "topk"},
    {"num_experts", "experts"},
    {"num-experts", "experts"},
    {"experts", "experts"},
    {"num_local_experts", "local_experts"},
    {"num-local-experts", "local_experts"},
    {"num_experts_per_rank", "local_experts"},
    {"num_topk_groups", "topk_groups"},
    {"num-topk-groups", "topk_groups"},
    {"nnodes", "nodes"},
    {"num_nodes", "nodes"},
    {"num-nodes", "nodes"},
    {"slurm_nnodes", "nodes"},
    {"num-processes", "ranks_per_node"},
    {"num_processes", "ranks_per_node"},
    {"gpus-per-node", "ranks_per_node"},
    {"gpus_per_node", "ranks_per_node"},
    {"nproc_per_node", "nproc_per_node"},
    {"nproc-per-node", "nproc_per_node"},
    {"local_world_size", "ranks_per_node"},
    {"num_of_hybrid_ep_ranks_per_nvlink_domain", "ranks_per_node"},
    {"num_ranks", "world"},
    {"world_size", "world"},
    {"ep_size", "world"},
    {"dtype", "dtype"},
    {"num_sms", "sms"},
    {"num_sms_dispatch", "sms_dispatch"},
    {"num-qp", "qps"},
}};

std::string_view canonical(std::string_view name) {
  for (const Alias& alias : kAliases) {
    if (equals_ci(alias.name, name)) return alias.key;
  }
  return {};
}

bool is_name(char c) {
  return is_alpha(c) || is_digit(c) || c == '_' || c == '-';
}

bool looks_like_command(std::string_view text) {
  static constexpr std::array<std::string_view, 15> kWords{"mpirun",
                                                           "mpiexec",
                                                           "srun ",
                                                           "torchrun",
                                                           "python",
                                                           "python3",
                                                           "docker run",
                                                           "_perf -b",
                                                           "ib_write",
                                                           "ib_send_bw",
                                                           "ib_read",
                                                           "nvshmrun",
                                                           "sbatch",
                                                           "torch.distributed",
                                                           ".py --"};
  // A row of a table names tools, it does not run them.
  if (text.front() == '|') return false;
  return std::ranges::any_of(kWords, [&](std::string_view w) { return contains_ci(text, w); });
}

/// A value: quoted, or up to a separator.
std::string_view value_at(std::string_view text, std::size_t at, std::size_t& end) {
  while (at < text.size() && text[at] == ' ') ++at;
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) {
    const std::size_t close = text.find(text[at], at + 1);
    if (close != kNone) {
      end = close + 1;
      return text.substr(at + 1, close - at - 1);
    }
  }
  const std::size_t begin = at;
  while (at < text.size() && !is_space(text[at]) && text[at] != '"' && text[at] != '\'' &&
         text[at] != ';' && text[at] != ')') {
    ++at;
  }
  end = at;
  return text.substr(begin, at - begin);
}

class LineConfig {
 public:
  LineConfig(std::string_view text, std::size_t index, Sink& sink)
      : text_(text), index_(index), sink_(sink), command_(looks_like_command(text)) {}

  void read() {
    if (text_.find("[config]") != kNone) {
      read_pairs(Origin::kLog);
      sink_.claim(index_);
      return;
    }
    read_environ();
    const bool only = read_assignments();
    if (text_.find("--") != kNone || command_) read_options();
    if (command_) {
      sink_.config(index_, "command", text_, Origin::kCommandLine);
      sink_.claim(index_);
    } else if (only || environ_) {
      sink_.claim(index_);
    }
  }

 private:
  void take(std::string_view name, std::string_view value, Origin origin) {
    while (!value.empty() && value.back() == ',') value.remove_suffix(1);
    if (value.empty() || value.size() > 512 || value[0] == '$') return;
    const std::string_view key = canonical(name);
    if (key == "world" && equals_ci(name, "world_size") && nodes_meant()) {
      sink_.config(index_, "nodes", value, origin);
    } else if (key == "nproc_per_node") {
      // One launcher process a node that forks the rest says nothing about ranks.
      if (value != "1") sink_.config(index_, "ranks_per_node", value, origin);
    } else if (!key.empty()) {
      sink_.config(index_, key, value, origin);
    }
    sink_.config(index_, name, value, origin);
    if (name == "NCCL_IB_HCA" || name == "NVSHMEM_HCA_LIST" || name == "MORI_RDMA_DEVICES" ||
        name == "UCX_NET_DEVICES") {
      take_nic_list(value, origin);
    }
  }

  /// DeepEP's tests take WORLD_SIZE as the number of nodes.
  [[nodiscard]] bool nodes_meant() const {
    return contains_ci(text_, "tests/test_") || contains_ci(text_, "test_low_latency") ||
           contains_ci(text_, "test_internode") || contains_ci(text_, "test_hybrid");
  }

  void take_nic_list(std::string_view value, Origin origin) {
    while (!value.empty() && value[0] == '=') value.remove_prefix(1);
    if (value.empty() || value[0] == '^') return;
    std::vector<std::string_view> devices;
    for (std::string_view device : split(value, ',')) {
      device = device.substr(0, device.find(':'));
      if (device.empty() || !is_digit(device.back())) return;
      if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
    }
    if (devices.size() > 1) {
      sink_.config(index_, "nics_per_node", fmt::format("{}", devices.size()), origin);
    }
  }

  /// os.environ['K'] = 'V'
  void read_environ() {
    for (std::size_t at = text_.find("environ["); at != kNone;
         at = text_.find("environ[", at + 1)) {
      std::size_t end = 0;
      const std::string_view name = value_at(text_, at + 8, end);
      const std::size_t equals = text_.find('=', end);
      if (name.empty() || equals == kNone || equals + 1 >= text_.size()) continue;
      take(name, value_at(text_, equals + 1, end), Origin::kEnvironment);
      environ_ = true;
    }
  }

  /// K=V with an upper-case K; true if the line holds nothing else.
  bool read_assignments() {
    std::size_t taken = 0;
    for (std::size_t at = text_.find('='); at != kNone; at = text_.find('=', at + 1)) {
      std::size_t begin = at;
      while (begin > 0 && (is_name(text_[begin - 1]) && text_[begin - 1] != '-')) --begin;
      const std::string_view name = text_.substr(begin, at - begin);
      const bool upper = name.size() >= 3 && std::ranges::all_of(name, [](char c) {
                           return (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
                         });
      if (!upper || is_digit(name[0])) continue;
      if (begin > 0 && text_[begin - 1] == '-') continue;
      std::size_t end = 0;
      std::string_view value = value_at(text_, at + 1, end);
      if (value.empty() && end < text_.size()) continue;
      take(name, value, command_ ? Origin::kCommandLine : Origin::kEnvironment);
      taken += end - begin;
      at = end > at ? end - 1 : at;
    }
    std::size_t other = 0;
    for (const char c : text_) {
      if (!is_space(c) && c != '"' && c != '\'' && c != ',' && c != '\\' && c != ';') ++other;
    }
    if (starts_with_ci(text_, "export ")) taken += 6;
    if (starts_with_ci(text_, "-x ") || starts_with_ci(text_, "-e ")) taken += 2;
    return taken > 0 && other <= taken + 2;
  }

  /// --flag value, --flag=value, and the short ones of mpirun and the benchmarks.
  void read_options() {
    for (std::size_t at = text_.find('-'); at != kNone; at = text_.find('-', at + 1)) {
      if (at > 0 && !is_space(text_[at - 1])) continue;
      std::size_t begin = at;
      while (begin < text_.size() && text_[begin] == '-') ++begin;
      std::size_t end = begin;
      while (end < text_.size() && is_name(text_[end])) ++end;
      const std::string_view name = text_.substr(begin, end - begin);
      if (name.empty() || end >= text_.size() || !(text_[end] == '=' || text_[end] == ' ')) {
        at = end > at ? end - 1 : at;
        continue;
      }
      std::size_t after = 0;
      const std::string_view value = value_at(text_, end + 1, after);
      if (begin - at == 2) {
        if (!value.empty() && value[0] != '-') take(name, value, Origin::kCommandLine);
      } else if (command_) {
        take_short(name, value, at);
      }
      at = end - 1;
    }
  }

  void take_short(std::string_view name, std::string_view value, std::size_t at) {
    // Behind the program's name -n is the program's own (iterations).
    const bool launcher = text_.substr(0, at).find("_perf") == kNone;
    const auto number = whole_number(value);
    if (!number) return;
    if (name == "np" || (name == "n" && launcher && contains_ci(text_, "mpi"))) {
      sink_.config(index_, "processes", value, Origin::kCommandLine);
    } else if (name == "g" && contains_ci(text_, "_perf")) {
      sink_.config(index_, "gpus_per_process", value, Origin::kCommandLine);
    } else if (name == "N" && contains_ci(text_, "srun")) {
      sink_.config(index_, "nodes", value, Origin::kCommandLine);
    }
  }

  /// "[config] num_tokens=4096, hidden=7168, num_topk_groups=2, num_topk=8"
  void read_pairs(Origin origin) {
    for (const std::string_view piece : split(text_.substr(text_.find("[config]") + 8), ',')) {
      const std::size_t equals = piece.find('=');
      if (equals == kNone) continue;
      take(trim(piece.substr(0, equals)), trim(piece.substr(equals + 1)), origin);
    }
  }

  std::string_view text_;
  std::size_t index_;
  Sink& sink_;
  bool command_;
  bool environ_ = false;
};

}  // namespace

void read_config(const Document& document, Sink& sink) {
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const std::string_view text = document.lines[i].text;
    if (text.size() > kLongestLine) continue;
    if (text.find('=') == kNone && text.find('-') == kNone) continue;
    LineConfig(text, i, sink).read();
  }
}

}  // namespace shunt::logs
