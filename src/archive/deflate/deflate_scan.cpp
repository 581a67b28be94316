// Finds where the last block of a deflate stream begins and where the stream ends, without writing output.
//
// deflate::Walker hands out every symbol. This loop only counts bits, so one table entry can pass several
// literals, or a length with its extra bits. It takes half of the walker's time on torch's two largest
// libraries.
//
// Invariant: the walker's tables judge codes and block headers here too, so zlib's rules hold. Distances
// are not compared with the content, since there is none. Source: RFC 1951, sections 3.2.3 to 3.2.7.

#include "archive/deflate/deflate_scan.h"

#include "archive/deflate/deflate_walk.h"

namespace ptpkg::archive {
namespace {

using deflate::Kind;
using deflate::Symbol;

class Scanner {
 public:
  explicit Scanner(std::string_view stream) : reader_(stream) {}

  Result<DeflateLayout> Run() {
    while (true) {
      const std::uint64_t begin = reader_.position();
      const bool is_last = reader_.Take(1) != 0;
      if (!Block(reader_.Take(2)) || reader_.overrun()) return deflate::Damaged();
      if (is_last) return DeflateLayout{.last_block_bit = begin, .end_bit = reader_.position()};
    }
  }

 private:
  /// False for a block that zlib refuses.
  bool Block(std::uint64_t type) {
    switch (type) {
      case 0: {
        const std::optional<std::uint16_t> length = deflate::TakeStoredLength(reader_);
        return length && reader_.TakeBytes(*length).size() == *length;
      }
      case 1:
        codes_.SetFixed();
        return Symbols();
      case 2:
        return codes_.Read(reader_) && Symbols();
      default:
        return false;
    }
  }

  /// The literals' table, but where more of them follow in the same bits one entry passes all.
  void JoinLiterals() {
    const auto& single = codes_.literals().table();
    for (std::size_t at = 0; at < single.size(); ++at) {
      joined_[at] = single[at];
      if (!single[at].is_literal()) continue;
      // The bits of `at` above the joined codes are known only up to the table's width: a code that reaches
      // beyond must not be joined.
      for (Symbol more = single[at >> joined_[at].bits()];
           more.is_literal() && joined_[at].bits() + more.bits() <= kTableBits;
           more = single[at >> joined_[at].bits()]) {
        joined_[at] = joined_[at].JoinedWith(more);
      }
    }
  }

  [[nodiscard]] Symbol Next(std::uint64_t bits) const {
    const Symbol symbol = joined_[bits & (joined_.size() - 1)];
    return symbol.kind() == Kind::kLong ? codes_.literals().NextLong(bits) : symbol;
  }

  bool Symbols() {
    JoinLiterals();
    while (true) {
      deflate::BitWindow bits = reader_.window();
      while (bits.CanRefill(2)) {
        bits.Refill();
        // A refill gives at least 56 bits. Two literals and a length take 50 at most, a distance takes 28
        // of the next refill.
        Symbol symbol = Next(bits.bits);
        for (int more = 2; symbol.is_literal() && more > 0; --more) {
          bits.Skip(symbol.bits());
          symbol = Next(bits.bits);
        }
        bits.Skip(symbol.bits());
        if (symbol.is_literal()) continue;
        if (symbol.kind() != Kind::kMatch) {
          reader_.window() = bits;
          return symbol.kind() == Kind::kEnd;
        }
        bits.Refill();
        const Symbol distance = codes_.distances().Next(bits.bits);
        if (distance.kind() != Kind::kMatch) return false;
        bits.Skip(distance.bits());
      }
      reader_.window() = bits;
      reader_.Refill();  // near the end, one by one
      const Symbol symbol = codes_.literals().Next(reader_.bits());
      reader_.Skip(symbol.bits());
      if (reader_.overrun()) return false;
      if (symbol.is_literal()) continue;
      if (symbol.kind() != Kind::kMatch) return symbol.kind() == Kind::kEnd;
      reader_.Refill();
      const Symbol distance = codes_.distances().Next(reader_.bits());
      if (distance.kind() != Kind::kMatch) return false;
      reader_.Skip(distance.bits());
    }
  }

  static constexpr unsigned kTableBits = deflate::Codes::kLiteralTableBits;
  deflate::BitReader reader_;
  deflate::Codes codes_;
  deflate::Codes::Literals::Table joined_;
};

}  // namespace

Result<DeflateLayout> ScanDeflate(std::string_view stream) { return Scanner(stream).Run(); }

}  // namespace ptpkg::archive
