// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "traffic/expectation.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/error.hpp"

namespace shunt::traffic {
namespace {

Status check(int domains, int experts, int topk) {
  if (domains < 1 || experts < 1 || experts % domains != 0) {
    return usage_error("{} experts do not divide over {} domains", experts, domains);
  }
  if (topk < 1 || topk > experts) {
    return usage_error("top-{} of {} experts is not possible", topk, experts);
  }
  return {};
}

/// Probability that none of `drawn` distinct members of a set of `size` is among `marked` ones:
/// C(size − marked, drawn) / C(size, drawn), factor by factor.
double miss(double size, double marked, double drawn) {
  double share = 1.0;
  for (double i = 0; i < drawn && share > 0.0; ++i) {
    share *= std::max(0.0, size - marked - i) / (size - i);
  }
  return share;
}

/// Distribution of (groups hit, experts taken from one given group) over the K experts of a token.
///
/// Read the experts in order of falling score: while fewer than L groups have been met every expert
/// is taken, since its group has one of the L best heads; afterwards only those of the L groups
/// are. All orders are equally likely, so each step draws from what is left.
class Occupancy {
 public:
  Occupancy(int experts, int topk, GroupLimit limit)
      : group_size_(experts / limit.groups),
        groups_(limit.groups),
        limit_(limit.top_groups),
        width_(topk + 1),
        now_(static_cast<std::size_t>(limit.top_groups + 1) * static_cast<std::size_t>(topk + 1),
             0.0) {
    now_[0] = 1.0;
    for (int taken = 0; taken < topk; ++taken) step(taken);
  }

  /// P(groups hit = met and experts from the given group = own).
  [[nodiscard]] double at(int met, int own) const { return now_[index(met, own)]; }

 private:
  [[nodiscard]] std::size_t index(int met, int own) const {
    return static_cast<std::size_t>(met) * static_cast<std::size_t>(width_) +
           static_cast<std::size_t>(own);
  }

  void step(int taken) {
    std::vector<double> next(now_.size(), 0.0);
    for (int met = 0; met <= limit_; ++met) {
      for (int own = 0; own <= taken && own <= group_size_; ++own) {
        const double here = now_[index(met, own)];
        if (here == 0.0) continue;
        const bool open = met < limit_;
        const int own_met = own > 0 ? 1 : 0;
        const int others_left = (met - own_met) * group_size_ - (taken - own);
        const int own_left = open || own > 0 ? group_size_ - own : 0;
        const int new_left = open ? (groups_ - met - (1 - own_met)) * group_size_ : 0;
        const double left = others_left + own_left + new_left;
        if (own_left > 0) next[index(met + 1 - own_met, own + 1)] += here * own_left / left;
        if (others_left > 0) next[index(met, own)] += here * others_left / left;
        if (new_left > 0) next[index(met + 1, own)] += here * new_left / left;
      }
    }
    now_.swap(next);
  }

  int group_size_;
  int groups_;
  int limit_;
  int width_;
  std::vector<double> now_;
};

}  // namespace

double average_copies(double domains, double experts, double topk) {
  if (experts < 1 || topk < 1 || domains < 1) return 0;
  return domains * (1.0 - miss(experts, experts / domains, std::min(topk, experts)));
}

Result<double> expected_copies(int domains, int experts, int topk) {
  SHUNT_TRY(check(domains, experts, topk));
  return average_copies(domains, experts, topk);
}

Result<double> expected_remote_copies(int domains, int experts, int topk) {
  auto copies = expected_copies(domains, experts, topk);
  if (!copies) return copies;
  return *copies * remote_share(domains);
}

Result<double> expected_copies(int domains, int experts, int topk, GroupLimit limit) {
  SHUNT_TRY(check(domains, experts, topk));
  if (limit.groups < 1 || experts % limit.groups != 0) {
    return usage_error("{} experts do not divide into {} groups", experts, limit.groups);
  }
  const int group_size = experts / limit.groups;
  if (limit.top_groups < 1 || limit.top_groups > limit.groups ||
      topk > std::int64_t{limit.top_groups} * group_size) {
    return usage_error("top-{} from {} of {} groups of {} experts is not possible",
                       topk,
                       limit.top_groups,
                       limit.groups,
                       group_size);
  }
  if (limit.groups % domains != 0 && domains % limit.groups != 0) {
    return usage_error("{} groups and {} domains do not nest", limit.groups, domains);
  }
  // One of them divides the other without rest.
  const int groups_of_domain = limit.groups / domains;
  const int experts_of_domain = experts / domains;
  const Occupancy occupancy(experts, topk, limit);
  double expected = 0.0;
  for (int met = 1; met <= limit.top_groups; ++met) {
    for (int own = 0; own <= topk; ++own) {
      const double probability = occupancy.at(met, own);
      if (probability == 0.0) continue;
      if (limit.groups % domains == 0) {
        // The groups hit are a uniform choice of `met`; a domain is missed if none of its own is
        // in.
        expected += probability * domains * (1.0 - miss(limit.groups, groups_of_domain, met));
      } else {
        // The experts taken from a group are a uniform choice inside it.
        expected += probability * domains * (1.0 - miss(group_size, experts_of_domain, own));
      }
    }
  }
  return expected;
}

}  // namespace shunt::traffic
