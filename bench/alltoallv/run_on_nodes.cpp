// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs an MPI program on emulated nodes (root):
//
//   run_on_nodes --nodes 2 --ranks-per-node 2 --rate 1Gbit -- bench_alltoallv --tokens 512
//   run_on_nodes --mpi mpich --rate 4Gbit -- bench_alltoallv_mpich --tokens 512
//
// starts mpirun inside node 0 with this program as its remote shell: called as
// `run_on_nodes ADDRESS COMMAND...` it enters the node of that address instead of a remote machine.
// Each node has a host name and System V IPC of its own, so that no MPI takes two nodes for one.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/units.hpp"
#include "bootstrap/emulated_nodes.hpp"

namespace {

using shunt::Status;
using shunt::bootstrap::EmulatedNodes;

/// Where the remote shell finds the namespace of an address: a process that stays in it.
std::string variable_of(std::string address) {
  for (char& c : address) {
    if (c == '.') c = '_';
  }
  return "SHUNT_NODE_" + address;
}

int complain(const std::string& what) {
  std::fprintf(stderr, "run_on_nodes: %s\n", what.c_str());
  return 2;
}

/// Called inside the node's network namespace. /sys is mounted anew so that it lists this node's
/// network interfaces: UCX looks there.
Status isolate(const std::string& host_name) {
  if (::unshare(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS) != 0) {
    return shunt::system_error(errno, "cannot give {} a host name of its own", host_name);
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    return shunt::system_error(errno, "cannot mount /sys for {}", host_name);
  }
  if (::sethostname(host_name.c_str(), host_name.size()) != 0) {
    return shunt::system_error(errno, "cannot set the host name {}", host_name);
  }
  return {};
}

/// The remote shell: `address` and the words of a command line for a shell.
int remote_shell(const std::string& address, const std::vector<std::string>& words) {
  const char* path = std::getenv(variable_of(address).c_str());
  if (path == nullptr) return complain("no emulated node has the address " + address);
  const shunt::UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || ::setns(fd.get(), CLONE_NEWNET) != 0) {
    return complain("cannot enter the node of " + address);
  }
  if (const Status done = isolate("node-" + address); !done) {
    return complain(done.error().to_string());
  }
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
  return complain("cannot start /bin/sh");
}

struct Options {
  int nodes = 2;
  int ranks_per_node = 2;
  std::string rate = "1Gbit";
  std::string mpi = "openmpi";
  std::vector<std::string> command;
};

/// "10.0.0.1:2,10.0.0.2:2": addresses and ranks, as both launchers write it.
std::string host_list(const Options& options, const EmulatedNodes& nodes) {
  std::string hosts;
  for (int node = 0; node < nodes.nodes(); ++node) {
    hosts +=
        fmt::format("{}{}:{}", node == 0 ? "" : ",", nodes.address(node), options.ranks_per_node);
  }
  return hosts;
}

/// TCP between the nodes, shared memory inside each.
std::vector<std::string> launcher_command(const Options& options,
                                          const EmulatedNodes& nodes,
                                          const std::string& self) {
  const std::string nic = EmulatedNodes::interface_name();
  const std::string hosts = host_list(options, nodes);
  std::vector<std::string> words;
  if (options.mpi == "openmpi") {
    words = {"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"};
    words.insert(words.end(), {"--host", hosts, "--mca", "plm_rsh_agent", self});
    words.insert(words.end(), {"--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "pml", "ob1"});
    words.insert(words.end(), {"--mca", "btl", "tcp,vader,self"});
    words.insert(words.end(), {"--mca", "btl_tcp_if_include", nic});
  } else {
    words = {"mpirun.mpich", "-launcher", "rsh", "-launcher-exec", self};
    words.insert(words.end(), {"-hosts", hosts, "-iface", nic, "-bind-to", "none"});
    words.insert(words.end(), {"-genv", "UCX_NET_DEVICES", nic});
    words.insert(words.end(), {"-genv", "UCX_TLS", "tcp,posix,sysv,cma,self"});
  }
  words.insert(words.end(), {"-n", std::to_string(options.nodes * options.ranks_per_node)});
  words.insert(words.end(), options.command.begin(), options.command.end());
  return words;
}

/// Starts the launcher inside node 0 and returns its exit status.
int start(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // mpirun then ends its ranks.
    if (!isolate("node-0")) ::_exit(126);
    ::execvp(arguments[0], arguments.data());
    std::fprintf(stderr, "run_on_nodes: cannot start %s\n", arguments[0]);
    ::_exit(127);
  }
  int status = 1;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int run(const Options& options) {
  const auto rate = shunt::parse_rate(options.rate);
  if (!rate) return complain(rate.error().message);
  const auto nodes = EmulatedNodes::create({.nodes = options.nodes, .rate_bytes_per_s = *rate});
  if (!nodes) return complain(nodes.error().to_string());
  // The namespaces' paths: this process enters each once and keeps a descriptor of it.
  std::vector<shunt::UniqueFd> held;
  for (int node = 0; node < nodes->nodes(); ++node) {
    if (const Status entered = nodes->enter(node); !entered) {
      return complain(entered.error().to_string());
    }
    held.emplace_back(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    const std::string path = fmt::format("/proc/{}/fd/{}", ::getpid(), held.back().get());
    ::setenv(variable_of(nodes->address(node)).c_str(), path.c_str(), 1);
  }
  if (const Status entered = nodes->enter(0); !entered) return complain(entered.error().message);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::uint64_t> before;
  for (int node = 0; node < nodes->nodes(); ++node) {
    before.push_back(nodes->counters(node).value().wire_bytes);
  }
  const int status = start(launcher_command(options, *nodes, self));
  for (int node = 0; node < nodes->nodes(); ++node) {
    const auto after = nodes->counters(node).value();
    std::fprintf(
        stderr,
        "node %d: %llu bytes on the wire, %llu drops\n",
        node,
        static_cast<unsigned long long>(after.wire_bytes - before[static_cast<std::size_t>(node)]),
        static_cast<unsigned long long>(after.drops));
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && argv[1][0] >= '0' && argv[1][0] <= '9') {
    return remote_shell(argv[1], {argv + 2, argv + argc});
  }
  Options options;
  CLI::App app("Runs an MPI program on emulated nodes joined by links of a known rate (root)");
  app.add_option("--nodes", options.nodes, "Emulated nodes")->check(CLI::PositiveNumber);
  app.add_option("--ranks-per-node", options.ranks_per_node, "Ranks on each")
      ->check(CLI::PositiveNumber);
  app.add_option("--rate", options.rate, "Of each node's link, such as 1Gbit");
  app.add_option("--mpi", options.mpi, "openmpi or mpich: what the program was built for")
      ->check(CLI::IsMember({"openmpi", "mpich"}));
  app.add_option("command", options.command, "Program and its options, after --")->required();
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
