// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The names that packets of one sequence refer to by number. Private to trace/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include <protozero/pbf_reader.hpp>

namespace shunt::trace {

class Interned {
 public:
  enum Table { kNames, kCategories, kArgumentNames, kValues, kStages, kKernels, kTables };

  /// Takes an InternedData; texts beyond `room` bytes (of all sequences together) are left out.
  /// May throw protozero::exception.
  void add(protozero::pbf_reader in, std::size_t& room);
  void clear();
  /// Empty if there is none of that number.
  [[nodiscard]] std::string_view find(Table table, std::uint64_t id) const;

 private:
  std::array<std::unordered_map<std::uint64_t, std::string>, kTables> tables_;
};

}  // namespace shunt::trace
