// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_place.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "cli/run_analysis.hpp"
#include "cli/verbs.hpp"
#include "profile/run_reader.hpp"
#include "report/json.hpp"
#include "report/text.hpp"

namespace shunt::cli {

Result<RunPlace> RunPlace::create(const BenchOptions& options) {
  RunPlace place;
  std::string path = options.out;
  if (path.empty()) {
    std::error_code ignored;
    path = (std::filesystem::temp_directory_path(ignored) / "shunt-run-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      return system_error(errno, "cannot make a temporary run directory '{}'", path);
    }
    place.temporary_ = path;
  }
  auto writer = profile::RunWriter::create(
      path, options.force ? profile::Existing::kReplace : profile::Existing::kRefuse);
  if (!writer) return Unexpected(std::move(writer).error());
  place.writer_ = std::make_unique<profile::RunWriter>(std::move(*writer));
  return place;
}

RunPlace::RunPlace(RunPlace&& other) noexcept
    : writer_(std::move(other.writer_)), temporary_(std::exchange(other.temporary_, {})) {}

RunPlace::~RunPlace() {
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
}

std::string utc_now() {
  const auto seconds = static_cast<std::time_t>(wall_ns() / 1'000'000'000U);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

namespace {

/// What all ranks of `node` have posted.
std::uint64_t messages_of(const cluster::Shape& shape,
                          const std::vector<RankResult>& ranks,
                          int node) {
  std::uint64_t messages = 0;
  for (int local = 0; local < shape.ranks_per_node; ++local) {
    messages += ranks[static_cast<std::size_t>(shape.rank_of(node, local))].messages;
  }
  return messages;
}

/// One text where the ranks agree, each once where they do not.
void add_staging(std::optional<std::string>& all, const std::string& one) {
  if (one.empty()) return;
  if (!all) {
    all = one;
  } else if (all->find(one) == std::string::npos) {
    *all += "; elsewhere " + one;
  }
}

/// What the ranks sent, put into run.json.
Status merge(profile::RunInfo& info, const std::vector<RankResult>& ranks) {
  info.finished = true;
  info.clocks = ranks[0].clocks;
  for (const RankResult& rank : ranks) {
    info.dropped_records.push_back(rank.dropped);
    if (info.config.provider.empty()) info.config.provider = rank.provider;
    add_staging(info.config.staging, rank.staging);
    if (info.shape.nodes > 1) {
      if (!info.progress) info.progress.emplace();
      info.progress->insert(info.progress->end(), rank.progress.begin(), rank.progress.end());
    }
    if (rank.counter) {
      info.counters.push_back(*rank.counter);
      info.counters.back().messages = messages_of(info.shape, ranks, rank.counter->from_node);
    }
    profile::Correctness& all = info.correctness;
    all.checked |= rank.correctness.checked;
    all.dispatch_rows += rank.correctness.dispatch_rows;
    all.dispatch_mismatches += rank.correctness.dispatch_mismatches;
    all.combine_mismatches += rank.correctness.combine_mismatches;
    all.combine_max_error = std::max(all.combine_max_error, rank.correctness.combine_max_error);
  }
  return {};
}

/// Reads the run back, as analyze would, and prints it.
Exit show(const BenchOptions& options, const std::string& directory) {
  const auto run = analyze_run(directory);
  if (!run) return complain(run.error());
  const report::Report& report = run->report;
  if (!options.html.empty()) {
    const auto part = page_part(*run);
    if (!part) return complain(part.error());
    const auto written = write_page(options.html, {&*part, 1}, "bench");
    if (!written) return complain(written.error(), Exit::kEnvironment);
  }
  std::string text;
  if (options.json) {
    text = report::render_json(report);
  } else {
    report::TextOptions how;
    how.colour = report::wants_colour(STDOUT_FILENO);
    text = report::render_text(report, how);
    if (!options.out.empty()) {
      text +=
          fmt::format("\nrun directory {0}: shunt analyze {0} --out timeline.png\n", options.out);
    }
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  const profile::Correctness& c = run->recording.run.correctness;
  if (c.dispatch_mismatches != 0 || c.combine_mismatches != 0) {
    complain(fmt::format("wrong data: {} of {} dispatched rows, {} combined elements",
                         c.dispatch_mismatches,
                         c.dispatch_rows,
                         c.combine_mismatches));
    return Exit::kRunFailed;
  }
  if (options.fail_on.empty()) return Exit::kDone;
  for (const verdict::Severity one :
       {verdict::Severity::kNotice, verdict::Severity::kWarning, verdict::Severity::kCritical}) {
    if (options.fail_on == to_string(one) && report::has_finding(report, one)) {
      return Exit::kFindings;
    }
  }
  return Exit::kDone;
}

}  // namespace

Exit finish(const BenchJob& job,
            const RunPlace& place,
            profile::RunInfo& info,
            const std::vector<RankResult>& ranks) {
  if (const Status merged = merge(info, ranks); !merged) return complain(merged.error());
  if (const Status written = place.writer().write_info(info); !written) {
    return complain(written.error());
  }
  return show(job.options, place.writer().path());
}

}  // namespace shunt::cli
