// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/read_trace.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "logs/reader.hpp"
#include "logs/readers.hpp"
#include "logs/words.hpp"
#include "trace/perfetto/event_reader.hpp"

namespace shunt::logs {
namespace {

bool looks_like_trace_text(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (begin == std::string_view::npos || (text[begin] != '{' && text[begin] != '[')) return false;
  return contains(text, "\"traceEvents\"") ||
         (text[begin] == '[' && contains(text, "\"ph\"") && contains(text, "\"ts\""));
}

TraceFact fact_of(trace::ForeignTrace trace, int file, Evidence& evidence) {
  FileInfo& info = evidence.files[static_cast<std::size_t>(file)];
  info.kinds.push_back(trace.kind);
  if (trace.summary.ends_early_at) {
    info.notes.push_back(fmt::format(
        "ends early at byte {}: {}", *trace.summary.ends_early_at, trace.summary.problem));
  }
  info.notes.insert(info.notes.end(), trace.summary.notes.begin(), trace.summary.notes.end());
  TraceFact fact;
  fact.source.file = file;
  fact.source.text = fmt::format("{}, {} events", trace.kind, trace.summary.events);
  fact.trace = std::move(trace);
  return fact;
}

}  // namespace

Status gather_input(trace::HeadSource& bytes,
                    const std::string& name,
                    const trace::PhaseTable& table,
                    Evidence& evidence) {
  constexpr std::size_t kHead = std::size_t{64} << 10;
  const std::string_view head = bytes.head(kHead);
  const bool perfetto = trace::looks_like_perfetto(head);
  if (!perfetto && !looks_like_trace_text(head.substr(0, kHead))) {
    const auto document = load_document(bytes, name);
    if (!document) return Unexpected(document.error());
    gather(*document, evidence);
    return {};
  }
  trace::Collector collector(table);
  auto summary =
      perfetto ? trace::read_perfetto(bytes, collector) : trace::read_chrome(bytes, collector);
  if (!summary) {
    Error error = summary.error();
    error.message = name + ": " + error.message;
    return Unexpected(std::move(error));
  }
  const int file = static_cast<int>(evidence.files.size());
  evidence.files.push_back({name, 0, 0, {}, {}});
  evidence.traces.push_back(fact_of(collector.finish(std::move(*summary)), file, evidence));
  return {};
}

Status gather_file(const std::string& path, Evidence& evidence) {
  const auto bytes = trace::open_bytes(path);
  if (!bytes) return Unexpected(bytes.error());
  return gather_input(**bytes, path, trace::PhaseTable(), evidence);
}

bool is_cut_copy(const Evidence& evidence, const TraceFact& fact) {
  const auto& rank = fact.trace.summary.header.rank;
  return rank && std::ranges::any_of(evidence.traces, [&](const TraceFact& other) {
           return other.trace.summary.header.rank == rank &&
                  other.trace.summary.events > fact.trace.summary.events;
         });
}

/// A trace inside a pasted text.
void read_trace(const Document& document, Sink& sink) {
  std::string text;
  for (const Line& line : document.lines) {
    text += line.body;
    text += '\n';
    // The first lines decide; a log of any size is not copied for nothing.
    if (text.size() < 4096 && &line != &document.lines.back()) continue;
    if (text.size() < 4096 + line.body.size() + 2 && !looks_like_trace_text(text)) return;
  }
  if (!looks_like_trace_text(text)) return;
  const trace::PhaseTable table;
  trace::Collector collector(table);
  const auto source = trace::memory_bytes(text);
  auto summary = trace::read_chrome(*source, collector);
  if (!summary) return;
  Evidence& evidence = sink.evidence();
  evidence.traces.push_back(fact_of(collector.finish(std::move(*summary)), sink.file(), evidence));
  for (std::size_t at = 0; at < document.lines.size(); ++at) sink.claim(at);
}

}  // namespace shunt::logs
