// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a file or of standard input, plain, gzip or zstd, told apart by their first bytes. Each
// is read once, so pipes serve as well as files. Bounded memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "shunt/result.hpp"

namespace shunt::trace {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills up to `size` bytes; 0 at the end or after an error.
  [[nodiscard]] virtual std::size_t read(char* data, std::size_t size) = 0;
  /// Why read() stopped early; empty at a clean end.
  [[nodiscard]] virtual std::string failure() const { return {}; }
};

/// Bytes that can be looked at before they are read.
class HeadSource final : public ByteSource {
 public:
  explicit HeadSource(std::unique_ptr<ByteSource> inner) : inner_(std::move(inner)) {}

  /// The next bytes, at least `size` of them unless the source ends before. They stay to be read;
  /// the view is valid until the next call of head() or read().
  [[nodiscard]] std::string_view head(std::size_t size);
  [[nodiscard]] std::size_t read(char* data, std::size_t size) override;
  [[nodiscard]] std::string failure() const override { return inner_->failure(); }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::string held_;
  std::size_t begin_ = 0;  ///< Of what is left in held_.
};

/// "-" is standard input. The bytes come decompressed.
[[nodiscard]] Result<std::unique_ptr<HeadSource>> open_bytes(const std::string& path);
/// `bytes` must outlive the source.
[[nodiscard]] std::unique_ptr<ByteSource> memory_bytes(std::string_view bytes);
/// What deflate with a zlib header, or one zstd frame, holds; `bytes` must outlive the source.
[[nodiscard]] std::unique_ptr<ByteSource> inflated_bytes(std::string_view bytes);
[[nodiscard]] std::unique_ptr<ByteSource> unzstd_bytes(std::string_view bytes);

}  // namespace shunt::trace
