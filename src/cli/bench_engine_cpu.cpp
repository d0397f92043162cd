// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.hpp"
#include "cli/bench_engine.hpp"
#include "engine/buffer_state.hpp"

namespace shunt::cli {
namespace {

class CpuEngine final : public BenchEngine {
 public:
  explicit CpuEngine(EngineSetup setup) : setup_(std::move(setup)) {}

  Status open() {
    engine::BufferHooks hooks;
    hooks.recorder = setup_.recorder;
    hooks.make_fabric = setup_.make_fabric;
    auto state = engine::BufferState::create(setup_.world, setup_.options, hooks);
    if (!state) return Unexpected(std::move(state).error());
    buffer_ = std::move(*state);
    output_.resize(std::max<std::size_t>(setup_.input.size(), 16));
    const BufferOptions& o = setup_.options;
    const auto rows = static_cast<std::size_t>(setup_.capacity);
    const auto topk = static_cast<std::size_t>(o.topk);
    auto at = buffer_->allocate(rows * static_cast<std::size_t>(o.hidden) * size_of(o.dtype));
    auto ids = buffer_->allocate(rows * topk * sizeof(std::int32_t));
    auto weights = buffer_->allocate(rows * topk * sizeof(float));
    auto origins = buffer_->allocate(rows * sizeof(RowOrigin));
    if (!at || !ids || !weights || !origins) {
      return fail(ErrorCode::kInternal, ErrorScope::kOperation, "the heap was sized too small");
    }
    received_ = {*at,
                 static_cast<std::int32_t*>(*ids),
                 static_cast<float*>(*weights),
                 static_cast<RowOrigin*>(*origins),
                 setup_.capacity};
    return {};
  }

  Status dispatch() override {
    const routing::Routing& routing = *setup_.routing;
    auto handle = buffer_->dispatch(
        {setup_.input.data(), routing.tokens, routing.ids.data(), routing.weights.data()},
        received_);
    if (!handle) return Unexpected(std::move(handle).error());
    handle_ = *handle;
    return buffer_->wait(*handle_);
  }
  Status combine() override {
    SHUNT_TRY(buffer_->combine(handle_, {received_.rows, output_.data()}));
    return buffer_->wait(*handle_);
  }

  Result<Arrived> arrived() override {
    return Arrived{
        static_cast<std::byte*>(received_.rows), received_.origins, handle_->total_rows()};
  }
  Status return_rows() override { return {}; }
  Result<const std::byte*> sums() override { return output_.data(); }

  std::string provider() const override { return buffer_->provider(); }
  const engine::ProxyStats& proxy_stats() const override { return buffer_->proxy_stats(); }
  std::uint64_t progress_cpu_ns() const override { return buffer_->progress_cpu_ns(); }
  std::uint64_t dropped() const override { return 0; }
  void close() override { buffer_->close(); }

 private:
  EngineSetup setup_;
  std::shared_ptr<engine::BufferState> buffer_;
  std::shared_ptr<engine::HandleState> handle_;
  DispatchOutput received_;
  std::vector<std::byte> output_;
};

}  // namespace

Result<std::unique_ptr<BenchEngine>> cpu_engine(EngineSetup setup) {
  auto engine = std::make_unique<CpuEngine>(std::move(setup));
  SHUNT_TRY(engine->open());
  return engine;
}

}  // namespace shunt::cli
