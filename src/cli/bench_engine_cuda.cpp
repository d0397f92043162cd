// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "cli/bench_engine.hpp"

#ifdef SHUNT_HAVE_CUDA

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/log.hpp"
#include "cli/bench_output.hpp"
#include "engine/cuda/buffer.hpp"

namespace shunt::cli {
namespace {

using memory::cuda::check;
using memory::cuda::DeviceMemory;

/// Ranks that share a device must have their kernels on it at the same time.
void warn_without_mps(const cluster::Shape& shape, int rank, int devices) {
  if (rank != 0 || shape.world <= devices) return;
  const char* directory = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::string control = std::string(directory != nullptr ? directory : "/tmp/nvidia-mps");
  if (::access((control + "/control").c_str(), F_OK) == 0) return;
  SHUNT_LOG_WARN(
      "{} ranks share {} devices without CUDA MPS: their kernels, which wait for each other, take "
      "turns; start nvidia-cuda-mps-control -d (bench/gpu/run does)",
      shape.world,
      devices);
}

class CudaEngine final : public BenchEngine {
 public:
  explicit CudaEngine(EngineSetup setup) : setup_(std::move(setup)) {}
  ~CudaEngine() override {
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  Status open() {
    // A kernel that is loaded at its first launch waits for those that run.
    ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    int devices = 0;
    SHUNT_TRY(check(cudaGetDeviceCount(&devices), "counting devices"));
    auto shape = cluster::Shape::create(setup_.world.size(), setup_.options.ranks_per_node);
    if (!shape) return Unexpected(std::move(shape).error());
    const int local = shape->local_of(setup_.world.rank());
    SHUNT_TRY(check(cudaSetDevice(local % devices), "opening the device"));
    warn_without_mps(*shape, setup_.world.rank(), devices);
    engine::cuda::Geometry geometry;
    geometry.blocks = setup_.sms;
    geometry.rdma_blocks = setup_.options.rdma_blocks;
    engine::cuda::Hooks hooks;
    hooks.make_fabric = setup_.make_fabric;
    hooks.recorder = setup_.recorder;
    hooks.near_cpus = setup_.near_cpus;
    hooks.staging = setup_.staging;
    auto buffer = engine::cuda::Buffer::create(setup_.world, setup_.options, geometry, hooks);
    if (!buffer) return Unexpected(std::move(buffer).error());
    buffer_ = std::move(*buffer);
    auto handle = buffer_->plan(setup_.routing->view());
    if (!handle) return Unexpected(std::move(handle).error());
    handle_ = std::move(*handle);
    SHUNT_TRY(check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream"));
    return take_memory();
  }

  Status dispatch() override {
    SHUNT_TRY(buffer_->dispatch(*handle_, input_.data(), received_, stream_));
    return buffer_->wait(stream_);
  }
  Status combine() override {
    SHUNT_TRY(buffer_->combine(*handle_, {received_.rows, output_.data()}, stream_));
    return buffer_->wait(stream_);
  }

  Result<Arrived> arrived() override {
    auto counts = buffer_->rows_from(*handle_);
    if (!counts) return Unexpected(std::move(counts).error());
    std::int64_t total = 0;
    for (const std::int64_t count : *counts) total += count;
    const auto rows = static_cast<std::size_t>(std::min(total, setup_.capacity));
    host_rows_.resize(rows * row_bytes());
    host_origins_.resize(rows);
    SHUNT_TRY(fetch(host_rows_.data(), received_.rows, host_rows_.size()));
    SHUNT_TRY(fetch(host_origins_.data(), received_.origins, rows * sizeof(RowOrigin)));
    return Arrived{host_rows_.data(), host_origins_.data(), static_cast<std::int64_t>(rows)};
  }
  Status return_rows() override {
    return check(
        cudaMemcpy(received_.rows, host_rows_.data(), host_rows_.size(), cudaMemcpyHostToDevice),
        "copying the experts' outputs to the device");
  }
  Result<const std::byte*> sums() override {
    host_output_.resize(std::max<std::size_t>(setup_.input.size(), 16));
    SHUNT_TRY(fetch(host_output_.data(), output_.data(), setup_.input.size()));
    return host_output_.data();
  }

  std::string provider() const override { return buffer_->provider(); }
  std::string staging() const override { return buffer_->staging(); }
  const engine::ProxyGroup& progress() const override { return buffer_->progress(); }
  std::uint64_t dropped() const override {
    return buffer_->spans() != nullptr ? buffer_->spans()->dropped() : 0;
  }
  void close() override { buffer_->close(); }

 private:
  [[nodiscard]] std::size_t row_bytes() const {
    return static_cast<std::size_t>(setup_.options.hidden) * size_of(setup_.options.dtype);
  }
  static Status fetch(void* to, const void* from, std::size_t bytes) {
    return check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "reading from the device");
  }

  Status take_memory() {
    auto output = take_output(*buffer_, setup_.options, setup_.capacity);
    if (!output) return Unexpected(std::move(output).error());
    received_ = *output;
    for (DeviceMemory* memory : {&input_, &output_}) {
      auto made = DeviceMemory::create(setup_.input.size());
      if (!made) return Unexpected(std::move(made).error());
      *memory = std::move(*made);
    }
    return check(
        cudaMemcpy(input_.data(), setup_.input.data(), setup_.input.size(), cudaMemcpyHostToDevice),
        "copying the input to the device");
  }

  EngineSetup setup_;
  std::unique_ptr<engine::cuda::Buffer> buffer_;
  std::unique_ptr<engine::cuda::Handle> handle_;
  cudaStream_t stream_ = nullptr;
  DispatchOutput received_;
  DeviceMemory input_;
  DeviceMemory output_;
  std::vector<std::byte> host_rows_;
  std::vector<RowOrigin> host_origins_;
  std::vector<std::byte> host_output_;
};

}  // namespace

Result<std::unique_ptr<BenchEngine>> cuda_engine(EngineSetup setup) {
  auto engine = std::make_unique<CudaEngine>(std::move(setup));
  SHUNT_TRY(engine->open());
  return engine;
}

}  // namespace shunt::cli

#else

namespace shunt::cli {

Result<std::unique_ptr<BenchEngine>> cuda_engine(EngineSetup /*setup*/) {
  return fail(ErrorCode::kUnsupported,
              ErrorScope::kUsage,
              "--device cuda needs a build with CUDA: configure with -DSHUNT_WITH_CUDA=ON where "
              "nvcc is found");
}

}  // namespace shunt::cli

#endif
