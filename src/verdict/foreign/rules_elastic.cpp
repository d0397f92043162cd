// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// DeepEP V2: scale-out zero is one scale-up domain, not a fault; row shape from the byte counts.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "logs/ratings.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Path;
using logs::Sample;

struct Domain {
  double su_low = 1e300;
  double su_high = 0;
  bool scale_out = false;
  double world = 0;
  std::set<std::uint64_t> bytes;
  std::set<int> ranks;
  std::set<int> cached;
  const Sample* first = nullptr;
};

Domain domain_of(const Situation& s, int file) {
  Domain domain;
  for (const Sample& sample : s.evidence.samples) {
    if (sample.source.file != file || sample.format != "deepep-v2") continue;
    if (sample.path == Path::kRdma && *sample.rate_gbs > 0) domain.scale_out = true;
    if (sample.path != Path::kNvl) continue;
    if (domain.first == nullptr) domain.first = &sample;
    domain.su_low = std::min(domain.su_low, *sample.rate_gbs);
    domain.su_high = std::max(domain.su_high, *sample.rate_gbs);
    domain.world = sample.settings.at("ranks");
    if (sample.bytes) domain.bytes.insert(saturating_cast<std::uint64_t>(*sample.bytes));
    if (sample.rank)
      (sample.variant == "cached" ? domain.cached : domain.ranks).insert(*sample.rank);
  }
  return domain;
}

/// Row shape from the greatest common divisor of the byte counts: hidden · 2 + metadata.
std::string row_shape(const std::set<std::uint64_t>& bytes) {
  if (bytes.size() < 2) return {};
  std::uint64_t divisor = 0;
  for (const std::uint64_t value : bytes) divisor = std::gcd(divisor, value);
  for (const double hidden : {2048.0, 2560.0, 3072.0, 4096.0, 5120.0, 6144.0, 7168.0, 8192.0}) {
    for (const auto& [name, row] :
         {std::pair{"bf16", hidden * 2}, std::pair{"fp8", logs::fp8_row(hidden)}}) {
      const double meta = static_cast<double>(divisor) - row;
      if (meta < 0 || meta > 256 || divisor < 2000) continue;
      return fmt::format(
          "common divisor {} B = hidden {:g} {} + {:.0f} B of metadata: {:.0f}-{:.0f} "
          "rows (inferred)",
          divisor,
          hidden,
          name,
          meta,
          static_cast<double>(*bytes.begin()) / static_cast<double>(divisor),
          static_cast<double>(*bytes.rbegin()) / static_cast<double>(divisor));
    }
  }
  return {};
}

}  // namespace

void judge_elastic(const Situation& s, Findings& findings) {
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    const Domain domain = domain_of(s, file);
    if (domain.first == nullptr || domain.scale_out || domain.world < 2) continue;
    const auto* gpu = s.evidence.find("gpu", file);
    const auto* rated =
        gpu == nullptr ? nullptr : logs::rating_named(logs::RatedPart::kGpu, gpu->value);
    const double share = (domain.world - 1) / domain.world;
    const double limit = rated != nullptr ? rated->gbs : 0;
    const bool near = limit > 0 && domain.su_high > 0.8 * limit;
    Finding finding = Build(near ? "nvlink-bound" : "own-node-counted",
                            near ? Severity::kNotice : Severity::kInfo,
                            Confidence::kHigh,
                            "scale-up domain");
    finding.sentence = fmt::format(
        "0 GB/s (SO) is no fault: all {:g} ranks form one scale-up domain and no NIC is used. "
        "Scale-up "
        "runs at {:.0f} GB/s{}.",
        domain.world,
        domain.su_high,
        limit > 0
            ? fmt::format(": {} of {}'s {:.0f} if every byte crosses NVLink, {} ({:.0f} GB/s) if 1/"
                          "{:g} is the own rank's{}",
                          percent(domain.su_high / limit),
                          rated->name,
                          limit,
                          percent(domain.su_low * share / limit),
                          domain.su_low * share,
                          domain.world,
                          near ? ". Healthy, NVLink near its limit" : "")
            : std::string(" (no GPU model in the input, so no share)"));
    if (const auto row = row_shape(domain.bytes); !row.empty()) {
      finding.evidence.push_back({"row", row, "printed bytes"});
    }
    finding.evidence.push_back({"line", domain.first->source.text, place(s, domain.first->source)});
    finding.derivation =
        "bytes are the scale-up bytes; whether the own rank's rows are among them is not "
        "printed (--ignore-local-traffic)";
    finding.action =
        "To see whether a rack counts as one domain, run with more ranks than one tray has: "
        "SO above 0 there means trays were taken for domains.";
    findings.push_back(std::move(finding));
    if (!domain.cached.empty() && static_cast<double>(domain.cached.size()) < domain.world) {
      findings.push_back(
          Build("ranks-missing", Severity::kInfo, Confidence::kHigh, "cached dispatch")
              .say(fmt::format("Cached dispatch is shown by {} of {:g} ranks only.",
                               domain.cached.size(),
                               domain.world)));
    }
  }
}

}  // namespace shunt::verdict::foreign
