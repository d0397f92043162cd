// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/perfetto/track_event.hpp"

#include <charconv>

#include "trace/perfetto_fields.hpp"
#include "trace/perfetto_packets.hpp"

namespace shunt::trace {
namespace {

using protozero::pbf_reader;

constexpr int kDeepest = 4;
constexpr std::size_t kMostText = 512;

std::string_view view_of(protozero::data_view view) {
  return {view.data(), view.size()};
}

void parse_legacy(pbf_reader in, const Interned& names, TrackEvent& out) {
  while (in.next()) {
    switch (in.tag_and_type()) {
      case key(field::legacy::kNameIid, kVarint): {
        const std::string_view name = names.find(Interned::kNames, in.get_uint64());
        if (out.name.empty()) out.name = name;
        break;
      }
      case key(field::legacy::kPhase, kVarint):
        out.phase = static_cast<char>(in.get_int32());
        break;
      case key(field::legacy::kDurationUs, kVarint):
        out.duration_us = in.get_int64();
        break;
      case key(field::legacy::kUnscopedId, kVarint):
      case key(field::legacy::kLocalId, kVarint):
      case key(field::legacy::kGlobalId, kVarint):
        out.id = in.get_uint64();
        break;
      case key(field::legacy::kIdScope, kLength):
        out.id_scope = view_of(in.get_view());
        break;
      case key(field::legacy::kPidOverride, kVarint):
        out.pid = in.get_int32();
        break;
      case key(field::legacy::kTidOverride, kVarint):
        out.tid = in.get_int32();
        break;
      default:
        in.skip();
    }
  }
}

/// The first of several categories.
void take_category(std::string_view category, TrackEvent& out) {
  if (out.category.empty()) out.category = category;
}

/// A value as text: numbers by their digits, lists as JSON writes them.
struct Argument {
  std::string_view name;
  std::string text;
};

void append_item(std::string& list, const std::string& item) {
  if (list.size() > kMostText) return;
  list += list.empty() ? "[" : ",";
  list += item;
}

std::string nested_text(pbf_reader in, int depth) {
  std::string list;
  std::string leaf;
  while (in.next()) {
    switch (in.tag_and_type()) {
      case key(field::nested_value::kArrayValues, kLength):
        if (depth < kDeepest) {
          append_item(list, nested_text(in.get_message(), depth + 1));
        } else {
          in.skip();
        }
        break;
      case key(field::nested_value::kIntValue, kVarint):
        leaf = std::to_string(in.get_int64());
        break;
      case key(field::nested_value::kStringValue, kLength):
        leaf = view_of(in.get_view()).substr(0, kMostText);
        break;
      default:
        in.skip();
    }
  }
  return list.empty() ? leaf : list + "]";
}

Argument parse_argument(pbf_reader in, const Interned& names, int depth) {
  Argument out;
  std::string list;
  while (in.next()) {
    switch (in.tag_and_type()) {
      case key(field::annotation::kNameIid, kVarint):
        out.name = names.find(Interned::kArgumentNames, in.get_uint64());
        break;
      case key(field::annotation::kName, kLength):
        out.name = view_of(in.get_view());
        break;
      case key(field::annotation::kUintValue, kVarint):
        out.text = std::to_string(in.get_uint64());
        break;
      case key(field::annotation::kIntValue, kVarint):
        out.text = std::to_string(in.get_int64());
        break;
      case key(field::annotation::kStringValue, kLength):
      case key(field::annotation::kLegacyJsonValue, kLength):
        out.text = view_of(in.get_view()).substr(0, kMostText);
        break;
      case key(field::annotation::kStringValueIid, kVarint):
        out.text = names.find(Interned::kValues, in.get_uint64());
        break;
      case key(field::annotation::kNestedValue, kLength):
        out.text = nested_text(in.get_message(), depth + 1);
        break;
      case key(field::annotation::kArrayValues, kLength):
        if (depth < kDeepest) {
          append_item(list, parse_argument(in.get_message(), names, depth + 1).text);
        } else {
          in.skip();
        }
        break;
      default:
        in.skip();
    }
  }
  if (!list.empty()) out.text = list + "]";
  return out;
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// "[[4096, 7168], [8]]": the products of the first two lists.
void take_dims(std::string_view text, ChromeEvent& event) {
  int depth = 0;
  int list = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '[') ++depth;
    if (c == ']' && --depth == 1) ++list;
    if (c < '0' || c > '9') continue;
    const std::int64_t value = number(text.substr(at));
    while (at + 1 < text.size() && text[at + 1] >= '0' && text[at + 1] <= '9') ++at;
    if (depth == 2 && list < 2) {
      multiply_dim(list == 0 ? event.first_dim : event.second_dim, value);
    }
  }
}

/// The first entry of "[c10::BFloat16, Long]", quoted or not; a text without brackets as it is.
std::string_view first_entry(std::string_view text) {
  if (text.substr(0, 1) != "[") return text;
  text = text.substr(1, text.find_first_of(",]") - 1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

}  // namespace

TrackEvent parse_track_event(pbf_reader in, const Interned& names) {
  TrackEvent out;
  while (in.next()) {
    switch (in.tag_and_type()) {
      case key(field::event::kTimestampDeltaUs, kVarint):
        out.delta_us = in.get_int64();
        break;
      case key(field::event::kTimestampAbsoluteUs, kVarint):
        out.absolute_us = in.get_int64();
        break;
      case key(field::event::kCategoryIids, kVarint):
        take_category(names.find(Interned::kCategories, in.get_uint64()), out);
        break;
      case key(field::event::kCategoryIids, kLength):  // packed
        for (const std::uint64_t id : in.get_packed_uint64()) {
          take_category(names.find(Interned::kCategories, id), out);
        }
        break;
      case key(field::event::kCategories, kLength):
        take_category(view_of(in.get_view()), out);
        break;
      case key(field::event::kNameIid, kVarint):
        out.name = names.find(Interned::kNames, in.get_uint64());
        break;
      case key(field::event::kName, kLength):
        out.name = view_of(in.get_view());
        break;
      case key(field::event::kType, kVarint):
        out.type = in.get_int32();
        break;
      case key(field::event::kTrackUuid, kVarint):
        out.track = in.get_uint64();
        break;
      case key(field::event::kLegacyEvent, kLength):
        parse_legacy(in.get_message(), names, out);
        break;
      case key(field::event::kDebugAnnotations, kLength):
        out.arguments.push_back(in.get_view());
        break;
      default:
        in.skip();
    }
  }
  out.name = out.name.substr(0, kMostText);
  out.category = out.category.substr(0, kMostText);
  return out;
}

void take_arguments(const TrackEvent& from,
                    const Interned& names,
                    ArgumentTexts& texts,
                    ChromeEvent& event) {
  for (const protozero::data_view& bytes : from.arguments) {
    const Argument argument = parse_argument(pbf_reader(bytes), names, 0);
    if (argument.name == "bytes") {
      event.bytes = number(argument.text);
    } else if (argument.name == "Input Dims") {
      take_dims(argument.text, event);
    } else if (argument.name == "In msg nelems") {
      event.in_elements = number(argument.text);
    } else if (argument.name == "Out msg nelems") {
      event.out_elements = number(argument.text);
    } else if (argument.name == "Group size") {
      event.group_size = number(argument.text);
    } else if (argument.name == "dtype") {
      texts.element_type = argument.text;
    } else if (argument.name == "Input type") {
      texts.element_type = first_entry(argument.text);
    } else if (argument.name == "Collective name") {
      texts.collective = argument.text;
    }
  }
  event.element_type = texts.element_type;
  event.collective = texts.collective;
}

}  // namespace shunt::trace
