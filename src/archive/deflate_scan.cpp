#include "archive/deflate_scan.h"

#include <array>
#include <cstring>
#include <span>
#include <vector>

namespace ptpkg::archive {
namespace {

constexpr unsigned kMaxCodeBits = 15;
constexpr unsigned kLiteralSymbols = 288;
constexpr unsigned kDistanceSymbols = 32;
constexpr unsigned kEndOfBlock = 256;

Error DamagedDeflate() { return Error(ErrorCode::kCorrupt, "deflate stream is damaged"); }

/// Bits, least significant first. Past the end it gives zeros and counts on; the caller checks overrun().
class BitReader {
 public:
  explicit BitReader(std::string_view bytes) : bytes_(bytes) {}

  /// At least 56 bits are in reach afterwards.
  void Refill() {
    if (next_ + 8 <= bytes_.size()) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes_.data() + next_, 8);
      buffer_ |= word << filled_;
      const unsigned taken = (63 - filled_) / 8;
      next_ += taken;
      filled_ += taken * 8;
      return;
    }
    while (filled_ <= 56) {
      if (next_ < bytes_.size()) {
        buffer_ |= std::uint64_t{static_cast<unsigned char>(bytes_[next_])} << filled_;
      }
      ++next_;
      filled_ += 8;
    }
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
  [[nodiscard]] std::uint64_t position() const { return std::uint64_t{next_} * 8 - filled_; }
  [[nodiscard]] bool overrun() const { return position() > std::uint64_t{bytes_.size()} * 8; }
  /// REQUIRES: at a byte boundary.
  void SkipBytes(std::size_t count) {
    next_ = (position() / 8) + count;
    buffer_ = 0;
    filled_ = 0;
  }

 private:
  std::string_view bytes_;
  std::size_t next_ = 0;
  std::uint64_t buffer_ = 0;  // bits at and above filled_ are zero or equal to what comes next
  unsigned filled_ = 0;
};

enum class Kind : std::uint8_t { kInvalid, kLiteral, kEnd, kLength, kDistance, kCodeLength };

struct Symbol {
  Kind kind = Kind::kInvalid;
  std::uint8_t code_bits = 0;
  std::uint8_t total_bits = 0;  // with the extra bits that follow the code
  std::uint8_t value = 0;       // code-length alphabet only
};

/// A prefix code as one table indexed by the next bits.
class PrefixTable {
 public:
  /// Errors: kCorrupt for an over-full code. An incomplete one is legal (a single distance); its gaps are
  /// kInvalid.
  template <class Describe>
  Result<void> Build(std::span<const std::uint8_t> lengths, Describe describe) {
    std::array<unsigned, kMaxCodeBits + 2> count{};
    bits_ = 1;
    for (const std::uint8_t length : lengths) {
      ++count[length];
      if (length > bits_) bits_ = length;
    }
    count[0] = 0;
    std::array<unsigned, kMaxCodeBits + 2> next{};
    unsigned code = 0;
    for (unsigned length = 1; length <= bits_; ++length) {
      code = (code + count[length - 1]) << 1U;
      next[length] = code;
      if (code + count[length] > (1U << length)) return DamagedDeflate();
    }
    table_.assign(std::size_t{1} << bits_, Symbol{});
    for (unsigned symbol = 0; symbol < lengths.size(); ++symbol) {
      const unsigned length = lengths[symbol];
      if (length == 0) continue;
      const Symbol entry = describe(symbol, length);
      const std::size_t step = std::size_t{1} << length;
      for (std::size_t at = Reversed(next[length]++, length); at < table_.size(); at += step)
        table_[at] = entry;
    }
    return Ok();
  }
  [[nodiscard]] Symbol Next(const BitReader& reader) const { return table_[reader.Peek(bits_)]; }

 private:
  static std::size_t Reversed(unsigned code, unsigned length) {
    std::size_t reversed = 0;
    for (unsigned i = 0; i < length; ++i) reversed |= std::size_t{(code >> i) & 1U} << (length - 1 - i);
    return reversed;
  }
  unsigned bits_ = 1;
  std::vector<Symbol> table_;
};

Symbol Make(Kind kind, unsigned code_bits, unsigned extra_bits = 0) {
  return {.kind = kind,
          .code_bits = static_cast<std::uint8_t>(code_bits),
          .total_bits = static_cast<std::uint8_t>(code_bits + extra_bits),
          .value = 0};
}

// RFC 1951, 3.2.5.
Symbol DescribeLiteral(unsigned symbol, unsigned bits) {
  if (symbol < kEndOfBlock) return Make(Kind::kLiteral, bits);
  if (symbol == kEndOfBlock) return Make(Kind::kEnd, bits);
  if (symbol > 285) return {};
  const bool has_extra = symbol >= 265 && symbol != 285;
  return Make(Kind::kLength, bits, has_extra ? (symbol - 261) / 4 : 0);
}

Symbol DescribeDistance(unsigned symbol, unsigned bits) {
  if (symbol > 29) return {};
  return Make(Kind::kDistance, bits, symbol < 4 ? 0 : symbol / 2 - 1);
}

class Scanner {
 public:
  explicit Scanner(std::string_view stream) : reader_(stream) {}

  Result<DeflateLayout> Run() {
    while (true) {
      const std::uint64_t start = reader_.position();
      const bool is_last = reader_.Take(1) != 0;
      PTPKG_CHECK(Block());
      if (reader_.overrun()) return DamagedDeflate();
      if (is_last) return DeflateLayout{.last_block_bit = start, .end_bit = reader_.position()};
    }
  }

 private:
  Result<void> Block() {
    switch (reader_.Take(2)) {
      case 0:
        return StoredBlock();
      case 1:
        PTPKG_CHECK(FixedCodes());
        return Symbols();
      case 2:
        PTPKG_CHECK(DynamicCodes());
        return Symbols();
      default:
        return DamagedDeflate();
    }
  }

  Result<void> StoredBlock() {
    reader_.Take(static_cast<unsigned>((8 - reader_.position() % 8) % 8));
    const std::uint64_t length = reader_.Take(16);
    const std::uint64_t complement = reader_.Take(16);
    if ((length ^ complement) != 0xFFFF || reader_.overrun()) return DamagedDeflate();
    reader_.SkipBytes(static_cast<std::size_t>(length));
    return Ok();
  }

  Result<void> FixedCodes() {  // 3.2.6
    std::array<std::uint8_t, kLiteralSymbols> literals{};
    std::fill(literals.begin(), literals.begin() + 144, std::uint8_t{8});
    std::fill(literals.begin() + 144, literals.begin() + 256, std::uint8_t{9});
    std::fill(literals.begin() + 256, literals.begin() + 280, std::uint8_t{7});
    std::fill(literals.begin() + 280, literals.end(), std::uint8_t{8});
    std::array<std::uint8_t, kDistanceSymbols> distances{};
    distances.fill(5);
    PTPKG_CHECK(literals_.Build(literals, DescribeLiteral));
    return distances_.Build(distances, DescribeDistance);
  }

  Result<void> DynamicCodes() {  // 3.2.7
    static constexpr std::array<std::uint8_t, 19> kOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                            11, 4,  12, 3, 13, 2, 14, 1, 15};
    const auto literal_count = reader_.Take(5) + 257;
    const auto distance_count = reader_.Take(5) + 1;
    const auto order_count = reader_.Take(4) + 4;
    std::array<std::uint8_t, 19> code_lengths{};
    for (std::size_t i = 0; i < order_count; ++i) {
      code_lengths[kOrder[i]] = static_cast<std::uint8_t>(reader_.Take(3));
    }
    PrefixTable table;
    PTPKG_CHECK(table.Build(code_lengths, [](unsigned symbol, unsigned bits) {
      Symbol entry = Make(Kind::kCodeLength, bits);
      entry.value = static_cast<std::uint8_t>(symbol);
      return entry;
    }));
    std::array<std::uint8_t, kLiteralSymbols + kDistanceSymbols> lengths{};
    if (literal_count > kLiteralSymbols || distance_count > kDistanceSymbols) return DamagedDeflate();
    PTPKG_CHECK(ReadLengths(table, std::span(lengths).first(literal_count + distance_count)));
    PTPKG_CHECK(literals_.Build(std::span(lengths).first(literal_count), DescribeLiteral));
    return distances_.Build(std::span(lengths).subspan(literal_count, distance_count), DescribeDistance);
  }

  Result<void> ReadLengths(const PrefixTable& table, std::span<std::uint8_t> lengths) {
    for (std::size_t i = 0; i < lengths.size();) {
      reader_.Refill();
      const Symbol symbol = table.Next(reader_);
      if (symbol.kind == Kind::kInvalid || reader_.overrun()) return DamagedDeflate();
      reader_.Skip(symbol.code_bits);
      if (symbol.value < 16) {
        lengths[i++] = symbol.value;
        continue;
      }
      if (symbol.value == 16 && i == 0) return DamagedDeflate();
      const std::uint8_t repeated = symbol.value == 16 ? lengths[i - 1] : std::uint8_t{0};
      const std::uint64_t times = symbol.value == 16   ? 3 + reader_.Take(2)
                                  : symbol.value == 17 ? 3 + reader_.Take(3)
                                                       : 11 + reader_.Take(7);
      if (times > lengths.size() - i) return DamagedDeflate();
      for (std::uint64_t n = 0; n < times; ++n) lengths[i++] = repeated;
    }
    return Ok();
  }

  Result<void> Symbols() {
    while (true) {
      reader_.Refill();  // 56 bits: a length and a distance take 48 at most
      const Symbol symbol = literals_.Next(reader_);
      reader_.Skip(symbol.total_bits);
      if (symbol.kind == Kind::kLiteral) {
        if (reader_.overrun()) return DamagedDeflate();
        continue;
      }
      if (symbol.kind == Kind::kEnd) return Ok();
      if (symbol.kind == Kind::kInvalid) return DamagedDeflate();
      const Symbol distance = distances_.Next(reader_);
      if (distance.kind == Kind::kInvalid) return DamagedDeflate();
      reader_.Skip(distance.total_bits);
      if (reader_.overrun()) return DamagedDeflate();
    }
  }

  BitReader reader_;
  PrefixTable literals_;
  PrefixTable distances_;
};

}  // namespace

Result<DeflateLayout> ScanDeflate(std::string_view stream) { return Scanner(stream).Run(); }

}  // namespace ptpkg::archive
