// Reads the structure of deflate streams: bits, prefix codes, block headers. Source: RFC 1951, 3.2.2 to
// 3.2.7.
//
// Prefix codes are looked up in a table of the next few bits. A code that is longer than the table's index
// leads to a canonical search, which compares the code with the first code of each length (3.2.2). Deflate
// packs codes with their first bit lowest, so table indices hold reversed codes.
//
// Invariant: a stream is accepted if and only if zlib inflates it, because pip and Python use zlib. Hence
// zlib's limits of 286 and 30 codes, its rule for incomplete codes, and the required end-of-block code.
// libdeflate takes more. fuzz/fuzz_inflate.cpp compares with zlib.
//
// Behind the end of its input the reader supplies zero bits and counts them. A caller may look ahead freely
// and asks overrun() before it trusts a symbol.

#include "archive/deflate/deflate_walk.h"

#include <algorithm>

namespace ptpkg::archive::deflate {
namespace {

constexpr std::size_t kLoadBytes = 256U << 10U;
constexpr unsigned kMostLiterals = 286;  // zlib's limits; libdeflate takes two more of each
constexpr unsigned kMostDistances = 30;

constexpr Symbol Literal(unsigned symbol) {  // 3.2.5
  if (symbol < kEndOfBlock) return {Kind::kLiteral, symbol, 0};
  if (symbol == kEndOfBlock) return {Kind::kEnd, 0, 0};
  if (symbol >= kMostLiterals) return {};
  if (symbol == 285) return {Kind::kMatch, kMaxMatch, 0};
  const unsigned code = symbol - 257;
  if (code < 8) return {Kind::kMatch, 3 + code, 0};
  const unsigned extra = code / 4 - 1;
  return {Kind::kMatch, 3 + ((4 + code % 4) << extra), extra};
}

constexpr Symbol Distance(unsigned symbol) {
  if (symbol >= kMostDistances) return {};
  if (symbol < 4) return {Kind::kMatch, 1 + symbol, 0};
  const unsigned extra = symbol / 2 - 1;
  return {Kind::kMatch, 1 + ((2 + symbol % 2) << extra), extra};
}

constexpr Symbol CodeLength(unsigned symbol) { return {Kind::kCodeLength, symbol, 0}; }

using SymbolList = std::array<Symbol, kMaxSymbols>;

template <class Describe>
constexpr SymbolList ListSymbols(Describe describe) {
  SymbolList list{};
  for (unsigned symbol = 0; symbol < list.size(); ++symbol) list[symbol] = describe(symbol);
  return list;
}

constexpr std::array<SymbolList, 3> kSymbols = {ListSymbols(Literal), ListSymbols(Distance),
                                                ListSymbols(CodeLength)};

const SymbolList& SymbolsOf(Alphabet alphabet) { return kSymbols[static_cast<std::size_t>(alphabet)]; }

constexpr auto kReversedBytes = [] {
  std::array<std::uint8_t, 256> reversed{};
  for (unsigned value = 0; value < 256; ++value) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      reversed[value] = static_cast<std::uint8_t>(reversed[value] | ((value >> bit) & 1U) << (7 - bit));
    }
  }
  return reversed;
}();

std::size_t Reversed(unsigned code, unsigned length) {
  const unsigned all = (unsigned{kReversedBytes[code & 0xFFU]} << 8U) | kReversedBytes[code >> 8U];
  return all >> (16 - length);
}

/// False for lengths that zlib refuses.
bool ReadLengths(BitReader& reader, const PrefixTable<7>& table, std::span<std::uint8_t> lengths) {
  for (std::size_t i = 0; i < lengths.size();) {
    reader.Refill();
    const Symbol symbol = table.Next(reader.bits());
    if (symbol.kind() == Kind::kInvalid || reader.overrun()) return false;
    reader.Skip(symbol.bits());
    const unsigned value = symbol.value();
    if (value < 16) {
      lengths[i++] = static_cast<std::uint8_t>(value);
      continue;
    }
    if (value == 16 && i == 0) return false;
    const std::uint8_t repeated = value == 16 ? lengths[i - 1] : std::uint8_t{0};
    const std::uint64_t times = value == 16   ? 3 + reader.Take(2)
                                : value == 17 ? 3 + reader.Take(3)
                                              : 11 + reader.Take(7);
    if (times > lengths.size() - i) return false;
    for (std::uint64_t n = 0; n < times; ++n) lengths[i++] = repeated;
  }
  return true;
}

}  // namespace

Error Damaged() { return Error(ErrorCode::kCorrupt, "deflate stream is damaged"); }

BitReader::BitReader(File& file, std::uint64_t offset, std::uint64_t size_bytes, std::uint64_t first_bit)
    : end_offset_(first_bit / 8), total_bytes_(size_bytes), file_(&file), file_offset_(offset) {
  Take(static_cast<unsigned>(first_bit % 8));
}

void BitReader::LoadFromFile() {
  // TakeBytes may give back what the window has taken in: at most 8 bytes.
  const auto before = std::min<std::ptrdiff_t>(8, loaded_.empty() ? 0 : window_.next - loaded_.data());
  std::string loaded(window_.next - before, window_.end);
  const std::size_t rest = loaded.size();
  const std::uint64_t left = total_bytes_ - std::min(total_bytes_, end_offset_);
  const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(kLoadBytes, left));
  loaded.resize(rest + more);
  const auto got =
      file_->ReadAt(file_offset_ + end_offset_, std::as_writable_bytes(std::span(loaded)).subspan(rest));
  if (!got) {
    failure_ = got.error();
  } else if (*got < more) {
    failure_ = Error(ErrorCode::kCorrupt, "the file ends inside of a deflate stream");
  }
  const std::size_t taken = got ? *got : 0;
  loaded.resize(rest + taken);
  if (taken < more || left == more) file_ = nullptr;  // the end
  end_offset_ += taken;
  loaded_ = std::move(loaded);
  window_.next = loaded_.data() + before;
  window_.end = loaded_.data() + loaded_.size();
}

bool BitReader::Load() {
  if (file_ != nullptr) LoadFromFile();
  if (window_.CanRefill(1)) return true;
  while (window_.filled <= 56) {
    if (window_.next < window_.end) {
      window_.bits |= std::uint64_t{static_cast<unsigned char>(*window_.next++)} << window_.filled;
    } else {
      ++zeros_;
    }
    window_.filled += 8;
  }
  return false;
}

std::string_view BitReader::TakeBytes(std::size_t count) {
  const std::uint64_t at = position() / 8;
  // Zeros in front of the end replace bytes that could not be read.
  if (at >= total_bytes_ || failure_ || zeros_ > window_.filled / 8) return {};
  window_.next -= window_.filled / 8 - zeros_;  // the zeros are the last that were taken
  window_.bits = 0;
  window_.filled = 0;
  zeros_ = 0;
  if (window_.next == window_.end && file_ != nullptr) LoadFromFile();
  const auto size = std::min(count, static_cast<std::size_t>(window_.end - window_.next));
  const std::string_view bytes(window_.next, size);
  window_.next += size;
  return bytes;
}

std::optional<std::uint16_t> TakeStoredLength(BitReader& reader) {
  reader.Take(static_cast<unsigned>((8 - reader.position() % 8) % 8));
  const std::uint64_t length = reader.Take(16);
  const std::uint64_t complement = reader.Take(16);
  if ((length ^ complement) != 0xFFFF || reader.overrun()) return std::nullopt;
  return static_cast<std::uint16_t>(length);
}

template <unsigned kTableBits>
bool PrefixTable<kTableBits>::Build(std::span<const std::uint8_t> lengths, Alphabet alphabet) {
  alphabet_ = alphabet;
  count_.fill(0);
  for (const std::uint8_t length : lengths) ++count_[length];
  count_[0] = 0;
  std::array<unsigned, kMaxCodeBits + 1> next{};   // code of the next symbol of each length
  std::array<unsigned, kMaxCodeBits + 1> place{};  // of the next symbol of each length, in sorted_
  unsigned code = 0;
  unsigned total = 0;
  for (unsigned length = 1; length <= kMaxCodeBits; ++length) {
    code = (code + count_[length - 1]) << 1U;
    // More codes of this length than the shorter ones leave room for.
    if (code + count_[length] > (1U << length)) return false;
    next[length] = code;
    place[length] = total;
    first_[length] = static_cast<std::uint16_t>(code);
    place_[length] = static_cast<std::uint16_t>(total);
    total += count_[length];
  }
  // zlib's rule: a code must be complete. Exceptions are a code without symbols, and a single symbol of one
  // bit, which RFC 1951 (3.2.7) describes for distances.
  const bool complete = code + count_[kMaxCodeBits] == (1U << kMaxCodeBits);
  const bool single = total == 1 && count_[1] == 1 && alphabet != Alphabet::kCodeLengths;
  if (!complete && total != 0 && !single) return false;
  // Entries that no code fills would otherwise keep the symbols of the block before.
  if (!complete) table_.fill(Symbol());
  const SymbolList& symbols = SymbolsOf(alphabet);
  for (unsigned symbol = 0; symbol < lengths.size(); ++symbol) {
    const unsigned length = lengths[symbol];
    if (length == 0) continue;
    sorted_[place[length]++] = static_cast<std::uint16_t>(symbol);
    const std::size_t bits = Reversed(next[length]++, length);
    if (length > kTableBits) {
      table_[bits & (table_.size() - 1)] = Symbol(Kind::kLong, 0, 0);
      continue;
    }
    const Symbol entry = symbols[symbol].WithCode(length);
    for (std::size_t at = bits; at < table_.size(); at += std::size_t{1} << length) table_[at] = entry;
  }
  return true;
}

template <unsigned kTableBits>
Symbol PrefixTable<kTableBits>::NextLong(std::uint64_t bits) const {
  auto code = static_cast<unsigned>(Reversed(static_cast<unsigned>(bits & (table_.size() - 1)), kTableBits));
  for (unsigned length = kTableBits + 1; length <= kMaxCodeBits; ++length) {
    code = (code << 1U) | static_cast<unsigned>((bits >> (length - 1)) & 1U);
    const unsigned index = code - first_[length];
    if (index < count_[length]) return SymbolsOf(alphabet_)[sorted_[place_[length] + index]].WithCode(length);
  }
  return {};
}

template class PrefixTable<Codes::kLiteralTableBits>;
template class PrefixTable<9>;
template class PrefixTable<7>;

void Codes::SetFixed() {  // 3.2.6
  if (is_fixed_) return;
  std::array<std::uint8_t, kMaxSymbols> lengths{};
  std::fill(lengths.begin(), lengths.begin() + 144, std::uint8_t{8});
  std::fill(lengths.begin() + 144, lengths.begin() + 256, std::uint8_t{9});
  std::fill(lengths.begin() + 256, lengths.begin() + 280, std::uint8_t{7});
  std::fill(lengths.begin() + 280, lengths.end(), std::uint8_t{8});
  std::array<std::uint8_t, 32> distance_lengths{};
  distance_lengths.fill(5);
  is_fixed_ = literals_.Build(lengths, Alphabet::kLiterals) &&
              distances_.Build(distance_lengths, Alphabet::kDistances);
}

bool Codes::Read(BitReader& reader) {  // 3.2.7
  static constexpr std::array<std::uint8_t, 19> kOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                          11, 4,  12, 3, 13, 2, 14, 1, 15};
  is_fixed_ = false;
  const auto literal_count = reader.Take(5) + 257;
  const auto distance_count = reader.Take(5) + 1;
  const auto order_count = reader.Take(4) + 4;
  if (literal_count > kMostLiterals || distance_count > kMostDistances) return false;
  std::array<std::uint8_t, 19> code_lengths{};
  for (std::size_t i = 0; i < order_count; ++i) {
    code_lengths[kOrder[i]] = static_cast<std::uint8_t>(reader.Take(3));
  }
  std::array<std::uint8_t, kMostLiterals + kMostDistances> lengths{};
  const auto all = std::span(lengths).first(literal_count + distance_count);
  return code_lengths_.Build(code_lengths, Alphabet::kCodeLengths) &&
         ReadLengths(reader, code_lengths_, all) && lengths[kEndOfBlock] != 0 &&
         literals_.Build(all.first(literal_count), Alphabet::kLiterals) &&
         distances_.Build(all.subspan(literal_count), Alphabet::kDistances);
}

}  // namespace ptpkg::archive::deflate
