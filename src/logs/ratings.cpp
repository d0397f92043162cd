// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/ratings.hpp"

#include <array>

#include <fmt/format.h>

#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr Rated kRatings[] = {
#define SHUNT_RATED(part, name, spellings, gbs, usable, per_node, links, bridged, note, source) \
  {RatedPart::part, name, spellings, gbs, usable, per_node, links, bridged, note, source},
#include "logs/ratings.inc"
#undef SHUNT_RATED
};

constexpr std::array<double, 8> kStandard{1.25, 3.125, 5.0, 6.25, 12.5, 25.0, 50.0, 100.0};

/// A whole word; a count in front ("8xH100", "8*B200") and a plural s behind are allowed.
bool stands_in(std::string_view text, std::string_view word) {
  for (std::size_t at = find_ci(text, word); at != std::string_view::npos;
       at = find_ci(text, word, at + 1)) {
    const auto is_word = [](char c) { return is_alpha(c) || is_digit(c); };
    bool left = at == 0 || !is_word(text[at - 1]);
    if (!left && at >= 2 && to_lower(text[at - 1]) == 'x' && is_digit(text[at - 2])) left = true;
    std::size_t end = at + word.size();
    if (end < text.size() && to_lower(text[end]) == 's') ++end;
    if (left && (end >= text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

std::string_view heading(RatedPart part) {
  switch (part) {
    case RatedPart::kNic:
      return "NICs";
    case RatedPart::kInstance:
      return "Cloud instances";
    case RatedPart::kGpu:
      return "GPUs (scale-up links, one direction)";
    case RatedPart::kPcie:
      return "PCI Express, 16 lanes";
    case RatedPart::kLink:
      return "Link generations";
  }
  return "";
}

}  // namespace

std::span<const Rated> ratings() {
  return kRatings;
}

const Rated* find_rating(RatedPart part, std::string_view text) {
  for (const Rated& rated : kRatings) {
    if (rated.part != part) continue;
    for (const std::string_view spelling : split(rated.spellings, '|')) {
      if (stands_in(text, spelling)) return &rated;
    }
  }
  return nullptr;
}

const Rated* rating_named(RatedPart part, std::string_view name) {
  for (const Rated& rated : kRatings) {
    if (rated.part == part && equals_ci(rated.name, name)) return &rated;
  }
  return find_rating(part, name);
}

std::span<const double> standard_rates() {
  return kStandard;
}

std::optional<double> smallest_fitting_rate(double gbs) {
  for (const double rate : kStandard) {
    if (gbs <= rate * 1.01) return rate;
  }
  return std::nullopt;
}

std::string ratings_markdown() {
  std::string out =
      "<!-- Generated from src/logs/ratings.inc by SHUNT_WRITE_DOCS=1 test_logs. Do not edit. -->\n"
      "# Ratings\n\n"
      "What `shunt analyze` takes hardware to be able to carry when a log names it and gives no\n"
      "rate. One direction; GB/s is 10^9 bytes per second. Where no usable rate stands, 0.92 of\n"
      "the rating is taken. A rate in the log, or `--set rate=…`, always wins.\n";
  std::optional<RatedPart> part;
  for (const Rated& rated : kRatings) {
    if (part != rated.part) {
      part = rated.part;
      out += fmt::format("\n## {}\n\n", heading(rated.part));
      const bool gpus = rated.part == RatedPart::kGpu;
      out += fmt::format("| name | recognised as | GB/s | Gb/s | usable GB/s |{} note | source |\n",
                         gpus ? " links |" : "");
      out += fmt::format("|---|---|--:|--:|--:|{}---|---|\n", gpus ? "---|" : "");
    }
    std::string words;
    for (const std::string_view spelling : split(rated.spellings, '|')) {
      words += fmt::format("{}{}", words.empty() ? "" : ", ", spelling);
    }
    const std::string usable = rated.usable_gbs > 0 ? fmt::format("{:g}", rated.usable_gbs) : "";
    std::string links;
    if (rated.part == RatedPart::kGpu) {
      links = rated.links == 0 ? " |"
              : rated.bridged == 0
                  ? fmt::format(" {} |", rated.links)
                  : fmt::format(" {} of {} by bridges |", rated.bridged, rated.links);
    }
    out += fmt::format("| {} | {} | {:g} | {:g} | {} |{} {} | {} |\n",
                       rated.name,
                       words,
                       rated.gbs,
                       rated.gbs * 8,
                       usable,
                       links,
                       rated.note,
                       rated.source);
  }
  return out;
}

}  // namespace shunt::logs
