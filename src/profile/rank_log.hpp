// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The writing side of a run directory. in: a rank's Recorder, a RunInfo → out: files that
// read_run() reads, in whatever state the run ended. called from: the command that runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "profile/run.hpp"
#include "record/lane.hpp"
#include "shunt/result.hpp"

namespace shunt::profile {

namespace format {
enum class BlockType : std::uint8_t;
struct BlockHeader;
}  // namespace format

/// "rank-00003.rec"
[[nodiscard]] std::string rank_file_name(int rank);
inline constexpr const char* kRunFileName = "run.json";

/// What to do about a directory that holds a former run.
enum class Existing { kRefuse, kReplace };

/// The directory of one run and its run.json. One per run, in the process that leads it.
class RunWriter {
 public:
  /// Makes the directory (its parent must exist) or takes an empty one. One that holds a former run
  /// is refused, or with kReplace emptied of that run's files; one that holds anything else is
  /// always refused and left as it is.
  [[nodiscard]] static Result<RunWriter> create(std::string path, Existing existing);

  /// Replaces run.json as a whole. Call it once before the first operation and once at the end:
  /// a run that is killed in between can then still be read.
  [[nodiscard]] Status write_info(const RunInfo& info) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit RunWriter(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// The record file of one rank. Used by one thread at a time. Memory: 3 × 64 KiB.
class RankLog {
 public:
  /// Creates `directory`/rank-NNNNN.rec; a file that is there already is refused.
  [[nodiscard]] static Result<RankLog> create(const std::string& directory,
                                              int rank,
                                              int world,
                                              std::uint64_t run_id);

  /// Takes all records of all lanes and hands them to the system before it returns: they outlive
  /// the process, however it ends. Call it between operations. Once writing has failed the error
  /// stays and records are counted as dropped: the run itself goes on.
  [[nodiscard]] Status drain(record::Recorder& recorder);

  /// Takes all records of all lanes and forgets them.
  void discard(record::Recorder& recorder) const;

  /// Drains a last time and writes the end block. Nothing may be drained afterwards.
  [[nodiscard]] Status finish(record::Recorder& recorder);

  [[nodiscard]] std::uint64_t records() const { return spans_ + puts_ + arrivals_; }
  /// Records that could not be written; those that the rings dropped are the recorder's to tell.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  RankLog(std::string path, UniqueFd fd);

  void append(record::RecordType type, const unsigned char* body);
  void write_block(std::vector<unsigned char>& payload,
                   format::BlockType type,
                   std::size_t record_bytes);
  void write_pending();
  [[nodiscard]] Status write_block_bytes(const format::BlockHeader& header,
                                         std::vector<unsigned char>& payload);

  std::string path_;
  UniqueFd fd_;
  std::vector<unsigned char> span_bytes_;
  std::vector<unsigned char> put_bytes_;
  std::vector<unsigned char> arrival_bytes_;
  std::uint64_t spans_ = 0;
  std::uint64_t puts_ = 0;
  std::uint64_t arrivals_ = 0;
  std::uint64_t lost_ = 0;
  std::uint32_t sequence_ = 0;
  Status status_;
};

}  // namespace shunt::profile
