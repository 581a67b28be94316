#include "archive/deflate_scan.h"

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "archive/deflate_walk.h"

// Beside deflate::Walker, which hands out every symbol, this loop only counts bits: one look into a table
// passes several literals, or a length with its extra bits. Of torch's two largest libraries that takes half
// the time.

namespace ptpkg::archive {
namespace {

constexpr unsigned kLiteralTableBits = 11;
constexpr unsigned kDistanceTableBits = 9;
constexpr unsigned kCodeLengthTableBits = 7;
constexpr unsigned kMaxLiterals = 286;  // zlib's limits; libdeflate takes two more of each
constexpr unsigned kMaxDistances = 30;

/// The bits that come next. Past the end they are zeros.
class ScanBits {
 public:
  explicit ScanBits(std::string_view stream) : stream_(stream) {}

  /// At least 56 bits are in reach afterwards. False when the end is far behind.
  bool Refill() {
    if (next_ + 8 > stream_.size()) return RefillAtEnd();
    std::uint64_t word = 0;
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(&word, stream_.data() + next_, 8);
    bits_ |= word << filled_;
    next_ += (63 - filled_) / 8;
    filled_ |= 56U;
    return true;
  }
  [[nodiscard]] std::uint64_t bits() const { return bits_; }
  void Skip(unsigned count) {
    bits_ >>= count;
    filled_ -= count;
  }
  /// REQUIRES: count bits are in reach.
  unsigned Take(unsigned count) {
    const auto value = static_cast<unsigned>(bits_ & ((std::uint64_t{1} << count) - 1));
    Skip(count);
    return value;
  }
  [[nodiscard]] std::uint64_t position() const { return next_ * 8 - filled_; }
  [[nodiscard]] bool overrun() const { return position() > stream_.size() * 8; }
  /// REQUIRES: at a byte boundary.
  void SkipBytes(std::size_t count) {
    next_ = position() / 8 + count;
    bits_ = 0;
    filled_ = 0;
  }

 private:
  bool RefillAtEnd() {
    while (filled_ <= 56) {
      if (next_ < stream_.size()) {
        bits_ |= std::uint64_t{static_cast<unsigned char>(stream_[next_])} << filled_;
      }
      ++next_;
      filled_ += 8;
    }
    return next_ <= stream_.size() + 16;
  }

  std::string_view stream_;
  std::size_t next_ = 0;
  std::uint64_t bits_ = 0;
  unsigned filled_ = 0;
};

enum class Step : std::uint8_t { kInvalid, kLiterals, kEnd, kMatch, kLong };

struct CodeEntry {
  std::uint8_t bits = 0;  ///< That it takes, extra bits included.
  Step step = Step::kInvalid;
  std::uint16_t symbol = 0;  ///< Of a table that was not joined.
};

CodeEntry OfLiteral(unsigned symbol, unsigned code_bits) {
  const auto bits = static_cast<std::uint8_t>(code_bits);
  if (symbol < deflate::kEndOfBlock) return {.bits = bits, .step = Step::kLiterals};
  if (symbol == deflate::kEndOfBlock) return {.bits = bits, .step = Step::kEnd};
  if (symbol >= kMaxLiterals) return {};
  const unsigned extra = symbol < 265 || symbol == 285 ? 0 : (symbol - 261) / 4;
  return {.bits = static_cast<std::uint8_t>(code_bits + extra), .step = Step::kMatch};
}

CodeEntry OfDistance(unsigned symbol, unsigned code_bits) {
  if (symbol >= kMaxDistances) return {};
  const unsigned extra = symbol < 4 ? 0 : symbol / 2 - 1;
  return {.bits = static_cast<std::uint8_t>(code_bits + extra), .step = Step::kMatch};
}

CodeEntry OfCodeLength(unsigned symbol, unsigned code_bits) {
  return {.bits = static_cast<std::uint8_t>(code_bits),
          .step = Step::kLiterals,
          .symbol = static_cast<std::uint16_t>(symbol)};
}

/// A prefix code: a table indexed by the next bits, and the canonical rule for codes that are longer.
template <unsigned kBits, CodeEntry (*kDescribe)(unsigned symbol, unsigned code_bits)>
class ScanTable {
 public:
  /// False for a code that zlib refuses (inftrees.c): over-full, or incomplete and not just one code of one
  /// bit. None at all is one that no symbol may use.
  bool Build(std::span<const std::uint8_t> lengths) {
    count_.fill(0);
    for (const std::uint8_t length : lengths) ++count_[length];
    count_[0] = 0;
    std::array<unsigned, deflate::kMaxCodeBits + 1> next{};   // code of the next symbol of each length
    std::array<unsigned, deflate::kMaxCodeBits + 1> place{};  // of the next symbol of each length, in sorted_
    unsigned total = 0;
    unsigned code = 0;
    for (unsigned length = 1; length <= deflate::kMaxCodeBits; ++length) {
      code = (code + count_[length - 1]) << 1U;
      next[length] = code;
      place[length] = total;
      total += count_[length];
      if (code + count_[length] > (1U << length)) return false;
    }
    const bool complete = code + count_[deflate::kMaxCodeBits] == (1U << deflate::kMaxCodeBits);
    if (!complete && total != 0 && (total != 1 || count_[1] != 1)) return false;
    sorted_.resize(total);
    if (!complete) table_.fill(CodeEntry{});
    for (unsigned symbol = 0; symbol < lengths.size(); ++symbol) {
      const unsigned length = lengths[symbol];
      if (length == 0) continue;
      sorted_[place[length]++] = static_cast<std::uint16_t>(symbol);
      Fill(symbol, length, next[length]++);
    }
    return true;
  }

  /// Where more literals follow in the same bits, one entry passes all of them.
  void JoinLiterals() {
    const auto single = table_;
    for (std::size_t at = 0; at < table_.size(); ++at) {
      if (single[at].step != Step::kLiterals) continue;
      unsigned used = single[at].bits;
      for (CodeEntry more = single[at >> used]; more.step == Step::kLiterals && used + more.bits <= kBits;
           more = single[at >> used]) {
        used += more.bits;
      }
      table_[at].bits = static_cast<std::uint8_t>(used);
    }
  }

  [[nodiscard]] CodeEntry Next(std::uint64_t bits) const {
    const CodeEntry entry = table_[bits & ((1U << kBits) - 1)];
    return entry.step == Step::kLong ? NextLong(bits) : entry;
  }

 private:
  void Fill(unsigned symbol, unsigned length, unsigned code) {
    std::size_t bits = 0;
    for (unsigned i = 0; i < length; ++i) bits |= std::size_t{(code >> i) & 1U} << (length - 1 - i);
    if (length > kBits) {
      table_[bits & ((1U << kBits) - 1)] = {.step = Step::kLong};
      return;
    }
    const CodeEntry entry = kDescribe(symbol, length);
    for (std::size_t at = bits; at < table_.size(); at += std::size_t{1} << length) table_[at] = entry;
  }

  [[nodiscard]] CodeEntry NextLong(std::uint64_t bits) const {
    unsigned code = 0;
    unsigned first = 0;
    unsigned index = 0;
    for (unsigned length = 1; length <= deflate::kMaxCodeBits; ++length) {
      code = (code << 1U) | static_cast<unsigned>((bits >> (length - 1)) & 1U);
      first <<= 1U;
      if (code - first < count_[length]) return kDescribe(sorted_[index + code - first], length);
      index += count_[length];
      first += count_[length];
    }
    return {};
  }

  std::array<CodeEntry, std::size_t{1} << kBits> table_;
  std::array<std::uint16_t, deflate::kMaxCodeBits + 1> count_{};  // of the codes of each length
  std::vector<std::uint16_t> sorted_;                             // symbols by code
};

/// The member functions are false for what zlib refuses.
class Scanner {
 public:
  explicit Scanner(std::string_view stream) : bits_(stream) {}

  Result<DeflateLayout> Run() {
    while (true) {
      const std::uint64_t begin = bits_.position();
      bits_.Refill();
      const bool is_last = bits_.Take(1) != 0;
      if (!Block(bits_.Take(2)) || bits_.overrun()) return deflate::Damaged();
      if (is_last) return DeflateLayout{.last_block_bit = begin, .end_bit = bits_.position()};
    }
  }

 private:
  bool Block(unsigned type) {
    switch (type) {
      case 0:
        return Stored();
      case 1:
        return SetFixed() && Symbols();
      case 2:
        return ReadCodes() && Symbols();
      default:
        return false;
    }
  }

  bool Stored() {
    bits_.Skip(static_cast<unsigned>((8 - bits_.position() % 8) % 8));
    bits_.Refill();
    const unsigned length = bits_.Take(16);
    if ((length ^ bits_.Take(16)) != 0xFFFF || bits_.overrun()) return false;
    bits_.SkipBytes(length);
    return true;
  }

  bool SetFixed() {  // 3.2.6
    if (is_fixed_) return true;
    std::array<std::uint8_t, 288> lengths{};
    std::fill(lengths.begin(), lengths.begin() + 144, std::uint8_t{8});
    std::fill(lengths.begin() + 144, lengths.begin() + 256, std::uint8_t{9});
    std::fill(lengths.begin() + 256, lengths.begin() + 280, std::uint8_t{7});
    std::fill(lengths.begin() + 280, lengths.end(), std::uint8_t{8});
    std::array<std::uint8_t, 32> distance_lengths{};
    distance_lengths.fill(5);
    is_fixed_ = true;
    return SetCodes(lengths, distance_lengths);
  }

  bool SetCodes(std::span<const std::uint8_t> literals, std::span<const std::uint8_t> distances) {
    if (!literals_.Build(literals) || !distances_.Build(distances)) return false;
    literals_.JoinLiterals();
    return true;
  }

  bool ReadCodes() {  // 3.2.7
    static constexpr std::array<std::uint8_t, 19> kOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                            11, 4,  12, 3, 13, 2, 14, 1, 15};
    is_fixed_ = false;
    const unsigned literal_count = bits_.Take(5) + 257;
    const unsigned distance_count = bits_.Take(5) + 1;
    const unsigned order_count = bits_.Take(4) + 4;
    if (literal_count > kMaxLiterals || distance_count > kMaxDistances) return false;
    std::array<std::uint8_t, 19> code_lengths{};
    for (unsigned i = 0; i < order_count; ++i) {
      bits_.Refill();
      code_lengths[kOrder[i]] = static_cast<std::uint8_t>(bits_.Take(3));
    }
    std::array<std::uint8_t, kMaxLiterals + kMaxDistances> lengths{};
    const auto all = std::span(lengths).first(literal_count + distance_count);
    if (!code_lengths_.Build(code_lengths) || !ReadLengths(all)) return false;
    return lengths[deflate::kEndOfBlock] != 0 &&
           SetCodes(all.first(literal_count), all.subspan(literal_count, distance_count));
  }

  bool ReadLengths(std::span<std::uint8_t> lengths) {
    for (std::size_t i = 0; i < lengths.size();) {
      bits_.Refill();
      const CodeEntry entry = code_lengths_.Next(bits_.bits());
      if (entry.step == Step::kInvalid || bits_.overrun()) return false;
      bits_.Skip(entry.bits);
      if (entry.symbol < 16) {
        lengths[i++] = static_cast<std::uint8_t>(entry.symbol);
        continue;
      }
      if (entry.symbol == 16 && i == 0) return false;
      const std::uint8_t repeated = entry.symbol == 16 ? lengths[i - 1] : std::uint8_t{0};
      const unsigned times = entry.symbol == 16   ? 3 + bits_.Take(2)
                             : entry.symbol == 17 ? 3 + bits_.Take(3)
                                                  : 11 + bits_.Take(7);
      if (times > lengths.size() - i) return false;
      for (unsigned n = 0; n < times; ++n) lengths[i++] = repeated;
    }
    return true;
  }

  bool Symbols() {
    ScanBits bits = bits_;  // in registers
    while (true) {
      if (!bits.Refill()) return false;
      // 56 bits: literals take 15 at most, three times, and a length 20; a distance 28 more.
      CodeEntry entry = literals_.Next(bits.bits());
      for (int more = 2; entry.step == Step::kLiterals && more > 0; --more) {
        bits.Skip(entry.bits);
        entry = literals_.Next(bits.bits());
      }
      bits.Skip(entry.bits);
      if (entry.step == Step::kLiterals) continue;
      if (entry.step == Step::kEnd) {
        bits_ = bits;
        return true;
      }
      if (entry.step != Step::kMatch) return false;
      bits.Refill();
      const CodeEntry distance = distances_.Next(bits.bits());
      if (distance.step != Step::kMatch) return false;
      bits.Skip(distance.bits);
    }
  }

  ScanBits bits_;
  ScanTable<kLiteralTableBits, OfLiteral> literals_;
  ScanTable<kDistanceTableBits, OfDistance> distances_;
  ScanTable<kCodeLengthTableBits, OfCodeLength> code_lengths_;
  bool is_fixed_ = false;
};

}  // namespace

Result<DeflateLayout> ScanDeflate(std::string_view stream) { return Scanner(stream).Run(); }

}  // namespace ptpkg::archive
