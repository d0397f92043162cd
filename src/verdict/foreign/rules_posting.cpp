// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Spans that time the posting of puts and are taken for transfer times.
#include <algorithm>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
/// bytes / posting time: the bandwidth-guide mistake. Needs tokens, nodes and a span in the text.
void judge_posting(const Situation& s, Findings& findings) {
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    const Shape& shape = s.shapes[static_cast<std::size_t>(file)];
    // Below a tenth of a microsecond nothing was timed.
    const auto span = [&](const char* key) {
      auto value = s.evidence.number(key, file);
      if (value && !(*value >= 0.1 && *value < 1e12)) value.reset();
      return value;
    };
    const auto send = span("send_span_us");
    const auto combine = span("combine_span_us");
    if ((!send && !combine) || !shape.tokens || !shape.nodes || shape.nodes->value < 2) continue;
    const double hidden = shape.hidden ? shape.hidden->value : 7168;
    const double topk = shape.topk ? shape.topk->value : 4;
    const double row = logs::bf16_row(hidden);
    const auto stated_record = s.evidence.number("record_bytes", file);
    const double record = stated_record ? *stated_record : row + topk * 8 + 4;
    const Rating& rating = s.ratings[static_cast<std::size_t>(file)];
    const double limit = rating.known() ? rating.gbs : 50;
    const double copies = shape.tokens->value * (shape.nodes->value - 1);
    const double send_rate = send ? copies * record / *send / 1e3 : 0;
    const double combine_rate = combine ? copies * row / *combine / 1e3 : 0;
    if (std::max(send_rate, combine_rate) <= limit * 1.03) continue;
    Finding finding = Build("posting-time", Severity::kCritical, Confidence::kHigh, "send span");
    finding.sentence = fmt::format(
        "Bytes over these spans are no transfer rates: {}{}{} on a {} link is impossible{}. A put "
        "does not block: the span is the time to post, not to move.",
        send ? fmt::format("send {:.0f} GB/s", send_rate) : "",
        send && combine ? " and " : "",
        combine ? fmt::format("combine {:.0f} GB/s", combine_rate) : "",
        gbs(limit),
        rating.known() ? "" : " (400 Gb/s NIC assumed)");
    finding.derivation = fmt::format(
        "{:g} tokens × {:g} B × {:g} nodes{}{}",
        shape.tokens->value,
        record,
        shape.nodes->value - 1,
        send ? fmt::format(" / {:g} µs = {:.0f} GB/s", *send, send_rate) : "",
        combine ? fmt::format("; × {:g} B / {:g} µs = {:.0f} GB/s", row, *combine, combine_rate)
                : "");
    finding.evidence.push_back({"record",
                                fmt::format("{:g} B{}",
                                            record,
                                            shape.hidden && shape.topk ? ""
                                            : stated_record            ? ""
                                                                       : " (hidden 7168, top-4 "
                                                                         "assumed)"),
                                "arithmetic"});
    finding.evidence.push_back(
        {"least time on the wire",
         fmt::format("{:.0f} µs at {}", copies * record / limit / 1e3, gbs(limit)),
         "arithmetic"});
    finding.action =
        "Use the window from the first put posted to the last arrival at the target, "
        "over all ranks of the link.";
    findings.push_back(std::move(finding));
  }
}

}  // namespace shunt::verdict::foreign
