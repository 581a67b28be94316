#pragma once
// Decodes the symbols of a raw deflate stream. Layer: archive, internal to it. Source: RFC 1951. Walker is a
// template over the sink of the symbols. The scan for borders and the inflater have loops of their own, over
// the same codes.

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/files/fs.h"

namespace ptpkg::archive::deflate {

inline constexpr unsigned kMaxCodeBits = 15;
inline constexpr unsigned kEndOfBlock = 256;
inline constexpr unsigned kMaxMatch = 258;
inline constexpr unsigned kMaxSymbols = 288;  // of the largest alphabet
inline constexpr std::size_t kWindowBytes = 32U << 10U;

Error Damaged();

/// The next bits of a stream, least significant first, and the bytes behind them. The loops over symbols keep
/// a copy of it in registers.
struct BitWindow {
  const char* next = nullptr;
  const char* end = nullptr;
  std::uint64_t bits = 0;  // at and above `filled` they are zero or equal to what comes next
  unsigned filled = 0;

  /// True if the input has enough bytes for `times` calls of Refill.
  [[nodiscard]] bool CanRefill(std::ptrdiff_t times) const { return end - next >= 8 * times; }
  /// Afterwards at least 56 bits are available. REQUIRES: CanRefill(1).
  void Refill() {
    std::uint64_t word = 0;
    static_assert(std::endian::native == std::endian::little);
    __builtin_memcpy(&word, next, 8);
    bits |= word << filled;
    next += (63 - filled) / 8;
    filled |= 56U;
  }
  void Skip(unsigned count) {
    bits >>= count;
    filled -= count;
  }
};

/// Bits of a string or a file. Past the end it gives zeros and counts on; the caller checks overrun().
class BitReader {
 public:
  /// Borrows `bytes`.
  explicit BitReader(std::string_view bytes)
      : window_{.next = bytes.data(), .end = bytes.data() + bytes.size()},
        end_offset_(bytes.size()),
        total_bytes_(bytes.size()) {}
  /// Reads [offset, offset + size_bytes) of a file piece by piece; begins at `first_bit` of it.
  BitReader(File& file, std::uint64_t offset, std::uint64_t size_bytes, std::uint64_t first_bit = 0);
  BitReader(const BitReader&) = delete;
  BitReader& operator=(const BitReader&) = delete;

  /// The available bits, to be copied and put back.
  BitWindow& window() { return window_; }
  /// Afterwards at least 56 bits are available.
  void Refill() {
    if (window_.CanRefill(1) || Load()) window_.Refill();
  }
  [[nodiscard]] std::uint64_t bits() const { return window_.bits; }
  [[nodiscard]] std::uint64_t Peek(unsigned count) const {
    return window_.bits & ((std::uint64_t{1} << count) - 1);
  }
  void Skip(unsigned count) { window_.Skip(count); }
  /// REQUIRES: count ≤ 32.
  std::uint64_t Take(unsigned count) {
    Refill();
    const std::uint64_t value = Peek(count);
    Skip(count);
    return value;
  }
  /// Position in bits, from the start of the stream.
  [[nodiscard]] std::uint64_t position() const { return next_offset() * 8 - window_.filled; }
  [[nodiscard]] bool overrun() const { return position() > total_bytes_ * 8; }
  /// The next bytes, at least one and at most `count`; "" at the end. REQUIRES: at a byte boundary.
  std::string_view TakeBytes(std::size_t count);
  /// Error of reading the file; the bits after it are zeros.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  [[nodiscard]] std::uint64_t next_offset() const {
    return end_offset_ + zeros_ - static_cast<std::uint64_t>(window_.end - window_.next);
  }
  /// Makes 8 bytes available. If fewer are left, takes them bit by bit and returns false.
  bool Load();
  void LoadFromFile();

  BitWindow window_;              // into the string, or loaded_
  std::uint64_t end_offset_ = 0;  // of window_.end in the stream
  std::uint64_t zeros_ = 0;       // bytes that were taken behind the end
  std::uint64_t total_bytes_;
  File* file_ = nullptr;  // null once all of it was loaded
  std::uint64_t file_offset_ = 0;
  std::string loaded_;
  std::optional<Error> failure_;
};

enum class Kind : std::uint8_t { kInvalid, kLong, kEnd, kCodeLength, kMatch, kLiteral = 8 };

/// Meaning of a code: packed, so that a table of them fits into the first-level cache.
class Symbol {
 public:
  constexpr Symbol() = default;
  /// `value`: the literal, the code length, or the least length or distance of a match.
  constexpr Symbol(Kind kind, unsigned value, unsigned extra_bits)
      : raw_((value << 16U) | (static_cast<unsigned>(kind) << 12U) | extra_bits) {}

  [[nodiscard]] constexpr Kind kind() const { return static_cast<Kind>((raw_ >> 12U) & 15U); }
  [[nodiscard]] constexpr bool is_literal() const { return (raw_ & 0x8000U) != 0; }
  [[nodiscard]] constexpr std::uint16_t value() const { return static_cast<std::uint16_t>(raw_ >> 16U); }
  /// Number of bits: code and extra bits, 28 at most.
  [[nodiscard]] constexpr unsigned bits() const { return raw_ & 63U; }
  [[nodiscard]] constexpr unsigned code_bits() const { return (raw_ >> 8U) & 15U; }
  /// The value including its extra bits, read from `stream`, which must begin with this symbol's bits.
  [[nodiscard]] constexpr unsigned Value(std::uint64_t stream) const {
    const std::uint64_t own = stream & ((std::uint64_t{1} << bits()) - 1);
    return value() + static_cast<unsigned>(own >> code_bits());
  }
  /// REQUIRES: no code yet.
  [[nodiscard]] constexpr Symbol WithCode(unsigned code_bits) const {
    return Symbol(raw_ + code_bits * 0x101U);
  }
  /// A literal joined with the following one; keeps only the number of bits.
  [[nodiscard]] constexpr Symbol JoinedWith(Symbol next) const { return Symbol(raw_ + next.bits()); }

 private:
  constexpr explicit Symbol(std::uint32_t raw) : raw_(raw) {}
  std::uint32_t raw_ = 0;  // value: 16 bits, kind: 4, bits of the code: 4, bits of both: 8
};

enum class Alphabet : std::uint8_t { kLiterals, kDistances, kCodeLengths };

/// A prefix code: a table indexed by the next bits, and the canonical rule for codes that are longer.
template <unsigned kTableBits>
class PrefixTable {
 public:
  using Table = std::array<Symbol, std::size_t{1} << kTableBits>;

  /// False for a code that zlib refuses (inftrees.c): over-full, or incomplete and not just one code of one
  /// bit. An empty code is valid, but no symbol can use it. Gaps are kInvalid.
  bool Build(std::span<const std::uint8_t> lengths, Alphabet alphabet);
  /// Symbol that the next bits of a stream encode. REQUIRES: 15 bits are available.
  [[nodiscard]] Symbol Next(std::uint64_t bits) const {
    const Symbol symbol = table_[bits & (table_.size() - 1)];
    return symbol.kind() == Kind::kLong ? NextLong(bits) : symbol;
  }
  [[nodiscard]] const Table& table() const { return table_; }
  /// The symbol of a code that is longer than the table's bits.
  [[nodiscard]] Symbol NextLong(std::uint64_t bits) const;

 private:
  Alphabet alphabet_ = Alphabet::kLiterals;
  Table table_;
  std::array<std::uint16_t, kMaxCodeBits + 1> count_{};  // of the codes of each length
  std::array<std::uint16_t, kMaxCodeBits + 1> first_{};  // code of each length
  std::array<std::uint16_t, kMaxCodeBits + 1> place_{};  // of the first code of each length, in sorted_
  std::array<std::uint16_t, kMaxSymbols> sorted_;        // symbols by code
};

/// Bytes that CopyMatch may write behind a match: it copies pieces, the last one over the end.
inline constexpr unsigned kCopyOverBytes = 16;

template <std::size_t kBytes>
void CopyPieces(std::byte* to, const std::byte* from, const std::byte* end) {
  do {
    __builtin_memcpy(to, from, kBytes);
    to += kBytes;
    from += kBytes;
  } while (to < end);
}

/// Writes up to kCopyOverBytes behind `to` + `length`. REQUIRES: distance != 0, and so much lies before `to`.
inline void CopyMatch(std::byte* to, unsigned distance, unsigned length) {
  const std::byte* const from = to - distance;
  std::byte* const end = to + length;
  if (distance >= 16) return CopyPieces<16>(to, from, end);
  if (distance >= 8) return CopyPieces<8>(to, from, end);
  if (distance == 1) {
    __builtin_memset(to, static_cast<int>(*from), length);
    return;
  }
  // Each piece of eight holds whole repeats of the distance, and what is copied over is written anew.
  for (const std::byte* source = from; to < end; to += distance, source += distance) {
    std::array<std::byte, 8> piece;
    __builtin_memcpy(piece.data(), source, piece.size());
    __builtin_memcpy(to, piece.data(), piece.size());
  }
}

/// Content length of a stored block (3.2.4), whose type was read last; nullopt if its header is
/// not valid.
std::optional<std::uint16_t> TakeStoredLength(BitReader& reader);

struct Block {
  bool is_last = false;
  bool is_stored = false;
  std::uint64_t begin_bit = 0;  ///< Position of its BFINAL flag.
  std::uint64_t end_bit = 0;
  std::uint64_t stored_offset = 0;  ///< For a stored block: offset of its content, in bytes of the stream.
  std::uint16_t stored_bytes = 0;
};

/// The codes of one block after its header (3.2.6, 3.2.7).
class Codes {
 public:
  // With 12 the tables cost more to fill than they save (torch's libraries).
  static constexpr unsigned kLiteralTableBits = 11;
  using Literals = PrefixTable<kLiteralTableBits>;
  using Distances = PrefixTable<9>;

  void SetFixed();
  /// False for a header that zlib refuses (inflate.c): more than 286 literals or 30 distances, no code for
  /// the end of the block, or an invalid code.
  bool Read(BitReader& reader);

  [[nodiscard]] const Literals& literals() const { return literals_; }
  [[nodiscard]] const Distances& distances() const { return distances_; }

 private:
  Literals literals_;
  Distances distances_;
  PrefixTable<7> code_lengths_;
  bool is_fixed_ = false;
};

/// Discards all symbols; a model for a Walker sink.
struct DiscardSymbols {
  /// True if Flush must come before the next symbol.
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

  /// Passes the content of the next block to the sink. Errors: kCorrupt, and any error from the file or the
  /// sink.
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
        codes_.SetFixed();
        return Symbols();
      case 2:
        return codes_.Read(reader_) ? Symbols() : Damaged();
      default:
        return Damaged();
    }
  }

  Result<void> Stored(Block& block) {
    const std::optional<std::uint16_t> length = TakeStoredLength(reader_);
    if (!length) return Damaged();
    block.is_stored = true;
    block.stored_offset = reader_.position() / 8;
    block.stored_bytes = *length;
    for (std::size_t left = *length; left != 0;) {
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
      Symbol symbol = codes_.literals().Next(reader_.bits());
      for (int more = 2; symbol.is_literal() && more > 0; --more) {
        reader_.Skip(symbol.bits());
        sink_.Literal(symbol.value());
        symbol = codes_.literals().Next(reader_.bits());
      }
      if (symbol.is_literal()) {
        reader_.Skip(symbol.bits());
        sink_.Literal(symbol.value());
        if (reader_.overrun()) return Damaged();
        continue;
      }
      if (symbol.kind() == Kind::kEnd) {
        reader_.Skip(symbol.bits());
        return Ok();
      }
      if (symbol.kind() != Kind::kMatch || !Match(symbol)) return Damaged();
    }
  }

  bool Match(Symbol symbol) {
    reader_.Refill();
    const unsigned length = symbol.Value(reader_.bits());
    reader_.Skip(symbol.bits());
    const Symbol distance = codes_.distances().Next(reader_.bits());
    if (distance.kind() != Kind::kMatch) return false;
    const unsigned back = distance.Value(reader_.bits());
    reader_.Skip(distance.bits());
    return !reader_.overrun() && sink_.Match(length, back);
  }

  BitReader& reader_;
  Sink& sink_;
  Codes codes_;
};

}  // namespace ptpkg::archive::deflate
