// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/reserve.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"

namespace shunt::memory {
namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{}) return std::nullopt;
  return value;
}

/// First line of the file, or the rest of the first line that starts with `key`.
std::optional<std::string> read_line(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (std::string_view(line).substr(0, key.size()) == key) return line.substr(key.size());
  }
  return std::nullopt;
}

std::optional<std::uint64_t> read_number(const std::string& path, std::string_view key = {}) {
  const auto line = read_line(path, key);
  return line ? parse_number(*line) : std::nullopt;
}

/// What the group may still allocate: its limit less its use, page cache counted as free because
/// the kernel reclaims it first. Nothing where it has no limit ("max").
std::optional<std::uint64_t> headroom(const std::string& group) {
  const auto limit = read_number(group + "/memory.max");
  const auto used = read_number(group + "/memory.current");
  if (!limit || !used) return std::nullopt;
  const std::uint64_t cache = read_number(group + "/memory.stat", "inactive_file ").value_or(0);
  const std::uint64_t held = *used - std::min(*used, cache);
  return *limit - std::min(*limit, held);
}

void tighten(std::optional<Available>& tightest, std::uint64_t bytes, std::string source) {
  if (!tightest || bytes < tightest->bytes) tightest = Available{bytes, std::move(source)};
}

}  // namespace

std::optional<Available> available_memory(const std::string& proc, const std::string& cgroups) {
  std::optional<Available> tightest;
  if (const auto kib = read_number(proc + "/meminfo", "MemAvailable:")) {
    tighten(tightest, *kib * 1024, "MemAvailable of /proc/meminfo");
  }
  // Version 2 has the one line "0::/path"; every ancestor's limit holds too. Inside a container the
  // path may lie outside the mounted tree; the mount's own root is then the container's group.
  std::string path = read_line(proc + "/self/cgroup", "0::").value_or("/");
  while (true) {
    if (path == "/") path.clear();
    if (const auto bytes = headroom(cgroups + path)) {
      tighten(tightest,
              *bytes,
              fmt::format("the memory limit of control group {}", path.empty() ? "/" : path));
    }
    if (path.empty()) return tightest;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

Status check_available(std::uint64_t bytes_per_rank,
                       int ranks,
                       const std::optional<Available>& available) {
  if (!available) return {};
  const auto all = static_cast<unsigned __int128>(bytes_per_rank) * static_cast<unsigned>(ranks);
  if (all <= available->bytes) return {};
  return fail(
      ErrorCode::kOutOfMemory,
      ErrorScope::kOperation,
      "heaps of {} for each of {} ranks on this machine do not fit: {} allows {}; use fewer "
      "ranks or smaller buffers",
      format_size(bytes_per_rank),
      ranks,
      available->source,
      format_size(available->bytes));
}

}  // namespace shunt::memory
