#pragma once
// Byte stream interfaces: ByteSource and ByteSink. Layer: support.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "support/result.h"

namespace ptpkg {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline Bytes AsBytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }
inline std::string_view AsText(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Accepts bytes in order. After an error the sink must not be used again.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  /// Takes all of `bytes`, or fails.
  virtual Result<void> Write(Bytes bytes) = 0;
};

/// Gives bytes in order.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills at most `buffer`; returns the count, 0 only at the end.
  virtual Result<std::size_t> Read(MutableBytes buffer) = 0;
};

class StringSink final : public ByteSink {
 public:
  Result<void> Write(Bytes bytes) override;
  [[nodiscard]] const std::string& str() const { return text_; }

 private:
  std::string text_;
};

/// Borrows `text` for its own lifetime.
class StringSource final : public ByteSource {
 public:
  explicit StringSource(std::string_view text) : rest_(text) {}
  Result<std::size_t> Read(MutableBytes buffer) override;

 private:
  std::string_view rest_;
};

/// Moves everything from `source` to `sink` through one 1 MiB buffer; returns the byte count.
Result<std::uint64_t> Pump(ByteSource& source, ByteSink& sink);

}  // namespace ptpkg
