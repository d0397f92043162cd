// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/foreign/counter_change.hpp"

#include <algorithm>

namespace shunt::verdict::foreign {
namespace {

bool fell_mostly(const logs::CounterFact& first, const logs::CounterFact& last) {
  std::size_t fell = 0;
  std::size_t moved = 0;
  for (const logs::CounterValue& before : first.values) {
    const logs::CounterValue* after = last.find(before.name);
    if (after == nullptr || after->value == before.value) continue;
    ++moved;
    fell += after->value < before.value ? 1 : 0;
  }
  return fell > 0 && fell * 2 > moved;
}

void fill(DeviceChange& change) {
  change.reset = change.first != change.last && fell_mostly(*change.first, *change.last);
  if (change.first != change.last && change.first->seconds && change.last->seconds) {
    double seconds = *change.last->seconds - *change.first->seconds;
    if (seconds < 0) seconds += 86400;  // past midnight
    if (seconds > 0) change.seconds = seconds;
  }
  for (const logs::CounterValue& value : change.last->values) {
    CounterDelta delta;
    delta.name = value.name;
    delta.row = logs::find_signal(value.name);
    delta.value = value.value;
    delta.line = value.line;
    const logs::CounterValue* before = change.first->find(value.name);
    if (change.paired() && before != nullptr) {
      delta.grown = grown_by(before->value, value.value, delta.row ? delta.row->width : 64);
      delta.wrapped = delta.grown && value.value < before->value;
    }
    change.counters.push_back(std::move(delta));
  }
}

}  // namespace

double CounterDelta::amount(bool paired) const {
  const double count = static_cast<double>(paired ? grown.value_or(0) : value);
  return count * (row != nullptr ? row->unit : 1);
}

std::optional<double> DeviceChange::sum(logs::Signal signal) const {
  std::optional<double> total;
  for (const CounterDelta& delta : counters) {
    if (delta.signal() != signal || (paired() && !delta.grown)) continue;
    total = total.value_or(0) + delta.amount(paired());
  }
  return total;
}

std::optional<std::uint64_t> grown_by(std::uint64_t before, std::uint64_t after, int width) {
  if (after >= before) return after - before;
  constexpr std::uint64_t kRange32 = std::uint64_t{1} << 32;
  // A 32-bit counter wraps only from near its top; falling from elsewhere it was cleared.
  if (width == 32 && before < kRange32 && before >= kRange32 / 2) {
    return after + (kRange32 - before);
  }
  return std::nullopt;
}

std::vector<DeviceChange> counter_changes(const logs::Evidence& evidence) {
  std::vector<DeviceChange> changes;
  for (const logs::CounterFact& fact : evidence.counters) {
    auto same = std::find_if(changes.begin(), changes.end(), [&fact](const DeviceChange& change) {
      return change.tool == fact.tool && change.device == fact.device &&
             change.first->rates == fact.rates;
    });
    if (same == changes.end()) {
      DeviceChange change;
      change.tool = fact.tool;
      change.device = fact.device;
      change.first = change.last = &fact;
      changes.push_back(std::move(change));
    } else if (fact.label == "before" && same->last->label == "after") {
      same->first = &fact;
    } else {
      same->last = &fact;
    }
  }
  for (DeviceChange& change : changes) fill(change);
  return changes;
}

}  // namespace shunt::verdict::foreign
