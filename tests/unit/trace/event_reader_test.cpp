// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/perfetto/event_reader.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "base/random.hpp"
#include "support/foreign_perfetto.hpp"
#include "trace/chrome/collector.hpp"

namespace shunt::trace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::entry;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message;
using testing::packet;
using testing::pbf_writer;
using testing::reading;

/// Spans as text, in the order they came.
class Spans final : public ChromeVisitor {
 public:
  void event(const ChromeEvent& event) override {
    lines.push_back(event.phase == 'X'
                        ? fmt::format("{} {}+{}", event.name, event.ts_ns, event.dur_ns)
                        : fmt::format("{} {} {}", event.phase, event.name, event.ts_ns));
    categories.emplace_back(event.category);
    last = event;
    element_type = event.element_type;
    collective = event.collective;
  }
  std::vector<std::string> lines;
  std::vector<std::string> categories;
  ChromeEvent last;
  std::string element_type;
  std::string collective;
};

Result<ChromeSummary> read(std::string_view bytes, ChromeVisitor& visitor) {
  const auto source = memory_bytes(bytes);
  return read_perfetto(*source, visitor);
}

std::vector<std::string> spans_of(std::string_view bytes) {
  Spans spans;
  EXPECT_TRUE(read(bytes, spans));
  return spans.lines;
}

/// What an event of a test says; absent parts are left to the sequence.
struct Said {
  int type = 0;
  std::uint64_t track = 0;
  std::uint64_t name_iid = 0;
  std::string name;
  std::string category;
};

std::string event(const Said& said) {
  namespace f = field::event;
  return message([&](pbf_writer& out) {
    if (said.type != 0) out.add_int32(f::kType, said.type);
    if (said.track != 0) out.add_uint64(f::kTrackUuid, said.track);
    if (said.name_iid != 0) out.add_uint64(f::kNameIid, said.name_iid);
    if (!said.name.empty()) out.add_string(f::kName, said.name);
    if (!said.category.empty()) out.add_string(f::kCategories, said.category);
  });
}

std::string at(std::uint64_t time, const Said& said) {
  return packet([&](pbf_writer& out) {
    out.add_uint64(field::packet::kTimestamp, time);
    out.add_message(field::packet::kTrackEvent, event(said));
  });
}

std::string interned(pbf_writer* = nullptr) {
  return message([](pbf_writer& out) {
    out.add_message(field::interned::kEventNames, entry(1, "dispatch_kernel"));
    out.add_message(field::interned::kEventNames, entry(2, "combine_kernel"));
    out.add_message(field::interned::kEventCategories, entry(1, "kernel"));
  });
}

// Names in full, tracks by number, times absolute: what a converter of a few lines writes.
TEST(PerfettoEvents, NamesAndTimesInFull) {
  Spans spans;
  const std::string bytes = at(1000, {1, 7, 0, "outer", "kernel"}) + at(1100, {1, 7, 0, "inner"}) +
                            at(1150, {1, 8, 0, "beside"}) + at(1300, {2, 7}) + at(1400, {3, 7}) +
                            at(1500, {2, 8}) + at(1900, {2, 7});
  const auto summary = read(bytes, spans);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->events, 7U);
  EXPECT_EQ(summary->format, "Perfetto");
  EXPECT_FALSE(summary->ends_early_at);
  EXPECT_THAT(summary->notes, IsEmpty());
  EXPECT_THAT(spans.lines, ElementsAre("inner 1100+200", "beside 1150+350", "outer 1000+900"));
  EXPECT_THAT(spans.categories, ElementsAre("", "", "kernel"));
}

// The SDK's way: a clock of the sequence that counts on from stamp to stamp, names by number, the
// track said once.
std::string sdk(std::uint32_t sequence, std::uint64_t start, std::uint64_t unit) {
  namespace p = field::packet;
  std::string out = packet([&](pbf_writer& one) {
    one.add_uint32(p::kTrustedPacketSequenceId, sequence);
    one.add_uint32(p::kSequenceFlags, field::kIncrementalStateCleared);
    one.add_uint64(p::kTimestamp, start);
    one.add_uint32(p::kTimestampClockId, field::kClockBoottime);
    one.add_message(
        p::kDefaults, message([&](pbf_writer& defaults) {
          defaults.add_uint32(field::defaults::kTimestampClockId, 64);
          defaults.add_message(field::defaults::kTrackEvent, event({0, 100 + sequence}));
        }));
    one.add_message(p::kClockSnapshot, message([&](pbf_writer& snapshot) {
                      namespace c = field::clock_snapshot;
                      snapshot.add_message(c::kClocks, reading(64, start / unit, true, unit));
                      snapshot.add_message(c::kClocks, reading(field::kClockBoottime, start));
                    }));
  });
  const auto step = [&](std::uint64_t delta, const Said& said, bool names) {
    out += packet([&](pbf_writer& one) {
      one.add_uint64(p::kTimestamp, delta);
      one.add_uint32(p::kTrustedPacketSequenceId, sequence);
      one.add_uint32(p::kSequenceFlags, field::kNeedsIncrementalState);
      if (names) one.add_message(p::kInternedData, interned());
      one.add_message(p::kTrackEvent, event(said));
    });
  };
  step(10, {1, 0, 1}, true);
  step(5, {2}, false);
  step(0, {1, 0, 2}, false);
  step(20, {2}, false);
  return out;
}

TEST(PerfettoEvents, ClocksThatCountFromStampToStamp) {
  const std::vector<std::string> want{"dispatch_kernel 1000010+5", "combine_kernel 1000015+20"};
  EXPECT_EQ(spans_of(sdk(3, 1'000'000, 1)), want);
  EXPECT_THAT(spans_of(sdk(3, 1'000'000, 1000)),
              ElementsAre("dispatch_kernel 1010000+5000", "combine_kernel 1015000+20000"));
}

TEST(PerfettoEvents, SequencesKeepTheirStateApart) {
  // Packets of two writers in turn: same numbers for clocks and names, other values.
  const std::string a = sdk(3, 1'000'000, 1);
  const std::string b = sdk(4, 2'000'000, 1);
  const auto cut = [](std::string_view bytes) {
    std::vector<std::string_view> parts;
    while (!bytes.empty()) {
      const auto size = 2 + static_cast<unsigned char>(bytes[1]);
      parts.push_back(bytes.substr(0, static_cast<std::size_t>(size)));
      bytes.remove_prefix(static_cast<std::size_t>(size));
    }
    return parts;
  };
  const auto pa = cut(a);
  const auto pb = cut(b);
  ASSERT_EQ(pa.size(), pb.size());
  std::string mixed;
  for (std::size_t i = 0; i < pa.size(); ++i) {
    mixed += pb[i];
    mixed += pa[i];
  }
  auto want = spans_of(a);
  const auto more = spans_of(b);
  want.insert(want.end(), more.begin(), more.end());
  auto got = spans_of(mixed);
  std::ranges::sort(got);
  std::ranges::sort(want);
  EXPECT_EQ(got, want);
}

// After a loss nothing is read by numbers whose meaning was lost, until the writer says it again.
TEST(PerfettoEvents, WhatRefersToLostPacketsIsLeftOut) {
  namespace p = field::packet;
  const std::string whole = sdk(3, 1'000'000, 1);
  const std::string lost = packet([](pbf_writer& out) {
    out.add_uint64(p::kTimestamp, 7);
    out.add_uint32(p::kTrustedPacketSequenceId, 3);
    out.add_uint32(p::kSequenceFlags, field::kNeedsIncrementalState);
    out.add_uint32(p::kPreviousPacketDropped, 1);
    out.add_message(p::kTrackEvent, event({1, 0, 1}));
  });
  Spans spans;
  const auto summary = read(whole + lost + sdk(3, 5'000'000, 1), spans);
  ASSERT_TRUE(summary);
  EXPECT_THAT(spans.lines,
              ElementsAre("dispatch_kernel 1000010+5",
                          "combine_kernel 1000015+20",
                          "dispatch_kernel 5000010+5",
                          "combine_kernel 5000015+20"));
  EXPECT_THAT(summary->notes, ElementsAre(HasSubstr("1 packets refer to what the trace has lost")));
}

std::string snapshot(std::vector<std::pair<std::uint32_t, std::uint64_t>> readings) {
  return packet([&](pbf_writer& out) {
    out.add_message(field::packet::kClockSnapshot, message([&](pbf_writer& snapshot) {
                      for (const auto& [clock, stamp] : readings) {
                        snapshot.add_message(field::clock_snapshot::kClocks, reading(clock, stamp));
                      }
                    }));
  });
}

std::string on_clock(std::uint32_t clock, std::uint64_t time, const Said& said) {
  return packet([&](pbf_writer& out) {
    out.add_uint64(field::packet::kTimestamp, time);
    out.add_uint32(field::packet::kTimestampClockId, clock);
    out.add_message(field::packet::kTrackEvent, event(said));
  });
}

TEST(PerfettoEvents, ClocksAreBroughtOntoOneAxis) {
  // Wall clock 10^6, boot 5000, monotonic 3000, a global clock of the writer's 200: one moment.
  const std::string related =
      snapshot({{6, 5000}, {3, 3000}, {1, 1'000'000}}) + snapshot({{200, 200}, {3, 3000}});
  const auto span = [](std::uint32_t clock, std::uint64_t time) {
    return on_clock(clock, time, {1, clock, 0, "s"}) + on_clock(clock, time + 50, {2, clock});
  };
  Spans spans;
  const auto summary = read(related + span(6, 5100) + span(3, 3200) + span(200, 500), spans);
  ASSERT_TRUE(summary);
  EXPECT_THAT(spans.lines, ElementsAre("s 1000100+50", "s 1000200+50", "s 1000300+50"));
  EXPECT_THAT(summary->notes, IsEmpty());

  Spans loose;
  const auto unrelated = read(span(6, 5100) + span(3, 3200), loose);
  ASSERT_TRUE(unrelated);
  EXPECT_THAT(loose.lines, ElementsAre("s 5100+50", "s 3200+50"));
  EXPECT_THAT(unrelated->notes, ElementsAre(HasSubstr("1 clocks that no snapshot relates")));
}

/// A packet of an event that came from a Chrome trace.
struct Legacy {
  char phase = 0;
  std::string name;
  std::int64_t absolute_us = -1;
  std::int64_t delta_us = -1;
  std::int64_t duration_us = 0;
  std::uint64_t id = 0;
  int tid = 0;
};

std::string legacy(const Legacy& said) {
  return packet([&](pbf_writer& out) {
    out.add_uint32(field::packet::kTrustedPacketSequenceId, 9);
    out.add_message(field::packet::kTrackEvent, message([&](pbf_writer& one) {
                      if (said.absolute_us >= 0) {
                        one.add_int64(field::event::kTimestampAbsoluteUs, said.absolute_us);
                      }
                      if (said.delta_us >= 0) {
                        one.add_int64(field::event::kTimestampDeltaUs, said.delta_us);
                      }
                      one.add_string(field::event::kName, said.name);
                      one.add_message(field::event::kLegacyEvent, message([&](pbf_writer& old) {
                                        old.add_int32(field::legacy::kPhase, said.phase);
                                        if (said.duration_us != 0) {
                                          old.add_int64(field::legacy::kDurationUs,
                                                        said.duration_us);
                                        }
                                        if (said.id != 0) {
                                          old.add_uint64(field::legacy::kGlobalId, said.id);
                                        }
                                        if (said.tid != 0) {
                                          old.add_int32(field::legacy::kTidOverride, said.tid);
                                        }
                                      }));
                    }));
  });
}

TEST(PerfettoEvents, EventsOfChromesKind) {
  const std::string thread = packet([](pbf_writer& out) {
    out.add_uint32(field::packet::kTrustedPacketSequenceId, 9);
    out.add_message(field::packet::kThreadDescriptor, message([](pbf_writer& one) {
                      one.add_int32(field::thread::kPid, 40);
                      one.add_int32(field::thread::kTid, 41);
                      one.add_int64(field::thread::kReferenceTimestampUs, 100);
                    }));
  });
  // Deltas count from the thread's reference; an absolute time between them changes nothing.
  EXPECT_THAT(spans_of(thread + legacy({'B', "k", -1, 5}) + legacy({'X', "x", 900, -1, 30}) +
                       legacy({'E', "", -1, 7})),
              ElementsAre("x 900000+30000", "k 105000+7000"));
  // Pairs by id overlap without nesting; threads of other numbers are other tracks.
  EXPECT_THAT(spans_of(legacy({'b', "one", 10, -1, 0, 1}) + legacy({'b', "two", 11, -1, 0, 2}) +
                       legacy({'e', "one", 15, -1, 0, 1}) + legacy({'e', "two", 19, -1, 0, 2})),
              ElementsAre("one 10000+5000", "two 11000+8000"));
  EXPECT_THAT(
      spans_of(legacy({'B', "one", 10, -1, 0, 0, 1}) + legacy({'B', "two", 11, -1, 0, 0, 2}) +
               legacy({'E', "", 15, -1, 0, 0, 1}) + legacy({'E', "", 19, -1, 0, 0, 2})),
      ElementsAre("one 10000+5000", "two 11000+8000"));
}

TEST(PerfettoEvents, KernelsOfGpuProfilers) {
  namespace s = field::render_stage;
  const auto stage = [](const std::function<void(pbf_writer&)>& name) {
    return packet([&](pbf_writer& out) {
      out.add_uint64(field::packet::kTimestamp, 500);
      out.add_uint32(field::packet::kTrustedPacketSequenceId, 2);
      out.add_message(field::packet::kInternedData, message([](pbf_writer& one) {
                        one.add_message(field::interned::kGpuSpecifications, entry(4, "compute"));
                        one.add_message(field::interned::kComputeKernels, entry(5, "by kernel"));
                        one.add_message(field::interned::kEventNames, entry(6, "by name"));
                      }));
      out.add_message(field::packet::kGpuRenderStageEvent, message([&](pbf_writer& one) {
                        one.add_uint64(s::kDuration, 70);
                        one.add_uint64(s::kStageIid, 4);
                        name(one);
                      }));
    });
  };
  Spans spans;
  ASSERT_TRUE(read(stage([](pbf_writer&) {}) + stage([](pbf_writer& out) {
                     out.add_uint64(s::kKernelIid, 5);
                   }) + stage([](pbf_writer& out) { out.add_uint64(s::kNameIid, 6); }) +
                       stage([](pbf_writer& out) { out.add_string(s::kName, "in full"); }),
                   spans));
  EXPECT_THAT(
      spans.lines,
      ElementsAre("compute 500+70", "by kernel 500+70", "by name 500+70", "in full 500+70"));
  EXPECT_THAT(spans.categories, ::testing::Each("kernel"));
}

TEST(PerfettoEvents, PacketsThatHoldCompressedPackets) {
  const std::string inner = sdk(3, 1'000'000, 1);
  std::string deflated(compressBound(inner.size()), '\0');
  uLongf size = deflated.size();
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(deflated.data()),
                     &size,
                     reinterpret_cast<const Bytef*>(inner.data()),
                     inner.size()),
            Z_OK);
  deflated.resize(size);
  std::string zst(ZSTD_compressBound(inner.size()), '\0');
  zst.resize(ZSTD_compress(zst.data(), zst.size(), inner.data(), inner.size(), 3));
  const auto packed = [](std::uint32_t tag, const std::string& bytes) {
    return packet([&](pbf_writer& out) { out.add_bytes(tag, bytes); });
  };
  EXPECT_EQ(spans_of(packed(field::packet::kCompressedPackets, deflated)), spans_of(inner));
  EXPECT_EQ(spans_of(packed(field::packet::kZstdCompressedPackets, zst)), spans_of(inner));
  Spans spans;
  const auto damaged =
      read(inner + packed(field::packet::kCompressedPackets, deflated.substr(0, size / 2)), spans);
  ASSERT_TRUE(damaged);
  EXPECT_THAT(damaged->notes, Contains(HasSubstr("1 packets cannot be read")));
}

std::string annotation(const std::string& name, const std::function<void(pbf_writer&)>& value) {
  return message([&](pbf_writer& out) {
    if (!name.empty()) out.add_string(field::annotation::kName, name);
    value(out);
  });
}

TEST(PerfettoEvents, ArgumentsInEveryForm) {
  namespace a = field::annotation;
  const auto number = [](std::int64_t value) {
    return [value](pbf_writer& out) { out.add_int64(a::kIntValue, value); };
  };
  const auto list = [](std::vector<std::string> items) {
    return [items](pbf_writer& out) {
      for (const std::string& item : items) out.add_message(a::kArrayValues, item);
    };
  };
  const auto nested = [](std::vector<std::vector<std::int64_t>> lists) {
    return [lists](pbf_writer& out) {
      namespace n = field::nested_value;
      out.add_message(a::kNestedValue, message([&](pbf_writer& outer) {
                        for (const auto& one : lists) {
                          outer.add_message(n::kArrayValues, message([&](pbf_writer& inner) {
                                              for (const std::int64_t value : one) {
                                                inner.add_message(
                                                    n::kArrayValues, message([&](pbf_writer& leaf) {
                                                      leaf.add_int64(n::kIntValue, value);
                                                    }));
                                              }
                                            }));
                        }
                      }));
    };
  };
  const auto text = [](std::uint32_t tag, std::string value) {
    return [tag, value](pbf_writer& out) { out.add_string(tag, value); };
  };
  const std::string dims_lists = annotation(
      "Input Dims",
      list({annotation("", list({annotation("", number(4096)), annotation("", number(7168))})),
            annotation("", list({annotation("", number(8))}))}));
  const auto arguments = [](const std::vector<std::string>& all) {
    Spans spans;
    EXPECT_TRUE(read(packet([&](pbf_writer& out) {
                       out.add_uint64(field::packet::kTimestamp, 5);
                       out.add_message(field::packet::kTrackEvent, message([&](pbf_writer& one) {
                                         one.add_int32(field::event::kType, field::kSliceBegin);
                                         for (const std::string& argument : all) {
                                           one.add_message(field::event::kDebugAnnotations,
                                                           argument);
                                         }
                                       }));
                     }),
                     spans));
    return spans;
  };
  for (const std::string& dims :
       {dims_lists,
        annotation("Input Dims", nested({{4096, 7168}, {8}})),
        annotation("Input Dims", text(a::kStringValue, "[[4096, 7168], [8]]")),
        annotation("Input Dims", text(a::kLegacyJsonValue, "[[4096,7168],[8],[],[3]]"))}) {
    const Spans spans = arguments({dims});
    EXPECT_EQ(spans.last.first_dim, 4096 * 7168);
    EXPECT_EQ(spans.last.second_dim, 8);
  }
  const Spans spans = arguments(
      {annotation("bytes", number(123)),
       annotation("In msg nelems", text(a::kStringValue, "456")),
       annotation("Out msg nelems", number(457)),
       annotation("Group size", number(16)),
       annotation("Collective name", text(a::kStringValue, "alltoallv")),
       annotation("Input type", text(a::kLegacyJsonValue, "[\"c10::BFloat16\", \"long int\"]"))});
  EXPECT_EQ(spans.last.bytes, 123);
  EXPECT_EQ(spans.last.in_elements, 456);
  EXPECT_EQ(spans.last.out_elements, 457);
  EXPECT_EQ(spans.last.group_size, 16);
  EXPECT_EQ(spans.collective, "alltoallv");
  EXPECT_EQ(spans.element_type, "c10::BFloat16");
}

TEST(PerfettoEvents, OneRankIsNamedByItsProcess) {
  const auto process = [](const std::string& track, const std::string& name) {
    return packet([&](pbf_writer& out) {
      out.add_message(field::packet::kTrackDescriptor, message([&](pbf_writer& one) {
                        one.add_uint64(field::descriptor::kUuid, 1);
                        one.add_string(field::descriptor::kName, track);
                        one.add_message(field::descriptor::kProcess, message([&](pbf_writer& p) {
                                          p.add_string(field::process::kName, name);
                                        }));
                      }));
    });
  };
  const std::string span = at(1, {1, 7, 0, "k"}) + at(2, {2, 7});
  const auto rank = [&](const std::string& before) {
    Spans spans;
    const auto summary = read(before + span, spans);
    return summary ? summary->header.rank : std::nullopt;
  };
  EXPECT_EQ(rank(process("rank 3 · node 1", "python")), 3);
  EXPECT_EQ(rank(process("", "python (Rank=12)")), 12);
  EXPECT_EQ(rank(process("ranked list", "frank 5 trank")), 5);
  EXPECT_EQ(rank(process("stream", "python")), std::nullopt);
  EXPECT_EQ(rank(process("rank 3", "") + process("rank 4", "")), std::nullopt);
}

TEST(PerfettoEvents, UnpairedEndsAreSaidOnce) {
  Spans spans;
  const auto summary = read(at(1, {2, 7}) + at(5, {1, 7, 0, "open"}), spans);
  ASSERT_TRUE(summary);
  EXPECT_THAT(spans.lines, ElementsAre("E  1", "B open 5"));
}

TEST(PerfettoEvents, TimesThatCannotBeAreLeftOutAndSaid) {
  Spans spans;
  const auto summary = read(
      at(~std::uint64_t{0}, {1, 7, 0, "never"}) + at(5, {1, 7, 0, "k"}) + at(8, {2, 7}), spans);
  ASSERT_TRUE(summary);
  EXPECT_THAT(spans.lines, ElementsAre("k 5+3"));
  EXPECT_THAT(summary->notes, ElementsAre(HasSubstr("1 events have no time")));
}

TEST(PerfettoEvents, ATraceWithoutEventsIsRefused) {
  Spans spans;
  const auto summary = read(snapshot({{6, 5000}, {3, 3000}}), spans);
  ASSERT_FALSE(summary);
  EXPECT_THAT(summary.error().message, HasSubstr("no event of a track or a GPU"));
}

TEST(PerfettoEvents, IsToldFromTextAndOtherFiles) {
  EXPECT_TRUE(looks_like_perfetto(sdk(3, 1'000'000, 1)));
  EXPECT_TRUE(looks_like_perfetto(snapshot({{6, 5000}})));
  // A long first packet, of which the head shows a part.
  const std::string longer = packet([](pbf_writer& out) {
    out.add_uint64(field::packet::kTimestamp, 5);
    out.add_bytes(field::packet::kTraceConfig, std::string(10000, 'x'));
  });
  EXPECT_TRUE(looks_like_perfetto(std::string_view(longer).substr(0, 4096)));
  for (const std::string& other :
       {std::string(),
        std::string("\n"),
        std::string("\n\n\n\nlog\n"),
        std::string("\nX\nline\n\nline\n"),
        std::string("\n  Dispatch: 12.3 GB/s\n"),
        std::string("{\"traceEvents\": []}"),
        std::string("\n\x01"),
        std::string("\x0a\x04\x08\x01\x10\x02", 6),  // Of no field known.
        std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11)}) {
    EXPECT_FALSE(looks_like_perfetto(other)) << other;
  }
  // Text that follows a blank line, with every length its first letter could be taken for.
  for (int first = 1; first < 128; ++first) {
    std::string text = "\n";
    text += static_cast<char>(first);
    for (int i = 0; i < 40; ++i) text += "rank 3: dispatch 12.5 GB/s, combine 14.25 GB/s\n";
    EXPECT_FALSE(looks_like_perfetto(text)) << first;
  }
}

// Nested spans of random threads, as Chrome JSON and as Perfetto in each encoding: the collector
// must see the same. Chrome's reader is the reference.
class SameAsChrome : public ::testing::TestWithParam<int> {};

struct RandomSpan {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  int thread = 0;
  int name = 0;
};

constexpr const char* kNames[] = {
    "dispatch_kernel", "combine_kernel", "ncclDevKernel_SendRecv", "gemm", "notify_dispatch"};

/// Begins and ends by time, of each thread properly nested.
std::vector<std::pair<std::uint64_t, std::pair<bool, RandomSpan>>> edges(Random& random) {
  std::vector<std::pair<std::uint64_t, std::pair<bool, RandomSpan>>> out;
  for (int thread = 1; thread <= 4; ++thread) {
    std::uint64_t now = 1000 + random.below(50);
    for (int i = 0; i < 60; ++i) {
      RandomSpan outer{now, 0, thread, static_cast<int>(random.below(5))};
      RandomSpan inner{now + 1 + random.below(20), 0, thread, static_cast<int>(random.below(5))};
      inner.end = inner.begin + 1 + random.below(300);
      outer.end = inner.end + 1 + random.below(100);
      now = outer.end + 1 + random.below(200);
      for (const RandomSpan& span : {outer, inner}) {
        out.push_back({span.begin, {true, span}});
        out.push_back({span.end, {false, span}});
      }
    }
  }
  std::ranges::stable_sort(out, {}, [](const auto& edge) { return edge.first; });
  return out;
}

TEST_P(SameAsChrome, SpansOfRandomThreads) {
  namespace p = field::packet;
  Random random(static_cast<std::uint64_t>(GetParam()) + 17);
  const bool with_numbers = GetParam() % 2 == 1;
  const bool incremental = GetParam() % 4 >= 2;
  std::string json = "{\"traceEvents\":[";
  std::string proto;
  std::uint64_t last = 500;
  if (incremental) {
    proto += packet([&](pbf_writer& out) {
      out.add_uint32(p::kTrustedPacketSequenceId, 5);
      out.add_uint32(p::kSequenceFlags, field::kIncrementalStateCleared);
      out.add_message(p::kClockSnapshot, message([&](pbf_writer& snapshot) {
                        namespace c = field::clock_snapshot;
                        snapshot.add_message(c::kClocks, reading(64, last, true));
                        snapshot.add_message(c::kClocks, reading(field::kClockBoottime, last));
                      }));
    });
  }
  bool first = true;
  for (const auto& edge : edges(random)) {
    const std::uint64_t time = edge.first;
    const bool begins = edge.second.first;
    const RandomSpan& span = edge.second.second;
    json += fmt::format(
        "{}{{\"ph\":\"{}\",\"ts\":{}.{:03},\"pid\":1,\"tid\":{},\"cat\":\"kernel\",\"name\":\"{}\"}"
        "}",
        first ? "" : ",",
        begins ? 'B' : 'E',
        time / 1000,
        time % 1000,
        span.thread,
        kNames[span.name]);
    proto += packet([&](pbf_writer& out) {
      out.add_uint32(p::kTrustedPacketSequenceId, 5);
      out.add_uint64(p::kTimestamp, incremental ? time - last : time);
      if (incremental) out.add_uint32(p::kTimestampClockId, 64);
      if (first && with_numbers) {
        out.add_message(p::kInternedData, message([](pbf_writer& data) {
                          for (std::uint64_t i = 0; i < 5; ++i) {
                            data.add_message(field::interned::kEventNames, entry(i + 1, kNames[i]));
                          }
                        }));
      }
      Said said{begins ? 1 : 2, static_cast<std::uint64_t>(span.thread), 0, "", "kernel"};
      if (begins && with_numbers) said.name_iid = static_cast<std::uint64_t>(span.name) + 1;
      if (begins && !with_numbers) said.name = kNames[span.name];
      out.add_message(p::kTrackEvent, event(said));
    });
    last = time;
    first = false;
  }
  json += "]}";
  const PhaseTable table;
  Collector from_json(table);
  Collector from_proto(table);
  const auto json_bytes = memory_bytes(json);
  auto json_summary = read_chrome(*json_bytes, from_json);
  auto proto_summary = read(proto, from_proto);
  ASSERT_TRUE(json_summary);
  ASSERT_TRUE(proto_summary);
  EXPECT_EQ(json_summary->events, proto_summary->events);
  const ForeignTrace a = from_json.finish(std::move(*json_summary));
  const ForeignTrace b = from_proto.finish(std::move(*proto_summary));
  EXPECT_EQ(b.kind, "Perfetto trace");
  EXPECT_EQ(b.orphans, 0U);
  const auto listing = [](const ForeignTrace& trace) {
    std::vector<std::string> all;
    for (const PhaseStats& s : trace.phases) {
      all.push_back(
          fmt::format("{} {} {} {} {}", s.phase, s.spans, s.total_ns, s.min_ns, s.max_ns));
    }
    std::ranges::sort(all);
    return all;
  };
  EXPECT_GE(a.phases.size(), 4U);
  EXPECT_EQ(listing(a), listing(b));
}

INSTANTIATE_TEST_SUITE_P(Encodings, SameAsChrome, ::testing::Range(0, 12));

TEST(PerfettoEvents, DamageIsSurvivedAndACutGivesWhatStandsBeforeIt) {
  const std::string bytes = sdk(3, 1'000'000, 1) + snapshot({{6, 5000}, {3, 3000}}) +
                            at(1000, {1, 7, 0, "outer", "kernel"}) + at(1900, {2, 7});
  const auto all = spans_of(bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Spans spans;
    const auto summary = read(bytes.substr(0, size), spans);
    if (!summary) continue;
    for (const std::string& line : spans.lines) {
      EXPECT_TRUE(line[1] == ' ' || std::ranges::find(all, line) != all.end()) << line;
    }
  }
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = bytes;
    for (std::uint64_t i = 0; i <= random.below(6); ++i) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    }
    const PhaseTable table;
    Collector collector(table);
    auto summary = read(damaged, collector);
    if (summary) (void)collector.finish(std::move(*summary));
  }
}

}  // namespace
}  // namespace shunt::trace
