// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/perfetto/interned.hpp"

#include <utility>

#include "trace/perfetto_fields.hpp"
#include "trace/perfetto_packets.hpp"

namespace shunt::trace {
namespace {

constexpr std::size_t kMostText = 512;
constexpr std::size_t kEntryBytes = 96;  ///< Of a hash table, about, beside the text.

Interned::Table table_of(std::uint32_t field) {
  switch (field) {
    case key(field::interned::kEventNames, kLength):
      return Interned::kNames;
    case key(field::interned::kEventCategories, kLength):
      return Interned::kCategories;
    case key(field::interned::kDebugAnnotationNames, kLength):
      return Interned::kArgumentNames;
    case key(field::interned::kDebugAnnotationStringValues, kLength):
      return Interned::kValues;
    case key(field::interned::kGpuSpecifications, kLength):
      return Interned::kStages;
    case key(field::interned::kComputeKernels, kLength):
      return Interned::kKernels;
    default:
      return Interned::kTables;
  }
}

}  // namespace

void Interned::add(protozero::pbf_reader in, std::size_t& room) {
  while (in.next()) {
    const Table table = table_of(in.tag_and_type());
    if (table == kTables) {
      in.skip();
      continue;
    }
    auto [id, text] = parse_interned(in.get_message());
    if (text.size() > kMostText) text.resize(kMostText);
    const std::size_t cost = text.size() + kEntryBytes;
    auto& entries = tables_[table];
    const auto found = entries.find(id);
    if (found != entries.end()) {
      found->second = std::move(text);
    } else if (cost <= room) {
      room -= cost;
      entries.emplace(id, std::move(text));
    }
  }
}

void Interned::clear() {
  for (auto& entries : tables_) entries.clear();
}

std::string_view Interned::find(Table table, std::uint64_t id) const {
  const auto& entries = tables_[table];
  const auto found = entries.find(id);
  return found == entries.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace shunt::trace
