// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "routing/recorded.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "routing/table.hpp"

namespace shunt::routing {
namespace {

constexpr std::string_view kRankMark = "{rank}";

std::string with_rank(std::string path, int rank) {
  for (std::size_t at = 0; (at = path.find(kRankMark, at)) != std::string::npos;) {
    const std::string number = std::to_string(rank);
    path.replace(at, kRankMark.size(), number);
    at += number.size();
  }
  return path;
}

/// ids.npy → ids.weights.npy; a name without extension gets ".weights" at its end.
std::string beside(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t dot = path.rfind('.');
  const bool extension =
      dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
  return extension ? path.substr(0, dot) + ".weights" + path.substr(dot) : path + ".weights";
}

Result<std::string> read_all(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return system_error(errno, "cannot open routing file '{}'", path);
  std::string bytes;
  constexpr std::size_t kStep = std::size_t{1} << 20;
  while (true) {
    const std::size_t size = bytes.size();
    bytes.resize(size + kStep);
    const ssize_t got = ::read(file.get(), bytes.data() + size, kStep);
    if (got < 0 && errno == EINTR) {
      bytes.resize(size);
      continue;
    }
    if (got < 0) return system_error(errno, "cannot read routing file '{}'", path);
    bytes.resize(size + static_cast<std::size_t>(got));
    if (got == 0) return bytes;
  }
}

Result<Table> load_table(const std::string& path) {
  const auto bytes = read_all(path);
  if (!bytes) return Unexpected(bytes.error());
  const bool npy = bytes->size() >= 6 && bytes->compare(0, 6, "\x93NUMPY") == 0;
  return npy ? parse_npy(path, *bytes) : parse_csv(path, *bytes);
}

/// The first row (over all slices) that `rank` reads, or why it cannot.
Result<std::int64_t> first_row(const Table& table, std::int64_t tokens, int rank, bool own_file) {
  if (table.sliced) {
    if (rank >= table.slices) {
      return usage_error("routing file '{}' holds {} ranks; there is none for rank {}",
                         table.path,
                         table.slices,
                         rank);
    }
    if (tokens > table.rows) {
      return usage_error("routing file '{}' holds {} tokens per rank, {} are asked for",
                         table.path,
                         table.rows,
                         tokens);
    }
    return table.rows * rank;
  }
  std::int64_t first = 0;
  if (!own_file && __builtin_mul_overflow(tokens, std::int64_t{rank}, &first)) {
    first = std::numeric_limits<std::int64_t>::max();
  }
  if (tokens > table.rows || first > table.rows - tokens) {
    return usage_error(
        "routing file '{}' holds {} tokens; rank {} with {} tokens begins at token {}: lower the "
        "tokens, or record one file per rank and name it with {{rank}}",
        table.path,
        table.rows,
        rank,
        tokens,
        first);
  }
  return first;
}

/// Checks one token's ids and stores them. `seen` has one stamp per expert.
Status store_ids(const Table& table,
                 std::int64_t row,
                 std::int64_t token,
                 Routing& routing,
                 std::vector<std::int64_t>& seen) {
  const auto from = static_cast<std::size_t>(row * table.columns);
  for (int slot = 0; slot < routing.topk; ++slot) {
    const double value = table.real(from + static_cast<std::size_t>(slot));
    if (!(value >= -1.0 && value < routing.experts) || value != std::floor(value)) {
      return usage_error("routing file {}, slot {}: {} is not an expert id; -1 (none) or 0 to {}",
                         table.place(row),
                         slot,
                         value,
                         routing.experts - 1);
    }
    const auto id = static_cast<std::int32_t>(value);
    routing.ids[static_cast<std::size_t>(token * routing.topk + slot)] = id;
    if (id < 0) continue;
    if (seen[static_cast<std::size_t>(id)] == token) {
      return usage_error("routing file {}, slot {}: expert {} appears twice in one token",
                         table.place(row),
                         slot,
                         id);
    }
    seen[static_cast<std::size_t>(id)] = token;
  }
  return {};
}

/// Weights of columns [column, column + topk), kept as recorded; 0 in empty slots.
Status store_weights(const Table& table,
                     std::int64_t first,
                     std::int64_t column,
                     Routing& routing) {
  routing.weights.assign(routing.ids.size(), 0.0F);
  for (std::int64_t token = 0; token < routing.tokens; ++token) {
    for (int slot = 0; slot < routing.topk; ++slot) {
      const auto to = static_cast<std::size_t>(token * routing.topk + slot);
      const std::int64_t row = first + token;
      const double value =
          table.real(static_cast<std::size_t>(row * table.columns + column + slot));
      if (!std::isfinite(static_cast<float>(value))) {
        return usage_error("routing file {}, slot {}: weight {} is not a finite fp32 number",
                           table.place(row),
                           slot,
                           value);
      }
      if (routing.ids[to] >= 0) routing.weights[to] = static_cast<float>(value);
    }
  }
  return {};
}

Status load_weights(const RoutingSpec& spec,
                    int rank,
                    const std::string& ids_path,
                    Routing& routing) {
  const bool named = !spec.weights_path.empty();
  const std::string path = named ? with_rank(spec.weights_path, rank) : beside(ids_path);
  if (!named && ::access(path.c_str(), F_OK) != 0) return {};
  const auto table = load_table(path);
  if (!table) return Unexpected(table.error());
  if (table->columns != routing.topk) {
    return usage_error("routing file '{}' holds {} weights per token, topk is {}",
                       path,
                       table->columns,
                       routing.topk);
  }
  const std::string& pattern = named ? spec.weights_path : spec.path;
  const bool own_file = pattern.find(kRankMark) != std::string::npos;
  const auto first = first_row(*table, routing.tokens, rank, own_file);
  if (!first) return Unexpected(first.error());
  return store_weights(*table, *first, 0, routing);
}

}  // namespace

std::string Table::place(std::int64_t row) const {
  if (!lines.empty()) {
    return fmt::format("'{}', line {}", path, lines[static_cast<std::size_t>(row)]);
  }
  if (sliced) return fmt::format("'{}', rank {}, token {}", path, row / rows, row % rows);
  return fmt::format("'{}', token {}", path, row);
}

Status load_recorded(const RoutingSpec& spec, int rank, Routing& routing) {
  const std::string path = with_rank(spec.path, rank);
  const auto table = load_table(path);
  if (!table) return Unexpected(table.error());
  const bool weights_inside = table->columns == 2 * std::int64_t{routing.topk};
  if (table->columns != routing.topk && !weights_inside && table->rows > 0) {
    return usage_error(
        "routing file '{}' holds {} columns; top-{} needs {} ids, or {} ids and {} weights",
        path,
        table->columns,
        routing.topk,
        routing.topk,
        routing.topk,
        routing.topk);
  }
  const bool own_file = spec.path.find(kRankMark) != std::string::npos;
  const auto first = first_row(*table, routing.tokens, rank, own_file);
  if (!first) return Unexpected(first.error());

  routing.ids.resize(static_cast<std::size_t>(routing.tokens) *
                     static_cast<std::size_t>(routing.topk));
  std::vector<std::int64_t> seen(static_cast<std::size_t>(routing.experts), -1);
  for (std::int64_t token = 0; token < routing.tokens; ++token) {
    SHUNT_TRY(store_ids(*table, *first + token, token, routing, seen));
  }
  if (weights_inside && spec.weights_path.empty()) {
    return store_weights(*table, *first, routing.topk, routing);
  }
  return load_weights(spec, rank, path, routing);
}

}  // namespace shunt::routing
