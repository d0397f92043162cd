// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Failure text: who waits for whom. Printers of a time-out are its victims; the rank that never
// arrived prints nothing. A coordinate in the text is not a count.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "logs/text.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/completions.hpp"
#include "verdict/foreign/failure_meanings.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Failure;
using logs::FailureKind;

std::optional<int> field(const Failure& failure, const std::string& name) {
  const auto it = failure.fields.find(name);
  if (it == failure.fields.end()) return std::nullopt;
  const auto number = logs::number_at(it->second, 0);
  return number ? checked_cast<int>(number->value) : std::nullopt;
}

std::string join(const std::set<int>& values) {
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string ranks(const std::set<int>& values) {
  return fmt::format("rank{} {}", values.size() == 1 ? "" : "s", join(values));
}

double per_node(const Situation& s, const Failure& failure) {
  const Shape& shape = s.shapes[static_cast<std::size_t>(failure.source.file)];
  return shape.ranks_per_node ? shape.ranks_per_node->value : 8;
}

/// Nothing where a line has figures that no cluster has.
std::optional<int> global_rank(int node, double ranks_per_node, int local) {
  return checked_cast<int>(node * ranks_per_node + local);
}

/// Barrier slots: a value above zero at slot t means that peer t has not arrived.
void barrier(const Situation& s, Findings& findings) {
  std::set<int> printers;
  std::set<int> missing;
  std::set<int> slots;
  const Failure* example = nullptr;
  for (const Failure& failure : s.evidence.failures) {
    if (failure.pattern != "deepep-barrier") continue;
    const auto thread = field(failure, "thread");
    const auto value = field(failure, "value");
    if (failure.rank) printers.insert(*failure.rank);
    if (thread) slots.insert(*thread);
    if (thread && value && *value > 0) {
      missing.insert(*thread);
      if (example == nullptr) example = &failure;
    }
  }
  if (printers.empty()) return;
  std::set<int> silent;
  for (const int slot : slots) {
    if (printers.count(slot) == 0 && missing.count(slot) == 0) silent.insert(slot);
  }
  Finding finding = Build("timeout",
                          Severity::kCritical,
                          missing.empty() ? Confidence::kLow : Confidence::kHigh,
                          missing.empty() ? "barrier" : ranks(missing));
  if (missing.empty()) {
    finding.sentence = fmt::format(
        "A barrier timed out on {}, but every printed slot is zero: the "
        "lines that name the missing peer are not in the paste.",
        ranks(printers));
  } else {
    finding.sentence = fmt::format(
        "{} never arrived at the barrier (or its signal is not visible): {} wait{} for it and {} "
        "the victim{}, not the cause.{}",
        missing.size() == 1 ? fmt::format("Rank {}", join(missing)) : "Ranks " + join(missing),
        ranks(printers),
        printers.size() == 1 ? "s" : "",
        printers.size() == 1 ? "is" : "are",
        printers.size() == 1 ? "" : "s",
        silent.empty() ? ""
                       : fmt::format(" {} print nothing here: unknown.", "Ranks " + join(silent)));
  }
  finding.derivation =
      "each rank adds 1024 to its own slot of a peer and each arriving peer takes "
      "1024 away: value > 0 at thread t means that peer t has not arrived; ranks are "
      "indices inside the NVLink domain, not global ones";
  if (example != nullptr) {
    finding.evidence.push_back({"line", example->source.text, place(s, example->source)});
  }
  finding.action = missing.empty() ? "Collect the output of all ranks."
                                   : fmt::format(
                                         "Look at the stack and log of {}: late, dead or in "
                                         "another collective.",
                                         ranks(missing));
  finding.confirm = "a stack dump (py-spy, cuda-gdb) of the rank that is missing";
  findings.push_back(std::move(finding));
}

struct Waits {
  std::set<int> forwarders;  ///< Global ranks whose forwarder got no header.
  std::set<int> forwarder_rails;
  std::set<int> forwarder_sources;  ///< Global ranks whose write never came.
  std::set<int> receivers;
  std::set<int> source_nodes;
  std::set<int> nodes;  ///< Nodes of the printers.
  std::set<int> rails;
  bool meta_zero = true;
  const Failure* first = nullptr;
  int lines = 0;
};

void take_wait(const Situation& s, const Failure& failure, Waits& waits) {
  const auto node = field(failure, "rdma");
  const auto nvl = field(failure, "nvl");
  if (!node || !nvl) return;
  const double per = per_node(s, failure);
  const auto rank = global_rank(*node, per, *nvl);
  if (!rank) return;
  waits.nodes.insert(*node);
  waits.rails.insert(*nvl);
  ++waits.lines;
  if (failure.pattern.rfind("deepep-forwarder", 0) == 0) {
    waits.forwarders.insert(*rank);
    waits.forwarder_rails.insert(*nvl);
    if (waits.first == nullptr) waits.first = &failure;
    auto source = field(failure, "src rdma lane");
    if (!source) source = field(failure, "src rdma");
    const auto from = source ? global_rank(*source, per, *nvl) : std::nullopt;
    if (from) {
      waits.source_nodes.insert(*source);
      waits.forwarder_sources.insert(*from);
    }
    const auto meta = failure.fields.find("meta");
    if (meta != failure.fields.end() &&
        meta->second.find_first_of("123456789") != std::string::npos) {
      waits.meta_zero = false;
    }
  } else {
    waits.receivers.insert(*rank);
  }
}

/// Time-outs inside V1 internode kernels.
void kernel_waits(const Situation& s, Findings& findings) {
  Waits waits;
  const Failure* any = nullptr;
  for (const Failure& failure : s.evidence.failures) {
    static const std::set<std::string> kKernel{"deepep-forwarder-meta",
                                               "deepep-forwarder-data",
                                               "deepep-forwarder-nvl",
                                               "deepep-nvl-receiver",
                                               "deepep-rdma-receiver",
                                               "deepep-sender-coordinator",
                                               "deepep-rdma-sender",
                                               "deepep-nvl-sender"};
    if (kKernel.count(failure.pattern) == 0) continue;
    if (any == nullptr) any = &failure;
    take_wait(s, failure, waits);
  }
  if (any == nullptr) return;
  Finding finding = Build("timeout", Severity::kCritical, Confidence::kMedium, "dispatch");
  if (!waits.forwarders.empty()) {
    finding.where = fmt::format("node {} → node {}", join(waits.source_nodes), join(waits.nodes));
    finding.sentence = fmt::format(
        "The forwarder of {} got no {} from {}: the write or its signal never arrived over RDMA.{}",
        ranks(waits.forwarders),
        waits.meta_zero ? "header (meta all 0)" : "further data",
        waits.forwarder_sources.empty() ? "its source"
                                        : ranks(waits.forwarder_sources) + " (same rail)",
        waits.receivers.empty() ? ""
                                : fmt::format(" The NVL receivers on {} wait downstream: victims.",
                                              ranks(waits.receivers)));
  } else {
    std::set<int> printers = waits.receivers;
    finding.sentence =
        printers.empty()
            ? fmt::format("{}: a peer's data or credit never came; the printer is its victim.",
                          any->source.text.substr(0, any->source.text.find(',')))
            : fmt::format(
                  "{} wait for data that never came: victims of a forwarder or sender upstream, "
                  "whose lines are not in the paste.",
                  ranks(printers));
  }
  finding.derivation = fmt::format(
      "RDMA is the node, nvl the local index: global rank = RDMA × {:g} + nvl; start and end are "
      "ring positions, channel is a coordinate: none is a count of errors",
      per_node(s, *any));
  const Failure* shown = waits.first != nullptr ? waits.first : any;
  finding.evidence.push_back({"line", shown->source.text, place(s, shown->source)});
  finding.evidence.push_back({"printers",
                              fmt::format("nodes {}, local indices {}, {} lines",
                                          join(waits.nodes),
                                          join(waits.rails),
                                          waits.lines),
                              "coordinates"});
  // Receivers only wait for the forwarders' rail.
  const std::set<int>& rails = waits.forwarders.empty() ? waits.rails : waits.forwarder_rails;
  finding.action = fmt::format(
      "Check the NICs and path {}between the nodes{}; collect the other node's log too.",
      rails.empty() ? "" : fmt::format("of local index {} ", join(rails)),
      waits.source_nodes.empty()
          ? ""
          : fmt::format(
                ", direction node {} → node {}", join(waits.source_nodes), join(waits.nodes)));
  finding.confirm = "port counters and completion errors on the sending side";
  findings.push_back(std::move(finding));
}

/// Low-latency and V2 receive time-outs name the source in words.
void named_sources(const Situation& s, Findings& findings) {
  std::map<int, std::set<int>> waiting;  // source → printers
  const Failure* example = nullptr;
  for (const Failure& failure : s.evidence.failures) {
    if (failure.pattern != "deepep-ll-receive") continue;
    const auto source = field(failure, "src_rank");
    const auto rank = field(failure, "rank");
    if (!source) continue;
    waiting[*source].insert(rank.value_or(-1));
    if (example == nullptr) example = &failure;
  }
  if (waiting.empty()) return;
  const auto worst = std::ranges::max_element(
      waiting, [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::set<int> sources;
  for (const auto& [source, printers] : waiting) sources.insert(source);
  findings.push_back(
      Build("timeout", Severity::kCritical, Confidence::kHigh, ranks(sources))
          .say(fmt::format("Nothing arrived from {}: {} wait{} for it. The printers are victims.",
                           ranks(sources),
                           ranks(worst->second),
                           worst->second.size() == 1 ? "s" : ""))
          .fact("line", example->source.text, place(s, example->source))
          .act(fmt::format("Look at {}: stack, NIC, whether it entered this call at all.",
                           ranks(sources))));
}

/// The first line of a pattern, how many there are, and who printed them.
struct Printed {
  const Failure* first = nullptr;
  std::set<int> printers;
  int count = 0;
};

Printed printed_of(const Situation& s, const FailureMeaning& known) {
  Printed out;
  for (const Failure& failure : s.evidence.failures) {
    if (failure.pattern != known.pattern || failure.fields.count("wc status") != 0) continue;
    if (out.first == nullptr) out.first = &failure;
    if (failure.rank) out.printers.insert(*failure.rank);
    ++out.count;
  }
  return out;
}

void plain_failures(const Situation& s, Findings& findings) {
  bool specific = std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.severity == Severity::kCritical; });
  std::vector<Finding> general;
  for (const FailureMeaning& known : failure_meanings()) {
    const Printed printed = printed_of(s, known);
    if (printed.first == nullptr) continue;
    Finding finding = Build(std::string(known.id),
                            known.severity,
                            known.confidence,
                            printed.printers.empty() ? "run" : ranks(printed.printers));
    finding.sentence = std::string(known.sentence);
    finding.evidence.push_back(
        {printed.count == 1 ? "line" : fmt::format("first of {} lines", printed.count),
         printed.first->source.text,
         place(s, printed.first->source)});
    finding.action = std::string(known.action);
    specific = specific || (!known.general && known.severity == Severity::kCritical);
    (known.general ? general : findings).push_back(std::move(finding));
  }
  for (Finding& finding : general) {
    // What says only that something failed follows from what says why.
    if (specific) finding.severity = Severity::kInfo;
    findings.push_back(std::move(finding));
  }
}

/// NICs that NVSHMEM refuses for their names.
void skipped_nics(const Situation& s, Findings& findings) {
  std::set<std::string> devices;
  const Failure* first = nullptr;
  for (const Failure& failure : s.evidence.failures) {
    if (failure.kind != FailureKind::kNicSkipped) continue;
    const auto device = failure.fields.find("device");
    if (device != failure.fields.end()) devices.insert(device->second);
    if (first == nullptr) first = &failure;
  }
  if (first == nullptr) return;
  findings.push_back(
      Build("init-failed", Severity::kCritical, Confidence::kHigh, "NIC names")
          .say(fmt::format(
              "No usable NIC: NVSHMEM skipped {} device{} ({}) because the names do not "
              "start with mlx5. A configuration error, not a performance one.",
              devices.size(),
              devices.size() == 1 ? "" : "s",
              fmt::join(devices, ", ")))
          .fact("line", first->source.text, place(s, first->source))
          .act("Keep the kernel's mlx5_k names (undo the udev or rdma rename), or use a transport "
               "that "
               "does not filter by name.")
          .confirm("ibv_devices"));
}

/// "Global rank: 3, num_recv_tokens: -1": the CPU never saw the counts.
void cpu_counters(const Situation& s, Findings& findings) {
  std::set<int> printers;
  const Failure* first = nullptr;
  for (const Failure& failure : s.evidence.failures) {
    if (failure.pattern != "deepep-cpu-counters") continue;
    if (failure.rank) printers.insert(*failure.rank);
    if (first == nullptr) first = &failure;
  }
  if (first == nullptr) return;
  findings.push_back(
      Build("timeout", Severity::kWarning, Confidence::kHigh, ranks(printers))
          .say(
              fmt::format("On {} the CPU never saw the receive counts (−1 means not arrived, not a "
                          "count): a consequence of ranks that did not send.",
                          ranks(printers)))
          .fact("line", first->source.text, place(s, first->source)));
}

}  // namespace

void judge_failures(const Situation& s, Findings& findings) {
  skipped_nics(s, findings);
  barrier(s, findings);
  kernel_waits(s, findings);
  named_sources(s, findings);
  judge_completions(s, findings);
  plain_failures(s, findings);
  cpu_counters(s, findings);
}

}  // namespace shunt::verdict::foreign
