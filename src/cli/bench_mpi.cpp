// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_mpi.hpp"

#include <cstdlib>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "bootstrap/mpi_world.hpp"
#include "cli/bench_place.hpp"

namespace shunt::cli {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Before the ranks begin: whether any of them cannot. Rank 0 then says every error once, and all
/// get the same status to leave with. Collective.
Result<std::optional<Exit>> refused(bootstrap::MpiWorld& mpi, const Status& mine) {
  std::string text;
  if (!mine) {
    text = fmt::format("{} {}", static_cast<int>(exit_for(mine.error())), mine.error().to_string());
  }
  const auto all = mpi.all_gather(bytes_of(text));
  if (!all) return Unexpected(all.error());
  std::optional<Exit> status;
  std::set<std::string> said;
  for (const std::vector<std::byte>& one : *all) {
    if (one.empty()) continue;
    const std::string told = text_of(one);
    if (!status) status = static_cast<Exit>(std::atoi(told.c_str()));
    const std::string message = told.substr(told.find(' ') + 1);
    if (said.insert(message).second && mpi.rank() == 0) complain(message);
  }
  return status;
}

/// What only rank 0 has: the run directory and what stands in run.json.
struct RunKeeper {
  std::optional<RunPlace> place;
  profile::RunInfo info;

  Status open(const BenchJob& job) {
    auto described = describe_run(job, "mpi");
    if (!described) return Unexpected(std::move(described).error());
    auto made = RunPlace::create(job.options);
    if (!made) return Unexpected(std::move(made).error());
    place.emplace(std::move(*made));
    info = std::move(*described);
    info.started = utc_now();
    return place->writer().write_info(info);
  }
};

Result<BenchJob> mpi_job(const BenchOptions& options) {
  if (!options.emulate_link.empty()) {
    return usage_error("--emulate-link belongs to the own launch: run without mpirun");
  }
  return BenchJob::create(options);
}

}  // namespace

Exit run_under_mpi(BenchOptions options, const bootstrap::MpiLaunch& launch) {
  auto world = bootstrap::MpiWorld::create(static_cast<std::uint64_t>(options.deadline_s * 1e9));
  if (!world) return complain(world.error(), Exit::kEnvironment);
  bootstrap::MpiWorld& mpi = **world;
  const auto leave = [&](const Error& error, Exit system) {
    mpi.abort(static_cast<int>(complain(error, system)));
  };
  options.ranks = mpi.size();
  if (options.ranks_per_node == 0) options.ranks_per_node = launch.local_size.value_or(mpi.size());
  auto job = mpi_job(options);
  auto stop = refused(mpi, job ? Status() : Status(Unexpected(job.error())));
  if (!stop) leave(stop.error(), Exit::kRunFailed);
  if (*stop) return **stop;
  RunKeeper keeper;
  Status opened;
  if (mpi.rank() == 0) opened = keeper.open(*job);
  stop = refused(mpi, opened);
  if (!stop) leave(stop.error(), Exit::kRunFailed);
  if (*stop) return **stop;
  // Rank 0 tells the others the run's number and where its directory is.
  std::string text;
  if (mpi.rank() == 0) text = fmt::format("{} {}", job->run_id, keeper.place->writer().path());
  const auto told = mpi.all_gather(bytes_of(text));
  if (!told) leave(told.error(), Exit::kRunFailed);
  text = text_of((*told)[0]);
  job->run_id = std::strtoull(text.c_str(), nullptr, 10);
  job->directory = text.substr(text.find(' ') + 1);
  auto result = run_rank(mpi, *job);
  if (!result) leave(result.error(), Exit::kEnvironment);
  const auto all = mpi.all_gather(to_bytes(*result));
  if (!all) leave(all.error(), Exit::kRunFailed);
  if (mpi.rank() != 0) return Exit::kDone;
  std::vector<RankResult> ranks;
  for (const auto& bytes : *all) {
    auto one = from_bytes(bytes);
    if (!one) leave(one.error(), Exit::kInternal);
    ranks.push_back(std::move(*one));
  }
  return finish(*job, *keeper.place, keeper.info, ranks);
}

}  // namespace shunt::cli
