#pragma once
// The symbols of a raw deflate stream, one after the other. Layer: archive, internal to it. Source: RFC 1951.
// A template over what takes the symbols: the scan for block borders takes none, the splicer writes content.

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/fs.h"

namespace ptpkg::archive::deflate {

inline constexpr unsigned kMaxCodeBits = 15;
inline constexpr unsigned kEndOfBlock = 256;
inline constexpr unsigned kMaxMatch = 258;
inline constexpr std::size_t kWindowBytes = 32U << 10U;

Error Damaged();

/// Bits, least significant first. Past the end it gives zeros and counts on; the caller checks overrun().
class BitReader {
 public:
  /// Borrows `bytes`.
  explicit BitReader(std::string_view bytes) : view_(bytes), total_bytes_(bytes.size()) {}
  /// Reads [offset, offset + size_bytes) of a file piece by piece; begins at `first_bit` of it.
  BitReader(File& file, std::uint64_t offset, std::uint64_t size_bytes, std::uint64_t first_bit = 0);
  BitReader(const BitReader&) = delete;
  BitReader& operator=(const BitReader&) = delete;

  /// At least 56 bits are in reach afterwards.
  void Refill() {
    if (next_ + 8 > view_.size() && !Load()) return;
    std::uint64_t word = 0;
    static_assert(std::endian::native == std::endian::little);
    __builtin_memcpy(&word, view_.data() + next_, 8);
    buffer_ |= word << filled_;
    const unsigned taken = (63 - filled_) / 8;
    next_ += taken;
    filled_ += taken * 8;
  }
  [[nodiscard]] std::uint64_t Peek(unsigned count) const {
    return buffer_ & ((std::uint64_t{1} << count) - 1);
  }
  void Skip(unsigned count) {
    buffer_ >>= count;
    filled_ -= count;
  }
  /// REQUIRES: count ≤ 32.
  std::uint64_t Take(unsigned count) {
    Refill();
    const std::uint64_t value = Peek(count);
    Skip(count);
    return value;
  }
  /// In bits, from the start of the stream.
  [[nodiscard]] std::uint64_t position() const { return (base_ + next_) * 8 - filled_; }
  [[nodiscard]] bool overrun() const { return position() > total_bytes_ * 8; }
  /// The next bytes, at least one and at most `count`; "" at the end. REQUIRES: at a byte boundary.
  std::string_view TakeBytes(std::size_t count);
  /// What the file said; the bits after it are zeros.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  /// Makes 8 bytes available at next_; where fewer are left it takes them bit by bit and returns false.
  bool Load();
  void LoadFromFile();

  std::string_view view_;   // of the bytes, or of loaded_
  std::size_t next_ = 0;    // in view_
  std::uint64_t base_ = 0;  // offset of view_ in the stream
  std::uint64_t total_bytes_;
  std::uint64_t buffer_ = 0;  // bits at and above filled_ are zero or equal to what comes next
  unsigned filled_ = 0;
  File* file_ = nullptr;
  std::uint64_t file_offset_ = 0;
  std::string loaded_;
  std::optional<Error> failure_;
};

enum class Kind : std::uint8_t { kInvalid, kLiteral, kEnd, kLength, kDistance, kCodeLength, kLong };

struct Symbol {
  Kind kind = Kind::kInvalid;
  std::uint8_t code_bits = 0;
  std::uint8_t extra_bits = 0;
  std::uint16_t value = 0;  ///< The literal, or the base of a length or distance.
};

/// A prefix code: a table indexed by the next bits, and the canonical rule for codes that are longer.
class PrefixTable {
 public:
  enum class Alphabet : std::uint8_t { kLiterals, kDistances, kCodeLengths };
  /// Errors: kCorrupt for an over-full code. An incomplete one is legal (a single distance); its gaps are
  /// kInvalid.
  Result<void> Build(std::span<const std::uint8_t> lengths, Alphabet alphabet);
  [[nodiscard]] Symbol Next(const BitReader& reader) const {
    const Symbol symbol = table_[reader.Peek(kTableBits)];
    return symbol.kind == Kind::kLong ? NextLong(reader) : symbol;
  }

 private:
  static constexpr unsigned kTableBits = 10;
  static Symbol Describe(unsigned symbol, Alphabet alphabet);
  [[nodiscard]] Symbol NextLong(const BitReader& reader) const;

  Alphabet alphabet_ = Alphabet::kLiterals;
  std::array<Symbol, 1U << kTableBits> table_;
  std::array<std::uint16_t, kMaxCodeBits + 1> count_{};  // of the codes of each length
  std::vector<std::uint16_t> sorted_;                    // symbols by code
};

struct Block {
  bool is_last = false;
  bool is_stored = false;
  std::uint64_t begin_bit = 0;  ///< Of its BFINAL flag.
  std::uint64_t end_bit = 0;
  std::uint64_t stored_offset = 0;  ///< Of a stored block: of its content, in bytes of the stream.
  std::uint16_t stored_bytes = 0;
};

/// The codes of one block after its header (3.2.6, 3.2.7).
struct Codes {
  PrefixTable literals;
  PrefixTable distances;
  Result<void> SetFixed();
  Result<void> Read(BitReader& reader);
};

/// Takes nothing; what a Sink of Walker looks like.
struct NoSink {
  /// Whether Flush must come before the next symbol.
  [[nodiscard]] static bool Full() { return false; }
  static Result<void> Flush() { return Ok(); }
  static void Literal(std::uint16_t /*value*/) {}
  /// False for a distance beyond the beginning.
  static bool Match(unsigned /*length*/, unsigned /*distance*/) { return true; }
  static Result<void> Stored(std::string_view /*bytes*/) { return Ok(); }
};

template <class Sink>
class Walker {
 public:
  Walker(BitReader& reader, Sink& sink) : reader_(reader), sink_(sink) {}

  /// Gives the content of the next block to the sink. Errors: kCorrupt; those of the file and the sink.
  Result<Block> NextBlock() {
    Block block{.begin_bit = reader_.position()};
    block.is_last = reader_.Take(1) != 0;
    Result<void> walked = Content(block);
    if (reader_.failure().has_value()) return *reader_.failure();
    PTPKG_CHECK(std::move(walked));
    if (reader_.overrun()) return Damaged();
    block.end_bit = reader_.position();
    return block;
  }

 private:
  Result<void> Content(Block& block) {
    switch (reader_.Take(2)) {
      case 0:
        return Stored(block);
      case 1:
        PTPKG_CHECK(codes_.SetFixed());
        return Symbols();
      case 2:
        PTPKG_CHECK(codes_.Read(reader_));
        return Symbols();
      default:
        return Damaged();
    }
  }

  Result<void> Stored(Block& block) {
    reader_.Take(static_cast<unsigned>((8 - reader_.position() % 8) % 8));
    const std::uint64_t length = reader_.Take(16);
    const std::uint64_t complement = reader_.Take(16);
    if ((length ^ complement) != 0xFFFF || reader_.overrun()) return Damaged();
    block.is_stored = true;
    block.stored_offset = reader_.position() / 8;
    block.stored_bytes = static_cast<std::uint16_t>(length);
    for (std::size_t left = length; left != 0;) {
      const std::string_view bytes = reader_.TakeBytes(left);
      if (bytes.empty()) return Damaged();
      PTPKG_CHECK(sink_.Stored(bytes));
      left -= bytes.size();
    }
    return Ok();
  }

  Result<void> Symbols() {
    while (true) {
      if (sink_.Full()) PTPKG_CHECK(sink_.Flush());
      reader_.Refill();  // 56 bits: a length and a distance take 48 at most, three literals 45
      Symbol symbol = codes_.literals.Next(reader_);
      for (int more = 2; symbol.kind == Kind::kLiteral && more > 0; --more) {
        reader_.Skip(symbol.code_bits);
        sink_.Literal(symbol.value);
        symbol = codes_.literals.Next(reader_);
      }
      if (symbol.kind == Kind::kLiteral) {
        reader_.Skip(symbol.code_bits);
        sink_.Literal(symbol.value);
        if (reader_.overrun()) return Damaged();
        continue;
      }
      if (symbol.kind == Kind::kEnd) {
        reader_.Skip(symbol.code_bits);
        return Ok();
      }
      if (symbol.kind != Kind::kLength) return Damaged();
      if (!Match(symbol)) return Damaged();
    }
  }

  bool Match(const Symbol& symbol) {
    reader_.Refill();
    reader_.Skip(symbol.code_bits);
    const auto length = static_cast<unsigned>(symbol.value + reader_.Peek(symbol.extra_bits));
    reader_.Skip(symbol.extra_bits);
    const Symbol distance = codes_.distances.Next(reader_);
    if (distance.kind != Kind::kDistance) return false;
    reader_.Skip(distance.code_bits);
    const auto back = static_cast<unsigned>(distance.value + reader_.Peek(distance.extra_bits));
    reader_.Skip(distance.extra_bits);
    return !reader_.overrun() && sink_.Match(length, back);
  }

  BitReader& reader_;
  Sink& sink_;
  Codes codes_;
};

}  // namespace ptpkg::archive::deflate
