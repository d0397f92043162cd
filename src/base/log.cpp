// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <cstdlib>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace shunt::log {
namespace {

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kTrace:
      return spdlog::level::trace;
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
    case Level::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>(
        "shunt", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("shunt: %^%l%$: %v");
    const char* wanted = std::getenv("SHUNT_LOG");
    made->set_level(wanted != nullptr ? spdlog::level::from_str(wanted) : spdlog::level::warn);
    return made;
  }();
  return *instance;
}

}  // namespace

void set_level(Level level) {
  logger().set_level(to_spdlog(level));
}

bool enabled(Level level) {
  return logger().should_log(to_spdlog(level));
}

void set_prefix(std::string_view prefix) {
  logger().set_pattern(prefix.empty() ? "shunt: %^%l%$: %v"
                                      : fmt::format("shunt: {}: %^%l%$: %v", prefix));
}

void write(Level level, std::string_view text) {
  logger().log(to_spdlog(level), "{}", text);
}

}  // namespace shunt::log
