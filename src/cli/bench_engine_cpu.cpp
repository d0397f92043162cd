// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include "base/error.hpp"
#include "cli/bench_engine.hpp"
#include "cli/bench_output.hpp"
#include "engine/buffer_state.hpp"

namespace shunt::cli {
namespace {

/// Rows as callers have them: from the start of a line.
constexpr std::align_val_t kLine{64};
struct Free {
  void operator()(std::byte* memory) const { ::operator delete[](memory, kLine); }
};
using Memory = std::unique_ptr<std::byte[], Free>;

Memory aligned(std::size_t bytes) {
  Memory memory(static_cast<std::byte*>(::operator new[](bytes, kLine)));
  std::fill_n(memory.get(), bytes, std::byte{0});  // Pages of its own before anything is timed.
  return memory;
}

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
    output_ = aligned(setup_.input.size());
    auto output = take_output(*buffer_, setup_.options, setup_.capacity);
    if (!output) return Unexpected(std::move(output).error());
    received_ = *output;
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
    SHUNT_TRY(buffer_->combine(handle_, {received_.rows, output_.get()}));
    return buffer_->wait(*handle_);
  }

  Result<Arrived> arrived() override {
    return Arrived{
        static_cast<std::byte*>(received_.rows), received_.origins, handle_->total_rows()};
  }
  Status return_rows() override { return {}; }
  Result<const std::byte*> sums() override { return output_.get(); }

  std::string provider() const override { return buffer_->provider(); }
  const engine::ProxyGroup& progress() const override { return buffer_->progress(); }
  std::uint64_t dropped() const override { return 0; }
  void close() override { buffer_->close(); }

 private:
  EngineSetup setup_;
  std::shared_ptr<engine::BufferState> buffer_;
  std::shared_ptr<engine::HandleState> handle_;
  DispatchOutput received_;
  Memory output_;
};

}  // namespace

Result<std::unique_ptr<BenchEngine>> cpu_engine(EngineSetup setup) {
  auto engine = std::make_unique<CpuEngine>(std::move(setup));
  SHUNT_TRY(engine->open());
  return engine;
}

}  // namespace shunt::cli
