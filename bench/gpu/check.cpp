// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/check.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "base/error.hpp"
#include "base/random.hpp"
#include "engine/cuda/buffer.hpp"
#include "support/reference.hpp"

namespace shunt::bench::gpu {
namespace {

using engine::cuda::Buffer;
using engine::cuda::Handle;
using memory::cuda::check;
using testing::WorldCase;

struct Case {
  std::string name;
  int experts_per_rank = 2;
  int topk = 4;
  std::int64_t hidden = 264;
  DType dtype = DType::kBF16;
  DType wire = DType::kBF16;
  std::vector<std::int64_t> tokens = {0, 1, 63, 64, 65, 100};  ///< By rank, in turn.
  double dropped = 0.0;
  int hot_experts = 0;   ///< > 0: ids come from the first so many experts alone.
  double capacity = -1;  ///< Share of the rows that an output has room for; −1: all.
  int rounds = 2;
  bool delays = false;
  int chunk_tokens = 7;  ///< These two: between nodes only.
  int credits = 2;
  int rdma_blocks = 1;
  int blocks = 3;
  int warps = 4;
  int row_warps = 1;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const char* name, const std::function<void(Case&)>& change) {
    Case c;
    c.name = name;
    change(c);
    all.push_back(c);
  };
  add("ragged", [](Case&) {});
  add("empty slots", [](Case& c) { c.dropped = 0.4; });
  add("only empty slots", [](Case& c) { c.dropped = 1.0; });
  add("no tokens at all", [](Case& c) { c.tokens = {0}; });
  add("skew to one rank", [](Case& c) { c.hot_experts = 2; });
  add("one slot", [](Case& c) { c.topk = 1; });
  add("one token a chunk, one chunk in flight", [](Case& c) {
    c.chunk_tokens = c.credits = 1;
    c.tokens = {0, 1, 9, 17};
  });
  add("several blocks a direction", [](Case& c) {
    c.rdma_blocks = 3;
    c.credits = 5;
  });
  add("many slots", [](Case& c) {
    c.topk = 12;
    c.experts_per_rank = 7;
  });
  add("hidden 7168", [](Case& c) {
    c.hidden = 7168;
    c.topk = 8;
    c.blocks = 8;
    c.warps = 32;
    c.row_warps = 4;
    c.chunk_tokens = 64;
    c.credits = 8;
  });
  add("one vector per row", [](Case& c) {
    c.hidden = 8;
    c.row_warps = 2;
  });
  add("rows that slices do not divide", [](Case& c) {
    c.hidden = 1032;
    c.warps = 12;
    c.row_warps = 3;
  });
  add("fp16", [](Case& c) { c.dtype = c.wire = DType::kF16; });
  add("fp32", [](Case& c) {
    c.dtype = c.wire = DType::kF32;
    c.hidden = 260;
    c.row_warps = 2;
  });
  add("bf16 rows, fp32 partials", [](Case& c) { c.wire = DType::kF32; });
  add("fp32 rows, bf16 partials", [](Case& c) { c.dtype = DType::kF32; });
  add("overflow", [](Case& c) { c.capacity = 0.5; });
  add("one block of one warp", [](Case& c) { c.blocks = c.warps = 1; });
  add("200 rounds with random delays", [](Case& c) {
    c.tokens = {17, 5, 33};
    c.hidden = 64;
    c.rounds = 200;
    c.delays = true;
  });
  return all;
}

WorldCase world_case(const Case& c, int world, int ranks_per_node, std::uint64_t seed) {
  WorldCase w;
  w.world = world;
  w.ranks_per_node = ranks_per_node;
  w.experts = c.experts_per_rank * world;
  w.topk = c.topk;
  w.hidden = c.hidden;
  w.dtype = c.dtype;
  w.wire = c.wire;
  Random random(seed);
  const int range = c.hot_experts > 0 ? c.hot_experts : w.experts;
  w.ids.resize(static_cast<std::size_t>(world));
  for (std::size_t r = 0; r < w.ids.size(); ++r) {
    const std::int64_t slots = c.tokens[r % c.tokens.size()] * c.topk;
    for (std::int64_t i = 0; i < slots; ++i) {
      w.ids[r].push_back(random.uniform() < c.dropped ? -1
                                                      : static_cast<std::int32_t>(random.below(
                                                            static_cast<std::uint64_t>(range))));
    }
  }
  return w;
}

/// One rank of one case: a handle, its memory, and the comparison.
class Rank {
 public:
  Rank(Buffer& buffer, const Case& setup, const WorldCase& world)
      : buffer_(buffer), case_(setup), world_(world), rank_(buffer.rank()) {}

  Status prepare() {
    const std::int64_t n = world_.tokens(rank_);
    for (std::int64_t t = 0; t < n; ++t) {
      for (int k = 0; k < world_.topk; ++k) weights_.push_back(testing::weight_value(rank_, t, k));
    }
    auto handle = buffer_.plan(
        {n, world_.topk, world_.ids[static_cast<std::size_t>(rank_)].data(), weights_.data()});
    if (!handle) return Unexpected(std::move(handle).error());
    handle_ = std::move(*handle);
    for (int at = 0; at < world_.world; ++at) {
      const auto total = testing::expected_rows(world_, at).size();
      capacities_.push_back(case_.capacity < 0 ? static_cast<std::int64_t>(total)
                                               : static_cast<std::int64_t>(
                                                     static_cast<double>(total) * case_.capacity));
    }
    expected_ = testing::expected_rows(world_, rank_);
    const auto rows = static_cast<std::size_t>(capacity());
    output_.capacity = capacity();
    SHUNT_TRY(take(rows * row_bytes(), &output_.rows));
    SHUNT_TRY(take(rows * slot_bytes(), &output_.ids));
    SHUNT_TRY(take(rows * slot_bytes(), &output_.weights));
    SHUNT_TRY(take(rows * sizeof(RowOrigin), &output_.origins));
    auto input = memory::cuda::DeviceMemory::create(static_cast<std::size_t>(n) * row_bytes());
    if (!input) return Unexpected(std::move(input).error());
    input_ = std::move(*input);
    auto sums = memory::cuda::DeviceMemory::create(static_cast<std::size_t>(n) * row_bytes());
    if (!sums) return Unexpected(std::move(sums).error());
    sums_ = std::move(*sums);
    return {};
  }

  Status start_dispatch(int generation) {
    std::vector<std::byte> x(static_cast<std::size_t>(world_.tokens(rank_)) * row_bytes());
    for (std::int64_t t = 0; t < world_.tokens(rank_); ++t) {
      for (std::int64_t e = 0; e < world_.hidden; ++e) {
        testing::store(x.data() + static_cast<std::size_t>(t) * row_bytes(),
                       e,
                       world_.dtype,
                       testing::input_value(rank_, t, e + generation));
      }
    }
    SHUNT_TRY(check(cudaMemcpy(input_.data(), x.data(), x.size(), cudaMemcpyHostToDevice),
                    "copying the input"));
    SHUNT_TRY(check(cudaMemset(sums_.data(), 0x5a, sums_.bytes()), "poisoning the sums"));
    return buffer_.dispatch(*handle_, input_.data(), output_, nullptr);
  }

  /// Compares what has arrived and replaces it by what the experts make of it.
  Status finish_dispatch(int generation) {
    SHUNT_TRY(buffer_.wait(nullptr));
    const auto counts = buffer_.rows_from(*handle_);
    if (!counts) return Unexpected(counts.error());
    for (int source = 0; source < world_.world; ++source) {
      const auto right = std::count_if(
          expected_.begin(), expected_.end(), [&](const RowOrigin& o) { return o.rank == source; });
      if ((*counts)[static_cast<std::size_t>(source)] != right) {
        return wrong("{} rows from rank {}, not {}",
                     (*counts)[static_cast<std::size_t>(source)],
                     source,
                     right);
      }
    }
    const auto rows = static_cast<std::size_t>(
        std::min<std::int64_t>(capacity(), static_cast<std::int64_t>(expected_.size())));
    std::vector<std::byte> data(rows * row_bytes());
    std::vector<std::int32_t> ids(rows * static_cast<std::size_t>(world_.topk));
    std::vector<float> weights(ids.size());
    std::vector<RowOrigin> origins(rows);
    SHUNT_TRY(fetch(data.data(), output_.rows, data.size()));
    SHUNT_TRY(fetch(ids.data(), output_.ids, ids.size() * sizeof(std::int32_t)));
    SHUNT_TRY(fetch(weights.data(), output_.weights, weights.size() * sizeof(float)));
    SHUNT_TRY(fetch(origins.data(), output_.origins, rows * sizeof(RowOrigin)));
    for (std::size_t r = 0; r < rows; ++r) {
      SHUNT_TRY(compare_row(r, generation, data.data() + r * row_bytes(), origins[r]));
      SHUNT_TRY(compare_slots(r, ids.data(), weights.data()));
    }
    for (std::size_t r = 0; r < rows; ++r) {
      std::byte* row = data.data() + r * row_bytes();
      for (std::int64_t e = 0; e < world_.hidden; ++e) {
        testing::store(row,
                       e,
                       world_.dtype,
                       testing::expert_value(testing::load(row, e, world_.dtype), rank_));
      }
    }
    return check(cudaMemcpy(output_.rows, data.data(), data.size(), cudaMemcpyHostToDevice),
                 "copying the experts' outputs");
  }

  Status start_combine() {
    return buffer_.combine(*handle_, {output_.rows, sums_.data()}, nullptr);
  }

  Status finish_combine(int generation) {
    SHUNT_TRY(buffer_.wait(nullptr));
    std::vector<std::byte> sums(static_cast<std::size_t>(world_.tokens(rank_)) * row_bytes());
    SHUNT_TRY(fetch(sums.data(), sums_.data(), sums.size()));
    const auto present = [&](int at, int source, std::int64_t token) {
      const auto rows = testing::expected_rows(world_, at);
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const RowOrigin& o) {
        return o.rank == source && o.token == token;
      });
      return row - rows.begin() < capacities_[static_cast<std::size_t>(at)];
    };
    const auto always = [](int, int, std::int64_t) { return true; };
    for (std::int64_t t = 0; t < world_.tokens(rank_); ++t) {
      const std::vector<float> right =
          case_.capacity < 0 ? testing::expected_sum(world_, rank_, t, generation, always)
                             : testing::expected_sum(world_, rank_, t, generation, present);
      const std::byte* row = sums.data() + static_cast<std::size_t>(t) * row_bytes();
      for (std::int64_t e = 0; e < world_.hidden; ++e) {
        const float value = testing::load(row, e, world_.dtype);
        const float want = right[static_cast<std::size_t>(e)];
        if (std::bit_cast<std::uint32_t>(value) != std::bit_cast<std::uint32_t>(want)) {
          return wrong("token {} element {} sums to {}, not {}", t, e, value, want);
        }
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::size_t row_bytes() const {
    return static_cast<std::size_t>(world_.hidden) * size_of(world_.dtype);
  }
  [[nodiscard]] std::size_t slot_bytes() const {
    return static_cast<std::size_t>(world_.topk) * sizeof(std::int32_t);
  }
  [[nodiscard]] std::int64_t capacity() const {
    return capacities_[static_cast<std::size_t>(rank_)];
  }

  template <typename T>
  Status take(std::size_t bytes, T** to) {
    auto made = buffer_.allocate(std::max<std::size_t>(bytes, 16));
    if (!made) return Unexpected(std::move(made).error());
    *to = static_cast<T*>(*made);
    return check(cudaMemset(*to, 0x5a, bytes), "poisoning the output");
  }
  static Status fetch(void* to, const void* from, std::size_t bytes) {
    return check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "reading the output");
  }
  template <typename... Args>
  Status wrong(fmt::format_string<Args...> text, Args&&... args) const {
    return fail(ErrorCode::kCorrupt,
                ErrorScope::kOperation,
                "{}, rank {}: {}",
                case_.name,
                rank_,
                fmt::format(text, std::forward<Args>(args)...));
  }

  Status compare_row(std::size_t r,
                     int generation,
                     const std::byte* row,
                     const RowOrigin& origin) const {
    const RowOrigin want = expected_[r];
    if (origin.rank != want.rank || origin.token != want.token) {
      return wrong("row {} comes from ({}, {}), not ({}, {})",
                   r,
                   origin.rank,
                   origin.token,
                   want.rank,
                   want.token);
    }
    for (std::int64_t e = 0; e < world_.hidden; ++e) {
      const float value = testing::load(row, e, world_.dtype);
      const float right = testing::round_to(
          testing::input_value(want.rank, want.token, e + generation), world_.dtype);
      if (value != right) return wrong("row {} element {} is {}, not {}", r, e, value, right);
    }
    return {};
  }

  Status compare_slots(std::size_t r, const std::int32_t* ids, const float* weights) const {
    const RowOrigin want = expected_[r];
    const int per_rank = world_.experts / world_.world;
    for (int k = 0; k < world_.topk; ++k) {
      const std::size_t at =
          r * static_cast<std::size_t>(world_.topk) + static_cast<std::size_t>(k);
      const std::int32_t id =
          world_.ids[static_cast<std::size_t>(want.rank)]
                    [static_cast<std::size_t>(want.token) * static_cast<std::size_t>(world_.topk) +
                     static_cast<std::size_t>(k)];
      const bool mine = id >= 0 && world_.rank_of(id) == rank_;
      if (ids[at] != (mine ? id - rank_ * per_rank : -1) ||
          weights[at] != (mine ? testing::weight_value(want.rank, want.token, k) : 0.0F)) {
        return wrong("row {} slot {} has id {} weight {}", r, k, ids[at], weights[at]);
      }
    }
    return {};
  }

  Buffer& buffer_;
  const Case& case_;
  const WorldCase& world_;
  const int rank_;
  std::unique_ptr<Handle> handle_;
  std::vector<float> weights_;
  std::vector<std::int64_t> capacities_;
  std::vector<RowOrigin> expected_;
  DispatchOutput output_;
  memory::cuda::DeviceMemory input_;
  memory::cuda::DeviceMemory sums_;
};

BufferOptions options_of(const Case& c, const WorldCase& w) {
  BufferOptions o;
  o.max_tokens = *std::max_element(c.tokens.begin(), c.tokens.end());
  o.chunk_tokens = c.chunk_tokens;
  o.credits = c.credits;
  o.ranks_per_node = w.ranks_per_node;
  o.experts = w.experts;
  o.topk = w.topk;
  o.hidden = w.hidden;
  o.dtype = w.dtype;
  o.wire_dtype = w.wire;
  o.heap_bytes = std::size_t{64} << 20;
  o.deadline_ns = 10'000'000'000;
  return o;
}

/// `c.blocks` blocks work inside the node, whatever else there is.
engine::cuda::Geometry geometry_of(const Case& c, const WorldCase& w) {
  const int others = w.world > w.ranks_per_node ? 2 * c.rdma_blocks : 0;
  return {c.blocks + others, c.warps, c.row_warps, c.rdma_blocks};
}

/// Two handles with routings of their own, their operations interleaved.
Status run_case(Buffer& buffer, const Case& c, const WorldCase& first, const WorldCase& second) {
  Rank one(buffer, c, first);
  Rank two(buffer, c, second);
  SHUNT_TRY(one.prepare());
  SHUNT_TRY(two.prepare());
  Random random(static_cast<std::uint64_t>(buffer.rank()) + 99);
  const auto pause = [&] {
    if (c.delays) std::this_thread::sleep_for(std::chrono::microseconds(random.below(300)));
  };
  for (int round = 0; round < c.rounds; ++round) {
    pause();
    SHUNT_TRY(one.start_dispatch(round));
    pause();
    SHUNT_TRY(two.start_dispatch(round + 1000));
    SHUNT_TRY(one.finish_dispatch(round));
    SHUNT_TRY(two.finish_dispatch(round + 1000));
    pause();
    SHUNT_TRY(two.start_combine());
    pause();
    SHUNT_TRY(one.start_combine());
    SHUNT_TRY(two.finish_combine(round + 1000));
    SHUNT_TRY(one.finish_combine(round));
  }
  return {};
}

/// The last rank stays away: every other rank's wait must end with an error that says so.
Status run_absence(bootstrap::World& world, int ranks_per_node) {
  Case c;
  c.name = "a rank stays away";
  const WorldCase w = world_case(c, world.size(), ranks_per_node, 7);
  BufferOptions options = options_of(c, w);
  options.deadline_ns = 300'000'000;
  auto buffer = Buffer::create(world, options, geometry_of(c, w));
  if (!buffer) return Unexpected(std::move(buffer).error());
  Status status;
  if (world.rank() != world.size() - 1) {
    Rank rank(**buffer, c, w);
    SHUNT_TRY(rank.prepare());
    SHUNT_TRY(rank.start_dispatch(0));
    const Status ended = (*buffer)->wait(nullptr);
    if (ended) {
      status = fail(ErrorCode::kInternal, ErrorScope::kFatal, "{}: nobody noticed", c.name);
    } else if (ended.error().code != ErrorCode::kTimeout &&
               ended.error().code != ErrorCode::kPeerLost) {
      status = ended;
    }
  }
  SHUNT_TRY(world.barrier());
  return status;
}

}  // namespace

Result<std::vector<std::string>> run_checks(bootstrap::World& world, int ranks_per_node) {
  std::vector<std::string> passed;
  std::uint64_t seed = 1;
  for (const Case& c : cases()) {
    const WorldCase first = world_case(c, world.size(), ranks_per_node, seed++);
    const WorldCase second = world_case(c, world.size(), ranks_per_node, seed++);
    auto buffer = Buffer::create(world, options_of(c, first), geometry_of(c, first));
    if (!buffer) return Unexpected(std::move(buffer).error());
    SHUNT_TRY(run_case(**buffer, c, first, second));
    SHUNT_TRY(world.barrier());
    passed.push_back(c.name);
  }
  SHUNT_TRY(run_absence(world, ranks_per_node));
  passed.emplace_back("a rank stays away");
  return passed;
}

}  // namespace shunt::bench::gpu
