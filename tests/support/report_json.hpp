// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Looks into a report that a program has printed as JSON.
#pragma once

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace shunt::testing {

/// The rows of the table of that id; none, and a failure of the test, without.
inline const nlohmann::json& rows(const nlohmann::json& report, const std::string& table) {
  static const nlohmann::json none = nlohmann::json::array();
  for (const nlohmann::json& one : report.at("tables")) {
    if (one.at("id") == table) return one.at("rows");
  }
  ADD_FAILURE() << "no table " << table;
  return none;
}

}  // namespace shunt::testing
