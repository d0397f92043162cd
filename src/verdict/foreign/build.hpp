// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A Finding put together piece by piece; keeps the rules short.
#pragma once

#include <string>
#include <utility>

#include "verdict/foreign/situation.hpp"

namespace shunt::verdict::foreign {

class Build {
 public:
  Build(std::string id, Severity severity, Confidence confidence, std::string where) {
    finding_.id = std::move(id);
    finding_.severity = severity;
    finding_.confidence = confidence;
    finding_.where = std::move(where);
  }
  Build& say(std::string text) {
    finding_.sentence = std::move(text);
    return *this;
  }
  Build& fact(std::string name, std::string value, std::string source) {
    finding_.evidence.push_back({std::move(name), std::move(value), std::move(source)});
    return *this;
  }
  Build& because(std::string text) {
    finding_.derivation = std::move(text);
    return *this;
  }
  Build& act(std::string text) {
    finding_.action = std::move(text);
    return *this;
  }
  Build& confirm(std::string text) {
    finding_.confirm = std::move(text);
    return *this;
  }
  /// Ends the chain; the Build is empty after it.
  operator Finding() { return std::move(finding_); }  // NOLINT: findings.push_back(Build(…))

 private:
  Finding finding_;
};

}  // namespace shunt::verdict::foreign
