// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The evidence and what follows from it by arithmetic alone, computed once for all rules: the shape
// of each file's run, its NIC rating, and its operations with printed and wire rates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "logs/arithmetic.hpp"
#include "logs/evidence.hpp"
#include "verdict/finding.hpp"

namespace shunt::verdict::foreign {

/// A number and how it is known.
struct Known {
  double value = 0;
  std::string from;       ///< "--set", "line 3: …", "RDMA/NVL ratio 0.306"
  bool inferred = false;  ///< Follows from other numbers, not stated.
};

struct Shape {
  std::optional<Known> nodes;
  std::optional<Known> ranks_per_node;
  std::optional<Known> world;
  std::optional<Known> tokens;
  std::optional<Known> hidden;
  std::optional<Known> topk;
  std::optional<Known> experts;
  std::optional<Known> nics_per_node;
  std::optional<double> ratio;       ///< Printed RDMA/NVL of the file.
  std::vector<logs::RatioFit> fits;  ///< Shapes that the ratio allows, whatever was stated.

  [[nodiscard]] double gpus_per_nic() const;
};

/// What one GPU's share of the NICs can carry, one direction.
struct Rating {
  double gbs = 0;          ///< 0: unknown.
  std::string what;        ///< "400 Gb/s NIC"
  std::string from;        ///< Where it is said.
  double ceiling = 0;      ///< A measured rate of the bare link, 0: none.
  bool ambiguous = false;  ///< Bond or dual plane: twice as much is possible.
  [[nodiscard]] bool known() const { return gbs > 0; }
};

/// One path of an operation, over the ranks that printed it.
struct Figure {
  double rate = 0;  ///< Mean over ranks, GB/s.
  double min = 0;
  double max = 0;
  int ranks = 0;
  const logs::Sample* sample = nullptr;  ///< A representative print.
};

/// One operation of one file as a reader of the log would name it.
struct Op {
  int file = 0;
  std::string format;
  logs::Operation operation = logs::Operation::kUnknown;
  std::string variant;
  std::string group;
  bool grouped = false;  ///< The same operation stands in another group too.
  int run = 0;
  logs::Span span = logs::Span::kUnknown;
  std::string dtype;
  std::optional<Figure> rdma;
  std::optional<Figure> nvl;
  std::optional<Known>
      nodes;                 ///< Of this operation: its group, its ranks, its own ratio, the file.
  bool remote_only = false;  ///< The printed RDMA rate counts other nodes only.
  bool fp8_bytes = false;    ///< Combine printed with dispatch's FP8 bytes; wire is corrected.
  std::optional<double> wire;  ///< RDMA without the own node, per GPU, GB/s; absent: N unknown.
  std::optional<double> time_us;

  [[nodiscard]] std::string name() const;  ///< "dispatch (bf16) kernel"
};

struct Situation {
  const logs::Evidence& evidence;
  std::vector<Shape> shapes;    ///< One a file.
  std::vector<Rating> ratings;  ///< One a file.
  std::vector<Op> ops;

  [[nodiscard]] std::vector<const Op*> ops_of(int file) const;
};

[[nodiscard]] Situation make_situation(const logs::Evidence& evidence);

/// Words for reports.
[[nodiscard]] std::string gbs(double value);      ///< "12.90 GB/s"
[[nodiscard]] std::string percent(double share);  ///< "25.8 %"
[[nodiscard]] std::string place(const Situation& situation, const logs::Source& source);
/// "25.8 % of the 400 Gb/s NIC (50 GB/s)", or against 400 and 800 Gb/s where no rating is known.
[[nodiscard]] std::string share_of_link(const Rating& rating, double wire);
/// The same for a list: "25.8 %", or "25.8 % of 400G, 12.9 % of 800G".
[[nodiscard]] std::string short_share(const Rating& rating, double wire);
/// The share that decides: of the rating, else of a 400 Gb/s link if that can carry it, else of
/// 800.
[[nodiscard]] double deciding_share(const Rating& rating, double wire);

}  // namespace shunt::verdict::foreign
