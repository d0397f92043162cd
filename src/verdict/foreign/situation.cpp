// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/foreign/situation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "logs/ratings.hpp"
#include "logs/text.hpp"
#include "verdict/foreign/fp8_combine.hpp"
#include "verdict/foreign/shape.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Operation;
using logs::Path;
using logs::Sample;

bool is_op_sample(const Sample& sample) {
  return (sample.path == Path::kRdma || sample.path == Path::kNvl) && sample.rate_gbs &&
         sample.operation != Operation::kUnknown;
}

auto key_of(const Sample& s) {
  const auto ranks = s.settings.find("ranks");
  const double world = s.format == "table" && ranks != s.settings.end() ? ranks->second : 0;
  return std::tuple(
      s.source.file, s.group, s.run, s.format, s.operation, s.variant, s.span, s.dtype, world);
}

/// Rows of a tuning sweep that compete: of one file, operation, type and path.
auto rivals_of(const Sample& s) {
  const auto ranks = s.settings.find("ranks");
  return std::tuple(s.source.file,
                    s.group,
                    s.operation,
                    s.dtype,
                    s.path,
                    ranks == s.settings.end() ? 0 : ranks->second);
}

bool is_tuning_row(const Sample& sample) {
  return sample.settings.find("sms") != sample.settings.end() && sample.rate_gbs;
}

using Winners = std::map<decltype(rivals_of(std::declval<Sample>())), const Sample*>;

/// Of a tuning sweep only the log's own choice counts, or the fastest row where it made none.
Winners winners_of(const std::vector<Sample>& samples) {
  Winners winners;
  for (const Sample& sample : samples) {
    if (!is_tuning_row(sample)) continue;
    const Sample*& winner = winners[rivals_of(sample)];
    const bool better =
        winner == nullptr || (sample.best && !winner->best) ||
        (sample.best == winner->best && !sample.best && *sample.rate_gbs > *winner->rate_gbs);
    if (better) winner = &sample;
  }
  return winners;
}

bool superseded(const Sample& sample, const Winners& winners) {
  if (!is_tuning_row(sample) || sample.best) return false;
  return winners.at(rivals_of(sample)) != &sample;
}

void add_figure(std::optional<Figure>& figure, const Sample& sample) {
  const double rate = *sample.rate_gbs;
  if (!figure) {
    figure = Figure{rate, rate, rate, 1, &sample};
    return;
  }
  figure->rate = (figure->rate * figure->ranks + rate) / (figure->ranks + 1);
  figure->min = std::min(figure->min, rate);
  figure->max = std::max(figure->max, rate);
  ++figure->ranks;
}

/// A table row's "#EP", a heading's "4 nodes", the operation's own ratio, else the file's count.
std::optional<Known> nodes_of(const Op& op, const Shape& shape) {
  const double per = shape.ranks_per_node ? shape.ranks_per_node->value : 8;
  const auto ranks = op.rdma->sample->settings.find("ranks");
  if (op.format == "table" && ranks != op.rdma->sample->settings.end() && ranks->second > per) {
    return Known{std::ceil(ranks->second / per),
                 fmt::format("{:g} ranks, {:g} GPUs a node{}",
                             ranks->second,
                             per,
                             shape.ranks_per_node ? "" : " assumed"),
                 true};
  }
  for (const std::string_view word : {"nodes", "node", "Nodes", "Node"}) {
    const auto count = logs::number_before(op.group, word);
    // "H20 nodes" names a GPU.
    const bool glued = count && count->begin > 0 && logs::is_alpha(op.group[count->begin - 1]);
    if (count && !glued && count->decimals == 0 && count->value >= 2 && count->value <= 512) {
      return Known{count->value, fmt::format("heading '{}'", op.group), false};
    }
  }
  const bool stated = shape.nodes && !shape.nodes->inferred;
  if (!stated && op.nvl && op.nvl->rate > 0 && op.format != "deepep-v2" &&
      op.format != "ep-bench" && op.operation != Operation::kCombine) {
    logs::RatioQuery query;
    query.ratio = op.rdma->rate / op.nvl->rate;
    query.ranks_per_node = per > 0 && per <= 128 ? saturating_cast<int>(per) : 8;
    if (shape.topk) query.topk = saturating_cast<int>(std::min(shape.topk->value, 64.0));
    if (shape.experts) query.experts = saturating_cast<int>(std::min(shape.experts->value, 4096.0));
    const auto fits = logs::fit_ratio(query);
    if (!fits.empty()) {
      return Known{static_cast<double>(fits.front().nodes),
                   fmt::format("printed RDMA/NVL = {:.3f}, {} nodes × {} give {:.3f}",
                               query.ratio,
                               fits.front().nodes,
                               fits.front().ranks_per_node,
                               fits.front().expected),
                   true};
    }
  }
  return shape.nodes;
}

std::vector<Op> collect_ops(const logs::Evidence& evidence) {
  std::vector<Op> ops;
  std::vector<const Sample*> heads;
  const Winners winners = winners_of(evidence.samples);
  for (const Sample& sample : evidence.samples) {
    if (!sample.rate_gbs || sample.format == "published") continue;
    // Rows of a sweep that never names its operation still say what the best row reached.
    const bool unnamed = sample.operation == Operation::kUnknown &&
                         (sample.path == Path::kRdma || sample.path == Path::kNvl);
    if (!is_op_sample(sample) && !unnamed) continue;
    if (superseded(sample, winners)) continue;
    std::size_t at = 0;
    while (at < heads.size() && key_of(*heads[at]) != key_of(sample)) ++at;
    if (at == heads.size()) {
      heads.push_back(&sample);
      Op op;
      op.file = sample.source.file;
      op.format = sample.format;
      op.operation = sample.operation;
      op.variant = sample.variant;
      op.group = sample.group;
      op.run = sample.run;
      op.span = sample.span;
      op.dtype = sample.dtype;
      op.time_us = sample.time_us;
      ops.push_back(std::move(op));
    }
    add_figure(sample.path == Path::kRdma ? ops[at].rdma : ops[at].nvl, sample);
  }
  return ops;
}

}  // namespace

double Shape::gpus_per_nic() const {
  if (!nics_per_node || nics_per_node->value < 1) return 1;
  const double gpus = ranks_per_node ? ranks_per_node->value : 8;
  return std::max(1.0, gpus / nics_per_node->value);
}

std::string Op::name() const {
  std::string out = logs::to_string(operation);
  if (operation == logs::Operation::kUnknown) out = "best row";
  if (!variant.empty())
    out = variant == "best" || variant == "average" ? fmt::format("{} {}", variant, out)
                                                    : fmt::format("{} {}", out, variant);
  const Figure* figure = rdma ? &*rdma : nvl ? &*nvl : nullptr;
  if (format == "table" && figure != nullptr && figure->sample->settings.count("ranks") != 0) {
    out += fmt::format(" EP{:g}", figure->sample->settings.at("ranks"));
  }
  if (!dtype.empty()) out += fmt::format(" ({})", dtype);
  if (span == logs::Span::kKernel && (format == "hybridep" || format == "ep-bench"))
    out += " kernel";
  if (span == logs::Span::kApi && (format == "hybridep" || format == "ep-bench")) out += " API";
  if (grouped && !group.empty() && group.size() < 40 && format != "table")
    out += fmt::format(", {}", group);
  return out;
}

std::vector<const Op*> Situation::ops_of(int file) const {
  std::vector<const Op*> out;
  for (const Op& op : ops) {
    if (op.file == file) out.push_back(&op);
  }
  return out;
}

namespace {

/// Groups are named only where they tell two operations apart.
void mark_groups(std::vector<Op>& ops) {
  for (Op& op : ops) {
    op.grouped = std::ranges::any_of(ops, [&](const Op& other) {
      return other.file == op.file && other.group != op.group && other.operation == op.operation &&
             other.variant == op.variant && other.dtype == op.dtype && other.span == op.span;
    });
  }
}

}  // namespace

Situation make_situation(const logs::Evidence& evidence) {
  Situation situation{evidence, {}, {}, collect_ops(evidence)};
  for (std::size_t file = 0; file < evidence.files.size(); ++file) {
    const int index = static_cast<int>(file);
    situation.shapes.push_back(make_shape(evidence, situation.ops, index));
    situation.ratings.push_back(make_rating(evidence, situation.shapes.back(), index));
  }
  mark_groups(situation.ops);
  for (Op& op : situation.ops) {
    const auto* dtype = evidence.find("dispatch_dtype", op.file);
    if (op.dtype.empty() && op.operation == Operation::kDispatch && dtype != nullptr) {
      op.dtype = dtype->value;
    }
    const Shape& shape = situation.shapes[static_cast<std::size_t>(op.file)];
    if (!op.rdma) continue;
    op.nodes = nodes_of(op, shape);
    op.remote_only = op.rdma->sample->settings.count("remote_only") != 0;
    if (op.remote_only) {
      op.wire = op.rdma->rate;
      if (!op.nodes) op.nodes = Known{0, "not needed: the rate counts other nodes only", true};
    } else if (op.nodes && op.nodes->value > 1) {
      op.wire = op.rdma->rate * logs::remote_share(op.nodes->value);
      // A correction that no link allows is none.
      const Rating& rating = situation.ratings[static_cast<std::size_t>(op.file)];
      const double corrected = *op.wire / logs::kFp8Share;
      op.fp8_bytes = fp8_dispatch_of(evidence, *op.rdma->sample) != nullptr &&
                     !(rating.known() && corrected > 1.03 * rating.gbs);
      if (op.fp8_bytes) op.wire = corrected;
    }
  }
  return situation;
}

std::string gbs(double value) {
  if (value >= 100) return fmt::format("{:.1f} GB/s", value);
  return fmt::format("{:.2f} GB/s", value);
}

std::string percent(double share) {
  if (share >= 0.995) return fmt::format("{:.0f} %", share * 100);
  return fmt::format("{:.1f} %", share * 100);
}

std::string place(const Situation& situation, const logs::Source& source) {
  if (source.file < 0) return "--set";
  const auto& files = situation.evidence.files;
  std::string line = source.line > 0 ? fmt::format("line {}", source.line) : "the file";
  if (files.size() < 2) return line;
  return fmt::format("{}, {}", files[static_cast<std::size_t>(source.file)].name, line);
}

std::string share_of_link(const Rating& rating, double wire) {
  if (rating.known()) {
    return fmt::format("{} of the {} ({}){}",
                       percent(wire / rating.gbs),
                       rating.what,
                       gbs(rating.gbs),
                       rating.ceiling > 0 ? fmt::format(", {} of the {} measured on the bare link",
                                                        percent(wire / rating.ceiling),
                                                        gbs(rating.ceiling))
                                          : "");
  }
  if (wire > 50.5) {
    return fmt::format(
        "more than a 400 Gb/s NIC (50 GB/s) carries, {} of an 800 Gb/s one (no NIC "
        "rate in the input)",
        percent(wire / 100));
  }
  return fmt::format(
      "{} of a 400 Gb/s NIC (50 GB/s), {} of an 800 Gb/s one (no NIC rate in the "
      "input)",
      percent(wire / 50),
      percent(wire / 100));
}

std::string short_share(const Rating& rating, double wire) {
  if (rating.known() && rating.ceiling > 0) {
    return fmt::format("{} of the rating, {} of the measured {}",
                       percent(wire / rating.gbs),
                       percent(wire / rating.ceiling),
                       gbs(rating.ceiling));
  }
  if (rating.known()) return fmt::format("{} of the rating", percent(wire / rating.gbs));
  if (wire > 50.5) return fmt::format("beyond 400G, {} of 800G", percent(wire / 100));
  return fmt::format("{} of 400G, {} of 800G", percent(wire / 50), percent(wire / 100));
}

double deciding_share(const Rating& rating, double wire) {
  // 0.9 of a measured ceiling is as full as 0.85 of a rating.
  if (rating.known() && rating.ceiling > 0) {
    return std::max(wire / rating.gbs, wire / rating.ceiling * 0.85 / 0.9);
  }
  if (rating.known()) return wire / rating.gbs;
  return wire > 50.5 ? wire / 100 : wire / 50;
}

}  // namespace shunt::verdict::foreign
