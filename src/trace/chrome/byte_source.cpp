// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/chrome/byte_source.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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
    ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK;  // 16: gzip wrapper
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
          failure_ = ended_ ? "" : "the gzip stream ends early";
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
        failure_ = "the gzip stream is damaged";
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
          failure_ = pending_ ? "the zstd stream ends early" : "";
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

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return system_error(errno, "cannot open '{}' to read", path);
  std::array<unsigned char, 4> magic{};
  const ssize_t got = ::pread(file.get(), magic.data(), magic.size(), 0);
  const bool whole = got == static_cast<ssize_t>(magic.size());
  auto plain = std::make_unique<PlainSource>(std::move(file));
  if (whole && magic[0] == 0x1f && magic[1] == 0x8b) {
    return std::make_unique<GzipSource>(std::move(plain));
  }
  if (whole && magic == std::array<unsigned char, 4>{0x28, 0xb5, 0x2f, 0xfd}) {
    return std::make_unique<ZstdSource>(std::move(plain));
  }
  return plain;
}

}  // namespace shunt::trace
