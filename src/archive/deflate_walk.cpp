#include "archive/deflate_walk.h"

#include <algorithm>

namespace ptpkg::archive::deflate {
namespace {

constexpr std::size_t kLoadBytes = 256U << 10U;
constexpr unsigned kLiteralSymbols = 288;
constexpr unsigned kDistanceSymbols = 32;

std::size_t Reversed(unsigned code, unsigned length) {
  std::size_t reversed = 0;
  for (unsigned i = 0; i < length; ++i) reversed |= std::size_t{(code >> i) & 1U} << (length - 1 - i);
  return reversed;
}

Result<void> ReadLengths(BitReader& reader, const PrefixTable& table, std::span<std::uint8_t> lengths) {
  for (std::size_t i = 0; i < lengths.size();) {
    reader.Refill();
    const Symbol symbol = table.Next(reader);
    if (symbol.kind == Kind::kInvalid || reader.overrun()) return Damaged();
    reader.Skip(symbol.code_bits);
    if (symbol.value < 16) {
      lengths[i++] = static_cast<std::uint8_t>(symbol.value);
      continue;
    }
    if (symbol.value == 16 && i == 0) return Damaged();
    const std::uint8_t repeated = symbol.value == 16 ? lengths[i - 1] : std::uint8_t{0};
    const std::uint64_t times = symbol.value == 16   ? 3 + reader.Take(2)
                                : symbol.value == 17 ? 3 + reader.Take(3)
                                                     : 11 + reader.Take(7);
    if (times > lengths.size() - i) return Damaged();
    for (std::uint64_t n = 0; n < times; ++n) lengths[i++] = repeated;
  }
  return Ok();
}

}  // namespace

Error Damaged() { return Error(ErrorCode::kCorrupt, "deflate stream is damaged"); }

BitReader::BitReader(File& file, std::uint64_t offset, std::uint64_t size_bytes, std::uint64_t first_bit)
    : base_(first_bit / 8), total_bytes_(size_bytes), file_(&file), file_offset_(offset) {
  Take(static_cast<unsigned>(first_bit % 8));
}

void BitReader::LoadFromFile() {
  const std::string_view rest = view_.substr(std::min(next_, view_.size()));
  const std::uint64_t here = base_ + next_;
  std::string loaded(rest);
  const std::uint64_t left = total_bytes_ - std::min(total_bytes_, here + rest.size());
  const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(kLoadBytes, left));
  loaded.resize(rest.size() + more);
  const auto got = file_->ReadAt(file_offset_ + here + rest.size(),
                                 std::as_writable_bytes(std::span(loaded)).subspan(rest.size()));
  if (!got) {
    failure_ = got.error();
  } else if (*got < more) {
    failure_ = Error(ErrorCode::kCorrupt, "the file ends inside of a deflate stream");
  }
  loaded.resize(rest.size() + (got ? *got : 0));
  if (loaded.size() < rest.size() + more || left == more) file_ = nullptr;  // the end
  base_ = here;
  next_ = 0;
  loaded_ = std::move(loaded);
  view_ = loaded_;
}

bool BitReader::Load() {
  if (file_ != nullptr) LoadFromFile();
  if (next_ + 8 <= view_.size()) return true;
  while (filled_ <= 56) {
    if (next_ < view_.size()) {
      buffer_ |= std::uint64_t{static_cast<unsigned char>(view_[next_])} << filled_;
    }
    ++next_;
    filled_ += 8;
  }
  return false;
}

std::string_view BitReader::TakeBytes(std::size_t count) {
  const std::uint64_t at = position() / 8;
  if (at >= total_bytes_) return {};
  // Bits that were taken in are given back; they are in view_ unless it was loaded since.
  if (at < base_) {
    // At most 8 bytes, which LoadFromFile dropped: out of the buffer.
    loaded_.insert(0, reinterpret_cast<const char*>(&buffer_), base_ - at);
    view_ = loaded_;
    base_ = at;
  }
  next_ = at - base_;
  buffer_ = 0;
  filled_ = 0;
  if (next_ >= view_.size() && file_ != nullptr) LoadFromFile();
  if (next_ >= view_.size()) return {};
  const std::string_view bytes = view_.substr(next_, count);
  next_ += bytes.size();
  return bytes;
}

Symbol PrefixTable::Describe(unsigned symbol, Alphabet alphabet) {
  const auto make = [](Kind kind, unsigned value, unsigned extra) {
    return Symbol{.kind = kind,
                  .extra_bits = static_cast<std::uint8_t>(extra),
                  .value = static_cast<std::uint16_t>(value)};
  };
  switch (alphabet) {
    case Alphabet::kCodeLengths:
      return make(Kind::kCodeLength, symbol, 0);
    case Alphabet::kLiterals: {  // 3.2.5
      if (symbol < kEndOfBlock) return make(Kind::kLiteral, symbol, 0);
      if (symbol == kEndOfBlock) return make(Kind::kEnd, 0, 0);
      if (symbol > 285) return {};
      if (symbol == 285) return make(Kind::kLength, kMaxMatch, 0);
      const unsigned code = symbol - 257;
      if (code < 8) return make(Kind::kLength, 3 + code, 0);
      const unsigned extra = code / 4 - 1;
      return make(Kind::kLength, 3 + ((4 + code % 4) << extra), extra);
    }
    case Alphabet::kDistances:
      break;
  }
  if (symbol > 29) return {};
  if (symbol < 4) return make(Kind::kDistance, 1 + symbol, 0);
  const unsigned extra = symbol / 2 - 1;
  return make(Kind::kDistance, 1 + ((2 + symbol % 2) << extra), extra);
}

Result<void> PrefixTable::Build(std::span<const std::uint8_t> lengths, Alphabet alphabet) {
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
    next[length] = code;
    place[length] = total;
    total += count_[length];
    if (code + count_[length] > (1U << length)) return Damaged();
  }
  sorted_.assign(total, 0);
  table_.fill(Symbol{});
  for (unsigned symbol = 0; symbol < lengths.size(); ++symbol) {
    const unsigned length = lengths[symbol];
    if (length == 0) continue;
    sorted_[place[length]++] = static_cast<std::uint16_t>(symbol);
    const std::size_t bits = Reversed(next[length]++, length);
    if (length > kTableBits) {
      table_[bits & ((1U << kTableBits) - 1)] = {.kind = Kind::kLong};
      continue;
    }
    Symbol entry = Describe(symbol, alphabet);
    entry.code_bits = static_cast<std::uint8_t>(length);
    for (std::size_t at = bits; at < table_.size(); at += std::size_t{1} << length) table_[at] = entry;
  }
  return Ok();
}

Symbol PrefixTable::NextLong(const BitReader& reader) const {
  const std::uint64_t bits = reader.Peek(kMaxCodeBits);
  unsigned code = 0;
  unsigned first = 0;
  unsigned index = 0;
  for (unsigned length = 1; length <= kMaxCodeBits; ++length) {
    code = (code << 1U) | static_cast<unsigned>((bits >> (length - 1)) & 1U);
    first <<= 1U;
    if (code - first < count_[length]) {
      Symbol symbol = Describe(sorted_[index + code - first], alphabet_);
      symbol.code_bits = static_cast<std::uint8_t>(length);
      return symbol;
    }
    index += count_[length];
    first += count_[length];
  }
  return {};
}

Result<void> Codes::SetFixed() {  // 3.2.6
  std::array<std::uint8_t, kLiteralSymbols> lengths{};
  std::fill(lengths.begin(), lengths.begin() + 144, std::uint8_t{8});
  std::fill(lengths.begin() + 144, lengths.begin() + 256, std::uint8_t{9});
  std::fill(lengths.begin() + 256, lengths.begin() + 280, std::uint8_t{7});
  std::fill(lengths.begin() + 280, lengths.end(), std::uint8_t{8});
  std::array<std::uint8_t, kDistanceSymbols> distance_lengths{};
  distance_lengths.fill(5);
  PTPKG_CHECK(literals.Build(lengths, PrefixTable::Alphabet::kLiterals));
  return distances.Build(distance_lengths, PrefixTable::Alphabet::kDistances);
}

Result<void> Codes::Read(BitReader& reader) {  // 3.2.7
  static constexpr std::array<std::uint8_t, 19> kOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                          11, 4,  12, 3, 13, 2, 14, 1, 15};
  const auto literal_count = reader.Take(5) + 257;
  const auto distance_count = reader.Take(5) + 1;
  const auto order_count = reader.Take(4) + 4;
  std::array<std::uint8_t, 19> code_lengths{};
  for (std::size_t i = 0; i < order_count; ++i) {
    code_lengths[kOrder[i]] = static_cast<std::uint8_t>(reader.Take(3));
  }
  // Its table is built first, in the place of one that is built last.
  PTPKG_CHECK(distances.Build(code_lengths, PrefixTable::Alphabet::kCodeLengths));
  std::array<std::uint8_t, kLiteralSymbols + kDistanceSymbols> lengths{};
  if (literal_count > kLiteralSymbols || distance_count > kDistanceSymbols) return Damaged();
  PTPKG_CHECK(ReadLengths(reader, distances, std::span(lengths).first(literal_count + distance_count)));
  PTPKG_CHECK(literals.Build(std::span(lengths).first(literal_count), PrefixTable::Alphabet::kLiterals));
  return distances.Build(std::span(lengths).subspan(literal_count, distance_count),
                         PrefixTable::Alphabet::kDistances);
}

}  // namespace ptpkg::archive::deflate
