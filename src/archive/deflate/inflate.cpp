// Inflates a member of known size, piece by piece, with the memory of one window and one piece.
//
// Idea: one loop without checks runs while input and room are far from their ends. It decodes up to three
// literals and a match for each refill. One careful step at a time handles the rest. Measured on torch's
// two largest libraries: 1.35 times the time of libdeflate, which needs the whole content in memory
// (docs/decisions/0003-own-zip-writer.md).
//
// Invariants: it accepts exactly the streams that zlib inflates to their end (fuzz/fuzz_inflate.cpp). Room
// for kStepRoomBytes is left before every step, because CopyMatch may write beyond the end of a match. The
// last 32 KiB of content stay in front of the fresh content, because matches reach back so far.

#include "archive/deflate/inflate.h"

#include <algorithm>
#include <cstring>

#include "archive/deflate/deflate_walk.h"
#include "support/digest/scratch_buffer.h"

namespace ptpkg::archive {
namespace {

using deflate::BitWindow;
using deflate::Kind;
using deflate::Symbol;

// Small enough for the second-level cache, where the reader of the content still finds it.
constexpr std::size_t kFreshContentBytes = 256U << 10U;
// Three literals from the table take 33 bits at most, since a longer code ends the row, and a length takes
// 20 more. One refill gives 56.
constexpr int kLiteralsPerStep = 3;
// Maximum output of one step.
constexpr std::ptrdiff_t kStepRoomBytes = kLiteralsPerStep + deflate::kMaxMatch + deflate::kCopyOverBytes;

class InflateSource final : public ByteSource {
 public:
  InflateSource(File& file, const DeflateRange& range)
      : reader_(file, range.offset, range.stored_bytes), left_(range.size_bytes) {}

  Result<std::size_t> Read(MutableBytes buffer) override {
    if (fresh_ == to_) PTPKG_CHECK(Fill());
    const std::size_t got = std::min(buffer.size(), static_cast<std::size_t>(to_ - fresh_));
    // The declared size is a limit, not a hint: a longer stream is damaged, a shorter one ends early.
    if (got > left_) return deflate::Damaged();
    if (got == 0 && left_ != 0 && !buffer.empty()) {
      return Error(ErrorCode::kCorrupt, "deflate stream ends early");
    }
    std::memcpy(buffer.data(), fresh_, got);
    fresh_ += got;
    left_ -= got;
    return got;
  }

 private:
  enum class Phase : std::uint8_t { kHeader, kStored, kSymbols, kDone };

  /// Makes a piece of content, unless there is none left. Errors: kCorrupt for a stream that zlib refuses.
  Result<void> Fill() {
    const auto kept = std::min<std::size_t>(static_cast<std::size_t>(to_ - begin_), deflate::kWindowBytes);
    std::memmove(begin_, to_ - kept, kept);
    to_ = begin_ + kept;
    fresh_ = to_;
    bool is_sound = true;
    while (is_sound && phase_ != Phase::kDone && HasRoom()) is_sound = Advance() && !reader_.overrun();
    if (reader_.failure().has_value()) return *reader_.failure();
    return is_sound ? Ok() : deflate::Damaged();
  }
  [[nodiscard]] bool HasRoom() const { return end_ - to_ >= kStepRoomBytes; }

  /// Reads a header, or content up to the end of the room, of the loaded input, or of the block.
  bool Advance() {
    switch (phase_) {
      case Phase::kHeader:
        return Header();
      case Phase::kStored:
        return Stored();
      case Phase::kSymbols:
        return Symbols();
      case Phase::kDone:
        break;
    }
    return true;
  }

  bool Header() {
    // The end shows only here: content of the last block may still be in the buffer.
    if (was_last_) {
      phase_ = Phase::kDone;
      return true;
    }
    was_last_ = reader_.Take(1) != 0;
    switch (reader_.Take(2)) {
      case 0: {
        const std::optional<std::uint16_t> length = deflate::TakeStoredLength(reader_);
        stored_left_ = length.value_or(0);
        phase_ = Phase::kStored;
        return length.has_value();
      }
      case 1:
        codes_.SetFixed();
        phase_ = Phase::kSymbols;
        return true;
      case 2:
        phase_ = Phase::kSymbols;
        return codes_.Read(reader_);
      default:
        return false;
    }
  }

  bool Stored() {
    if (stored_left_ == 0) {
      phase_ = Phase::kHeader;
      return true;
    }
    const std::string_view bytes =
        reader_.TakeBytes(std::min(stored_left_, static_cast<std::size_t>(end_ - to_)));
    if (bytes.empty()) return false;
    std::memcpy(to_, bytes.data(), bytes.size());
    to_ += bytes.size();
    stored_left_ -= bytes.size();
    return true;
  }

  bool Symbols() {
    Step step = FastSteps();
    if (step == Step::kMore && HasRoom()) step = CarefulStep();
    if (step == Step::kEnd) phase_ = Phase::kHeader;
    return step != Step::kDamaged;
  }

  enum class Step : std::uint8_t { kMore, kEnd, kDamaged };

  /// Runs while neither the room nor the loaded input is near its end.
  Step FastSteps() {
    BitWindow bits = reader_.window();
    std::byte* to = to_;
    Step step = Step::kMore;
    const auto& literals = codes_.literals().table();
    const auto& distances = codes_.distances().table();
    while (bits.CanRefill(2) && end_ - to >= kStepRoomBytes) {
      bits.Refill();
      Symbol symbol = literals[bits.bits & (literals.size() - 1)];
      for (int i = 0; i < kLiteralsPerStep && symbol.is_literal(); ++i) {
        bits.Skip(symbol.bits());
        *to++ = static_cast<std::byte>(symbol.value());
        symbol = literals[bits.bits & (literals.size() - 1)];
      }
      if (symbol.is_literal()) continue;
      if (symbol.kind() == Kind::kLong) symbol = codes_.literals().NextLong(bits.bits);
      const unsigned length = symbol.Value(bits.bits);
      bits.Skip(symbol.bits());
      if (symbol.kind() != Kind::kMatch) {
        if (symbol.is_literal()) {
          *to++ = static_cast<std::byte>(symbol.value());
          continue;
        }
        step = symbol.kind() == Kind::kEnd ? Step::kEnd : Step::kDamaged;
        break;
      }
      bits.Refill();
      Symbol distance = distances[bits.bits & (distances.size() - 1)];
      if (distance.kind() == Kind::kLong) distance = codes_.distances().NextLong(bits.bits);
      const unsigned back = distance.Value(bits.bits);
      bits.Skip(distance.bits());
      if (distance.kind() != Kind::kMatch || back > to - begin_) {
        step = Step::kDamaged;
        break;
      }
      deflate::CopyMatch(to, back, length);
      to += length;
    }
    reader_.window() = bits;
    to_ = to;
    return step;
  }

  /// One symbol. REQUIRES: HasRoom().
  Step CarefulStep() {
    reader_.Refill();
    const Symbol symbol = codes_.literals().Next(reader_.bits());
    const unsigned length = symbol.Value(reader_.bits());
    reader_.Skip(symbol.bits());
    if (reader_.overrun()) return Step::kDamaged;
    if (symbol.kind() == Kind::kEnd) return Step::kEnd;
    if (symbol.is_literal()) {
      *to_++ = static_cast<std::byte>(symbol.value());
      return Step::kMore;
    }
    if (symbol.kind() != Kind::kMatch) return Step::kDamaged;
    reader_.Refill();
    const Symbol distance = codes_.distances().Next(reader_.bits());
    const unsigned back = distance.Value(reader_.bits());
    reader_.Skip(distance.bits());
    if (distance.kind() != Kind::kMatch || back > to_ - begin_) return Step::kDamaged;
    deflate::CopyMatch(to_, back, length);
    to_ += length;
    return Step::kMore;
  }

  deflate::BitReader reader_;
  deflate::Codes codes_;
  std::uint64_t left_;  // of the content that was not read
  Phase phase_ = Phase::kHeader;
  bool was_last_ = false;        // the block that was begun last
  std::size_t stored_left_ = 0;  // of a stored block
  ScratchBuffer buffer_ = ScratchBuffer(deflate::kWindowBytes + kFreshContentBytes + kStepRoomBytes);
  std::byte* begin_ = buffer_.bytes().data();
  std::byte* end_ = begin_ + buffer_.bytes().size();
  std::byte* fresh_ = begin_;  // everything before it was read
  std::byte* to_ = begin_;     // where the next content goes
};

}  // namespace

std::unique_ptr<ByteSource> MakeInflateSource(File& file, const DeflateRange& range) {
  return std::make_unique<InflateSource>(file, range);
}

}  // namespace ptpkg::archive
