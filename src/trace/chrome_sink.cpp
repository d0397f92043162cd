// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "trace/sink.hpp"

namespace shunt::trace {
namespace {

/// JSON text of a string that may hold quotes, control characters or UTF-8.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// The events are written one a line, so that text tools can cut the file.
class ChromeSink : public TraceSink {
 public:
  ChromeSink(OutputFile file, const TraceHeader& header)
      : file_(std::move(file)), base_ns_(header.base_ns) {
    line_ = fmt::format(
        "{{\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":{},\n"
        "\"otherData\":{{\"tool\":{},\"started\":{}}},\n\"traceEvents\":[",
        base_ns_,
        quoted("shunt " + header.tool_version),
        quoted(header.started));
    write();
  }

  void declare(const Track& track) override {
    Row row{track.pid, 0, track.name};
    if (track.kind == Track::Kind::kProcess) {
      metadata(track.pid, 0, "process_name", fmt::format("\"name\":{}", quoted(track.name)));
      metadata(track.pid, 0, "process_sort_index", fmt::format("\"sort_index\":{}", track.order));
    } else if (track.kind == Track::Kind::kThread) {
      // Chrome's rows are flat: "group · block 0" keeps a tree's rows together.
      const auto parent = rows_.find(track.parent);
      if (parent != rows_.end() && parent->second.tid != 0) {
        row.name = parent->second.name + " · " + track.name;
      }
      row.tid = ++threads_;
      metadata(row.pid, row.tid, "thread_name", fmt::format("\"name\":{}", quoted(row.name)));
      metadata(row.pid, row.tid, "thread_sort_index", fmt::format("\"sort_index\":{}", row.tid));
    }
    rows_.emplace(track.id, std::move(row));
  }

  void begin(const Event& event) override {
    slice(event);
    if (event.flow == 0) return;
    const Row& row = rows_[event.track];
    open_line();
    fmt::format_to(
        std::back_inserter(line_),
        R"({{"ph":"{}","id":"{:x}","name":"chunk","cat":"flow",{}"pid":{},"tid":{},"ts":)",
        event.flow_ends_here ? 'f' : 's',
        event.flow,
        event.flow_ends_here ? "\"bp\":\"e\"," : "",
        row.pid,
        row.tid);
    append_time(since_base(event.begin_ns));
    line_ += '}';
    write();
  }

  void end(const Event& /*event*/) override {}

  /// A slice of no length rather than an "i": an arrow needs one to end on.
  void instant(const Event& event) override { begin(event); }

  void counter(std::uint64_t track, std::uint64_t time_ns, std::int64_t value) override {
    const Row& row = rows_[track];
    open_line();
    fmt::format_to(std::back_inserter(line_),
                   R"({{"ph":"C","name":{},"pid":{},"ts":)",
                   quoted(row.name),
                   row.pid);
    append_time(since_base(time_ns));
    fmt::format_to(std::back_inserter(line_), R"(,"args":{{"value":{}}}}})", value);
    write();
  }

  Status finish() override {
    line_ = "\n]}\n";
    write();
    if (!status_) return status_;
    return file_.commit();
  }

  [[nodiscard]] bool ok() const override { return status_.has_value(); }

 private:
  struct Row {
    std::int32_t pid = 0;
    std::int32_t tid = 0;
    std::string name;
  };

  void slice(const Event& event) {
    const Row& row = rows_[event.track];
    open_line();
    fmt::format_to(std::back_inserter(line_),
                   R"({{"ph":"X","name":"{}","cat":"{}","pid":{},"tid":{},"ts":)",
                   event.name,
                   event.category,
                   row.pid,
                   row.tid);
    append_time(since_base(event.begin_ns));
    line_ += ",\"dur\":";
    append_time(event.end_ns - event.begin_ns);
    if (event.argument_count > 0) {
      line_ += ",\"args\":{";
      for (std::uint32_t i = 0; i < event.argument_count; ++i) {
        fmt::format_to(std::back_inserter(line_),
                       "{}\"{}\":{}",
                       i == 0 ? "" : ",",
                       event.arguments[i].name,
                       event.arguments[i].value);
      }
      line_ += '}';
    }
    line_ += '}';
    write();
  }

  void metadata(std::int32_t pid, std::int32_t tid, const char* name, const std::string& args) {
    open_line();
    fmt::format_to(std::back_inserter(line_),
                   R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{{}}}}})",
                   name,
                   pid,
                   tid,
                   args);
    write();
  }

  void open_line() { line_ = std::exchange(first_, false) ? "\n" : ",\n"; }

  /// Microseconds with the ns as decimals, from integers: a double would lose the last digits.
  void append_time(std::uint64_t ns) {
    fmt::format_to(std::back_inserter(line_), "{}.{:03}", ns / 1000, ns % 1000);
  }

  /// A run that is still being written may show times that the first pass did not see.
  [[nodiscard]] std::uint64_t since_base(std::uint64_t t) const {
    return t < base_ns_ ? 0 : t - base_ns_;
  }

  void write() {
    if (status_) status_ = file_.write(line_);
  }

  OutputFile file_;
  const std::uint64_t base_ns_;
  std::unordered_map<std::uint64_t, Row> rows_;
  std::string line_;
  std::int32_t threads_ = 0;
  Status status_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<TraceSink> make_chrome_sink(OutputFile file, const TraceHeader& header) {
  return std::make_unique<ChromeSink>(std::move(file), header);
}

}  // namespace shunt::trace
