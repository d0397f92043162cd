// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/check_plan.hpp"

#include <string>

#include "gpu/check_rank.hpp"

namespace shunt::bench::gpu {
namespace {

constexpr int kReplays = 50;
constexpr int kBurst = 10;

/// A stream, and a graph captured from it.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (run_ != nullptr) (void)cudaGraphExecDestroy(run_);
    if (graph_ != nullptr) (void)cudaGraphDestroy(graph_);
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }
  Status capture(Rank& rank) {
    SHUNT_TRY(check(cudaStreamCreate(&stream_), "making a stream"));
    SHUNT_TRY(check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
                    "beginning to capture"));
    const Status started = rank.start_all(stream_);
    const Status ended = check(cudaStreamEndCapture(stream_, &graph_), "ending to capture");
    SHUNT_TRY(started);
    SHUNT_TRY(ended);
    return check(cudaGraphInstantiate(&run_, graph_, 0), "making a graph ready");
  }
  Status wait() { return check(cudaStreamSynchronize(stream_), "waiting for a graph"); }
  Status replay() { return check(cudaGraphLaunch(run_, stream_), "launching a graph"); }

 private:
  cudaStream_t stream_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t run_ = nullptr;
};

Status replay_rounds(Buffer& buffer, const Case& c, const WorldCase& even, const WorldCase& odd) {
  Rank rank(buffer, c, even);
  SHUNT_TRY(rank.prepare());
  Graph graph;
  SHUNT_TRY(graph.capture(rank));
  for (int round = 0; round <= kReplays; ++round) {
    SHUNT_TRY(rank.change_routing(round % 2 == 0 ? even : odd));
    SHUNT_TRY(rank.fill_input(round));
    // The last round: many that nobody waits for.
    for (int i = 0; i < (round < kReplays ? 1 : kBurst); ++i) SHUNT_TRY(graph.replay());
    SHUNT_TRY(graph.wait());
    SHUNT_TRY(rank.finish_dispatch(round));
    SHUNT_TRY(rank.compare_plain_sums(round));
  }
  return {};
}

}  // namespace

Status run_graph(bootstrap::World& world, int ranks_per_node, int proxy_threads) {
  Case c;
  c.name = "replayed from a graph";
  c.proxy_threads = proxy_threads;
  c.plan_on_device = true;
  c.tokens = {17, 0, 33, 64};
  c.dropped = 0.1;
  const WorldCase even = world_case(c, world.size(), ranks_per_node, 101);
  const WorldCase odd = world_case(c, world.size(), ranks_per_node, 102);
  auto buffer = Buffer::create(world, options_of(c, even), geometry_of(c, even));
  if (!buffer) return Unexpected(std::move(buffer).error());
  SHUNT_TRY(replay_rounds(**buffer, c, even, odd));
  return world.barrier();
}

Status run_bad_id(bootstrap::World& world, int ranks_per_node, int proxy_threads) {
  Case c;
  c.name = "an id out of range";
  c.proxy_threads = proxy_threads;
  c.plan_on_device = true;
  c.tokens = {40};
  WorldCase w = world_case(c, world.size(), ranks_per_node, 103);
  w.ids[0][static_cast<std::size_t>(35 * c.topk + 1)] = w.experts + 3;
  auto buffer = Buffer::create(world, options_of(c, w), geometry_of(c, w));
  if (!buffer) return Unexpected(std::move(buffer).error());
  Rank rank(**buffer, c, w);
  SHUNT_TRY(rank.prepare());
  // The failure of rank 0 would end others' preparations.
  SHUNT_TRY(world.barrier());
  // A failure that is seen early stops the launch already.
  Status ended = rank.start_dispatch(0);
  if (ended) ended = (*buffer)->wait(nullptr);
  Status status;
  if (world.rank() == 0) {
    const std::string named = fmt::format("expert id {} (token 35, slot 1)", w.experts + 3);
    if (ended || ended.error().message.find(named) == std::string::npos) {
      status = fail(ErrorCode::kInternal,
                    ErrorScope::kFatal,
                    "{}: '{}' does not name it",
                    c.name,
                    ended ? "success" : ended.error().message);
    }
  } else if (!ended && ended.error().code != ErrorCode::kPeerLost) {
    status = ended;
  }
  SHUNT_TRY(world.barrier());
  return status;
}

}  // namespace shunt::bench::gpu
