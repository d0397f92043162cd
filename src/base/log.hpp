// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics on stderr: lowercase, `name value`, once, where detected, never per message at info.
#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace shunt::log {

enum class Level { kTrace, kDebug, kInfo, kWarn, kError, kOff };

/// Messages below `level` vanish. Initially from SHUNT_LOG (trace … off), else warn.
void set_level(Level level);
[[nodiscard]] bool enabled(Level level);

/// Put before every message of this process, such as "rank 3".
void set_prefix(std::string_view prefix);

void write(Level level, std::string_view text);

}  // namespace shunt::log

#define SHUNT_LOG(level_, ...)                                                      \
  do {                                                                              \
    if (::shunt::log::enabled(::shunt::log::Level::level_)) {                       \
      ::shunt::log::write(::shunt::log::Level::level_, ::fmt::format(__VA_ARGS__)); \
    }                                                                               \
  } while (false)
#define SHUNT_LOG_DEBUG(...) SHUNT_LOG(kDebug, __VA_ARGS__)
#define SHUNT_LOG_INFO(...) SHUNT_LOG(kInfo, __VA_ARGS__)
#define SHUNT_LOG_WARN(...) SHUNT_LOG(kWarn, __VA_ARGS__)
#define SHUNT_LOG_ERROR(...) SHUNT_LOG(kError, __VA_ARGS__)
