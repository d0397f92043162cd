// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "logs/counters/shapes.hpp"
#include "logs/counters/signals.hpp"
#include "logs/readers.hpp"
#include "logs/text.hpp"
#include "logs/words.hpp"

namespace shunt::logs {

const CounterValue* CounterFact::find(std::string_view name) const {
  for (const CounterValue& value : values) {
    if (value.name == name) return &value;
  }
  return nullptr;
}

namespace {

/// "hh:mm:ss" alone or in a `date` line → seconds of the day.
std::optional<double> clock_time(std::string_view line) {
  if (line.size() > 48) return std::nullopt;
  for (std::size_t at = 0; at + 8 <= line.size(); ++at) {
    const auto two = [&](std::size_t from) {
      return is_digit(line[from]) && is_digit(line[from + 1])
                 ? (line[from] - '0') * 10 + (line[from + 1] - '0')
                 : -1;
    };
    // A GID or a MAC address has colons further on.
    if (line[at + 2] != ':' || line[at + 5] != ':' ||
        (at > 0 && (is_digit(line[at - 1]) || line[at - 1] == ':')) ||
        (at + 8 < line.size() && line[at + 8] == ':')) {
      continue;
    }
    const int hours = two(at);
    const int minutes = two(at + 3);
    const int seconds = two(at + 6);
    if (hours < 0 || minutes < 0 || seconds < 0) continue;
    double fraction = 0;
    if (at + 8 < line.size() && line[at + 8] == '.') {
      const auto tail = number_at(line, at + 6);
      fraction = tail ? tail->value - seconds : 0;
    }
    return hours * 3600.0 + minutes * 60.0 + seconds + fraction;
  }
  return std::nullopt;
}

/// "before …" / "after …" as a heading; empty for lines that only mention the word.
std::string label_of(std::string_view line) {
  if (line.size() > 60) return {};
  if (find_word_ci(line, "before") != std::string_view::npos) return "before";
  return find_word_ci(line, "after") != std::string_view::npos ? "after" : "";
}

/// "GPU: 3", the title over a GPU's values in `amd-smi metric`.
std::optional<int> amd_gpu_title(std::string_view line) {
  return line.substr(0, 5) == "GPU: " ? small_count(trim(line.substr(5))) : std::nullopt;
}

class CounterReader {
 public:
  CounterReader(const Document& document, Sink& sink) : document_(document), sink_(sink) {}

  void run() {
    for (std::size_t at = 0; at < document_.lines.size(); ++at) {
      note_gpu(document_.lines[at].text, at);
      if (sink_.claimed(at) || document_.lines[at].fence || document_.lines[at].text.empty()) {
        continue;
      }
      at = take(at);
    }
    flush();
  }

 private:
  /// Returns the last line it looked at.
  std::size_t take(std::size_t at) {
    const std::string& text = document_.lines[at].text;
    if (const auto pairs = rdma_statistic_line(text); !pairs.empty()) {
      record_all(pairs, "rdma statistic", at);
      return at;
    }
    if (const auto pairs = bracketed_values(text); !pairs.empty() && any_known(pairs)) {
      record_all(pairs, "ibqueryerrors", at);
      return at;
    }
    if (take_nvlink(text, at) || take_lone_number(text, at)) return at;
    if (const std::size_t end = run_end(at); end > at) {
      run_tool_ = tool_.empty() ? tool_of_run(at, end) : tool_;
      for (std::size_t line = at; line < end; ++line) take_value(line);
      return end - 1;
    }
    take_context(text, at);
    return at;
  }

  static bool any_known(const std::vector<NamedValue>& pairs) {
    return std::any_of(pairs.begin(), pairs.end(), [](const NamedValue& pair) {
      return find_signal(pair.name) != nullptr;
    });
  }

  /// The title over a GPU's links; the link reader may have claimed it.
  void note_gpu(std::string_view text, std::size_t at) {
    if (text.substr(0, 4) == "GPU " && text.find(':') != std::string_view::npos) {
      gpu_ = std::string(text.substr(0, text.find(':')));
      gpu_line_ = at;
    }
  }

  bool take_nvlink(std::string_view text, std::size_t at) {
    auto value = nvlink_value(text);
    if (!value || find_signal(value->name) == nullptr) return false;
    if (gpu_line_ < document_.lines.size()) sink_.claim(gpu_line_);
    value->device = gpu_.empty() ? value->device : gpu_ + " " + value->device;
    record(std::move(*value), "nvidia-smi nvlink", at);
    return true;
  }

  /// The value under "==> …/counters/port_xmit_data <==" or "$ cat …/port_xmit_data".
  bool take_lone_number(std::string_view text, std::size_t at) {
    const auto value = lone_.name.empty() ? std::nullopt : parse_count(text);
    if (!value) return false;
    NamedValue found = std::exchange(lone_, {});
    found.value = *value;
    sink_.claim(lone_line_);
    record(std::move(found), "sysfs", at);
    return true;
  }

  void note_path(std::string_view text, std::size_t at) {
    lone_ = {};
    for (const std::string_view word : split_words(text, "<>'\"")) {
      const std::size_t slash = word.rfind('/');
      if (slash == std::string_view::npos || !contains(word, "counters/") ||
          find_signal(word.substr(slash + 1)) == nullptr) {
        continue;
      }
      lone_.name = std::string(word.substr(slash + 1));
      lone_.device = device_hint(word);
      lone_line_ = at;
    }
  }

  /// One past the last line of a run of "name value" lines that holds a counter we know; `at` if
  /// there is no such run. Blank lines and single strangers end it.
  std::size_t run_end(std::size_t at) {
    const bool announced = !tool_.empty();
    // A run without counters stays one without its first lines: looked at once, not once a line.
    if (at < barren_end_ && announced == barren_announced_) return at;
    bool known = false;
    std::size_t end = at;
    for (; end < document_.lines.size(); ++end) {
      const auto value = value_at(end);
      if (!value) break;
      known = known || find_signal(value->name) != nullptr || (announced && !value->device.empty());
    }
    if (known) return end;
    barren_end_ = end;
    barren_announced_ = announced;
    return at;
  }

  std::optional<NamedValue> value_at(std::size_t at) const {
    const Line& line = document_.lines[at];
    if (sink_.claimed(at) || line.fence || line.text.empty()) return std::nullopt;
    auto value = named_value(line.text);
    return value && value->name == "sleep" ? std::nullopt : std::move(value);
  }

  void take_value(std::size_t at) {
    auto value = value_at(at);
    if (!value) return;
    // The last line of a cut file may hold half a number.
    if (document_.lines[at].last && document_.lines.size() > 1) {
      sink_.truncated(at, "counters");
      return;
    }
    const std::string tool = value->rate              ? "mlnx_perf"
                             : !value->device.empty() ? "sysfs"
                                                      : run_tool_;
    if (value->device.empty()) value->device = device_;
    record(std::move(*value), tool, at);
  }

  /// Told by the first counter that only one driver has.
  std::string tool_of_run(std::size_t begin, std::size_t end) const {
    std::string tool;
    for (std::size_t at = begin; at < end; ++at) {
      const auto value = value_at(at);
      const SignalRow* row = value ? find_signal(value->name) : nullptr;
      if (row != nullptr && (tool.empty() || tool == "sysfs")) tool = guess_tool(value->name);
    }
    return tool.empty() ? "counters" : tool;
  }

  static std::string guess_tool(std::string_view name) {
    const SignalRow* row = find_signal(name);
    if (row == nullptr) return "counters";
    if (row->driver == "ib") return contains(name, "_") ? "sysfs" : "perfquery";
    const bool netdev = row->driver == "mlx5-ethtool" || row->driver == "bnxt" ||
                        row->driver == "netdev" || row->driver == "ionic";
    return netdev                     ? "ethtool -S"
           : row->driver == "hfi1"    ? "hfi1 hw_counters"
           : row->driver == "amd-smi" ? "amd-smi metric"
                                      : "sysfs";
  }

  void take_context(std::string_view text, std::size_t at) {
    note_path(text, at);
    if (!lone_.name.empty()) return;
    const auto amd_gpu = amd_gpu_title(text);
    const std::string_view tool = amd_gpu ? "amd-smi metric" : tool_hint(text);
    const std::string device = amd_gpu ? fmt::format("GPU{}", *amd_gpu) : device_hint(text);
    if (!tool.empty() || !device.empty()) {
      flush();
      tool_ = tool.empty() ? tool_ : std::string(tool);
      device_ = device.empty() ? device_ : device;
      context_ = at;
      if (contains(text, "ounters: Lid") || contains(text, "NIC statistics")) sink_.claim(at);
    }
    if (const std::string label = label_of(text); !label.empty()) {
      flush();
      label_ = label;
      context_ = at;
    }
    if (const auto seconds = clock_time(text)) {
      flush();
      seconds_ = seconds;
      context_ = at;
    }
    const std::string_view command = text.substr(0, 2) == "$ " ? text.substr(2) : text;
    if (command.substr(0, 6) == "sleep ") {
      if (const auto pause = number_at(command, 6); pause && pause->value < 1e6) {
        slept_ = slept_.value_or(0) + pause->value;
        sink_.claim(at);
      }
    }
  }

  void record_all(const std::vector<NamedValue>& pairs, const std::string& tool, std::size_t at) {
    for (const NamedValue& pair : pairs) record(pair, tool, at);
  }

  void record(NamedValue value, const std::string& tool, std::size_t at) {
    if (context_ < at) {
      const std::string& context = document_.lines[context_].text;
      if (context_ + 3 >= at && context.size() < 100) sink_.claim(context_);
    }
    CounterFact& fact = fact_for(value, tool, at);
    const std::size_t number = document_.lines[at].number;
    fact.values.push_back({value.name, value.value, number});
    sink_.claim(at);
    if (value.second) {
      CounterFact later = fact;
      later.values = {{value.name, *value.second, number}};
      later.label = "after";
      add_second(std::move(later));
    }
  }

  /// The open snapshot of that device; a name that comes again starts the next one.
  CounterFact& fact_for(const NamedValue& value, const std::string& tool, std::size_t at) {
    for (CounterFact& fact : open_) {
      if (fact.device == value.device && fact.tool == tool && fact.rates == value.rate &&
          fact.find(value.name) == nullptr) {
        return fact;
      }
    }
    const auto old = std::find_if(open_.begin(), open_.end(), [&](const CounterFact& fact) {
      return fact.device == value.device && fact.tool == tool;
    });
    if (old != open_.end()) {
      sink_.evidence().counters.push_back(std::move(*old));
      open_.erase(old);
    }
    CounterFact fact;
    fact.source = sink_.source(at);
    fact.tool = tool;
    fact.device = value.device;
    fact.label = value.second ? "before" : label_;
    fact.rates = value.rate;
    fact.aggregated = contains(value.device, "port ALL");
    fact.seconds = seconds_ || !slept_ ? seconds_ : slept_;
    sink_.recognised(tool);
    open_.push_back(std::move(fact));
    return open_.back();
  }

  void add_second(CounterFact later) {
    for (CounterFact& fact : seconds_columns_) {
      if (fact.device == later.device && fact.tool == later.tool &&
          fact.find(later.values[0].name) == nullptr) {
        fact.values.push_back(later.values[0]);
        return;
      }
    }
    seconds_columns_.push_back(std::move(later));
  }

  void flush() {
    auto& counters = sink_.evidence().counters;
    std::move(open_.begin(), open_.end(), std::back_inserter(counters));
    std::move(seconds_columns_.begin(), seconds_columns_.end(), std::back_inserter(counters));
    open_.clear();
    seconds_columns_.clear();
  }

  std::size_t barren_end_ = 0;  // Lines before it belong to a run that holds no counter.
  bool barren_announced_ = false;
  const Document& document_;
  Sink& sink_;
  std::string tool_;
  std::string run_tool_;
  std::string device_;
  std::string label_;
  std::optional<double> seconds_;
  std::optional<double> slept_ = 0.0;
  NamedValue lone_;
  std::size_t lone_line_ = 0;
  std::string gpu_;
  std::size_t gpu_line_ = static_cast<std::size_t>(-1);
  std::size_t context_ = static_cast<std::size_t>(-1);
  std::vector<CounterFact> open_;
  std::vector<CounterFact> seconds_columns_;
};

/// `rdma -j statistic`: an array of objects with ifname, port and counters.
void read_json(const Document& document, Sink& sink) {
  std::string text;
  std::size_t first = document.lines.size();
  for (std::size_t at = 0; at < document.lines.size(); ++at) {
    if (sink.claimed(at)) continue;
    const std::string& line = document.lines[at].text;
    if (text.empty() && (line.empty() || line[0] != '[')) continue;
    first = std::min(first, at);
    text += line + "\n";
  }
  if (!contains(text, "\"ifname\"") || !contains(text, "\"port\"")) return;
  const auto root = nlohmann::json::parse(text, nullptr, false);
  if (!root.is_array()) return;
  for (const auto& object : root) {
    if (!object.is_object() || !object.contains("ifname") || !object["ifname"].is_string()) return;
    CounterFact fact;
    fact.source = sink.source(first);
    fact.tool = "rdma statistic";
    const bool has_port = object.contains("port") && object["port"].is_number_integer();
    fact.device = fmt::format("{}/{}",
                              object["ifname"].get<std::string>(),
                              has_port ? object["port"].get<std::int64_t>() : 1);
    for (const auto& item : object.items()) {
      if (item.value().is_number_unsigned() && item.key() != "port" && item.key() != "ifindex") {
        fact.values.push_back(
            {item.key(), item.value().get<std::uint64_t>(), document.lines[first].number});
      }
    }
    if (fact.values.empty()) return;
    sink.evidence().counters.push_back(std::move(fact));
  }
  sink.recognised("rdma statistic");
  for (std::size_t at = first; at < document.lines.size(); ++at) sink.claim(at);
}

}  // namespace

void read_counters(const Document& document, Sink& sink) {
  CounterReader(document, sink).run();
  read_json(document, sink);
}

}  // namespace shunt::logs
