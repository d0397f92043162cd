// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "bootstrap/mpi_launch.hpp"
#include "cli/bench_job.hpp"
#include "cli/bench_place.hpp"
#include "cli/verbs.hpp"

#ifdef SHUNT_HAVE_MPI
#include "cli/bench_mpi.hpp"
#endif

namespace shunt::cli {
namespace {

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

void add_job_options(CLI::App& verb, BenchOptions& o, std::string& dtype, std::string& wire) {
  verb.add_option("--ranks", o.ranks, "Ranks of the whole world")->capture_default_str();
  verb.add_option("--nodes", o.nodes, "Emulated nodes they are grouped into")
      ->capture_default_str();
  verb.add_option("--ranks-per-node", o.ranks_per_node, "Under mpirun: ranks of one node");
  verb.add_option("--tokens", o.tokens, "Tokens per rank")->capture_default_str();
  verb.add_option("--hidden", o.hidden, "Elements of a row")->capture_default_str();
  verb.add_option("--topk", o.topk, "Experts per token")->capture_default_str();
  verb.add_option("--experts", o.experts, "Experts of the world")->capture_default_str();
  verb.add_option("--dtype", dtype, "fp32, bf16 or fp16")->capture_default_str();
  verb.add_option("--wire-dtype", wire, "Of combine's partial sums (default: as --dtype)");
  verb.add_option("--routing",
                  o.routing,
                  "uniform, zipf:S, group:G/L, hot:F, all-to-one, file:PATH; then ,drop=F")
      ->capture_default_str();
  verb.add_option("--seed", o.seed, "Of routing and rows")->capture_default_str();
}

/// How it is done, and on what links.
void add_engine_options(CLI::App& verb, BenchOptions& o) {
  verb.add_option("--chunk", o.chunk, "Records in one put")->capture_default_str();
  verb.add_option("--credits", o.credits, "Landing slots per source and direction")
      ->capture_default_str();
  verb.add_option("--qps", o.qps, "Queue pairs per peer")->capture_default_str();
  verb.add_option(
          "--proxy-threads",
          o.proxy_threads,
          "Threads of each rank that serve the fabric; each takes a share of the other nodes")
      ->capture_default_str();
  verb.add_option("--rdma-blocks",
                  o.rdma_blocks,
                  "Threads (blocks of a GPU) that send, and as many that receive")
      ->capture_default_str();
  verb.add_option("--blocks", o.blocks, "Threads that work inside the node")->capture_default_str();
  verb.add_option("--device", o.device, "What runs the phases")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  verb.add_option("--sms",
                  o.sms,
                  "With --device cuda: multiprocessors of a rank, those between nodes included")
      ->capture_default_str();
  verb.add_option("--staging",
                  o.staging,
                  "With --device cuda: where records lie between nodes: auto, host or device")
      ->check(CLI::IsMember({"auto", "host", "device"}))
      ->capture_default_str();
  verb.add_flag("--any-cpu",
                o.any_cpu,
                "With --device cuda: do not keep progress threads on CPUs near the device");
  verb.add_option("--iters", o.iters, "Measured iterations")->capture_default_str();
  verb.add_option("--warmup", o.warmup, "Iterations before them")->capture_default_str();
  verb.add_flag("--check", o.check, "Compare every row and sum with a reference");
  verb.add_option("--provider", o.provider, "libfabric provider (default: tcp)");
  verb.add_option("--nic",
                  o.nic,
                  "NICs to stripe queue pairs over: names or addresses; / between local ranks")
      ->type_name("A,B/C,D");
  verb.add_option("--link-rate", o.link_rate, "Rating of one node's NIC, such as 400Gbit");
  verb.add_option("--emulate-link",
                  o.emulate_link,
                  "Join the nodes by links of this rate, in network namespaces (root)")
      ->type_name("RATE");
  verb.add_option(
          "--emulate-nics",
          o.emulate_nics,
          "NICs of an emulated node, each with a link of that rate; queue pairs stripe over "
          "them")
      ->capture_default_str();
}

void add_output_options(CLI::App& verb, BenchOptions& o) {
  verb.add_option("--out", o.out, "Keep the run directory")->type_name("DIR");
  verb.add_flag("--force", o.force, "Replace a former run in --out");
  verb.add_option("--html", o.html, "Also write all of it as one page, to look at or to show")
      ->type_name("FILE");
  verb.add_flag("--json", o.json, "JSON, schema shunt.report/1");
  verb.add_option("--fail-on", o.fail_on, "Exit with 1 for a finding at least this severe")
      ->check(CLI::IsMember({"notice", "warning", "critical"}));
  verb.add_option("--deadline", o.deadline_s, "Seconds that any single wait may take")
      ->capture_default_str();
  verb.add_option("--faults", o.faults, "Drill: provoked faults, such as hold_puts=8,seed=1");
  verb.add_option("--slow-rank", o.slow_rank, "Drill: this rank enters every operation late")
      ->type_name("RANK:MS");
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
  add_job_options(verb, *o, *dtype, *wire);
  add_engine_options(verb, *o);
  add_output_options(verb, *o);
}

}  // namespace shunt::cli
