// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/foreign/shape.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "logs/ratings.hpp"
#include "logs/text.hpp"
#include "traffic/expectation.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::ConfigFact;
using logs::Evidence;
using logs::Origin;

std::string describe(const ConfigFact& fact) {
  if (fact.origin == Origin::kOption) return "--set " + fact.key + "=" + fact.value;
  return fmt::format("{}, line {}", logs::to_string(fact.origin), fact.source.line);
}

/// A stated value; prose that contradicts itself (two different counts) states nothing.
std::optional<Known> stated(const Evidence& evidence, std::string_view key, int file) {
  const auto all = evidence.find_all(key, file);
  if (all.empty()) return std::nullopt;
  const ConfigFact& first = *all.front();
  if (first.origin == Origin::kProse || first.origin == Origin::kLog) {
    for (const ConfigFact* other : all) {
      if (other->origin == first.origin && other->source.file == first.source.file &&
          other->value != first.value) {
        return std::nullopt;
      }
    }
  }
  const auto number = logs::whole_number(first.value);
  // All of these count something: half a choice of experts is a damaged text.
  if (!number || number->value < 1 || number->value > 1e12 ||
      number->value != std::floor(number->value)) {
    return std::nullopt;
  }
  return Known{number->value, describe(first), false};
}

/// The RDMA/NVL ratio of the file: of its best printed pair; nullopt if its pairs disagree.
std::optional<double> printed_ratio(const std::vector<Op>& ops, int file) {
  std::optional<double> ratio;
  double weight = 0;
  for (const Op& op : ops) {
    if (op.file != file || !op.rdma || !op.nvl || op.nvl->rate <= 0 || op.rdma->rate <= 0) continue;
    if (op.format == "deepep-v2" || op.format == "ep-bench") continue;
    // FP8 combine of HybridEP prints a wrong RDMA rate; the dispatch pair decides.
    if (ratio && op.operation == logs::Operation::kCombine) continue;
    if (op.rdma->rate > weight) {
      ratio = op.rdma->rate / op.nvl->rate;
      weight = op.rdma->rate;
    }
  }
  return ratio;
}

void infer_from_ratio(Shape& shape) {
  if (!shape.ratio) return;
  logs::RatioQuery query;
  query.ratio = *shape.ratio;
  if (shape.topk) query.topk = saturating_cast<int>(std::min(shape.topk->value, 64.0));
  if (shape.experts) query.experts = saturating_cast<int>(std::min(shape.experts->value, 4096.0));
  query.ranks_per_node =
      shape.ranks_per_node ? saturating_cast<int>(shape.ranks_per_node->value) : 8;
  if (query.ranks_per_node > 128) query.ranks_per_node = 8;
  shape.fits = logs::fit_ratio(query);
  if (!shape.nodes && !shape.fits.empty()) {
    shape.nodes = Known{static_cast<double>(shape.fits.front().nodes),
                        fmt::format("printed RDMA/NVL = {:.3f}, {} nodes × {} give {:.3f}",
                                    *shape.ratio,
                                    shape.fits.front().nodes,
                                    shape.fits.front().ranks_per_node,
                                    shape.fits.front().expected),
                        true};
    if (!shape.ranks_per_node) {
      shape.ranks_per_node =
          Known{static_cast<double>(shape.fits.front().ranks_per_node), "the same ratio", true};
    }
  }
}

/// Node copies per token from bytes: rate · time (or printed bytes) over row · tokens.
void infer_from_bytes(const std::vector<Op>& ops, int file, Shape& shape) {
  if (shape.nodes || !shape.tokens || !shape.hidden || !shape.topk) return;
  for (const Op& op : ops) {
    if (op.file != file || !op.rdma || !op.rdma->sample->time_us) continue;
    const double bytes = op.rdma->rate * *op.rdma->sample->time_us * 1e3;
    const double row = op.dtype == "fp8" && op.operation != logs::Operation::kCombine
                           ? logs::fp8_row(shape.hidden->value)
                           : logs::bf16_row(shape.hidden->value);
    const double copies = bytes / row / shape.tokens->value;
    const double experts = shape.experts ? shape.experts->value : 256;
    for (const int nodes : {2, 3, 4, 6, 8, 12, 16}) {
      const double expected = traffic::average_copies(nodes, experts, shape.topk->value);
      if (std::fabs(copies / expected - 1) < 0.03) {
        shape.nodes = Known{
            static_cast<double>(nodes),
            fmt::format(
                "{:.3f} node copies per token, {} nodes give {:.3f}", copies, nodes, expected),
            true};
        return;
      }
    }
  }
}

void complete_world(Shape& shape) {
  if (shape.nodes && shape.ranks_per_node && !shape.world) {
    shape.world = Known{shape.nodes->value * shape.ranks_per_node->value, "nodes × ranks", true};
  } else if (shape.world && shape.nodes && !shape.ranks_per_node) {
    shape.ranks_per_node = Known{
        std::max(1.0, std::floor(shape.world->value / shape.nodes->value)), "world / nodes", true};
  } else if (shape.world && shape.ranks_per_node && !shape.nodes) {
    const double nodes = shape.world->value / shape.ranks_per_node->value;
    if (nodes >= 1 && nodes == std::floor(nodes)) {
      shape.nodes = Known{nodes, "world / ranks per node", true};
    }
  }
}

/// Devices that the ranks of one node were mapped to.
void infer_nics(const Evidence& evidence, int file, Shape& shape) {
  if (shape.nics_per_node) return;
  std::set<std::string> devices;
  std::set<int> ranks;
  for (const logs::Mapping& mapping : evidence.mappings) {
    if (mapping.source.file != file || mapping.kind != "nic" || !mapping.rank) continue;
    devices.insert(mapping.value);
    ranks.insert(*mapping.rank);
  }
  if (ranks.size() >= 2 && ranks.size() <= 8) {
    shape.nics_per_node =
        Known{static_cast<double>(devices.size()), "NIC per rank as printed", true};
  }
}

}  // namespace

Shape make_shape(const Evidence& evidence, const std::vector<Op>& ops, int file) {
  Shape shape;
  static constexpr std::array<std::pair<std::string_view, std::optional<Known> Shape::*>, 8>
      kFields{{{"nodes", &Shape::nodes},
               {"ranks_per_node", &Shape::ranks_per_node},
               {"world", &Shape::world},
               {"tokens", &Shape::tokens},
               {"hidden", &Shape::hidden},
               {"topk", &Shape::topk},
               {"experts", &Shape::experts},
               {"nics_per_node", &Shape::nics_per_node}}};
  for (const auto& [key, field] : kFields) shape.*field = stated(evidence, key, file);
  if (!shape.ranks_per_node) shape.ranks_per_node = stated(evidence, "gpus_per_node", file);
  // DeepEP's tests limit groups to the node count below five nodes.
  if (const auto groups = stated(evidence, "topk_groups", file);
      groups && !shape.nodes && groups->value >= 2 && groups->value <= 3) {
    shape.nodes = Known{groups->value, "num_topk_groups of the test", true};
  }
  complete_world(shape);
  if (!shape.experts) {
    const auto local = stated(evidence, "local_experts", file);
    if (local && shape.world) {
      shape.experts = Known{local->value * shape.world->value, "local experts × ranks", true};
    } else if (local && !shape.world) {
      shape.experts = Known{local->value * 16, "local experts × 16 ranks (assumed)", true};
    }
  }
  shape.ratio = printed_ratio(ops, file);
  infer_from_ratio(shape);
  infer_from_bytes(ops, file, shape);
  complete_world(shape);
  infer_nics(evidence, file, shape);
  if (!shape.nodes && shape.world && shape.world->value > 8 && !shape.ranks_per_node &&
      std::fmod(shape.world->value, 8) == 0) {
    shape.nodes = Known{shape.world->value / 8,
                        fmt::format("{:g} ranks, 8 GPUs a node assumed", shape.world->value),
                        true};
  }
  return shape;
}

Rating make_rating(const Evidence& evidence, const Shape& shape, int file) {
  Rating rating;
  const ConfigFact* nics = evidence.find("nics_per_node", file);
  const double gpus = shape.ranks_per_node ? shape.ranks_per_node->value : 8;
  double share = shape.gpus_per_nic();
  // "16 x 200 Gb/s" for eight GPUs: two NICs each, where somebody says so (a device list does not).
  if (nics != nullptr && shape.nics_per_node && shape.nics_per_node->value > gpus &&
      (nics->origin == Origin::kProse || nics->origin == Origin::kOption)) {
    share = gpus / shape.nics_per_node->value;
  }
  const auto set = [&](double nic_gbs, std::string what, const ConfigFact& fact) {
    rating.gbs = nic_gbs / share;
    rating.what = what;
    if (share > 1) rating.what = fmt::format("share of a {} among {:g} GPUs", what, share);
    if (share < 1) rating.what = fmt::format("{:g} × {} of a GPU", 1 / share, what);
    rating.from = describe(fact);
  };
  const ConfigFact* rate = evidence.find("rate", file);
  if (rate != nullptr) {
    // Two different rates in prose settle nothing.
    const auto all = evidence.find_all("rate", file);
    const bool conflict =
        rate->origin == Origin::kProse && std::ranges::any_of(all, [&](const ConfigFact* other) {
          return other->origin == Origin::kProse && other->value != rate->value;
        });
    const auto number = logs::whole_number(rate->value);
    if (number && number->value > 0.01 && number->value < 1e5 && !conflict) {
      set(number->value, fmt::format("{:g} Gb/s NIC", number->value * 8), *rate);
      return rating;
    }
  }
  if (const ConfigFact* ceiling = evidence.find("ceiling", file)) {
    const auto number = logs::whole_number(ceiling->value);
    if (number && number->value > 0.01) {
      const auto nominal = logs::smallest_fitting_rate(number->value);
      if (nominal) {
        set(*nominal, fmt::format("{:g} Gb/s NIC", *nominal * 8), *ceiling);
        rating.ceiling = number->value / share;
        return rating;
      }
    }
  }
  if (const ConfigFact* instance = evidence.find("instance", file)) {
    const auto* rated = logs::rating_named(logs::RatedPart::kInstance, instance->value);
    if (rated != nullptr) {
      rating.gbs = rated->gbs * rated->per_node / 8;
      rating.what = fmt::format("NIC share of a GPU on {}", rated->name);
      rating.from = describe(*instance);
      return rating;
    }
  }
  // Ports as the machine's own tools print them: the slowest one that is up.
  const logs::LinkFact* slowest = nullptr;
  for (const logs::LinkFact& link : evidence.links) {
    if (link.kind != logs::LinkKind::kPort || !link.is_up() || !link.gbit_per_s ||
        *link.gbit_per_s < 10) {
      continue;
    }
    if (slowest == nullptr || *link.gbit_per_s < *slowest->gbit_per_s) slowest = &link;
  }
  if (slowest != nullptr) {
    rating.gbs = *slowest->gbit_per_s / 8 / share;
    rating.what = fmt::format("{:g} Gb/s port {}", *slowest->gbit_per_s, slowest->owner);
    rating.from = fmt::format("{}, line {}", slowest->tool, slowest->source.line);
    rating.ambiguous = logs::contains_ci(slowest->owner, "bond");
    return rating;
  }
  for (const logs::LinkFact& link : evidence.links) {
    const auto* rated = link.kind == logs::LinkKind::kPort
                            ? logs::find_rating(logs::RatedPart::kNic, link.model)
                            : nullptr;
    if (rated == nullptr) continue;
    rating.gbs = rated->gbs / share;
    rating.what = fmt::format(
        "{:g} Gb/s {} (by its model number; slower versions exist)", rated->gbs * 8, rated->name);
    rating.from = fmt::format("{}, line {}", link.tool, link.source.line);
    return rating;
  }
  if (const ConfigFact* nic = evidence.find("nic", file)) {
    const auto* rated = logs::rating_named(logs::RatedPart::kNic, nic->value);
    if (rated != nullptr) {
      set(rated->gbs, fmt::format("{:g} Gb/s {}", rated->gbs * 8, rated->name), *nic);
      rating.ambiguous = rated->name == "ConnectX-8";
    }
  }
  return rating;
}

}  // namespace shunt::verdict::foreign
