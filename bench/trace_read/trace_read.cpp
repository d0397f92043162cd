// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Reading a Chrome JSON trace against a RapidJSON SAX handler that does nothing, in one process,
// turn about. bench_trace_read [MiB] [rounds] [file]
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <rapidjson/filereadstream.h>
#include <rapidjson/reader.h>

#include "base/clock.hpp"
#include "trace/chrome/collector.hpp"

namespace {

struct NullHandler : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, NullHandler> {
  bool Default() { return true; }
};

/// Spans of 7 phases on 2048 warps, 149 bytes an event in the mean, as a profiler would write them.
bool write_trace(const std::string& path, std::size_t bytes) {
  static constexpr const char* kNames[] = {"ep_dispatch_copy_to_staging",
                                           "dispatch_inter_node_send",
                                           "dispatch_inter_node_recv",
                                           "dispatch_intra",
                                           "combine_sync",
                                           "combine_inter_node",
                                           "ep_combine_all"};
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  const auto put = [file](const std::string& text) {
    return std::fwrite(text.data(), 1, text.size(), file);
  };
  std::size_t written = put("{\"traceEvents\":[\n");
  for (std::uint64_t i = 0; written < bytes; ++i) {
    const std::uint64_t warp = i % 2048;
    const std::uint64_t round = i / (2048 * 7);
    const double begin = 1000.0 * static_cast<double>(round) +
                         100.0 * static_cast<double>(i / 2048 % 7) +
                         0.013 * static_cast<double>(warp);
    const std::size_t now = put(fmt::format(
        "{}{{\"name\":\"{}\",\"cat\":\"gpu_kernel\",\"ph\":\"X\",\"ts\":{:.3f},\"dur\":{:.3f},"
        "\"pid\":0,\"tid\":{},\"args\":{{\"bytes\":{},\"peer\":{}}}}}",
        i == 0 ? "" : ",\n",
        kNames[i / 2048 % 7],
        begin,
        70.5,
        warp,
        917504 + warp,
        warp % 4));
    if (now == 0) break;  // A full disk; fclose says so.
    written += now;
  }
  put("],\"displayTimeUnit\":\"ms\"}\n");
  return std::fclose(file) == 0;
}

double read_null(const std::string& path) {
  const auto begin = shunt::now_ns();
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return 0;
  std::vector<char> buffer(std::size_t{1} << 20);
  rapidjson::FileReadStream stream(file, buffer.data(), buffer.size());
  NullHandler handler;
  rapidjson::Reader reader;
  const bool fine = !reader.Parse(stream, handler).IsError();
  std::fclose(file);
  return fine ? static_cast<double>(shunt::now_ns() - begin) / 1e9 : 0;
}

double read_ours(const std::string& path, std::uint64_t& events) {
  const auto begin = shunt::now_ns();
  auto source = shunt::trace::open_bytes(path);
  if (!source) return 0;
  const shunt::trace::PhaseTable table;
  shunt::trace::Collector collector(table);
  auto summary = shunt::trace::read_chrome(**source, collector);
  if (!summary) return 0;
  events = summary->events;
  const auto trace = collector.finish(std::move(*summary));
  if (trace.phases.size() != 7) return 0;
  return static_cast<double>(shunt::now_ns() - begin) / 1e9;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t mib = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1024;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  const std::string path = argc > 3 ? argv[3] : fmt::format("/tmp/shunt-bench-{}.json", ::getpid());
  if (!write_trace(path, mib << 20)) {
    fmt::print(stderr, "cannot write {}; give another path as the third argument\n", path);
    return 3;
  }
  std::vector<double> ours;
  std::vector<double> null;
  std::uint64_t events = 0;
  for (int round = 0; round < rounds; ++round) {
    null.push_back(read_null(path));
    ours.push_back(read_ours(path, events));
  }
  std::remove(path.c_str());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double mb = static_cast<double>(mib << 20) / 1e6;
  fmt::print("events {}\n", events);
  fmt::print("rapidjson null handler {:.0f} MB/s (best {:.0f}, worst {:.0f})\n",
             mb / median(null),
             mb / *std::min_element(null.begin(), null.end()),
             mb / *std::max_element(null.begin(), null.end()));
  fmt::print("this reader            {:.0f} MB/s (best {:.0f}, worst {:.0f})\n",
             mb / median(ours),
             mb / *std::min_element(ours.begin(), ours.end()),
             mb / *std::max_element(ours.begin(), ours.end()));
  fmt::print("ratio {:.2f} (bar: 0.7)\n", median(null) / median(ours));
  fmt::print("peak resident {:.1f} MB (bar: 100)\n", static_cast<double>(usage.ru_maxrss) / 1000.0);
  return 0;
}
