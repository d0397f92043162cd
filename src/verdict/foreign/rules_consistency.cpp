// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Do the numbers of a log agree with each other and with the stated configuration; what lies
// between the kernel and the call; does combine move its bytes as fast as dispatch does.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "logs/text.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Operation;
using logs::Path;
using logs::Sample;

/// bytes / time against the printed rate, within the rounding of all three prints.
void check_rates(const Situation& s, Findings& findings) {
  int wrong = 0;
  Finding finding;
  for (const Sample& sample : s.evidence.samples) {
    if (!sample.bytes || !sample.time_us || !sample.rate_gbs || *sample.time_us <= 0) continue;
    if (sample.format == "deepep-v2" && sample.path != Path::kNvl) continue;
    const double again = *sample.bytes / *sample.time_us / 1e3;
    const double slack = sample.rate_error + sample.bytes_error / *sample.time_us / 1e3 +
                         again * 0.1 / *sample.time_us + 0.002 * again;
    if (std::fabs(again - *sample.rate_gbs) <= slack) continue;
    if (wrong++ > 0) continue;
    finding = Build(
        "rate-mismatch", Severity::kWarning, Confidence::kHigh, logs::to_string(sample.operation));
    finding.sentence = fmt::format(
        "The printed rate {} is not the printed bytes over the printed time: {:.2f} MB / {:.1f} µs "
        "= {}.",
        gbs(*sample.rate_gbs),
        *sample.bytes / 1e6,
        *sample.time_us,
        gbs(again));
    finding.evidence.push_back({"line", sample.source.text, place(s, sample.source)});
    finding.action = "Find out which of the three is from another run or column.";
  }
  if (wrong == 0) return;
  if (wrong > 1) finding.sentence += fmt::format(" {} lines are like this.", wrong);
  findings.push_back(std::move(finding));
}

/// HybridEP since 2026-03-31: combine's RDMA bytes are dispatch's FP8-scaled ones.
void check_fp8_combine(const Situation& s, Findings& findings) {
  for (const Sample& combine : s.evidence.samples) {
    if (combine.format != "hybridep" || combine.operation != Operation::kCombine ||
        combine.path != Path::kRdma || !combine.rate_gbs) {
      continue;
    }
    const Sample* nvl = nullptr;
    const Sample* dispatch = nullptr;
    const Sample* dispatch_nvl = nullptr;
    for (const Sample& other : s.evidence.samples) {
      if (other.source.file != combine.source.file || other.run != combine.run ||
          other.rank != combine.rank || other.format != "hybridep") {
        continue;
      }
      const bool same = other.operation == Operation::kCombine && other.span == combine.span &&
                        other.variant == combine.variant;
      if (same && other.path == Path::kNvl) nvl = &other;
      if (other.operation == Operation::kDispatch && other.path == Path::kRdma && other.bytes) {
        dispatch = &other;
      }
      if (other.operation == Operation::kDispatch && other.path == Path::kNvl && other.bytes) {
        dispatch_nvl = &other;
      }
    }
    if (dispatch == nullptr || dispatch->dtype != "fp8") continue;
    // Proof by bytes where they are printed; by the rates' ratio on kernel lines.
    bool scaled = false;
    if (combine.bytes) {
      scaled = std::fabs(*combine.bytes / *dispatch->bytes - 1) < 0.01;
    } else if (nvl != nullptr && nvl->rate_gbs && dispatch_nvl != nullptr) {
      const double kernel = *combine.rate_gbs / *nvl->rate_gbs;
      const double true_ratio = *dispatch->bytes / *dispatch_nvl->bytes;
      scaled = std::fabs(kernel / (true_ratio * logs::kFp8Share) - 1) < 0.04;
    }
    if (!scaled) continue;
    const double corrected = *combine.rate_gbs / logs::kFp8Share;
    const Shape& shape = s.shapes[static_cast<std::size_t>(combine.source.file)];
    const double share = shape.nodes ? logs::remote_share(shape.nodes->value) : 0.5;
    Finding finding = Build("fp8-combine-undercount",
                            Severity::kWarning,
                            Confidence::kHigh,
                            combine.variant.empty() ? "combine" : "combine " + combine.variant);
    finding.sentence = fmt::format(
        "Combine's RDMA rate is printed 1.94 × too low: {} uses dispatch's FP8 bytes, but combine "
        "moves bf16. Corrected: {} printed, {} on the wire.",
        gbs(*combine.rate_gbs),
        gbs(corrected),
        gbs(corrected * share));
    finding.derivation =
        "combine's rows are bf16 (2·H bytes), FP8 rows H + 4·H/128: 1 / 0.515625 = "
        "1.939";
    finding.evidence.push_back({"combine line", combine.source.text, place(s, combine.source)});
    finding.evidence.push_back(
        {"dispatch line", dispatch->source.text, place(s, dispatch->source)});
    findings.push_back(std::move(finding));
    return;
  }
}

/// Is the ratio of node copies to rank copies what the stated shape gives?
void check_ratio(const Situation& s, int file, Findings& findings) {
  const Shape& shape = s.shapes[static_cast<std::size_t>(file)];
  if (!shape.ratio || !shape.nodes || shape.nodes->inferred) return;
  const int nodes = saturating_cast<int>(shape.nodes->value);
  if (nodes < 2) return;
  for (const auto& fit : shape.fits) {
    if (fit.nodes == nodes) return;
  }
  const double per = shape.ranks_per_node ? shape.ranks_per_node->value : 8;
  const double topk = shape.topk ? shape.topk->value : 8;
  const double experts = shape.experts ? shape.experts->value : 256;
  const auto copies = logs::uniform_copies(experts, topk, nodes, per);
  std::string fit_text;
  for (int k = 1; k <= 16; ++k) {
    const auto other = logs::uniform_copies(experts, k, nodes, per);
    if (std::fabs(*shape.ratio / (other.node / other.rank) - 1) < 0.04) {
      fit_text = fmt::format(" It would fit top-{}.", k);
      break;
    }
  }
  if (fit_text.empty() && !shape.fits.empty()) {
    fit_text = fmt::format(" It would fit {} nodes × {}.",
                           shape.fits.front().nodes,
                           shape.fits.front().ranks_per_node);
  }
  Finding finding = Build("ratio-mismatch",
                          Severity::kWarning,
                          shape.topk && shape.experts ? Confidence::kHigh : Confidence::kMedium,
                          "configuration");
  finding.sentence = fmt::format(
      "Printed RDMA/NVL is {:.3f}, but {} nodes × {:g} ranks with top-{:g} of {:g} experts give "
      "{:.3f}: the log is not from the stated configuration.{}",
      *shape.ratio,
      nodes,
      per,
      topk,
      experts,
      copies.node / copies.rank,
      fit_text);
  finding.derivation = fmt::format(
      "node copies {:.3f}, rank copies {:.3f} per token, uniform "
      "routing",
      copies.node,
      copies.rank);
  finding.evidence.push_back({"nodes", fmt::format("{}", nodes), shape.nodes->from});
  finding.action = "Check top-k, experts and node count against the run that printed the log.";
  findings.push_back(std::move(finding));
}

/// A log's own copy counts against the stated tokens per rank.
void check_counts(const Situation& s, Findings& findings) {
  for (const logs::TokenCount& count : s.evidence.token_counts) {
    const Shape& shape = s.shapes[static_cast<std::size_t>(count.source.file)];
    if (!count.node_copies || !shape.tokens || !shape.nodes) continue;
    const double most = shape.tokens->value * shape.nodes->value;
    if (*count.node_copies <= most * 1.001) continue;
    const double per = shape.ranks_per_node ? shape.ranks_per_node->value : 8;
    const double topk = shape.topk ? shape.topk->value : 8;
    const double experts = shape.experts ? shape.experts->value : 256;
    const auto copies = logs::uniform_copies(experts, topk, shape.nodes->value, per);
    const double tokens = *count.node_copies / copies.node;
    const double rounded = std::pow(2.0, std::round(std::log2(tokens)));
    Finding finding =
        Build("ratio-mismatch", Severity::kWarning, Confidence::kHigh, "command against output");
    finding.sentence = fmt::format(
        "{:.0f} RDMA tokens are impossible with {:g} tokens a rank on {:g} nodes (at most {:.0f}): "
        "command and output are not from one run. The counts fit {:.0f} tokens a rank (expected "
        "{:.0f}).",
        *count.node_copies,
        shape.tokens->value,
        shape.nodes->value,
        most,
        rounded,
        rounded * copies.node);
    finding.derivation = fmt::format(
        "{:.3f} node copies per token with {:g} nodes, top-{:g} of {:g}; received rows {:.0f} / "
        "{:.0f}"
        " = {:.2f} a token (expected {:.2f}); RDMA/XGMI = {:.3f}; about {:.0f} copies leave the "
        "node",
        copies.node,
        shape.nodes->value,
        topk,
        experts,
        count.received.value_or(0),
        rounded,
        count.received.value_or(0) / rounded,
        copies.rank,
        count.received ? *count.node_copies / *count.received : 0,
        *count.node_copies * logs::remote_share(shape.nodes->value));
    finding.evidence.push_back({"counts", count.source.text, place(s, count.source)});
    finding.evidence.push_back(
        {"tokens", fmt::format("{:g}", shape.tokens->value), shape.tokens->from});
    finding.action = "Use the counts, not the flag; run again with the wanted token count.";
    findings.push_back(std::move(finding));
    return;
  }
}

/// Benchmarks that time both the call and its kernels.
bool times_calls(const Op& op) {
  return op.format == "hybridep" || op.format == "ep-bench";
}

const Op* partner(const Situation& s, const Op& kernel) {
  for (const Op& op : s.ops) {
    if (op.file == kernel.file && op.run == kernel.run && op.operation == kernel.operation &&
        op.span == logs::Span::kApi && op.variant == kernel.variant && op.time_us &&
        op.format == kernel.format) {
      return &op;
    }
  }
  return nullptr;
}

}  // namespace

void judge_consistency(const Situation& s, Findings& findings) {
  check_rates(s, findings);
  check_counts(s, findings);
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    check_ratio(s, file, findings);
  }
  check_fp8_combine(s, findings);
}

void judge_overhead(const Situation& s, Findings& findings) {
  Finding finding;
  double worst = 0;
  for (const Op& op : s.ops) {
    if (op.span != logs::Span::kKernel || !op.time_us || !times_calls(op)) continue;
    const Op* api = partner(s, op);
    if (api == nullptr || !(*api->time_us > *op.time_us)) continue;
    const double gap = *api->time_us - *op.time_us;
    const double share = gap / *op.time_us;
    const std::string text = fmt::format("{:.0f} µs ({}) beyond its kernel", gap, percent(share));
    finding.evidence.push_back(
        {logs::to_string(op.operation),
         fmt::format(
             "call {:.1f} µs − kernel {:.1f} µs = {:.0f} µs", *api->time_us, *op.time_us, gap),
         op.rdma ? place(s, op.rdma->sample->source) : place(s, op.nvl->sample->source)});
    finding.sentence += fmt::format("{}{} spends {}",
                                    finding.sentence.empty() ? "" : ", ",
                                    logs::to_string(op.operation),
                                    text);
    worst = std::max(worst, share);
  }
  if (worst <= 0) return;
  for (const Op& op : s.ops) {
    if (!times_calls(op) || op.span != logs::Span::kApi || op.variant.empty() || !op.time_us) {
      continue;
    }
    for (const Op& plain : s.ops) {
      if (plain.file == op.file && plain.run == op.run && plain.operation == op.operation &&
          plain.span == op.span && plain.variant.empty() && plain.time_us &&
          plain.format == op.format) {
        finding.evidence.push_back({op.variant,
                                    fmt::format("{:.1f} − {:.1f} µs: {:+.0f} µs",
                                                *op.time_us,
                                                *plain.time_us,
                                                *op.time_us - *plain.time_us),
                                    "call against call"});
        break;
      }
    }
  }
  const Finding shell = Build("host-overhead",
                              worst >= 0.25 ? Severity::kWarning : Severity::kInfo,
                              Confidence::kHigh,
                              "call against kernel");
  finding.id = shell.id;
  finding.severity = shell.severity;
  finding.confidence = shell.confidence;
  finding.where = shell.where;
  finding.sentence = "Of the call's time, " + finding.sentence +
                     ": copies, allocation, launch and synchronisation, not the link.";
  finding.derivation =
      "API lines time the whole call, kernel lines the device kernels without the "
      "synchronisation around them";
  finding.action = worst >= 0.25 ? "Cached handle, no host synchronisation per call, CUDA graphs, "
                                   "fused permute; warm up before measuring."
                                 : "";
  findings.push_back(std::move(finding));
}

/// Combine moves bf16 dispatch's bytes; well below its rate means something else stalls it.
void judge_asymmetry(const Situation& s, Findings& findings) {
  for (const Op& combine : s.ops) {
    if (combine.operation != Operation::kCombine || !combine.rdma || !combine.wire) continue;
    const Op* dispatch = nullptr;
    for (const Op& op : s.ops) {
      if (op.file == combine.file && op.operation == Operation::kDispatch && op.wire &&
          op.span == combine.span && op.run == combine.run && op.format == combine.format &&
          op.group == combine.group && (op.variant.empty() == combine.variant.empty()) &&
          (dispatch == nullptr || op.dtype == "bf16")) {
        dispatch = &op;
      }
    }
    if (dispatch == nullptr || dispatch->rdma->rate <= 0) continue;
    if (combine.format == "hybridep" && dispatch->dtype == "fp8") continue;
    const double ratio = combine.rdma->rate / dispatch->rdma->rate;
    if (ratio >= 0.75) continue;
    Finding finding = Build("combine-stall",
                            ratio < 0.3 ? Severity::kWarning : Severity::kNotice,
                            Confidence::kMedium,
                            "combine");
    finding.sentence = fmt::format(
        "Combine runs at {:.2f} of dispatch's rate ({} against {} printed){}: bytes do not explain "
        "it.",
        ratio,
        gbs(combine.rdma->rate),
        gbs(dispatch->rdma->rate),
        dispatch->dtype == "bf16" ? " with the same bytes" : "");
    finding.action =
        "On RoCE: congestion, hash collisions or retransmission; try adaptive or static "
        "routing and check PFC and DSCP. Else: NIC contention or a poll stall.";
    finding.confirm = "out_of_sequence, CNP and PFC pause counters during combine";
    finding.evidence.push_back(
        {"combine", combine.rdma->sample->source.text, place(s, combine.rdma->sample->source)});
    findings.push_back(std::move(finding));
    return;
  }
}

/// The same operation over more nodes, at less per GPU: what the fabric between them adds.
void judge_scaling(const Situation& s, Findings& findings) {
  for (const Op& few : s.ops) {
    if (!few.wire || few.operation == Operation::kUnknown || few.variant == "average") continue;
    const Op* worst = nullptr;
    for (const Op& many : s.ops) {
      const bool same = many.file == few.file && many.operation == few.operation &&
                        many.dtype == few.dtype && many.format == few.format &&
                        many.variant == few.variant && many.wire && many.nodes && few.nodes;
      if (!same || many.nodes->value <= few.nodes->value) continue;
      if (*many.wire < 0.7 * *few.wire && (worst == nullptr || *many.wire < *worst->wire)) {
        worst = &many;
      }
    }
    if (worst == nullptr) continue;
    findings.push_back(
        Build("runs-differ", Severity::kWarning, Confidence::kMedium, few.name())
            .say(fmt::format("From {:g} to {:g} nodes the wire rate per GPU falls from {} to {} "
                             "({:.2f} ×): what limits the "
                             "larger run lies in the fabric between the nodes, not in the NIC.",
                             few.nodes->value,
                             worst->nodes->value,
                             gbs(*few.wire),
                             gbs(*worst->wire),
                             *worst->wire / *few.wire))
            .fact("fewer nodes", few.rdma->sample->source.text, place(s, few.rdma->sample->source))
            .fact("more nodes",
                  worst->rdma->sample->source.text,
                  place(s, worst->rdma->sample->source))
            .act("Check the switch tier that only the larger run crosses: adaptive routing, ECMP "
                 "collisions, oversubscription, PFC; rail-aligned cabling.")
            .confirm("per-port counters on leaf and spine, CNP and out_of_sequence on the NICs"));
    return;
  }
}

/// A tuning sweep whose small RDMA chunks are slow.
void judge_chunks(const Situation& s, Findings& findings) {
  const Sample* slowest = nullptr;
  const Sample* fastest = nullptr;
  for (const Sample& sample : s.evidence.samples) {
    if (sample.path != Path::kRdma || !sample.rate_gbs) continue;
    const auto chunk = sample.settings.find("rdma_chunk");
    if (chunk == sample.settings.end() || sample.best) continue;
    if (slowest == nullptr) {
      slowest = fastest = &sample;
      continue;
    }
    if (sample.source.file != slowest->source.file || sample.operation != slowest->operation ||
        sample.group != slowest->group || sample.dtype != slowest->dtype) {
      continue;
    }
    if (chunk->second < slowest->settings.at("rdma_chunk")) slowest = &sample;
    if (*sample.rate_gbs > *fastest->rate_gbs) fastest = &sample;
  }
  if (slowest == nullptr || slowest == fastest) return;
  const double chunk = slowest->settings.at("rdma_chunk");
  const double share = *slowest->rate_gbs / *fastest->rate_gbs;
  if (share > 0.75 || chunk >= fastest->settings.at("rdma_chunk")) return;
  findings.push_back(
      Build("small-messages", Severity::kInfo, Confidence::kHigh, "tuning sweep")
          .say(fmt::format(
              "RDMA chunk {:g} reaches only {} of the best row (chunk {:g}): {:g} tokens "
              "a write are too few to fill the pipe.",
              chunk,
              percent(share),
              fastest->settings.at("rdma_chunk"),
              chunk))
          .because(fmt::format("{:g} × 14336 B = {:.0f} kB a write in bf16 at hidden 7168",
                               chunk,
                               chunk * 14336 / 1e3))
          .fact("slow row", slowest->source.text, place(s, slowest->source))
          .fact("best row", fastest->source.text, place(s, fastest->source)));
}

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
