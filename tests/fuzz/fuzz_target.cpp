// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A libFuzzer program. SHUNT_FUZZED names what it drives: "document", "all", "export",
// "perfetto", or one reader.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/fuzz_entry.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if constexpr (std::string_view(SHUNT_FUZZED) == "document") {
    shunt::fuzz::clean(bytes);
  } else if constexpr (std::string_view(SHUNT_FUZZED) == "export") {
    shunt::fuzz::read_export(bytes);
  } else if constexpr (std::string_view(SHUNT_FUZZED) == "perfetto") {
    shunt::fuzz::read_file(bytes);
  } else if constexpr (std::string_view(SHUNT_FUZZED) == "all") {
    shunt::fuzz::read_and_judge(bytes);
  } else {
    shunt::fuzz::read_and_judge(bytes, SHUNT_FUZZED);
  }
  return 0;
}
