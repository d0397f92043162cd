// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/verbs.hpp"
#include "cluster/discovery.hpp"
#include "report/matrix.hpp"

namespace shunt::cli {
namespace {

struct Options {
  std::string root = "/";
  bool json = false;
  bool no_nvml = false;
  std::size_t width = 100;
};

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
  const report::Matrix matrix = report::make_matrix(*topology, "machine", "");
  fmt::print("{}", report::matrix_text(matrix, options.width));
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
