// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "profile/rank_log.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "profile/rank_format.hpp"

namespace shunt::profile {
namespace {

using format::BlockType;
using record::RecordType;

constexpr std::size_t kFlushBytes = 64 * 1024;

template <typename Record>
void append_record(std::vector<unsigned char>& bytes, const unsigned char* body) {
  bytes.insert(bytes.end(), body, body + format::kFieldBytes<Record>);
  bytes.resize(bytes.size() + sizeof(Record) - format::kFieldBytes<Record>);
}

}  // namespace

std::string rank_file_name(int rank) {
  return fmt::format("rank-{:05}.rec", rank);
}

RankLog::RankLog(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {
  span_bytes_.reserve(kFlushBytes);
  put_bytes_.reserve(kFlushBytes);
  arrival_bytes_.reserve(kFlushBytes);
}

Result<RankLog> RankLog::create(const std::string& directory,
                                int rank,
                                int world,
                                std::uint64_t run_id) {
  std::string path = fmt::format("{}/{}", directory, rank_file_name(rank));
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666));
  if (!fd.valid()) return system_error(errno, "cannot create the record file {}", path);
  format::FileHeader header{};
  std::memcpy(header.magic, format::kMagic, sizeof(header.magic));
  header.version = format::kVersion;
  header.header_bytes = sizeof(header);
  header.rank = rank;
  header.world = world;
  header.begin_ns = now_ns();
  header.wall_ns = wall_ns();
  header.run_id = run_id;
  header.crc = format::header_crc(header);
  SHUNT_TRY(write_all(fd.get(), {reinterpret_cast<const char*>(&header), sizeof(header)}, path));
  return RankLog(std::move(path), std::move(fd));
}

Status RankLog::write_block_bytes(const format::BlockHeader& header,
                                  std::vector<unsigned char>& payload) {
  // One call, so that a kill between two cannot leave a header without its records.
  auto* start = const_cast<format::BlockHeader*>(&header);  // iovec's type; writev only reads.
  const iovec parts[2] = {{start, sizeof(header)}, {payload.data(), payload.size()}};
  ssize_t done = 0;
  do {
    done = ::writev(fd_.get(), parts, 2);
  } while (done < 0 && errno == EINTR);
  if (done < 0) return system_error(errno, "cannot write the record file {}", path_);
  const auto taken = static_cast<std::size_t>(done);
  if (taken == sizeof(header) + payload.size()) return {};
  const auto* bytes = reinterpret_cast<const char*>(&header);
  if (taken < sizeof(header)) {
    SHUNT_TRY(write_all(fd_.get(), {bytes + taken, sizeof(header) - taken}, path_));
  }
  const std::size_t from = taken < sizeof(header) ? 0 : taken - sizeof(header);
  bytes = reinterpret_cast<const char*>(payload.data());
  return write_all(fd_.get(), {bytes + from, payload.size() - from}, path_);
}

void RankLog::write_block(std::vector<unsigned char>& payload,
                          BlockType type,
                          std::size_t record_bytes) {
  const std::size_t records = payload.size() / record_bytes;
  if (!status_) {
    lost_ += records;
    payload.clear();
    return;
  }
  format::BlockHeader header{};
  header.magic = format::kBlockMagic;
  header.type = type;
  header.record_bytes = static_cast<std::uint16_t>(record_bytes);
  header.records = static_cast<std::uint32_t>(records);
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.sequence = sequence_++;
  header.payload_crc = format::crc(payload.data(), payload.size());
  header.header_crc = format::header_crc(header);

  if (Status written = write_block_bytes(header, payload); !written) {
    // A full disk, say. The file ends in a cut block then, which readers expect.
    status_ = std::move(written);
    lost_ += type == BlockType::kEnd ? 0 : records;
  } else if (header.type == BlockType::kSpans) {
    spans_ += records;
  } else if (header.type == BlockType::kPuts) {
    puts_ += records;
  } else if (header.type == BlockType::kArrivals) {
    arrivals_ += records;
  }
  payload.clear();
}

void RankLog::append(RecordType type, const unsigned char* body) {
  switch (type) {
    case RecordType::kSpan:
      if (span_bytes_.size() + sizeof(record::Span) > kFlushBytes) write_pending();
      return append_record<record::Span>(span_bytes_, body);
    case RecordType::kPut:
      if (put_bytes_.size() + sizeof(record::Put) > kFlushBytes) write_pending();
      return append_record<record::Put>(put_bytes_, body);
    case RecordType::kArrival:
      if (arrival_bytes_.size() + sizeof(record::Arrival) > kFlushBytes) write_pending();
      return append_record<record::Arrival>(arrival_bytes_, body);
  }
}

void RankLog::write_pending() {
  const auto flush = [this](std::vector<unsigned char>& bytes, BlockType type, std::size_t size) {
    if (!bytes.empty()) write_block(bytes, type, size);
  };
  flush(span_bytes_, BlockType::kSpans, sizeof(record::Span));
  flush(put_bytes_, BlockType::kPuts, sizeof(record::Put));
  flush(arrival_bytes_, BlockType::kArrivals, sizeof(record::Arrival));
}

Status RankLog::drain(record::Recorder& recorder) {
  recorder.drain([this](RecordType type, const unsigned char* body) { append(type, body); });
  write_pending();
  return status_;
}

void RankLog::discard(record::Recorder& recorder) const {
  recorder.drain([](RecordType /*type*/, const unsigned char* /*body*/) {});
}

Status RankLog::finish(record::Recorder& recorder) {
  // A failure stays in status_; the end block is then left out.
  (void)drain(recorder);
  const format::EndRecord end{spans_, puts_, arrivals_, recorder.dropped() + lost_, now_ns()};
  std::vector<unsigned char> payload(sizeof(end));
  std::memcpy(payload.data(), &end, sizeof(end));
  write_block(payload, BlockType::kEnd, sizeof(end));
  fd_.reset();
  return status_;
}

}  // namespace shunt::profile
