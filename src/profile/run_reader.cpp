// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "profile/run_reader.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "profile/block_stream.hpp"
#include "profile/rank_log.hpp"
#include "profile/run_json.hpp"

namespace shunt::profile {
namespace {

using format::BlockType;

/// One rank's file being read: turns blocks into records for the visitor.
class RankReader {
 public:
  RankReader(const RunInfo& run, int rank, const ClockFit& fit, RecordVisitor& visitor)
      : run_(run), rank_(rank), fit_(fit), visitor_(visitor) {}

  void take(const Block& block) {
    switch (block.header.type) {
      case BlockType::kSpans:
        return for_each<record::Span>(block, spans_, [this](record::Span& span) {
          if (span.end_ns < span.begin_ns) return false;
          span.begin_ns = shift(span.begin_ns);
          // Each end is rounded for itself: they must not change places.
          span.end_ns = std::max(span.begin_ns, shift(span.end_ns));
          visitor_.on_span(rank_, span);
          return true;
        });
      case BlockType::kPuts:
        return for_each<record::Put>(block, puts_, [this](record::Put& put) {
          if (put.completed_ns != 0 && put.completed_ns < put.posted_ns) return false;
          put.posted_ns = shift(put.posted_ns);
          put.completed_ns = shift(put.completed_ns);
          put.enqueued_ns = shift(put.enqueued_ns);
          visitor_.on_put(rank_, put);
          return true;
        });
      case BlockType::kArrivals:
        return for_each<record::Arrival>(block, arrivals_, [this](record::Arrival& arrival) {
          arrival.time_ns = shift(arrival.time_ns);
          visitor_.on_arrival(rank_, arrival);
          return true;
        });
      case BlockType::kEnd:
        if (block.header.records == 1 && block.header.record_bytes >= sizeof(end_)) {
          std::memcpy(&end_, block.payload, sizeof(end_));
          ended_ = true;
        }
        return;
    }
    ++unknown_blocks_;
  }

  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] const format::EndRecord& end() const { return end_; }
  [[nodiscard]] std::uint64_t records() const { return spans_ + puts_ + arrivals_; }
  [[nodiscard]] std::uint64_t impossible() const { return impossible_; }
  [[nodiscard]] std::uint64_t unknown_blocks() const { return unknown_blocks_; }

 private:
  /// 0 means "never" in records and stays 0.
  [[nodiscard]] std::uint64_t shift(std::uint64_t t) const {
    return t == 0 ? 0 : to_reference(fit_, t);
  }

  /// `visit` returns false for a record that contradicts itself.
  template <typename Record, typename Visit>
  void for_each(const Block& block, std::uint64_t& count, Visit visit) {
    const std::size_t known = std::min<std::size_t>(sizeof(Record), block.header.record_bytes);
    for (std::uint32_t i = 0; i < block.header.records; ++i) {
      Record record{};
      std::memcpy(&record, block.payload + std::size_t{i} * block.header.record_bytes, known);
      const bool peer_exists = record.peer >= -1 && record.peer < run_.shape.world;
      if (peer_exists && visit(record)) {
        ++count;
      } else {
        ++impossible_;
      }
    }
  }

  const RunInfo& run_;
  const int rank_;
  const ClockFit& fit_;
  RecordVisitor& visitor_;
  format::EndRecord end_{};
  std::uint64_t spans_ = 0;
  std::uint64_t puts_ = 0;
  std::uint64_t arrivals_ = 0;
  std::uint64_t impossible_ = 0;
  std::uint64_t unknown_blocks_ = 0;
  bool ended_ = false;
};

/// Why a file with a sound header must not be read as this rank's; empty if it may.
std::string find_mismatch(const format::FileHeader& header, const RunInfo& run, int rank) {
  if (header.version != format::kVersion) {
    return fmt::format(
        "its file has format version {}; this program reads {}", header.version, format::kVersion);
  }
  if (header.rank != rank || header.world != run.shape.world) {
    return fmt::format(
        "its file says that it is of rank {} in a world of {}", header.rank, header.world);
  }
  if (header.run_id != 0 && run.run_id != 0 && header.run_id != run.run_id) {
    return "its file is of another run";
  }
  return "";
}

void describe(const RankReader& reader,
              const BlockStream& blocks,
              int rank,
              std::vector<std::string>& notes) {
  const auto note = [&](const std::string& text) {
    notes.push_back(fmt::format("rank {}: {}", rank, text));
  };
  if (blocks.read_error() != 0) {
    note(fmt::format("reading its file failed after {} records (error {})",
                     reader.records(),
                     blocks.read_error()));
  } else if (!reader.ended()) {
    note(fmt::format("its file {} after {} records; the rank was killed or is still running",
                     blocks.cut() ? "is cut short" : "stops without an end",
                     reader.records()));
  }
  if (blocks.bad_blocks() > 0) {
    note(fmt::format("{} damaged or missing blocks were skipped", blocks.bad_blocks()));
  }
  if (reader.unknown_blocks() > 0) {
    note(fmt::format("{} blocks of a kind that this program does not know were skipped",
                     reader.unknown_blocks()));
  }
  if (reader.impossible() > 0) {
    note(fmt::format("{} records contradict themselves and were left out", reader.impossible()));
  }
  if (!reader.ended()) return;
  const std::uint64_t written = reader.end().spans + reader.end().puts + reader.end().arrivals;
  const std::uint64_t read = reader.records() + reader.impossible();
  if (written > read) note(fmt::format("{} of its {} records are lost", written - read, written));
  if (reader.end().dropped > 0) {
    note(fmt::format("{} records were dropped while it ran (ring full or write failed)",
                     reader.end().dropped));
  }
}

}  // namespace

std::uint64_t to_reference(const ClockFit& fit, std::uint64_t t) {
  const auto elapsed = static_cast<std::int64_t>(t - fit.begin_ns);
  const std::int64_t drift = std::llround(fit.drift_ppb * 1e-9 * static_cast<double>(elapsed));
  const std::int64_t shifted = static_cast<std::int64_t>(t) + fit.offset_ns + drift;
  return shifted < 0 ? 0 : static_cast<std::uint64_t>(shifted);
}

RankFile read_rank(const std::string& directory,
                   const RunInfo& run,
                   int rank,
                   RecordVisitor& visitor,
                   std::vector<std::string>& notes) {
  RankFile result;
  result.rank = rank;
  const auto index = static_cast<std::size_t>(rank);
  if (index < run.dropped_records.size()) result.dropped = run.dropped_records[index];
  const std::string path = fmt::format("{}/{}", directory, rank_file_name(rank));
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    notes.push_back(errno == ENOENT
                        ? fmt::format("rank {}: no record file", rank)
                        : fmt::format("rank {}: cannot open {} (error {})", rank, path, errno));
    return result;
  }
  result.present = true;
  BlockStream blocks(std::move(file));
  const auto header = blocks.read_header();
  if (!header) {
    if (blocks.empty_file() || blocks.cut()) {
      notes.push_back(fmt::format("rank {}: its file is cut inside the header", rank));
      return result;
    }
    notes.push_back(fmt::format("rank {}: the header of its file is damaged", rank));
  } else if (const std::string mismatch = find_mismatch(*header, run, rank); !mismatch.empty()) {
    notes.push_back(fmt::format("rank {}: {}; not read", rank, mismatch));
    return result;
  }
  ClockFit fit;
  fit.rank = rank;
  for (const ClockFit& candidate : run.clocks) {
    if (candidate.rank == rank) fit = candidate;
  }
  RankReader reader(run, rank, fit, visitor);
  while (!reader.ended()) {
    const auto block = blocks.next();
    if (!block) break;
    reader.take(*block);
  }
  result.complete = reader.ended();
  result.records = reader.records();
  result.bad_blocks = blocks.bad_blocks();
  if (reader.ended()) result.dropped = reader.end().dropped;
  describe(reader, blocks, rank, notes);
  return result;
}

Result<RecordingSummary> read_run(const std::string& directory, RecordVisitor& visitor) {
  auto run = read_run_info(directory);
  if (!run) return Unexpected(std::move(run).error());
  RecordingSummary summary;
  summary.run = std::move(*run);
  if (!summary.run.finished) {
    summary.notes.emplace_back("the run did not come to its end; run.json is from its start");
  }
  if (summary.run.shape.world > 1 &&
      summary.run.clocks.size() < static_cast<std::size_t>(summary.run.shape.world)) {
    summary.notes.push_back(
        fmt::format("{} of {} ranks have no clock fit: their times are taken as they are",
                    static_cast<std::size_t>(summary.run.shape.world) - summary.run.clocks.size(),
                    summary.run.shape.world));
  }
  for (int rank = 0; rank < summary.run.shape.world; ++rank) {
    summary.ranks.push_back(read_rank(directory, summary.run, rank, visitor, summary.notes));
  }
  return summary;
}

}  // namespace shunt::profile
