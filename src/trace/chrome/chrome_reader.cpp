// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/chrome/chrome_reader.hpp"

#include <charconv>
#include <cmath>
#include <functional>
#include <vector>

#include "base/error.hpp"
#include "trace/chrome/json_scanner.hpp"

namespace shunt::trace {
namespace {

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

/// Where the parser stands.
enum class Place { kRoot, kRootObject, kEvents, kEvent, kArgs, kDistributed, kOther };

/// Keys of interest.
enum class Field {
  kNone,
  kName,
  kCategory,
  kPhase,
  kTime,
  kDuration,
  kPid,
  kTid,
  kArgs,
  kEvents,
  kDistributed,
  kBase,
  kRank,
  kWorld,
  kBytes,
  kDims,
  kTypes,
  kElementType,
  kInElements,
  kOutElements,
  kGroupSize,
  kCollective,
};

Field event_field(std::string_view key) {
  switch (key.size()) {
    case 2:
      return key == "ts" ? Field::kTime : key == "ph" ? Field::kPhase : Field::kNone;
    case 3:
      return key == "dur"   ? Field::kDuration
             : key == "pid" ? Field::kPid
             : key == "tid" ? Field::kTid
             : key == "cat" ? Field::kCategory
                            : Field::kNone;
    case 4:
      return key == "name" ? Field::kName : key == "args" ? Field::kArgs : Field::kNone;
    default:
      return Field::kNone;
  }
}

Field args_field(std::string_view key) {
  switch (key.size()) {
    case 5:
      return key == "bytes" ? Field::kBytes : key == "dtype" ? Field::kElementType : Field::kNone;
    case 10:
      return key == "Input Dims"   ? Field::kDims
             : key == "Input type" ? Field::kTypes
             : key == "Group size" ? Field::kGroupSize
                                   : Field::kNone;
    case 13:
      return key == "In msg nelems" ? Field::kInElements : Field::kNone;
    case 14:
      return key == "Out msg nelems" ? Field::kOutElements : Field::kNone;
    case 15:
      return key == "Collective name" ? Field::kCollective : Field::kNone;
    default:
      return Field::kNone;
  }
}

Field root_field(std::string_view key) {
  return key == "traceEvents"           ? Field::kEvents
         : key == "distributedInfo"     ? Field::kDistributed
         : key == "baseTimeNanoseconds" ? Field::kBase
                                        : Field::kNone;
}

Field distributed_field(std::string_view key) {
  return key == "rank" ? Field::kRank : key == "world_size" ? Field::kWorld : Field::kNone;
}

/// SAX handler: one event's fields at a time, strings kept in buffers that are reused.
class Handler final : public JsonHandler {
 public:
  explicit Handler(ChromeVisitor& visitor) : visitor_(visitor) {}

  bool start_object() override {
    if (skipping_ > 0) {
      ++skipping_;
    } else if (place_ == Place::kRoot) {
      place_ = Place::kRootObject;
    } else if (place_ == Place::kEvents) {
      place_ = Place::kEvent;
      event_ = ChromeEvent{};
      has_time_ = false;
    } else if (place_ == Place::kEvent && field_ == Field::kArgs) {
      place_ = Place::kArgs;
    } else if (place_ == Place::kRootObject && field_ == Field::kDistributed) {
      place_ = Place::kDistributed;
    } else {
      skipping_ = 1;
    }
    return true;
  }

  void end_object() override {
    if (skipping_ > 0) {
      --skipping_;
    } else if (place_ == Place::kEvent) {
      finish();
      place_ = Place::kEvents;
    } else if (place_ == Place::kArgs) {
      place_ = Place::kEvent;
    } else if (place_ == Place::kDistributed) {
      place_ = Place::kRootObject;
    }
    field_ = Field::kNone;
  }

  bool start_array() override {
    if (skipping_ == 0 &&
        (place_ == Place::kRoot || (place_ == Place::kRootObject && field_ == Field::kEvents))) {
      bare_array_ = place_ == Place::kRoot;
      place_ = Place::kEvents;
      return true;
    }
    if (skipping_ == 0) {
      // "Input Dims": [[4096, 7168], [8]]: the products of the first two.
      list_ = place_ == Place::kArgs ? field_ : Field::kNone;
      element_ = 0;
    }
    ++skipping_;
    return true;
  }

  void end_array() override {
    if (skipping_ > 0) {
      --skipping_;
      if (skipping_ == 1) ++element_;
      if (skipping_ == 0) {
        list_ = Field::kNone;
        field_ = Field::kNone;
      }
    } else if (place_ == Place::kEvents) {
      place_ = bare_array_ ? Place::kRoot : Place::kRootObject;
    }
  }

  void key(std::string_view key) override {
    if (skipping_ > 0) return;
    field_ = place_ == Place::kEvent         ? event_field(key)
             : place_ == Place::kArgs        ? args_field(key)
             : place_ == Place::kRootObject  ? root_field(key)
             : place_ == Place::kDistributed ? distributed_field(key)
                                             : Field::kNone;
  }

  void string(std::string_view value) override {
    if (skipping_ > 0) {
      if (list_ == Field::kTypes && skipping_ == 1 && element_++ == 0) {
        keep(value, type_, event_.element_type);
      }
      return;
    }
    switch (field_) {
      case Field::kName:
        keep(value, name_, event_.name);
        break;
      case Field::kCategory:
        keep(value, category_, event_.category);
        break;
      case Field::kPhase:
        event_.phase = value.empty() ? '\0' : value[0];
        break;
      case Field::kElementType:
        keep(value, type_, event_.element_type);
        break;
      case Field::kCollective:
        keep(value, collective_, event_.collective);
        break;
      case Field::kNone:
        break;
      default:
        store(value, true);
    }
  }

  void number(std::string_view digits) override {
    if (skipping_ > 0) {
      if (list_ == Field::kDims && skipping_ == 2 && element_ < 2) {
        multiply_dim(element_ == 0 ? event_.first_dim : event_.second_dim,
                     integer(digits).value_or(0));
      }
      return;
    }
    if (field_ != Field::kNone) store(digits, false);
  }

  void literal() override {}

  [[nodiscard]] const ChromeHeader& header() const { return header_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  static constexpr std::size_t kMaxText = 512;

  /// Names repeat in long runs: the text is copied only when it changes.
  static void keep(std::string_view value, std::string& buffer, std::string_view& view) {
    value = value.substr(0, kMaxText);
    if (value != std::string_view(buffer)) buffer.assign(value);
    view = buffer;
  }

  /// A number, or a string that holds one where producers write numbers as strings.
  void store(std::string_view text, bool quoted) {
    switch (field_) {
      case Field::kTime:
        if (const auto ns = microseconds_to_ns(text)) {
          event_.ts_ns = *ns;
          has_time_ = true;
        }
        break;
      case Field::kDuration:
        event_.dur_ns = microseconds_to_ns(text).value_or(0);
        break;
      case Field::kPid:
        event_.pid = id(text, quoted);
        break;
      case Field::kTid:
        event_.tid = id(text, quoted);
        break;
      case Field::kBytes:
        event_.bytes = integer(text).value_or(0);
        break;
      case Field::kInElements:
        event_.in_elements = integer(text).value_or(0);
        break;
      case Field::kOutElements:
        event_.out_elements = integer(text).value_or(0);
        break;
      case Field::kGroupSize:
        event_.group_size = integer(text).value_or(0);
        break;
      case Field::kRank:
        header_.rank = static_cast<int>(integer(text).value_or(0));
        break;
      case Field::kWorld:
        header_.world = static_cast<int>(integer(text).value_or(0));
        break;
      case Field::kBase:
        header_.base_ns = integer(text).value_or(0);
        break;
      default:
        break;
    }
  }

  static std::int64_t id(std::string_view text, bool quoted) {
    const auto value = integer(text);
    if (value) return *value;
    return quoted ? static_cast<std::int64_t>(std::hash<std::string_view>{}(text) >> 1) : 0;
  }

  void finish() {
    // Metadata ("M") carries no time; counters and flows do.
    if (event_.phase == '\0' || (!has_time_ && event_.phase != 'M')) return;
    ++events_;
    visitor_.event(event_);
  }

  ChromeVisitor& visitor_;
  ChromeHeader header_;
  ChromeEvent event_;
  std::string name_;
  std::string category_;
  std::string type_;
  std::string collective_;
  std::uint64_t events_ = 0;
  Place place_ = Place::kRoot;
  Field field_ = Field::kNone;
  Field list_ = Field::kNone;
  int element_ = 0;
  int skipping_ = 0;  ///< Open arrays and objects inside a value of no interest, or a list.
  bool bare_array_ = false;
  bool has_time_ = false;
};

}  // namespace

void multiply_dim(std::int64_t& product, std::int64_t factor) {
  if (factor <= 0 || (product > 0 && factor > INT64_MAX / product)) return;
  product = product == 0 ? factor : product * factor;
}

std::optional<std::int64_t> microseconds_to_ns(std::string_view text) {
  std::size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  at += negative ? 1 : 0;
  const auto digit = [&](std::size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  if (!digit(at)) return std::nullopt;
  constexpr std::int64_t kMost = INT64_MAX / 1000 - 10;
  std::int64_t value = 0;
  for (; digit(at); ++at) {
    if (value > kMost / 10) return std::nullopt;
    value = value * 10 + (text[at] - '0');
  }
  value *= 1000;
  if (at < text.size() && text[at] == '.') {
    ++at;
    for (int scale = 100; digit(at); ++at, scale /= 10) {
      if (scale > 0) {
        value += (text[at] - '0') * scale;
      } else if (text[at - 4] == '.' && text[at] >= '5') {
        ++value;  // the fourth decimal rounds
      }
    }
  }
  if (at < text.size()) {
    // An exponent: rare, and never in times that matter to a nanosecond.
    double real = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
    if (error != std::errc{} || end != text.data() + text.size() || !(std::abs(real) < 9e15)) {
      return std::nullopt;
    }
    return std::llround(real * 1000);
  }
  return negative ? -value : value;
}

Result<ChromeSummary> read_chrome(ByteSource& source, ChromeVisitor& visitor) {
  JsonScanner scanner(source);
  Handler handler(visitor);
  const bool whole = scanner.scan(handler);
  ChromeSummary summary;
  summary.header = handler.header();
  summary.events = handler.events();
  summary.bytes = scanner.offset();
  if (!whole) {
    summary.ends_early_at = scanner.offset();
    summary.problem = source.failure().empty() ? scanner.problem() : source.failure();
  }
  if (summary.events == 0) {
    return fail(ErrorCode::kCorrupt,
                ErrorScope::kOperation,
                "no complete event of a Chrome JSON trace in {} bytes{}{}",
                summary.bytes,
                summary.problem.empty() ? "" : ": ",
                summary.problem);
  }
  return summary;
}

}  // namespace shunt::trace
