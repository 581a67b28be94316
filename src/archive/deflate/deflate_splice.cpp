// Idea: the old stream is inflated once, block by block. A block is copied bit for bit unless its content
// is edited or one of its matches copies bytes that an edit changes ("tainted"). A tainted block is
// inflated a second time from the 32 KiB before it, edited, and deflated again in pieces of limited size.
//
// Invariants:
// - Copied blocks stay valid. Deflate blocks do not depend on their bit offset, and their matches reach
//   back only to bytes that did not change.
// - Only the first bit (BFINAL) of a copied block is rewritten, and the length of a stored block is aligned
//   again.
// - New blocks never refer to bytes before them, so they fit behind any history.
// - Memory is bounded by window and piece, whatever the block sizes.
//
// Source: RFC 1951, sections 3.2.3 to 3.2.6.

#include "archive/deflate/deflate_splice.h"

#include <algorithm>
#include <cstring>
#include <fmt/core.h>
#include <functional>

#include "archive/codec/low_bit_writer.h"
#include "archive/deflate/deflate_chunk.h"
#include "archive/deflate/deflate_walk.h"
#include "support/files/read_only_file.h"

namespace ptpkg::archive {
namespace {

constexpr std::size_t kFreshBytes = 256U << 10U;
constexpr std::size_t kEncodedBytes = 1U << 20U;
// Output of one step of deflate::Walker: three literals and a match.
constexpr std::size_t kStepBytes = 3 + deflate::kMaxMatch + deflate::kCopyOverBytes;

/// The edits, looked up by place.
class Changes {
 public:
  explicit Changes(const std::vector<ContentEdit>& edits) : edits_(edits) {}

  /// Errors: kInvalidInput unless they ascend, do not overlap, and lie below `size_bytes`.
  [[nodiscard]] Result<void> Check(std::uint64_t size_bytes) const {
    std::uint64_t free_from = 0;
    for (const ContentEdit& edit : edits_) {
      if (edit.offset < free_from || edit.offset > size_bytes ||
          edit.bytes.size() > size_bytes - edit.offset) {
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("an edit of {} bytes at {} overlaps another or lies outside of the content "
                                 "of {} bytes",
                                 edit.bytes.size(), edit.offset, size_bytes));
      }
      free_from = edit.offset + edit.bytes.size();
    }
    return Ok();
  }

  /// The first edit that ends behind `offset`.
  [[nodiscard]] std::vector<ContentEdit>::const_iterator After(std::uint64_t offset) const {
    return std::partition_point(edits_.begin(), edits_.end(), [&](const ContentEdit& edit) {
      return edit.offset + edit.bytes.size() <= offset;
    });
  }
  [[nodiscard]] bool Touch(std::uint64_t begin, std::uint64_t end) const {
    const auto edit = After(begin);
    return begin < end && edit != edits_.end() && edit->offset < end;
  }
  /// Start of the first edit that ends behind `offset`; the highest number if there is none.
  [[nodiscard]] std::uint64_t NextFrom(std::uint64_t offset) const {
    const auto edit = After(offset);
    return edit == edits_.end() ? UINT64_MAX : edit->offset;
  }
  /// Puts the new values into `bytes`, which lie at `offset` of the content.
  void Apply(std::uint64_t offset, std::string& bytes) const {
    const std::uint64_t end = offset + bytes.size();
    for (auto edit = After(offset); edit != edits_.end() && edit->offset < end; ++edit) {
      const std::uint64_t from = std::max(offset, edit->offset);
      const std::uint64_t to = std::min(end, edit->offset + edit->bytes.size());
      bytes.replace(from - offset, to - from, edit->bytes, from - edit->offset, to - from);
    }
  }

 private:
  const std::vector<ContentEdit>& edits_;
};

/// CRCs of old and new content, digest of the new one.
class Hashes {
 public:
  /// The new form of `old_bytes`; valid until the next call.
  Result<std::string_view> Add(const Changes& changes, std::uint64_t offset, std::string_view old_bytes) {
    old_crc32_ = Crc32(old_crc32_, AsBytes(old_bytes));
    std::string_view bytes = old_bytes;
    if (changes.Touch(offset, offset + old_bytes.size())) {
      changed_ = old_bytes;
      changes.Apply(offset, changed_);
      bytes = changed_;
    }
    PTPKG_CHECK(AddNew(bytes));
    return bytes;
  }
  Result<void> AddNew(std::string_view bytes) {
    crc32_ = Crc32(crc32_, AsBytes(bytes));
    size_bytes_ += bytes.size();
    return hasher_.Write(AsBytes(bytes));
  }
  void Finish(SplicedStream& spliced) {
    spliced.size_bytes = size_bytes_;
    spliced.crc32 = crc32_;
    spliced.old_crc32 = old_crc32_;
    spliced.sha256 = hasher_.Finish().sha256;
  }

 private:
  std::uint32_t old_crc32_ = 0;
  std::uint32_t crc32_ = 0;
  std::uint64_t size_bytes_ = 0;
  HashingSink hasher_{nullptr};
  std::string changed_;
};

/// Makes content of symbols, and notes whether any of it was copied from bytes that change.
class Inflater {
 public:
  using OnContent = std::function<Result<void>(std::uint64_t offset, std::string_view bytes)>;

  /// `history`: the content before `offset`, as much as a match can reach. `changes`: null if nobody needs
  /// to know about tainted blocks.
  Inflater(std::string_view history, std::uint64_t offset, const Changes* changes, OnContent on_content)
      : begin_(offset - history.size()),
        pos_(history.size()),
        fresh_(history.size()),
        changes_(changes),
        on_content_(std::move(on_content)) {
    history.copy(buffer_.data(), history.size());
    watched_from_ = changes_ == nullptr ? UINT64_MAX : changes_->NextFrom(begin_);
  }

  [[nodiscard]] std::uint64_t offset() const { return begin_ + pos_; }
  /// The last bytes, as many as a match can reach.
  [[nodiscard]] std::string_view history() const {
    const std::size_t kept = std::min(pos_, deflate::kWindowBytes);
    return {buffer_.data() + pos_ - kept, kept};
  }
  /// True if changing bytes were copied since the last call.
  bool TakeTainted() { return std::exchange(tainted_, false); }

  [[nodiscard]] bool Full() const { return pos_ + kStepBytes > buffer_.size(); }
  Result<void> Flush() {
    PTPKG_CHECK(on_content_(begin_ + fresh_, std::string_view(buffer_.data() + fresh_, pos_ - fresh_)));
    const std::size_t kept = std::min(pos_, deflate::kWindowBytes);
    std::memmove(buffer_.data(), buffer_.data() + pos_ - kept, kept);
    begin_ += pos_ - kept;
    pos_ = kept;
    fresh_ = kept;
    return Ok();
  }
  void Literal(std::uint16_t value) { buffer_[pos_++] = static_cast<char>(value); }
  bool Match(unsigned length, unsigned distance) {
    if (distance > pos_) return false;
    if (begin_ + pos_ > watched_from_) Watch(length, distance);
    deflate::CopyMatch(reinterpret_cast<std::byte*>(buffer_.data() + pos_), distance, length);
    pos_ += length;
    return true;
  }
  Result<void> Stored(std::string_view bytes) {
    while (!bytes.empty()) {
      if (Full()) PTPKG_CHECK(Flush());
      const std::size_t taken = std::min(bytes.size(), buffer_.size() - pos_);
      bytes.copy(buffer_.data() + pos_, taken);
      pos_ += taken;
      bytes.remove_prefix(taken);
    }
    return Ok();
  }

 private:
  /// An edit lies before the place where a match is made: does the match reach it?
  void Watch(unsigned length, unsigned distance) {
    const std::uint64_t at = begin_ + pos_;
    const std::uint64_t from = at - distance;
    // A match may overlap its own output: only the part before `at` existed when it began.
    tainted_ = tainted_ || changes_->Touch(from, std::min(at, from + length));
    const std::uint64_t reach = at - std::min<std::uint64_t>(at, deflate::kWindowBytes);
    watched_from_ = changes_->NextFrom(reach);
  }

  std::vector<char> buffer_ = std::vector<char>(deflate::kWindowBytes + kFreshBytes + kStepBytes);
  std::uint64_t begin_;         // of the buffer, in the content
  std::size_t pos_;             // in the buffer
  std::size_t fresh_;           // on_content_ got everything before it
  std::uint64_t watched_from_;  // matches before this place reach no edit
  bool tainted_ = false;
  const Changes* changes_;
  OnContent on_content_;
};

class Splicer {
 public:
  Splicer(File& file, const DeflateRange& range, const ContentEdits& edits, int level, ByteSink& out)
      : file_(file), range_(range), edits_(edits), changes_(edits.replaced), pool_(level), writer_(out) {}

  Result<SplicedStream> Run() {
    PTPKG_CHECK(changes_.Check(range_.size_bytes));
    deflate::BitReader reader(file_, range_.offset, range_.stored_bytes);
    Inflater content("", 0, &changes_, [this](std::uint64_t offset, std::string_view bytes) -> Result<void> {
      if (bytes.size() > range_.size_bytes - std::min(range_.size_bytes, offset)) return WrongSize();
      PTPKG_TRY([[maybe_unused]] const auto new_bytes, hashes_.Add(changes_, offset, bytes));
      return Ok();
    });
    deflate::Walker<Inflater> walker(reader, content);
    while (true) {
      const std::uint64_t begin = content.offset();
      // The copy is needed before the walk: the window moves on while the block is inflated.
      const std::string history(content.history());
      PTPKG_TRY(const deflate::Block block, walker.NextBlock());
      const bool tainted = content.TakeTainted() || changes_.Touch(begin, content.offset());
      if (tainted) {
        PTPKG_CHECK(EncodeAgain(block, begin, history));
      } else {
        PTPKG_CHECK(CopyBlock(file_, range_.offset, block, block.is_last && edits_.appended.empty()));
        ++spliced_.kept_blocks;
      }
      if (block.is_last) break;
    }
    PTPKG_CHECK(content.Flush());
    if (content.offset() != range_.size_bytes) return WrongSize();
    PTPKG_CHECK(Append());
    hashes_.Finish(spliced_);
    PTPKG_TRY(spliced_.stored_bytes, writer_.Finish());
    return spliced_;
  }

 private:
  [[nodiscard]] Error WrongSize() const {
    return {ErrorCode::kCorrupt,
            fmt::format("a deflate stream does not unpack to {} bytes", range_.size_bytes)};
  }

  /// `base`: where in `file` the stream of the block begins.
  Result<void> CopyBlock(File& file, std::uint64_t base, const deflate::Block& block, bool is_last) {
    PTPKG_CHECK(writer_.Put(is_last ? 1 : 0, 1));
    // Everything after BFINAL is copied. Only stored blocks contain padding that depends on the bit offset.
    if (!block.is_stored) return writer_.Copy(file, base, {block.begin_bit + 1, block.end_bit});
    PTPKG_CHECK(writer_.Put(0, 2));
    PTPKG_CHECK(writer_.Align());
    PTPKG_CHECK(
        writer_.Put(block.stored_bytes | (0xFFFF0000U ^ (std::uint32_t{block.stored_bytes} << 16U)), 32));
    const std::uint64_t begin = block.stored_offset * 8;
    return writer_.Copy(file, base, {begin, begin + std::uint64_t{block.stored_bytes} * 8});
  }

  Result<void> Encode(std::string_view content, bool is_last) {
    PTPKG_TRY(const std::string packed, pool_.Deflate(AsBytes(content), ChunkPlace::kLast));
    MemoryFile file{AsBytes(packed)};
    deflate::BitReader reader{std::string_view(packed)};
    deflate::DiscardSymbols none;
    deflate::Walker<deflate::DiscardSymbols> walker(reader, none);
    while (true) {
      PTPKG_TRY(const deflate::Block block, walker.NextBlock());
      PTPKG_CHECK(CopyBlock(file, 0, block, is_last && block.is_last));
      if (block.is_last) return Ok();
    }
  }

  /// Inflates the block a second time: it may be of any size, so its content was not kept.
  Result<void> EncodeAgain(const deflate::Block& old, std::uint64_t begin, std::string_view history) {
    std::string piece;
    deflate::BitReader reader(file_, range_.offset, range_.stored_bytes, old.begin_bit);
    Inflater content(history, begin, nullptr,
                     [&](std::uint64_t offset, std::string_view bytes) -> Result<void> {
                       std::string changed(bytes);
                       changes_.Apply(offset, changed);
                       piece += changed;
                       if (piece.size() <= kEncodedBytes) return Ok();
                       PTPKG_CHECK(Encode(std::string_view(piece).substr(0, kEncodedBytes), false));
                       piece.erase(0, kEncodedBytes);
                       return Ok();
                     });
    deflate::Walker<Inflater> walker(reader, content);
    PTPKG_TRY([[maybe_unused]] const deflate::Block block, walker.NextBlock());
    PTPKG_CHECK(content.Flush());
    ++spliced_.encoded_blocks;
    return Encode(piece, old.is_last && edits_.appended.empty());
  }

  Result<void> Append() {
    std::string_view rest = edits_.appended;
    PTPKG_CHECK(hashes_.AddNew(rest));
    while (!rest.empty()) {
      const std::string_view piece = rest.substr(0, kEncodedBytes);
      rest.remove_prefix(piece.size());
      PTPKG_CHECK(Encode(piece, rest.empty()));
    }
    return Ok();
  }

  File& file_;
  const DeflateRange& range_;
  const ContentEdits& edits_;
  Changes changes_;
  DeflatePool pool_;
  LowBitWriter writer_;
  Hashes hashes_;
  SplicedStream spliced_;
};

}  // namespace

Result<SplicedStream> SpliceDeflate(File& file, const DeflateRange& range, const ContentEdits& edits,
                                    int level, ByteSink& out) {
  if (level < 1 || level > 12) {
    return Error(ErrorCode::kInvalidInput, fmt::format("deflate level {} is not within 1 to 12", level));
  }
  return Splicer(file, range, edits, level, out).Run();
}

Result<SplicedStream> SpliceStored(File& file, const DeflateRange& range, const ContentEdits& edits,
                                   ByteSink& out) {
  const Changes changes(edits.replaced);
  PTPKG_CHECK(changes.Check(range.size_bytes));
  Hashes hashes;
  std::string buffer;
  for (std::uint64_t offset = 0; offset < range.size_bytes; offset += buffer.size()) {
    buffer.resize(std::min<std::uint64_t>(kFreshBytes, range.size_bytes - offset));
    PTPKG_TRY(const std::size_t got,
              file.ReadAt(range.offset + offset, std::as_writable_bytes(std::span(buffer))));
    if (got != buffer.size()) return Error(ErrorCode::kCorrupt, "the file ends inside of stored content");
    PTPKG_TRY(const std::string_view bytes, hashes.Add(changes, offset, buffer));
    PTPKG_CHECK(out.Write(AsBytes(bytes)));
  }
  PTPKG_CHECK(hashes.AddNew(edits.appended));
  PTPKG_CHECK(out.Write(AsBytes(edits.appended)));
  SplicedStream spliced;
  hashes.Finish(spliced);
  spliced.stored_bytes = spliced.size_bytes;
  return spliced;
}

}  // namespace ptpkg::archive
