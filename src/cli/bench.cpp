// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/launch.hpp"
#include "bootstrap/mpi_launch.hpp"
#include "cli/bench_job.hpp"
#include "cli/run_analysis.hpp"
#include "cli/verbs.hpp"
#include "profile/rank_log.hpp"
#include "profile/run_reader.hpp"
#include "report/json.hpp"
#include "report/text.hpp"

#ifdef SHUNT_HAVE_MPI
#include "bootstrap/mpi_world.hpp"
#endif

namespace shunt::cli {
namespace {

/// The run directory: the one asked for, or a temporary one that goes away with this object.
class RunPlace {
 public:
  static Result<RunPlace> create(const BenchOptions& options) {
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
  RunPlace(RunPlace&& other) noexcept
      : writer_(std::move(other.writer_)), temporary_(std::exchange(other.temporary_, {})) {}
  RunPlace& operator=(RunPlace&&) = delete;
  ~RunPlace() {
    std::error_code ignored;
    if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
  }
  [[nodiscard]] const profile::RunWriter& writer() const { return *writer_; }

 private:
  RunPlace() = default;
  std::unique_ptr<profile::RunWriter> writer_;
  std::string temporary_;
};

std::string utc_now() {
  const auto seconds = static_cast<std::time_t>(wall_ns() / 1'000'000'000U);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

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

/// What the ranks sent, put into run.json.
Status merge(profile::RunInfo& info, const std::vector<RankResult>& ranks) {
  info.finished = true;
  info.clocks = ranks[0].clocks;
  for (const RankResult& rank : ranks) {
    info.dropped_records.push_back(rank.dropped);
    if (info.config.provider.empty()) info.config.provider = rank.provider;
    if (info.shape.nodes > 1) {
      if (!info.progress) info.progress.emplace();
      info.progress->push_back(rank.progress);
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

Exit run_launched(BenchJob job) {
  std::optional<bootstrap::EmulatedNodes> links;
  if (!job.options.emulate_link.empty()) {
    if (job.shape.nodes < 2) {
      complain("--emulate-link needs --nodes 2 or more: one node has no link");
      return Exit::kUsage;
    }
    bootstrap::EmulatedLinkOptions wanted;
    wanted.nodes = job.shape.nodes;
    wanted.rate_bytes_per_s = *job.link_rate;
    auto made = bootstrap::EmulatedNodes::create(wanted);
    if (!made) return complain(made.error(), Exit::kEnvironment);
    links.emplace(std::move(*made));
    job.links = &*links;
  }
  auto info = describe_run(job, "local");
  if (!info) return complain(info.error());
  auto place = RunPlace::create(job.options);
  if (!place) return complain(place.error());
  job.directory = place->writer().path();
  info->started = utc_now();
  if (const Status written = place->writer().write_info(*info); !written) {
    return complain(written.error());
  }
  bootstrap::LaunchOptions launch;
  launch.ranks = job.shape.world;
  launch.deadline_ns = static_cast<std::uint64_t>((job.options.deadline_s + 30) * 1e9);
  if (links) {
    launch.on_start = [&](int rank) { return links->enter(job.shape.node_of(rank)); };
  }
  const auto outcome = bootstrap::launch_local(
      launch, [&](bootstrap::World& world) -> Result<std::vector<std::byte>> {
        auto result = run_rank(world, job);
        if (!result) return Unexpected(std::move(result).error());
        return to_bytes(*result);
      });
  if (!outcome) return complain(outcome.error(), Exit::kEnvironment);
  if (outcome->interrupted_by != 0) {
    complain(fmt::format("interrupted by signal {}", outcome->interrupted_by));
    std::exit(128 + outcome->interrupted_by);
  }
  if (!outcome->status) return complain(outcome->status.error(), Exit::kEnvironment);
  std::vector<RankResult> ranks;
  for (const bootstrap::RankOutcome& rank : outcome->ranks) {
    auto result = from_bytes(rank.result);
    if (!result) return complain(result.error());
    ranks.push_back(std::move(*result));
  }
  return finish(job, *place, *info, ranks);
}

#ifdef SHUNT_HAVE_MPI
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

/// One rank of an mpirun; rank 0 prints. Once the ranks work together a failed one ends the job, as
/// MPI wants it.
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
#endif

Exit run(const BenchOptions& options) {
  const auto mpi = bootstrap::detect_mpi_launch();
  if (mpi) {
#ifdef SHUNT_HAVE_MPI
    return run_under_mpi(options, *mpi);
#else
    complain("started under " + mpi->launcher +
             ", but this build has no MPI; configure with "
             "SHUNT_WITH_MPI=ON, or run without it");
    return Exit::kEnvironment;
#endif
  }
  if (options.ranks_per_node != 0) {
    complain("--ranks-per-node is for mpirun; the own launch takes --ranks and --nodes");
    return Exit::kUsage;
  }
  auto job = BenchJob::create(options);
  if (!job) return complain(job.error());
  return run_launched(std::move(*job));
}

}  // namespace

void add_bench(Program& program) {
  auto o = std::make_shared<BenchOptions>();
  auto dtype = std::make_shared<std::string>("bf16");
  auto wire = std::make_shared<std::string>();
  CLI::App& verb = program.add_verb(
      "bench",
      "Run dispatch and combine on this machine, measure every link, and say what limits it.",
      {"shunt bench --nodes 2 --ranks 4 --emulate-link 1Gbit --check",
       "mpirun -n 8 shunt bench --ranks-per-node 4 --out run/"},
      [o, dtype, wire] {
        const auto rows = parse_dtype(*dtype);
        const auto partials = wire->empty() ? rows : parse_dtype(*wire);
        if (!rows || !partials) {
          complain(
              fmt::format("type '{}' is not known; fp32, bf16 or fp16", rows ? *wire : *dtype));
          return Exit::kUsage;
        }
        o->dtype = *rows;
        if (!wire->empty()) o->wire_dtype = partials;
        return run(*o);
      });
  verb.add_option("--ranks", o->ranks, "Ranks of the whole world")->capture_default_str();
  verb.add_option("--nodes", o->nodes, "Emulated nodes they are grouped into")
      ->capture_default_str();
  verb.add_option("--ranks-per-node", o->ranks_per_node, "Under mpirun: ranks of one node");
  verb.add_option("--tokens", o->tokens, "Tokens per rank")->capture_default_str();
  verb.add_option("--hidden", o->hidden, "Elements of a row")->capture_default_str();
  verb.add_option("--topk", o->topk, "Experts per token")->capture_default_str();
  verb.add_option("--experts", o->experts, "Experts of the world")->capture_default_str();
  verb.add_option("--dtype", *dtype, "fp32, bf16 or fp16")->capture_default_str();
  verb.add_option("--wire-dtype", *wire, "Of combine's partial sums (default: as --dtype)");
  verb.add_option("--routing",
                  o->routing,
                  "uniform, zipf:S, group:G/L, hot:F, all-to-one, file:PATH; then ,drop=F")
      ->capture_default_str();
  verb.add_option("--seed", o->seed, "Of routing and rows")->capture_default_str();
  verb.add_option("--chunk", o->chunk, "Records in one put")->capture_default_str();
  verb.add_option("--credits", o->credits, "Landing slots per source and direction")
      ->capture_default_str();
  verb.add_option("--qps", o->qps, "Queue pairs per peer")->capture_default_str();
  verb.add_option("--rdma-blocks",
                  o->rdma_blocks,
                  "Threads (blocks of a GPU) that send, and as many that receive")
      ->capture_default_str();
  verb.add_option("--blocks", o->blocks, "Threads that work inside the node")
      ->capture_default_str();
  verb.add_option("--device", o->device, "What runs the phases")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  verb.add_option("--sms",
                  o->sms,
                  "With --device cuda: multiprocessors of a rank, those between nodes included")
      ->capture_default_str();
  verb.add_option("--iters", o->iters, "Measured iterations")->capture_default_str();
  verb.add_option("--warmup", o->warmup, "Iterations before them")->capture_default_str();
  verb.add_flag("--check", o->check, "Compare every row and sum with a reference");
  verb.add_option("--provider", o->provider, "libfabric provider (default: tcp)");
  verb.add_option("--nic",
                  o->nic,
                  "NICs to stripe queue pairs over: names or addresses; / between local ranks")
      ->type_name("A,B/C,D");
  verb.add_option("--link-rate", o->link_rate, "Rating of one node's NIC, such as 400Gbit");
  verb.add_option("--emulate-link",
                  o->emulate_link,
                  "Join the nodes by links of this rate, in network namespaces (root)")
      ->type_name("RATE");
  verb.add_option("--out", o->out, "Keep the run directory")->type_name("DIR");
  verb.add_flag("--force", o->force, "Replace a former run in --out");
  verb.add_option("--html", o->html, "Also write all of it as one page, to look at or to show")
      ->type_name("FILE");
  verb.add_flag("--json", o->json, "JSON, schema shunt.report/1");
  verb.add_option("--fail-on", o->fail_on, "Exit with 1 for a finding at least this severe")
      ->check(CLI::IsMember({"notice", "warning", "critical"}));
  verb.add_option("--deadline", o->deadline_s, "Seconds that any single wait may take")
      ->capture_default_str();
  verb.add_option("--faults", o->faults, "Drill: provoked faults, such as hold_puts=8,seed=1");
  verb.add_option("--slow-rank", o->slow_rank, "Drill: this rank enters every operation late")
      ->type_name("RANK:MS");
}

}  // namespace shunt::cli
