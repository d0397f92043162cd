// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// shunt on one GPU or more: several ranks, one process each, checked against the reference and
// timed against what the devices and their links can do in the same run. Start it through
// bench/gpu/run, which starts MPS.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "gpu/check.hpp"
#include "gpu/check_loss.hpp"
#include "gpu/launch.hpp"
#include "gpu/table.hpp"
#include "gpu/timing.hpp"
#include "gpu/wire_report.hpp"
#include "memory/cuda/device.hpp"

namespace shunt::bench::gpu {
namespace {

using nlohmann::json;

struct Options {
  std::vector<int> ranks;  ///< Empty: 4 and 8 on one device, one per device on several.
  int gpus = 1;
  std::vector<std::int64_t> tokens = {4096};
  std::vector<std::string> node_worlds = {"2x2", "2x4", "4x2"};
  std::vector<std::string> wire_worlds = {"2x4"};
  WireOptions wire;
  std::vector<DType> dtypes = {DType::kBF16};
  std::vector<int> blocks = {16, 32};
  std::vector<int> warps = {16};
  std::vector<int> row_warps = {0};
  bool check = true;
  bool time = true;
  TimingOptions timing;
  std::string output;
};

const std::map<std::string, DType> kTypes = {
    {"bf16", DType::kBF16}, {"fp16", DType::kF16}, {"fp32", DType::kF32}};

json to_json(const TimingOptions& timing, const Samples& samples) {
  return {{"blocks", timing.blocks},
          {"warps", timing.warps},
          {"row_warps", timing.row_warps},
          {"tokens", timing.tokens},
          {"dtype", to_string(timing.dtype)},
          {"dispatch", samples.dispatch},
          {"combine", samples.combine},
          {"uncached", samples.uncached},
          {"plan", samples.plan},
          {"copy_mix", samples.copy_mix},
          {"read_mix", samples.read_mix},
          {"launch", samples.launch},
          {"push", samples.push},
          {"pull", samples.pull},
          {"link_row_bytes", samples.link_row_bytes},
          {"link_extra_bytes", samples.link_extra_bytes},
          {"dispatch_sent", samples.dispatch_sent},
          {"combine_received", samples.combine_received},
          {"counted_operations", samples.counted_operations},
          {"input_bytes", samples.input_bytes},
          {"output_bytes", samples.output_bytes},
          {"memory", samples.memory_bytes_per_us},
          {"wrong", samples.wrong}};
}

struct Shape {
  DType dtype = DType::kBF16;
  int warps = 16;
  int row_warps = 0;
};

std::vector<Shape> shapes_of(const Options& options) {
  std::vector<Shape> shapes;
  for (const DType dtype : options.dtypes) {
    for (const int warps : options.warps) {
      for (const int row_warps : options.row_warps) {
        if (row_warps == 0 || warps % row_warps == 0) shapes.push_back({dtype, warps, row_warps});
      }
    }
  }
  return shapes;
}

Result<json> rank_main(bootstrap::World& world, int ranks_per_node, const Options& options) {
  const int device = world.rank() % options.gpus;
  json out = json::object();
  cudaDeviceProp properties{};
  SHUNT_TRY(
      memory::cuda::check(cudaGetDeviceProperties(&properties, device), "asking for the device"));
  out["device"] = properties.name;
  out["multiprocessors"] = properties.multiProcessorCount;
  if (options.check) {
    auto passed = run_checks(world, ranks_per_node, options.wire.proxy_threads);
    if (!passed) return Unexpected(std::move(passed).error());
    out["passed"] = *passed;
    if (world.rank() == 0) {
      fmt::print(stderr,
                 "{} x {}: {} cases right, every element\n",
                 world.size() / ranks_per_node,
                 ranks_per_node,
                 passed->size());
    }
  }
  out["timings"] = json::array();
  if (!options.time || ranks_per_node != world.size()) return out;
  for (const int blocks : options.blocks) {
    for (const auto& [dtype, warps, row_warps] : shapes_of(options)) {
      const int sharing = (world.size() + options.gpus - 1) / options.gpus;
      if (blocks * warps * sharing > properties.multiProcessorCount * 32) continue;
      for (const std::int64_t tokens : options.tokens) {
        TimingOptions timing = options.timing;
        timing.tokens = tokens;
        timing.blocks = blocks;
        timing.dtype = dtype;
        timing.warps = warps;
        timing.row_warps = row_warps;
        timing.gpus = options.gpus;
        auto samples = run_timing(world, timing);
        if (!samples) return Unexpected(std::move(samples).error());
        out["timings"].push_back(to_json(timing, *samples));
      }
    }
  }
  return out;
}

Result<std::vector<json>> launch(int ranks, int ranks_per_node, const Options& options) {
  return launch_ranks(ranks, options.gpus, [&](bootstrap::World& world) {
    return rank_main(world, ranks_per_node, options);
  });
}

/// "2x4": nodes and ranks per node.
Result<std::pair<int, int>> parse_world(const std::string& text) {
  std::pair<int, int> shape{0, 0};
  const char* end = text.data() + text.size();
  const auto nodes = std::from_chars(text.data(), end, shape.first);
  if (nodes.ec == std::errc() && nodes.ptr != end && *nodes.ptr == 'x') {
    const auto ranks = std::from_chars(nodes.ptr + 1, end, shape.second);
    if (ranks.ec == std::errc() && ranks.ptr == end && shape.first > 0 && shape.second > 0) {
      return shape;
    }
  }
  return usage_error("world '{}' is not understood; give NODESxRANKS, as 2x4", text);
}

/// The largest of the worlds in one node, and every world of several nodes, with a rank killed.
Status check_loss(const Options& options, json* report) {
  std::vector<std::pair<int, int>> shapes;
  const int most = *std::max_element(options.ranks.begin(), options.ranks.end());
  if (most > 1) shapes.emplace_back(1, most);
  for (const std::string& world : options.node_worlds) {
    auto shape = parse_world(world);
    if (!shape) return Unexpected(std::move(shape).error());
    if (shape->first * shape->second > 1) shapes.push_back(*shape);
  }
  for (const auto& [nodes, ranks] : shapes) {
    auto said = run_loss(nodes * ranks, ranks, options.gpus, options.wire.proxy_threads);
    if (!said) return Unexpected(std::move(said).error());
    fmt::print(stderr, "{} x {}: a killed rank, noticed by all others\n{}", nodes, ranks, *said);
    (*report)["killed"][fmt::format("{}x{}", nodes, ranks)] = *said;
  }
  return {};
}

Status run(const Options& options) {
  json report = {{"schema", 1},
                 {"gpus", options.gpus},
                 {"hidden", options.timing.hidden},
                 {"topk", options.timing.topk},
                 {"experts", options.timing.experts},
                 {"rows", json::array()}};
  std::uint64_t wrong = 0;
  for (const int ranks : options.ranks) {
    auto results = launch(ranks, ranks, options);
    if (!results) return Unexpected(std::move(results).error());
    const json& first = results->front();
    report["device"] = first["device"];
    report["multiprocessors"] = first["multiprocessors"];
    if (options.check) {
      report["passed"][std::to_string(ranks)] = first["passed"];
    }
    if (!first["timings"].empty()) {
      print_heading();
    }
    for (std::size_t t = 0; t < first["timings"].size(); ++t) {
      for (const char* what : {"dispatch", "combine"}) {
        report["rows"].push_back(report_line(*results, t, what, options.gpus));
        wrong += report["rows"].back()["wrong_elements"].get<std::uint64_t>();
      }
    }
    std::fflush(stdout);
  }
  for (const std::string& world :
       options.check ? options.node_worlds : std::vector<std::string>{}) {
    auto shape = parse_world(world);
    if (!shape) return Unexpected(std::move(shape).error());
    auto results = launch(shape->first * shape->second, shape->second, options);
    if (!results) return Unexpected(std::move(results).error());
    report["passed"][world] = results->front()["passed"];
  }
  if (options.check) SHUNT_TRY(check_loss(options, &report));
  for (const std::string& world : options.wire_worlds) {
    auto shape = parse_world(world);
    if (!shape) return Unexpected(std::move(shape).error());
    auto measured = report_wire(shape->first, shape->second, options.gpus, options.wire);
    if (!measured) return Unexpected(std::move(measured).error());
    report["wire"].push_back(*measured);
  }
  if (!options.output.empty()) {
    std::ofstream file(options.output);
    file << report.dump(2) << '\n';
    if (!file) return usage_error("{} cannot be written", options.output);
  }
  if (wrong != 0) {
    return fail(ErrorCode::kCorrupt, ErrorScope::kOperation, "{} elements differ", wrong);
  }
  return {};
}

}  // namespace
}  // namespace shunt::bench::gpu

int main(int argc, char** argv) {
  using shunt::HeapKind;
  using shunt::Staging;
  using shunt::bench::gpu::Options;
  Options options;
  CLI::App app("Checks and times dispatch and combine on one or more GPUs, one process per rank.");
  app.add_option("--ranks", options.ranks, "Worlds to run, in ranks (one process each)")
      ->delimiter(',');
  app.add_option("--gpus", options.gpus, "Devices; rank r runs on device r mod gpus")
      ->check(CLI::PositiveNumber);
  app.add_option("--node-worlds",
                 options.node_worlds,
                 "Worlds of several nodes to check, as 2x4: nodes x ranks per node")
      ->delimiter(',');
  app.add_option("--wire-worlds",
                 options.wire_worlds,
                 "Worlds in which to measure the path between nodes beside plain puts")
      ->delimiter(',');
  app.add_option("--wire-sms", options.wire.blocks, "Blocks per rank there");
  app.add_option("--rdma-blocks", options.wire.rdma_blocks, "Of these, blocks a direction");
  app.add_option("--chunk", options.wire.chunk_tokens, "Records in one put");
  app.add_option("--credits", options.wire.credits, "Landing slots per source and direction");
  app.add_option("--qps", options.wire.qps, "Queue pairs per peer");
  app.add_option("--proxy-threads",
                 options.wire.proxy_threads,
                 "Progress threads a rank, there and in the checks")
      ->check(CLI::PositiveNumber);
  app.add_option("--provider", options.wire.provider, "libfabric provider");
  app.add_option("--staging", options.wire.staging, "Where records lie there: auto, host, device")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Staging>{
          {"auto", Staging::kAuto}, {"host", Staging::kHost}, {"device", Staging::kDevice}}));
  app.add_option("--wire-rounds", options.wire.rounds, "Measured rounds there");
  app.add_flag_callback(
      "--no-wire", [&] { options.wire_worlds.clear(); }, "Skip the path between nodes");
  app.add_option("--sms", options.blocks, "Blocks per rank, each filling one multiprocessor")
      ->delimiter(',');
  app.add_option("--warps", options.warps, "Warps per block, 1 to 32")->delimiter(',');
  app.add_option("--row-warps",
                 options.row_warps,
                 "Warps that share a row; 0: chosen by the number of tokens")
      ->delimiter(',');
  app.add_option("--tokens", options.tokens, "Tokens per rank")->delimiter(',');
  app.add_option("--hidden", options.timing.hidden, "Elements per row");
  app.add_option("--dtype", options.dtypes, "bf16, fp16, fp32")
      ->delimiter(',')
      ->transform(CLI::CheckedTransformer(shunt::bench::gpu::kTypes));
  app.add_option("--topk", options.timing.topk, "Experts per token");
  app.add_option("--experts", options.timing.experts, "Experts in the world");
  std::vector<std::uint32_t> ahead;
  app.add_option(
         "--ahead",
         ahead,
         "Rows of combine that come ahead, from each node peer: how many, and log2 of the step "
         "from one to the next; 0,0 for none (default: by the devices)")
      ->delimiter(',')
      ->expected(2)
      ->check(CLI::Range(0, 65535));
  app.add_option("--iterations", options.timing.iterations, "Timed iterations");
  app.add_flag("--record", options.timing.record, "Record spans while timing: what that costs");
  app.add_option(
         "--heap", options.timing.heap, "allocated (cudaMalloc) or virtual (by descriptors)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, HeapKind>{
          {"allocated", HeapKind::kAllocated}, {"virtual", HeapKind::kVirtual}}));
  app.add_flag("!--no-check", options.check, "Skip the correctness cases");
  app.add_flag("!--no-time", options.time, "Skip the timings");
  app.add_option("--json", options.output, "File for the results");
  CLI11_PARSE(app, argc, argv);
  if (!ahead.empty()) {
    if (ahead[1] > 30) {
      fmt::print(stderr, "bench_gpu: --ahead: a step of 2^{} rows; 2^0 to 2^30\n", ahead[1]);
      return 1;
    }
    options.timing.ahead = shunt::memory::AheadRows{ahead[0], ahead[1]};
  }
  if (options.ranks.empty()) {
    options.ranks = options.gpus > 1 ? std::vector<int>{options.gpus} : std::vector<int>{4, 8};
  }
  if (const shunt::Status status = shunt::bench::gpu::run(options); !status) {
    fmt::print(stderr, "bench_gpu: {}\n", status.error().to_string());
    return 1;
  }
  return 0;
}
