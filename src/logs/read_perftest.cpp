// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// perftest (ib_write_bw and kin): text tables in MB/sec, MiB/sec (both mean 2^20) or Gb/sec, and
// latency tables; the "key : value" block above them. OSU, UCX and UCCL sweeps of two columns.
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr double kMiB = 1048576.0 / 1e9;

Operation operation_of(std::string_view text) {
  if (contains_ci(text, "write")) return Operation::kWrite;
  if (contains_ci(text, "read")) return Operation::kRead;
  if (contains_ci(text, "send")) return Operation::kSend;
  return Operation::kUnknown;
}

class PerftestReader {
 public:
  PerftestReader(const Document& document, Sink& sink) : document_(document), sink_(sink) {}

  void read() {
    for (std::size_t i = 0; i < document_.lines.size(); ++i) {
      const Line& line = document_.lines[i];
      if (line.fence) continue;
      if (sink_.claimed(i) || line.text.empty()) {
        if (line.text.empty()) continue;
        unit_ = 0;
        continue;
      }
      read_line(i, line.text);
    }
    close();
  }

 private:
  void read_line(std::size_t i, std::string_view text) {
    if (contains_ci(text, "#bytes") && contains_ci(text, "#iterations")) {
      start_table(i, text);
      return;
    }
    if (unit_ > 0 || latency_) {
      if (read_row(i, text)) return;
      unit_ = 0;
      latency_ = false;
    }
    if (contains_ci(text, "RDMA_") || contains_ci(text, "Send BW Test") ||
        contains_ci(text, "BW Test") || contains_ci(text, "Latency Test")) {
      if (contains_ci(text, "Test")) {
        close();
        settings_.clear();
        tables_under_head_ = 0;
        if (gpu_memory_) settings_["memory"] = "GPU";
        gpu_memory_ = false;
        operation_ = operation_of(text);
        if (contains_ci(text, "Bidirectional")) settings_["bidirectional"] = "yes";
        sink_.recognised("perftest");
        sink_.claim(i);
        return;
      }
    }
    if (note_memory(i, text)) return;
    if (const std::size_t at = find_ci(text, "ib_"); at != kNone && contains_ci(text, "_bw")) {
      close();
      gpu_memory_ = contains_ci(text, "--use_cuda") || contains_ci(text, "--use_rocm");
      operation_ = operation_of(text.substr(at));
      if (const std::size_t d = text.find(" -d "); d != kNone) {
        settings_["device"] = std::string(split_space(text.substr(d + 4)).front());
      }
    }
    read_settings(i, text);
  }

  /// What perftest says while it takes GPU memory.
  bool note_memory(std::size_t i, std::string_view text) {
    static constexpr std::array<std::string_view, 10> kLines{"device name = [",
                                                             "initializing CUDA",
                                                             "Listing all CUDA devices",
                                                             "CUDA device ",
                                                             "Picking device No.",
                                                             "creating CUDA Ctx",
                                                             "making it the current CUDA Ctx",
                                                             "cuMemAlloc() of a",
                                                             "allocated GPU buffer",
                                                             "doesn't supports CUDA tests"};
    for (const std::string_view line : kLines) {
      if (!contains_ci(text, line)) continue;
      gpu_memory_ = true;
      // The model that it names is still to be read.
      if (contains_ci(text, "device name = [")) {
        sink_.claim_title(i);
        return true;
      }
      sink_.claim(i);
      return true;
    }
    return false;
  }

  /// A table without a head of its own: the words just above it, which say what is other than
  /// before.
  std::string words_above(std::size_t i) {
    constexpr std::size_t kShort = 60;
    for (std::size_t back = 1; back <= 3 && back <= i; ++back) {
      const Line& line = document_.lines[i - back];
      if (line.text.empty() || line.fence) continue;
      if (sink_.claimed(i - back) || line.text.size() > kShort) return {};
      const bool host = find_word_ci(line.text, "host") != kNone ||
                        find_word_ci(line.text, "cpu") != kNone ||
                        find_word_ci(line.text, "system memory") != kNone;
      const bool gpu = find_word_ci(line.text, "gpu") != kNone ||
                       find_word_ci(line.text, "cuda") != kNone ||
                       find_word_ci(line.text, "rocm") != kNone;
      if (host == gpu) return line.text;
      if (gpu) {
        settings_["memory"] = "GPU";
      } else {
        settings_.erase("memory");
      }
      sink_.claim_title(i - back);
      return line.text;
    }
    return {};
  }

  void start_table(std::size_t i, std::string_view text) {
    close();
    const bool first = tables_under_head_++ == 0;
    sweep_.group = first ? heading_of(document_, i) : words_above(i);
    unit_ = 0;
    latency_ = contains_ci(text, "t_avg") || contains_ci(text, "t_typical");
    if (contains_ci(text, "Gb/sec")) {
      unit_ = 1.0 / 8;
    } else if (contains_ci(text, "MB/sec") || contains_ci(text, "MiB/sec")) {
      unit_ = kMiB;
    }
    settings_["unit"] = contains_ci(text, "Gb/sec") ? "Gb/sec" : "MiB/sec";
    sweep_.source = sink_.source(i);
    sink_.recognised("perftest");
    sink_.claim(i);
  }

  bool read_row(std::size_t i, std::string_view text) {
    const auto tokens = split_space(text);
    if (tokens.empty() || !whole_number(tokens[0])) return false;
    std::vector<double> v;
    for (const std::string_view token : tokens) {
      const auto number = whole_number(token);
      if (!number) break;
      v.push_back(number->value);
    }
    const std::size_t needed = latency_ ? 6 : 4;
    if (v.size() < needed) {
      sink_.truncated(i, "perftest row");
      return true;
    }
    SweepRow row;
    row.size_bytes = v[0];
    row.iterations = v[1];
    if (latency_) {
      row.latency_us = v[5];
    } else {
      row.peak_gbs = v[2] * unit_;
      row.rate_gbs = v[3] * unit_;
      if (v.size() > 4) row.message_rate = v[4] * 1e6;
      // A last column that was cut reads as a smaller number: size · rate tells.
      if (v.size() > 4 && *row.rate_gbs > 0 && document_.lines[i].last &&
          std::fabs(v[4] * 1e6 * v[0] / (*row.rate_gbs * 1e9) - 1) > 0.05) {
        row.message_rate.reset();
      }
    }
    row.source = sink_.source(i);
    sink_.claim(i);
    sweep_.rows.push_back(std::move(row));
    return true;
  }

  /// "Number of qps   : 1            Transport type : IB"
  void read_settings(std::size_t i, std::string_view text) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kKeys{{
        {"Dual-port", "dual_port"},
        {"Device", "device"},
        {"Number of qps", "qps"},
        {"Transport type", "transport"},
        {"Connection type", "connection"},
        {"Mtu", "mtu"},
        {"Link type", "link_type"},
        {"TX depth", "tx_depth"},
        {"GID index", "gid_index"},
    }};
    static constexpr std::array<std::string_view, 15> kKnown{"Using SRQ",
                                                             "Post List",
                                                             "PCIe relax",
                                                             "ibv_wr",
                                                             "CQ Moderation",
                                                             "Outstand reads",
                                                             "rdma_cm",
                                                             "Data ex.",
                                                             "local address",
                                                             "remote address",
                                                             "GID:",
                                                             "Max inline",
                                                             "Using DDP",
                                                             "Waiting for client",
                                                             "Conflicting CPU frequency"};
    bool any = false;
    for (const auto& [name, key] : kKeys) {
      const std::size_t at = find_ci(text, name);
      if (at == kNone) continue;
      const std::string_view rest = trim(text.substr(at + name.size()));
      if (rest.empty() || rest[0] != ':') continue;
      const auto words = split_space(rest.substr(1));
      if (words.empty()) continue;
      settings_[std::string(key)] = std::string(words.front());
      any = true;
    }
    for (const std::string_view known : kKnown) any = any || contains_ci(text, known);
    if (any && (contains_ci(text, ":") || contains_ci(text, "Waiting"))) sink_.claim(i);
  }

  void close() {
    if (!sweep_.rows.empty()) {
      sweep_.format = "perftest";
      sweep_.operation = operation_;
      sweep_.path = Path::kWire;
      sweep_.settings = settings_;
      sink_.add(std::move(sweep_));
    }
    sweep_ = {};
  }

  const Document& document_;
  Sink& sink_;
  Sweep sweep_;
  std::map<std::string, std::string> settings_;
  Operation operation_ = Operation::kUnknown;
  double unit_ = 0;
  bool latency_ = false;
  bool gpu_memory_ = false;  ///< The next test moves GPU memory.
  int tables_under_head_ = 0;
};

/// OSU: "# OSU MPI Bandwidth Test v5.7", "# Size      Bandwidth (MB/s)", rows of two numbers.
class OsuReader {
 public:
  OsuReader(const Document& document, Sink& sink) : document_(document), sink_(sink) {}

  void read() {
    for (std::size_t i = 0; i < document_.lines.size(); ++i) {
      const std::string_view text = document_.lines[i].text;
      if (sink_.claimed(i) || text.empty()) continue;
      if (text[0] == '#') {
        if (contains_ci(text, "OSU ")) {
          close();
          title_ = std::string(trim(text.substr(1)));
          buffers_.clear();
          sink_.recognised("OSU micro-benchmark");
          sink_.claim(i);
        } else if (!title_.empty() && contains_ci(text, "Send Buffer on ")) {
          buffers_ = buffers_of(text);
          sink_.claim(i);
        } else if (!title_.empty() && contains_ci(text, "size")) {
          bandwidth_ = contains_ci(text, "Bandwidth");
          started_ = true;
          sweep_.source = sink_.source(i);
          sink_.claim(i);
        }
        continue;
      }
      if (started_) read_row(i, text);
    }
    close();
  }

 private:
  /// "Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)" → "device → host".
  static std::string buffers_of(std::string_view text) {
    const auto side = [&](std::string_view key) {
      const std::size_t at = find_ci(text, key);
      const auto words =
          at == kNone ? std::vector<std::string_view>{} : split_space(text.substr(at + key.size()));
      return words.empty() ? std::string() : lowered(words.front());
    };
    return fmt::format("{} → {}", side("Send Buffer on "), side("Receive Buffer on "));
  }

  void read_row(std::size_t i, std::string_view text) {
    const auto tokens = split_space(text);
    const auto size = whole_number(tokens[0]);
    const auto value = tokens.size() >= 2 ? whole_number(tokens[1]) : std::nullopt;
    if (!size || !value) {
      if (size) sink_.truncated(i, "OSU row");
      close();
      return;
    }
    SweepRow row;
    row.size_bytes = size->value;
    if (bandwidth_) {
      row.rate_gbs = value->value / 1e3;
    } else {
      row.latency_us = value->value;
    }
    row.source = sink_.source(i);
    sink_.claim(i);
    sweep_.rows.push_back(std::move(row));
  }

  void close() {
    if (!sweep_.rows.empty()) {
      sweep_.format = "osu";
      sweep_.title = buffers_.empty() ? title_ : fmt::format("{}, {}", title_, buffers_);
      if (!buffers_.empty()) sweep_.settings["buffers"] = buffers_;
      sweep_.path = Path::kWire;
      sweep_.operation = Operation::kSend;
      if (contains_ci(title_, "alltoall")) sweep_.operation = Operation::kAllToAll;
      if (contains_ci(title_, "allreduce")) sweep_.operation = Operation::kAllReduce;
      if (contains_ci(title_, "put")) sweep_.operation = Operation::kPut;
      if (contains_ci(title_, "get")) sweep_.operation = Operation::kGet;
      if (contains_ci(title_, "bi-dir") || contains_ci(title_, "bibw")) {
        sweep_.settings["bidirectional"] = "yes";
      }
      sink_.add(std::move(sweep_));
    }
    sweep_ = {};
    started_ = false;
  }

  const Document& document_;
  Sink& sink_;
  Sweep sweep_;
  std::string title_;
  std::string buffers_;  ///< Where they lie, if the benchmark says it.
  bool started_ = false;
  bool bandwidth_ = false;
};

/// "[Client]    256 B :   0.32 Gbps |   0.04 GB/s": both units of one rate.
void read_dual_unit(const Document& document, Sink& sink) {
  Sweep sweep;
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const std::string_view text = document.lines[i].text;
    if (sink.claimed(i) || text.empty()) continue;
    const auto gbit = number_before(text, "Gbps");
    const auto gbyte = number_before(text, "GB/s");
    const std::size_t colon = text.find(':');
    if (!gbit || !gbyte || colon == kNone) continue;
    std::string_view label = trim(text.substr(0, colon));
    if (const std::size_t close = label.find(']'); close != kNone) label.remove_prefix(close + 1);
    const auto size = number_at(label, 0);
    if (!size || size->begin > label.size()) continue;
    const auto bytes = parse_binary_size(trim(label));
    if (!bytes) continue;
    SweepRow row;
    row.size_bytes = *bytes;
    row.rate_gbs = std::fabs(gbit->value / 8 - gbyte->value) <= gbyte->half_ulp() + 0.01
                       ? gbit->value / 8
                       : gbyte->value;
    row.source = sink.source(i);
    sink.claim(i);
    if (sweep.rows.empty()) {
      sweep.source = row.source;
      sweep.group = heading_of(document, i);
    }
    sweep.rows.push_back(std::move(row));
  }
  if (sweep.rows.empty()) return;
  sweep.format = "transfer";
  sweep.operation = Operation::kSend;
  sweep.path = Path::kWire;
  sink.recognised("transfer benchmark");
  sink.add(std::move(sweep));
}

}  // namespace

void read_perftest(const Document& document, Sink& sink) {
  OsuReader(document, sink).read();
  PerftestReader(document, sink).read();
  read_dual_unit(document, sink);
}

}  // namespace shunt::logs
