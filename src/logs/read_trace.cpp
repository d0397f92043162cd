// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/read_trace.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "logs/readers.hpp"
#include "logs/words.hpp"

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
        "JSON ends early at byte {}: {}", *trace.summary.ends_early_at, trace.summary.problem));
  }
  TraceFact fact;
  fact.source.file = file;
  fact.source.text = fmt::format("{}, {} events", trace.kind, trace.summary.events);
  fact.trace = std::move(trace);
  return fact;
}

}  // namespace

bool looks_like_trace(const std::string& path) {
  auto source = trace::open_bytes(path);
  if (!source) return false;
  std::string head(std::size_t{64} << 10, '\0');
  std::size_t size = 0;
  while (size < head.size()) {
    const std::size_t got = (*source)->read(head.data() + size, head.size() - size);
    if (got == 0) break;
    size += got;
  }
  return looks_like_trace_text(std::string_view(head).substr(0, size));
}

Status gather_trace(const std::string& path, const trace::PhaseTable& table, Evidence& evidence) {
  auto source = trace::open_bytes(path);
  if (!source) return Unexpected(source.error());
  trace::Collector collector(table);
  auto summary = trace::read_chrome(**source, collector);
  if (!summary) {
    Error error = summary.error();
    error.message = path + ": " + error.message;
    return Unexpected(std::move(error));
  }
  const int file = static_cast<int>(evidence.files.size());
  evidence.files.push_back({path, 0, 0, {}, {}});
  evidence.traces.push_back(fact_of(collector.finish(std::move(*summary)), file, evidence));
  return {};
}

bool is_cut_copy(const Evidence& evidence, const TraceFact& fact) {
  const auto& rank = fact.trace.summary.header.rank;
  return rank && std::ranges::any_of(evidence.traces, [&](const TraceFact& other) {
           return other.trace.summary.header.rank == rank &&
                  other.trace.summary.events > fact.trace.summary.events;
         });
}

/// A trace that came as a document: standard input, or a test.
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
