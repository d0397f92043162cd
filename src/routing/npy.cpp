// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "base/error.hpp"
#include "routing/table.hpp"

namespace shunt::routing {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

Unexpected corrupt(const std::string& path, std::string_view what) {
  return fail(ErrorCode::kCorrupt, ErrorScope::kUsage, "routing file '{}': {}", path, what);
}

/// The text after `'key':` in the header's dictionary, blanks skipped; empty if absent.
std::string_view value_of(std::string_view header, std::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = quote + std::string(key) + quote;
    const std::size_t at = header.find(quoted);
    if (at == std::string_view::npos) continue;
    const std::size_t value = header.find_first_not_of(" :", at + quoted.size());
    if (value != std::string_view::npos) return header.substr(value);
  }
  return {};
}

std::optional<std::vector<std::int64_t>> parse_shape(std::string_view text) {
  const std::size_t close = text.find(')');
  if (text.empty() || text.front() != '(' || close == std::string_view::npos) return std::nullopt;
  text = text.substr(1, close - 1);
  std::vector<std::int64_t> shape;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" ,");
    if (begin == std::string_view::npos) return shape;
    std::int64_t extent = 0;
    const auto [end, error] =
        std::from_chars(text.data() + begin, text.data() + text.size(), extent);
    if (error != std::errc() || extent < 0) return std::nullopt;
    shape.push_back(extent);
    text = text.substr(static_cast<std::size_t>(end - text.data()));
  }
}

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int mantissa = bits & 0x3ff;
  double value = 0.0;
  if (exponent == 0x1f) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, -24);
  } else {
    value = std::ldexp(mantissa + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

template <typename Stored, typename Wide>
void widen(std::string_view data, std::vector<Wide>& out) {
  out.resize(data.size() / sizeof(Stored));
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored value{};
    std::memcpy(&value, data.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = static_cast<Wide>(value);
  }
}

/// u64 above 2^63 wraps to a negative number, which the check of ids then refuses.
bool decode(char kind, int size, std::string_view data, Table& table) {
  table.integral = kind != 'f';
  if (kind == 'i' && size == 1) return widen<std::int8_t>(data, table.integers), true;
  if (kind == 'i' && size == 2) return widen<std::int16_t>(data, table.integers), true;
  if (kind == 'i' && size == 4) return widen<std::int32_t>(data, table.integers), true;
  if (kind == 'i' && size == 8) return widen<std::int64_t>(data, table.integers), true;
  if (kind == 'u' && size == 1) return widen<std::uint8_t>(data, table.integers), true;
  if (kind == 'u' && size == 2) return widen<std::uint16_t>(data, table.integers), true;
  if (kind == 'u' && size == 4) return widen<std::uint32_t>(data, table.integers), true;
  if (kind == 'u' && size == 8) return widen<std::uint64_t>(data, table.integers), true;
  if (kind == 'f' && size == 4) return widen<float>(data, table.reals), true;
  if (kind == 'f' && size == 8) return widen<double>(data, table.reals), true;
  if (kind != 'f' || size != 2) return false;
  std::vector<std::uint16_t> halves;
  widen<std::uint16_t>(data, halves);
  table.reals.reserve(halves.size());
  for (const std::uint16_t half : halves) table.reals.push_back(half_to_double(half));
  return true;
}

struct Header {
  std::string_view text;
  std::string_view data;
};

Result<Header> split(const std::string& path, std::string_view bytes) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != kMagic) return corrupt(path, "not a .npy file");
  const int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3) {
    return corrupt(path, fmt::format("format version {} is not known; 1, 2 and 3 are", major));
  }
  const std::size_t width = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + width) return corrupt(path, "cut short inside the header");
  std::size_t length = 0;
  for (std::size_t i = 0; i < width; ++i) {
    length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[8 + i])) << (8 * i);
  }
  if (length > bytes.size() - 8 - width) return corrupt(path, "cut short inside the header");
  return Header{bytes.substr(8 + width, length), bytes.substr(8 + width + length)};
}

/// Sets slices, rows, columns. False if the product does not fit 63 bits.
bool set_shape(const std::vector<std::int64_t>& shape, Table& table, std::int64_t& count) {
  table.sliced = shape.size() == 3;
  table.slices = table.sliced ? shape[0] : 1;
  table.rows = shape[table.sliced ? 1 : 0];
  table.columns = shape.size() == 1 ? 1 : shape.back();
  return !__builtin_mul_overflow(table.slices, table.rows, &count) &&
         !__builtin_mul_overflow(count, table.columns, &count);
}

}  // namespace

Result<Table> parse_npy(const std::string& path, std::string_view bytes) {
  const auto header = split(path, bytes);
  if (!header) return Unexpected(header.error());
  const std::string_view descr = value_of(header->text, "descr");
  // 'descr': '<i4' — quote, byte order, kind, size.
  if (descr.size() < 5 || (descr[0] != '\'' && descr[0] != '"')) {
    return corrupt(path, "its element type is not a plain number");
  }
  const std::string_view type = descr.substr(1, descr.find(descr[0], 1) - 1);
  int size = 0;
  if (type.size() >= 3) std::from_chars(type.data() + 2, type.data() + type.size(), size);
  if (value_of(header->text, "fortran_order").substr(0, 4) == "True") {
    return corrupt(path, "is in Fortran order; save numpy.ascontiguousarray(a)");
  }
  const auto shape = parse_shape(value_of(header->text, "shape"));
  if (!shape || shape->empty() || shape->size() > 3) {
    return corrupt(path, "its shape is not [tokens], [tokens][topk] or [ranks][tokens][topk]");
  }
  Table table;
  table.path = path;
  std::int64_t count = 0;
  std::int64_t need = 0;
  if (!set_shape(*shape, table, count) ||
      __builtin_mul_overflow(count, std::int64_t{size}, &need)) {
    return corrupt(path, "its shape does not fit 63 bits");
  }
  if (static_cast<std::int64_t>(header->data.size()) != need) {
    return corrupt(
        path,
        fmt::format("holds {} bytes of numbers where its header says {} ({} of {} bytes)",
                    header->data.size(),
                    need,
                    count,
                    size));
  }
  if (type.size() < 3 || (type[0] != '<' && type[0] != '|') ||
      !decode(type[1], size, header->data, table)) {
    return corrupt(
        path,
        fmt::format("element type '{}' is not read; little-endian int8 to int64, uint8 to "
                    "uint64, float16, float32 and float64 are",
                    type));
  }
  return table;
}

}  // namespace shunt::routing
