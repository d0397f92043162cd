// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// One Report value, several renderers. in: whatever a verb found out → out: text, JSON, CSV.
// Nothing here knows where the facts came from: own runs (run_report.hpp) and foreign logs fill the
// same value. Renderers never compute; what is to be shown must be in the value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "verdict/finding.hpp"
#include "verdict/judge.hpp"

namespace shunt::report {

/// A cell. monostate: unavailable, "-" in text, null in JSON, empty in CSV; never 0.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// What a value counts. Text scales and names it; JSON and CSV keep the base unit, which the key
/// ends in: `_ns`, `_bytes`, `_gb_per_s`, `_share`.
enum class Unit {
  kText,
  kCount,   ///< A whole number.
  kNumber,  ///< A plain number.
  kNs,      ///< In text: the whole table in ns, µs, ms or s.
  kBytes,   ///< In text: the column in B, kB, MB, GB.
  kGbPerS,  ///< 1e9 bytes/s.
  kShare,   ///< 0 … 1; in text as percent.
};

struct Column {
  std::string key;    ///< JSON and CSV: "dur_p50_ns".
  std::string title;  ///< Text: "dur". Empty: not shown in text.
  Unit unit = Unit::kText;
};

struct Table {
  std::string id;     ///< "dispatch_phases": stable, JSON consumers match on it.
  std::string title;  ///< One line.
  std::vector<Column> columns;
  std::vector<std::vector<Value>> rows;  ///< REQUIRES: each as long as columns.
  std::vector<std::string> notes;        ///< How to read it; under the table.
};

/// A named value: one of the configuration, or one line of the ledger.
struct Fact {
  std::string key;    ///< "payload_bytes"
  std::string label;  ///< "payload bytes"
  Value value;
  Unit unit = Unit::kText;
  std::string note;  ///< "remote copies · hidden · 2 B", "from --set": may be empty.
};

/// What one link or NIC carried, to be drawn as a bar against its rating.
struct Bar {
  std::string label;             ///< "dispatch  node 0 → node 1"
  std::optional<double> share;   ///< 0 … 1 of the rating.
  std::optional<double> rate;    ///< GB/s; absent where the figure is no rate of the link.
  std::optional<double> rating;  ///< GB/s; absent: nobody stated one.
  std::string text;              ///< "0.119 of 0.125 GB/s", or why there is no share.
  std::string word;              ///< "full", "close to full", "underused"; may be empty.
};

/// How long an operation took, first entry to last exit over the ranks, one sample an iteration.
struct OperationTime {
  std::string operation;                 ///< "dispatch", "combine"
  std::vector<std::int64_t> samples_ns;  ///< In the order of the iterations.
  std::int64_t min_ns = 0;
  std::int64_t p50_ns = 0;
  std::int64_t max_ns = 0;
};

/// How far apart two devices are, for colours.
enum class Nearness {
  kSelf,
  kGpuLink,  ///< NVLink, xGMI.
  kNear,     ///< Within PCIe bridges.
  kHost,     ///< Through a host bridge, or PCIe of unknown depth.
  kFar,      ///< Between sockets, or no link.
  kUnknown,
};

struct MatrixCell {
  std::string text;  ///< "NV18", "PXB"
  Nearness nearness = Nearness::kUnknown;
  bool own = false;      ///< The NIC to give this GPU.
  bool problem = false;  ///< Named in Matrix::problems.
  bool trap = false;     ///< What "NIC i for GPU i" would pick, though a nearer one is there.
};

struct MatrixRow {
  std::string label;
  std::vector<MatrixCell> cells;
  std::string cpus;
  std::string numa;
  bool nic = false;
};

/// How the devices of one node reach each other.
struct Matrix {
  std::string id;     ///< "topology_0"
  std::string title;  ///< "node-a, nvidia-smi topo -m, lines 2-12"
  std::vector<std::string> columns;
  std::size_t gpus = 0;               ///< So many of the columns are GPUs; NICs follow.
  std::vector<MatrixRow> rows;        ///< Those of which the input states something.
  std::vector<std::string> problems;  ///< What the marked cells mean.
  std::vector<std::string> devices;   ///< "NIC0: mlx5_0, 400 Gb/s = 50 GB/s, ACTIVE"
  std::vector<std::string> gaps;      ///< What the input lacks.
};

struct HeatCell {
  std::optional<double> gbs;  ///< As printed; absent: not in the input.
  bool self = false;          ///< A device with itself.
  bool behind = false;        ///< Stays behind its like: what the findings name.
  bool crossing = false;      ///< Between two nodes of a matrix of ranks.
};

/// Rates between every two devices or ranks, GB/s.
struct Heat {
  std::string id;     ///< "rates_0"
  std::string title;  ///< "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s), line 11"
  std::vector<std::string> columns;
  std::vector<std::string> rows;
  std::vector<HeatCell> cells;  ///< Row-major.
  double most = 0;              ///< Off the diagonal.
  std::size_t block = 0;        ///< Ranks a node, where the figures fall into such blocks.
  double most_crossing = 0;     ///< The best between two blocks.
  std::string note;             ///< How the figures are meant, where that is not plain.

  [[nodiscard]] const HeatCell& at(std::size_t row, std::size_t column) const {
    return cells[row * columns.size() + column];
  }
};

struct Report {
  std::string tool_version;
  std::string kind;      ///< "run", "log": what was looked at.
  std::string title;     ///< "2 nodes × 4 ranks, tcp, v1"
  std::string headline;  ///< The verdict in one sentence.
  std::vector<Fact> config;
  std::vector<OperationTime> operations;  ///< Of own runs. In text the phase tables' titles say it.
  std::vector<Table> tables;  ///< The first is what CSV gives unless another is asked for.
  std::vector<Matrix> matrices;
  std::vector<Heat> heats;
  std::vector<Fact> ledger;
  std::vector<Bar> bars;
  std::vector<verdict::Finding> findings;  ///< Worst first.
  std::vector<std::string> checked;        ///< Ids of rules that found nothing or something.
  std::vector<verdict::Unchecked> unchecked;
  std::vector<std::string> notes;  ///< Assumptions, missing ranks, lost records.
  std::uint64_t dropped_records = 0;
};

/// True if any finding is at least as severe as `least`.
[[nodiscard]] bool has_finding(const Report& report, verdict::Severity least);

}  // namespace shunt::report
