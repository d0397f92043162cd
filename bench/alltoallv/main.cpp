// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// mpirun -n 4 bench_alltoallv --tokens 1024: times dispatch and combine over MPI_Alltoallv, checks
// what arrived, and prints one JSON object on rank 0. An operation lasts from a barrier to the end
// on the slowest rank.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include "exchange.hpp"
#include "routing/generate.hpp"

namespace shunt::bench {
namespace {

struct Options {
  std::int64_t tokens = 1024;
  int hidden = 7168;
  int topk = 8;
  int experts = 256;
  std::string routing = "uniform";
  std::uint64_t seed = 1;
  int warmup = 3;
  int iters = 20;
};

/// Of one operation, over the iterations, in nanoseconds.
struct Times {
  std::vector<double> ns;

  [[nodiscard]] nlohmann::ordered_json summary(double bytes) {
    std::sort(ns.begin(), ns.end());
    const auto at = [this](double share) {
      return ns[static_cast<std::size_t>(share * static_cast<double>(ns.size() - 1) + 0.5)];
    };
    return {{"median_ns", at(0.5)},
            {"p25_ns", at(0.25)},
            {"p75_ns", at(0.75)},
            {"min_ns", ns.front()},
            {"max_ns", ns.back()},
            {"median_gb_per_s", bytes / at(0.5)}};
  }
};

/// Duration of `work` on the slowest rank, all ranks having begun together.
template <typename Work>
double time_ns(const Work& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  work();
  double mine = (MPI_Wtime() - begin) * 1e9;
  double slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/// Small integers, exact in bf16, and their sums over up to 16 ranks as well.
Bf16 mark(int rank, std::size_t at) {
  return to_bf16(static_cast<float>((static_cast<std::size_t>(rank) * 3 + at * 7) % 16));
}

/// Wrong elements: every received row is one that its source sent, and sums are copies · input.
std::int64_t mismatches(Exchange& exchange, std::int64_t tokens, std::size_t hidden) {
  std::int64_t wrong = 0;
  std::size_t row = 0;
  int source = 0;
  for (const int count : exchange.receive_counts()) {
    for (int i = 0; i < count; ++i, ++row) {
      for (std::size_t h = 0; h < hidden; ++h) {
        if (exchange.received()[row * hidden + h] != mark(source, h)) ++wrong;
      }
    }
    ++source;
  }
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto copies = static_cast<float>(exchange.copies_of(t));
    for (std::size_t h = 0; h < hidden; ++h) {
      const std::size_t at = static_cast<std::size_t>(t) * hidden + h;
      if (exchange.output()[at] != to_bf16(copies * to_float(exchange.input()[at]))) ++wrong;
    }
  }
  return wrong;
}

/// "Open MPI 4.1.4", "MPICH 4.0.2": of "Open MPI v4.1.4, package …" and "MPICH Version:\t4.0.2\n…".
std::string library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string name(text, static_cast<std::size_t>(length));
  name = name.substr(0, name.find_first_of(",\n"));
  if (const auto at = name.find(" Version:\t"); at != std::string::npos) name.replace(at, 10, " ");
  if (const auto at = name.find(" v"); at != std::string::npos) name.erase(at + 1, 1);
  return name;
}

int run(const Options& options) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto refuse = [rank](const std::string& why) {
    if (rank == 0) std::fprintf(stderr, "bench_alltoallv: %s\n", why.c_str());
    return 2;
  };
  if (options.experts % ranks != 0) return refuse("experts must be a multiple of the ranks");
  const auto spec = routing::RoutingSpec::parse(options.routing);
  if (!spec) return refuse(spec.error().message);
  const auto routing =
      routing::generate(*spec, options.tokens, options.topk, options.experts, options.seed, rank);
  if (!routing) return refuse(routing.error().message);

  Exchange exchange(*routing, options.hidden, options.tokens * ranks);
  const auto hidden = static_cast<std::size_t>(options.hidden);
  for (std::size_t i = 0; i < exchange.input().size(); ++i) {
    exchange.input()[i] = mark(rank, i % hidden);
  }
  Times dispatch;
  Times combine;
  Times pair;
  for (int i = -options.warmup; i < options.iters; ++i) {
    bool fits = true;
    const double there = time_ns([&] { fits = exchange.dispatch(); });
    if (!fits) MPI_Abort(MPI_COMM_WORLD, 3);
    const double back = time_ns([&] { exchange.combine(); });
    const double both = time_ns([&] {
      (void)exchange.dispatch();
      exchange.combine();
    });
    if (i < 0) continue;
    dispatch.ns.push_back(there);
    combine.ns.push_back(back);
    pair.ns.push_back(both);
  }
  std::int64_t mine[2] = {exchange.copies_sent(), mismatches(exchange, options.tokens, hidden)};
  std::int64_t all[2] = {0, 0};
  MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    const double bytes = static_cast<double>(all[0]) * static_cast<double>(hidden) * 2;
    const nlohmann::ordered_json result = {{"program", "bench_alltoallv"},
                                           {"mpi", library_name()},
                                           {"ranks", ranks},
                                           {"tokens_per_rank", options.tokens},
                                           {"hidden", options.hidden},
                                           {"dtype", "bf16"},
                                           {"topk", options.topk},
                                           {"experts", options.experts},
                                           {"routing", options.routing},
                                           {"seed", options.seed},
                                           {"iterations", options.iters},
                                           {"copies", all[0]},
                                           {"payload_bytes", bytes},
                                           {"mismatches", all[1]},
                                           {"dispatch", dispatch.summary(bytes)},
                                           {"combine", combine.summary(bytes)},
                                           {"dispatch_and_combine", pair.summary(2 * bytes)}};
    std::printf("%s\n", result.dump(2).c_str());
  }
  return all[1] == 0 ? 0 : 1;
}

}  // namespace
}  // namespace shunt::bench

int main(int argc, char** argv) {
  shunt::bench::Options options;
  CLI::App app("Dispatch and combine over MPI_Alltoallv, to compare with; start it with mpirun");
  app.add_option("--tokens", options.tokens, "Tokens per rank")->check(CLI::NonNegativeNumber);
  app.add_option("--hidden", options.hidden, "Elements of a row")->check(CLI::PositiveNumber);
  app.add_option("--topk", options.topk, "Experts per token")->check(CLI::PositiveNumber);
  app.add_option("--experts", options.experts, "Experts in all")->check(CLI::PositiveNumber);
  app.add_option("--routing", options.routing, "As in shunt bench");
  app.add_option("--seed", options.seed, "Of the routing");
  app.add_option("--warmup", options.warmup, "Untimed iterations")->check(CLI::NonNegativeNumber);
  app.add_option("--iters", options.iters, "Timed iterations")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  MPI_Init(&argc, &argv);
  const int status = shunt::bench::run(options);
  std::fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  // MPICH 4.0 over UCX can hang in MPI_Finalize, some ranks in its own barrier and the others
  // waiting for them. The result is out by now.
  ::signal(
      SIGALRM, status == 0 ? [](int) { ::_exit(0); } : [](int) { ::_exit(1); });
  ::alarm(2);
  MPI_Finalize();
  return status;
}
