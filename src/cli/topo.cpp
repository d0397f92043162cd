// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/verbs.hpp"
#include "cluster/discovery.hpp"
#include "cluster/pairing.hpp"

namespace shunt::cli {
namespace {

struct Options {
  std::string root = "/";
  bool json = false;
  bool no_nvml = false;
};

void print_nearest(const cluster::Topology& topology) {
  const cluster::Pairing pairing = cluster::pair_nics(topology);
  for (const cluster::GpuNics& gpu : pairing.gpus) {
    if (!gpu.assigned) continue;
    const cluster::Device& nic = topology.devices[*gpu.assigned];
    const std::size_t users = pairing.users_of(*gpu.assigned).size();
    fmt::print("  {} sends through {} ({}){}\n",
               topology.devices[gpu.gpu].label,
               nic.list_name(),
               cluster::to_string(gpu.kind),
               users > 1 ? fmt::format(", shared by {} GPUs", users) : "");
  }
}

Exit run(const Options& options) {
  cluster::DiscoveryOptions discovery;
  discovery.root = options.root;
  discovery.nvml = !options.no_nvml;
  const auto topology = cluster::discover(discovery);
  if (!topology) return complain(topology.error(), Exit::kEnvironment);
  if (options.json) {
    fmt::print("{}\n", cluster::to_json(*topology));
    return Exit::kDone;
  }
  if (topology->devices.empty()) {
    complain(
        "no GPU and no RDMA device on this machine; /sys/bus/pci and /sys/class/infiniband "
        "were read");
    return Exit::kEnvironment;
  }
  fmt::print("{}", cluster::to_text(*topology));
  print_nearest(*topology);
  return Exit::kDone;
}

}  // namespace

void add_topo(Program& program) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = program.add_verb("topo",
                                    "Show how this machine's GPUs and NICs reach each other.",
                                    {"shunt topo", "shunt topo --json > node.json"},
                                    [options] { return run(*options); });
  verb.add_flag("--json", options->json, "Typed edges with stable ids, schema shunt.topology/1");
  verb.add_option("--root", options->root, "Directory that holds sys/ (another machine's copy)")
      ->type_name("DIR");
  verb.add_flag("--no-nvml", options->no_nvml, "Do not load NVML: PCIe paths only");
}

}  // namespace shunt::cli
