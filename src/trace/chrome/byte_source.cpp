// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/chrome/byte_source.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <zlib.h>
#include <zstd.h>

#include "base/error.hpp"
#include "base/fd.hpp"

namespace shunt::trace {
namespace {

constexpr std::size_t kInput = std::size_t{256} << 10;

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(UniqueFd file) : file_(std::move(file)) {}

  std::size_t read(char* data, std::size_t size) override {
    ssize_t got = 0;
    do {
      got = ::read(file_.get(), data, size);
    } while (got < 0 && errno == EINTR);
    if (got < 0) failure_ = std::strerror(errno);
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  std::string failure() const override { return failure_; }

 private:
  UniqueFd file_;
  std::string failure_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : left_(bytes) {}

  std::size_t read(char* data, std::size_t size) override {
    const std::size_t take = std::min(size, left_.size());
    std::memcpy(data, left_.data(), take);
    left_.remove_prefix(take);
    return take;
  }

 private:
  std::string_view left_;
};

class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> inner)
      : inner_(std::move(inner)), input_(kInput) {
    std::memset(&stream_, 0, sizeof stream_);
    ready_ = inflateInit2(&stream_, 15 + 32) == Z_OK;  // 32: gzip or zlib, by their heads
  }
  ~GzipSource() override {
    if (ready_) inflateEnd(&stream_);
  }

  std::size_t read(char* data, std::size_t size) override {
    if (!ready_) return 0;
    stream_.next_out = reinterpret_cast<Bytef*>(data);
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out == size) {
      if (stream_.avail_in == 0) {
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in = static_cast<uInt>(inner_->read(input_.data(), input_.size()));
        if (stream_.avail_in == 0) {
          failure_ = ended_ ? "" : "the compressed stream ends early";
          break;
        }
      }
      if (ended_) {  // members follow one another
        inflateReset(&stream_);
        ended_ = false;
      }
      const int status = inflate(&stream_, Z_NO_FLUSH);
      ended_ = status == Z_STREAM_END;
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
        failure_ = "the compressed stream is damaged";
        break;
      }
    }
    return size - stream_.avail_out;
  }
  std::string failure() const override { return failure_; }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::vector<char> input_;
  z_stream stream_;
  bool ready_ = false;
  bool ended_ = false;
  std::string failure_;
};

struct FreeStream {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

class ZstdSource final : public ByteSource {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> inner)
      : inner_(std::move(inner)), input_(kInput), stream_(ZSTD_createDStream()) {}

  std::size_t read(char* data, std::size_t size) override {
    ZSTD_outBuffer out{data, size, 0};
    while (stream_ && out.pos == 0) {
      if (in_.pos == in_.size) {
        in_ = {input_.data(), inner_->read(input_.data(), input_.size()), 0};
        if (in_.size == 0) {
          failure_ = pending_ ? "the compressed stream ends early" : "";
          break;
        }
      }
      const std::size_t status = ZSTD_decompressStream(stream_.get(), &out, &in_);
      if (ZSTD_isError(status) != 0) {
        failure_ = ZSTD_getErrorName(status);
        break;
      }
      pending_ = status != 0;
    }
    return out.pos;
  }
  std::string failure() const override { return failure_; }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::vector<char> input_;
  std::unique_ptr<ZSTD_DStream, FreeStream> stream_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool pending_ = false;
  std::string failure_;
};

}  // namespace

std::unique_ptr<ByteSource> memory_bytes(std::string_view bytes) {
  return std::make_unique<MemorySource>(bytes);
}

std::unique_ptr<ByteSource> inflated_bytes(std::string_view bytes) {
  return std::make_unique<GzipSource>(memory_bytes(bytes));
}

std::unique_ptr<ByteSource> unzstd_bytes(std::string_view bytes) {
  return std::make_unique<ZstdSource>(memory_bytes(bytes));
}

std::string_view HeadSource::head(std::size_t size) {
  if (begin_ > 0) {
    held_.erase(0, begin_);
    begin_ = 0;
  }
  while (held_.size() < size) {
    const std::size_t had = held_.size();
    // Grows as bytes come: `size` may be what a damaged length promises.
    const std::size_t want = std::min(size - had, kInput);
    held_.resize(had + want);
    const std::size_t got = inner_->read(held_.data() + had, want);
    held_.resize(had + got);
    if (got == 0) break;
  }
  return held_;
}

std::size_t HeadSource::read(char* data, std::size_t size) {
  if (begin_ == held_.size()) {
    if (!held_.empty()) {
      std::string().swap(held_);
      begin_ = 0;
    }
    return inner_->read(data, size);
  }
  const std::size_t take = std::min(size, held_.size() - begin_);
  std::memcpy(data, held_.data() + begin_, take);
  begin_ += take;
  return take;
}

Result<std::unique_ptr<HeadSource>> open_bytes(const std::string& path) {
  const bool standard = path == "-";
  UniqueFd file(standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                         : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    return standard ? system_error(errno, "cannot read standard input")
                    : system_error(errno, "cannot open '{}' to read", path);
  }
  auto raw = std::make_unique<HeadSource>(std::make_unique<PlainSource>(std::move(file)));
  const std::string_view magic = raw->head(4);
  if (magic.substr(0, 2) == "\x1f\x8b") {
    return std::make_unique<HeadSource>(std::make_unique<GzipSource>(std::move(raw)));
  }
  if (magic.substr(0, 4) == "\x28\xb5\x2f\xfd") {
    return std::make_unique<HeadSource>(std::make_unique<ZstdSource>(std::move(raw)));
  }
  return raw;
}

}  // namespace shunt::trace
