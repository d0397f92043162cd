// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/reader.hpp"

#include <algorithm>
#include <utility>

#include "logs/text.hpp"

namespace shunt::logs {

Sink::Sink(const Document& document, int file, Evidence& evidence)
    : document_(document), file_(file), evidence_(evidence), claimed_(document.lines.size()) {}

void Sink::claim(std::size_t line) {
  claimed_[line] = true;
}

void Sink::recognised(std::string_view kind) {
  auto& kinds = evidence_.files[static_cast<std::size_t>(file_)].kinds;
  if (std::ranges::find(kinds, kind) == kinds.end()) kinds.emplace_back(kind);
}

Source Sink::source(std::size_t line) const {
  constexpr std::size_t kMaxQuoted = 200;
  const Line& at = document_.lines[line];
  std::size_t length = std::min(at.text.size(), kMaxQuoted);
  // Never cut inside a UTF-8 sequence.
  while (length < at.text.size() && length > 0 &&
         (static_cast<unsigned char>(at.text[length]) & 0xC0) == 0x80) {
    --length;
  }
  return {file_, at.number, at.text.substr(0, length)};
}

namespace {

/// No link and no memory moves more; a larger or negative figure is damage, not a measurement.
constexpr double kMostGbs = 1e5;
constexpr double kMostUs = 1e12;

void keep_time(std::optional<double>& time) {
  if (time && !(*time > 0 && *time < kMostUs)) time.reset();
}

bool plausible(const std::optional<double>& rate) {
  return !rate || (*rate >= 0 && *rate <= kMostGbs);
}

}  // namespace

void Sink::add(std::size_t line, Sample sample) {
  claim(line);
  for (auto* time : {&sample.time_us,
                     &sample.min_us,
                     &sample.max_us,
                     &sample.notify_us,
                     &sample.send_us,
                     &sample.recv_us}) {
    keep_time(*time);
  }
  if (sample.bytes && !(*sample.bytes > 0 && *sample.bytes < 1e18)) sample.bytes.reset();
  if (!plausible(sample.rate_gbs) || (!sample.rate_gbs && !sample.time_us)) {
    truncated(line, sample.format);
    return;
  }
  sample.source = source(line);
  if (!sample.rank) sample.rank = document_.lines[line].rank;
  evidence_.samples.push_back(std::move(sample));
}

void Sink::add(std::size_t line, Failure failure) {
  claim(line);
  failure.source = source(line);
  if (!failure.rank) failure.rank = document_.lines[line].rank;
  evidence_.failures.push_back(std::move(failure));
}

void Sink::add(std::size_t line, Mapping mapping) {
  claim(line);
  mapping.source = source(line);
  if (!mapping.rank) mapping.rank = document_.lines[line].rank;
  evidence_.mappings.push_back(std::move(mapping));
}

void Sink::add(std::size_t line, TokenCount count) {
  claim(line);
  count.source = source(line);
  evidence_.token_counts.push_back(std::move(count));
}

void Sink::add(Sweep sweep) {
  std::erase_if(sweep.rows, [](SweepRow& row) {
    for (auto* time : {&row.time_us, &row.in_place_time_us, &row.latency_us}) keep_time(*time);
    return !plausible(row.rate_gbs) || !plausible(row.bus_gbs) || !plausible(row.peak_gbs) ||
           !(row.size_bytes >= 0 && row.size_bytes < 1e18);
  });
  if (!sweep.rows.empty()) evidence_.sweeps.push_back(std::move(sweep));
}

void Sink::config(std::size_t line, std::string_view key, std::string_view value, Origin origin) {
  const std::string_view clean = trim(value);
  if (clean.empty()) return;
  // The same statement from every rank is one fact.
  std::string seen(key);
  seen.push_back('\n');
  seen.append(clean);
  seen.push_back(static_cast<char>('0' + static_cast<int>(origin)));
  if (!stated_.insert(std::move(seen)).second) return;
  evidence_.config.push_back({std::string(key), std::string(clean), origin, source(line)});
}

void Sink::truncated(std::size_t line, std::string_view format) {
  claim(line);
  evidence_.truncated.push_back({std::string(format), source(line)});
}

void gather(const Document& document, Evidence& evidence, std::span<const Reader> with) {
  const int file = static_cast<int>(evidence.files.size());
  FileInfo info;
  info.name = document.name;
  info.lines = document.lines.empty() ? 0 : document.lines.back().number;
  info.notes = document.notes;
  evidence.files.push_back(std::move(info));
  Sink sink(document, file, evidence);
  for (const Reader& reader : with) reader.read(document, sink);
  for (const std::size_t title : sink.titles()) sink.claim(title);
  // A heading that stands over understood lines is part of them.
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const int heading = document.lines[i].heading;
    if (heading >= 0 && sink.claimed(i)) sink.claim(static_cast<std::size_t>(heading));
  }
  std::size_t understood = 0;
  std::size_t content = 0;
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const Line& line = document.lines[i];
    if (line.text.empty() || line.fence) continue;
    ++content;
    if (sink.claimed(i)) {
      ++understood;
    } else {
      evidence.unread.push_back({sink.source(i)});
    }
  }
  FileInfo& read = evidence.files[static_cast<std::size_t>(file)];
  read.read_lines = understood;
  read.content_lines = content;
}

}  // namespace shunt::logs
