// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// NVSHMEM perftest tables without borders; the columns are those that the head names.
//   "#reduction_on_stream"
//   "size(B)  count  type  redop  latency(us)  min_lat(us)  max_lat(us)  algbw(GB/s)  busbw(GB/s)"
//   "#shmem_put_bw", "size(B)  scope  BW GB/sec"
// Its boxed tables are read by read_tables.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

enum class Column { kOther, kSize, kCount, kLatency, kRate, kBus, kMessages };

Column column_named(std::string_view word) {
  if (starts_with_ci(word, "size(B")) return Column::kSize;
  if (equals_ci(word, "count")) return Column::kCount;
  if (starts_with_ci(word, "latency")) return Column::kLatency;
  if (starts_with_ci(word, "algbw") || starts_with_ci(word, "bw")) return Column::kRate;
  if (starts_with_ci(word, "busbw")) return Column::kBus;
  return starts_with_ci(word, "msgrate") ? Column::kMessages : Column::kOther;
}

/// The columns of a head; empty if the line is none.
std::vector<Column> columns_of(std::string_view text) {
  while (!text.empty() && (text[0] == '#' || is_space(text[0]))) text.remove_prefix(1);
  if (!starts_with_ci(text, "size(B")) return {};
  std::vector<Column> columns;
  bool measures = false;
  for (const std::string_view word : split_space(text)) {
    // "BW GB/sec" is one column.
    if (starts_with_ci(word, "GB/s") || starts_with_ci(word, "(GB/s")) continue;
    columns.push_back(column_named(word));
    measures = measures || columns.back() == Column::kLatency || columns.back() == Column::kRate;
  }
  return measures ? columns : std::vector<Column>{};
}

struct Kind {
  std::string_view word;
  Operation operation;
  bool link;  ///< Between two PEs: the rate is that of a link.
};
constexpr std::array<Kind, 10> kKinds{{{"alltoall", Operation::kAllToAll, false},
                                       {"fcollect", Operation::kAllGather, false},
                                       {"allgather", Operation::kAllGather, false},
                                       {"reducescatter", Operation::kReduceScatter, false},
                                       {"reduction", Operation::kAllReduce, false},
                                       {"reduce", Operation::kAllReduce, false},
                                       {"broadcast", Operation::kBroadcast, false},
                                       {"put", Operation::kPut, true},
                                       {"get", Operation::kGet, true},
                                       {"_p_", Operation::kPut, true}}};

class NvshmemReader {
 public:
  NvshmemReader(const Document& document, Sink& sink) : document_(document), sink_(sink) {}

  void read() {
    for (std::size_t i = 0; i < document_.lines.size(); ++i) {
      const std::string_view text = document_.lines[i].text;
      if (sink_.claimed(i) || text.empty()) continue;
      if (auto columns = columns_of(text); !columns.empty()) {
        begin(i, std::move(columns));
      } else if (!columns_.empty() && is_digit(text[0])) {
        read_row(i, text);
      } else {
        close();
        note_title(i, text);
      }
    }
    close();
  }

 private:
  /// "#shmem_put_bw" alone on its line names the table under it.
  void note_title(std::size_t i, std::string_view text) {
    if (text[0] != '#' || split_space(text.substr(1)).size() != 1) return;
    title_ = std::string(trim(text.substr(1)));
    title_line_ = i;
  }

  void begin(std::size_t i, std::vector<Column> columns) {
    close();
    columns_ = std::move(columns);
    sweep_.format = "nvshmem";
    sweep_.path = Path::kAlgorithm;
    sweep_.source = sink_.source(i);
    sweep_.title = title_;
    for (const Kind& kind : kKinds) {
      if (!contains_ci(title_, kind.word)) continue;
      sweep_.operation = kind.operation;
      if (kind.link) sweep_.path = Path::kWire;
      break;
    }
    if (!title_.empty()) sink_.claim(title_line_);
    sink_.recognised("NVSHMEM perftest");
    sink_.claim(i);
  }

  void read_row(std::size_t i, std::string_view text) {
    const auto words = split_space(text);
    if (words.size() < columns_.size()) {
      sink_.truncated(i, "NVSHMEM row");
      return;
    }
    SweepRow row;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const auto number = whole_number(words[c]);
      if (columns_[c] == Column::kOther || !number) continue;
      if (columns_[c] == Column::kSize) row.size_bytes = number->value;
      if (columns_[c] == Column::kCount) row.count = number->value;
      if (columns_[c] == Column::kRate) row.rate_gbs = number->value;
      if (columns_[c] == Column::kBus) row.bus_gbs = number->value;
      if (columns_[c] == Column::kMessages) row.message_rate = number->value * 1e6;
      if (columns_[c] == Column::kLatency) row.time_us = number->value;
    }
    // Latency alone is that of one message; beside a rate it is the time of the row.
    if (!row.rate_gbs) std::swap(row.latency_us, row.time_us);
    row.source = sink_.source(i);
    sink_.claim(i);
    sweep_.rows.push_back(std::move(row));
  }

  void close() {
    if (!sweep_.rows.empty()) sink_.add(std::move(sweep_));
    sweep_ = {};
    columns_.clear();
  }

  const Document& document_;
  Sink& sink_;
  Sweep sweep_;
  std::vector<Column> columns_;
  std::string title_;
  std::size_t title_line_ = kNone;
};

}  // namespace

void read_nvshmem(const Document& document, Sink& sink) {
  NvshmemReader(document, sink).read();
}

}  // namespace shunt::logs
