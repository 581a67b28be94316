#include "unit/archive/deflate_streams.h"

#include <cstdlib>
#include <map>

namespace ptpkg::archive::test {
namespace {

constexpr unsigned kEnd = 256;

/// Symbol → bits of its code.
using Lengths = std::map<unsigned, unsigned>;

/// A stream bit by bit; codes begin with their most significant bit.
class BitText {
 public:
  BitText& Put(unsigned value, unsigned count) {
    for (unsigned i = 0; i < count; ++i, ++count_) {
      if (count_ % 8 == 0) text_.push_back('\0');
      const unsigned bit = ((value >> i) & 1U) << (count_ % 8);
      text_.back() = static_cast<char>(static_cast<unsigned char>(text_.back()) | bit);
    }
    return *this;
  }
  BitText& Code(unsigned code, unsigned count) {
    for (unsigned i = count; i-- > 0;) Put((code >> i) & 1U, 1);
    return *this;
  }
  /// RFC 1951, 3.2.2.
  BitText& Symbol(const Lengths& lengths, unsigned wanted) {
    unsigned code = 0;
    for (unsigned bits = 1; bits <= 15; ++bits, code <<= 1U) {
      for (const auto& [symbol, length] : lengths) {
        if (length != bits) continue;
        if (symbol == wanted) return Code(code, bits);
        ++code;
      }
    }
    std::abort();  // this file names a symbol that has no code
  }
  /// The header of a dynamic block; each length from 0 to 15 has a code of 4 bits.
  BitText& Dynamic(bool is_last, const Lengths& literals, unsigned literal_count, const Lengths& distances,
                   unsigned distance_count) {
    Put(is_last ? 1 : 0, 1).Put(2, 2).Put(literal_count - 257, 5).Put(distance_count - 1, 5).Put(15, 4);
    for (int i = 0; i < 19; ++i) Put(i < 3 ? 0 : 4, 3);  // 16, 17 and 18 come first
    PutLengths(literals, literal_count);
    PutLengths(distances, distance_count);
    return *this;
  }
  /// A last block of 'a', `times`, with the fixed codes.
  BitText& FixedA(int times) {
    Put(1, 1).Put(1, 2);
    for (int i = 0; i < times; ++i) Code(0x30 + 'a', 8);
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void PutLengths(const Lengths& lengths, unsigned count) {
    for (unsigned symbol = 0; symbol < count; ++symbol) {
      const auto length = lengths.find(symbol);
      Code(length == lengths.end() ? 0 : length->second, 4);
    }
  }

  std::string text_;
  unsigned count_ = 0;
};

}  // namespace

std::vector<DeflateCase> StreamsOfLibdeflateOnly() {
  const Lengths copying = {{'a', 1}, {kEnd, 2}, {257, 2}};  // 257 copies three bytes
  const Lengths plain = {{'a', 1}, {kEnd, 1}};
  const Lengths one = {{0, 1}};
  BitText far;
  far.FixedA(24'577);
  std::vector<DeflateCase> cases;
  cases.push_back({"fixed length 286", BitText().FixedA(1).Code(0xC6, 8).Code(0, 5).Code(0, 7).text(),
                   std::string(259, 'a')});
  cases.push_back({"fixed distance 30", far.Code(1, 7).Code(30, 5).Put(0, 13).Code(0, 7).text(),
                   std::string(24'580, 'a')});
  cases.push_back({"the other bit of a lone distance",
                   BitText()
                       .Dynamic(true, copying, 258, one, 1)
                       .Symbol(copying, 'a')
                       .Symbol(copying, 257)
                       .Put(1, 1)
                       .Symbol(copying, kEnd)
                       .text(),
                   "aaaa"});
  cases.push_back({"a distance where none has a code",
                   BitText()
                       .Dynamic(true, copying, 258, {}, 1)
                       .Symbol(copying, 'a')
                       .Symbol(copying, 257)
                       .Put(0, 1)
                       .Symbol(copying, kEnd)
                       .text(),
                   "aaaa"});
  cases.push_back({"the other bit of a lone end",
                   BitText().Dynamic(false, {{kEnd, 1}}, 257, one, 1).Put(1, 1).FixedA(1).Code(0, 7).text(),
                   "a"});
  cases.push_back({"287 lengths",
                   BitText().Dynamic(true, plain, 287, one, 1).Symbol(plain, 'a').Symbol(plain, kEnd).text(),
                   "a"});
  cases.push_back({"31 distances",
                   BitText().Dynamic(true, plain, 257, one, 31).Symbol(plain, 'a').Symbol(plain, kEnd).text(),
                   "a"});
  return cases;
}

std::vector<DeflateCase> StreamsWithIncompleteCodes() {
  const Lengths plain = {{'a', 1}, {kEnd, 1}};
  std::vector<DeflateCase> cases;
  for (const Lengths& distances : {Lengths{}, Lengths{{0, 1}}}) {
    cases.push_back(
        {distances.empty() ? "no distance" : "a lone distance",
         BitText().Dynamic(true, plain, 257, distances, 1).Symbol(plain, 'a').Symbol(plain, kEnd).text(),
         "a"});
  }
  cases.push_back(
      {"a lone end",
       BitText().Dynamic(false, {{kEnd, 1}}, 257, {{0, 1}}, 1).Put(0, 1).FixedA(1).Code(0, 7).text(), "a"});
  return cases;
}

DeflateCase StreamWithLongestCodes() {
  Lengths literals = {{kEnd, 15}};
  for (unsigned bits = 1; bits <= 15; ++bits) literals['a' + bits - 1] = bits;
  BitText text;
  text.Dynamic(true, literals, 257, {}, 1);
  DeflateCase made{.what = "codes of 15 bits", .stream = {}};
  for (int i = 0; i < 1000; ++i) {
    const unsigned letter = 'a' + 14 - static_cast<unsigned>(i % 7);
    text.Symbol(literals, letter);
    made.content += static_cast<char>(letter);
  }
  made.stream = text.Symbol(literals, kEnd).text();
  return made;
}

std::vector<DeflateCase> BrokenStreams() {
  const Lengths one = {{0, 1}};
  const Lengths literals = {{'a', 1}, {kEnd, 1}};
  return {
      {"no end of the block", BitText().Dynamic(true, {{'a', 1}, {'b', 1}}, 257, one, 1).Put(0, 64).text()},
      {"over-full", BitText().Dynamic(true, {{'a', 1}, {'b', 1}, {kEnd, 1}}, 257, one, 1).Put(0, 64).text()},
      {"incomplete literals", BitText().Dynamic(true, {{'a', 1}, {kEnd, 3}}, 257, one, 1).Put(0, 64).text()},
      {"incomplete distances", BitText().Dynamic(true, literals, 257, {{0, 2}}, 1).Put(0, 64).text()},
      {"incomplete code lengths", BitText().Put(1, 1).Put(2, 2).Put(0, 14).Put(1, 12).Put(0, 400).text()},
      {"a block type that is none", BitText().Put(7, 3).Put(0, 64).text()},
      {"nothing", ""},
      {"a stored block that ends early", std::string("\x01\x05\x00\xFA\xFF"
                                                     "abcd",
                                                     9)},
      {"only literals of zeros", BitText().Dynamic(true, literals, 257, one, 1).text()},
  };
}

}  // namespace ptpkg::archive::test
