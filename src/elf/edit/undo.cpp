// The undo record of an edit in place: old bytes, kept at the end of the edited file itself.
//
// The file is the best place: whoever may write it may write the record, whoever opens it finds the record,
// and a move or copy takes it along. Loaders ignore it. The layout and the order of writes are in
// docs/formats/elf-search-path.md.
//
// Order: a closing block marked "begun", then the ranges, then the block again with their digest. Each
// block write lies within one page and is atomic, so a killed process leaves no record, a begun one
// (nothing was edited yet), or a complete one. Cutting the file at its new size ends the edit.
//
// Invariants: ranges are restored from last to first, because writes may overlap in a damaged file. A
// rollback is allowed only if each byte is the old one or one that the edit writes, else another program
// changed the file.

#include "elf/edit/undo.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/edit/byte_diff.h"
#include "support/digest/blake2b.h"
#include "support/digest/hash.h"

namespace ptpkg::elf {
namespace {

constexpr std::string_view kMagic = "ptpkg-undo 3\n";
constexpr std::uint64_t kMaxBodyBytes = 1U << 30U;
constexpr std::size_t kBlockBytes = 512;
// A block of fixed size at a page boundary: its place follows from the file's size alone.
// The text takes the first half: a write that is cut in its middle, as the fault tests do, is whole all the
// same.
constexpr std::size_t kBlockTextBytes = kBlockBytes / 2;

std::string DigestOf(std::string_view text) {
  Blake2b256Hasher hasher;
  hasher.Update(AsBytes(text));
  return Digest<32>{hasher.Finish()}.Hex();
}

Error Torn() {
  return Error(ErrorCode::kCorrupt, "the undo record at the end of the file is damaged")
      .WithHint(
          "an edit of the file was interrupted, and its end was written since: fetch or build it again");
}

void PutNumber(std::string& out, std::uint64_t value) { out += fmt::format("{}\n", value); }

void PutBytes(std::string& out, std::string_view bytes) {
  PutNumber(out, bytes.size());
  out += bytes;
}

/// Reads what PutNumber and PutBytes wrote.
class Cursor {
 public:
  explicit Cursor(std::string_view rest) : rest_(rest) {}

  Result<std::uint64_t> Number() {
    std::uint64_t value = 0;
    std::size_t digits = 0;
    while (digits < rest_.size() && digits < 20 && rest_[digits] >= '0' && rest_[digits] <= '9') {
      value = value * 10 + static_cast<std::uint64_t>(rest_[digits++] - '0');
    }
    if (digits == 0 || digits == rest_.size() || rest_[digits] != '\n') return Torn();
    rest_.remove_prefix(digits + 1);
    return value;
  }

  Result<std::string> ByteString() {
    PTPKG_TRY(const std::uint64_t size, Number());
    if (size > rest_.size()) return Torn();
    std::string bytes(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return bytes;
  }

 private:
  std::string_view rest_;
};

std::string EncodeRanges(const std::vector<UndoRange>& ranges) {
  std::string out;
  PutNumber(out, ranges.size());
  for (const UndoRange& range : ranges) {
    PutNumber(out, range.offset);
    PutBytes(out, range.before);
    PutBytes(out, range.after);
  }
  return out;
}

Result<std::vector<UndoRange>> DecodeRanges(std::string_view text, std::uint64_t old_size) {
  Cursor cursor(text);
  std::vector<UndoRange> ranges;
  PTPKG_TRY(const std::uint64_t count, cursor.Number());
  for (std::uint64_t i = 0; i < count; ++i) {
    UndoRange range;
    PTPKG_TRY(range.offset, cursor.Number());
    PTPKG_TRY(range.before, cursor.ByteString());
    PTPKG_TRY(range.after, cursor.ByteString());
    if (!range.after.empty() && range.before.size() != range.after.size()) return Torn();
    if (range.offset > old_size || range.before.size() > old_size - range.offset) return Torn();
    ranges.push_back(std::move(range));
  }
  return ranges;
}

/// Fields of the closing block.
struct Closing {
  std::uint64_t old_size = 0;
  std::uint64_t new_size = 0;
  std::uint64_t body_size = 0;  ///< Size of the ranges, which begin at `new_size`.
  std::string body_digest;      ///< Empty: begun, not complete.
};

std::string EncodeClosing(const Closing& closing) {
  std::string text(kMagic);
  for (const std::uint64_t number : {closing.old_size, closing.new_size, closing.body_size})
    PutNumber(text, number);
  PutBytes(text, closing.body_digest);
  text += DigestOf(text);
  text.resize(kBlockBytes, '\0');
  return text;
}

/// `block` from its magic on.
Result<Closing> DecodeClosing(std::string_view block) {
  Cursor cursor(block.substr(kMagic.size()));
  Closing closing;
  PTPKG_TRY(closing.old_size, cursor.Number());
  PTPKG_TRY(closing.new_size, cursor.Number());
  PTPKG_TRY(closing.body_size, cursor.Number());
  PTPKG_TRY(closing.body_digest, cursor.ByteString());
  std::string expected = EncodeClosing(closing);
  expected.resize(kBlockTextBytes);
  if (expected != block.substr(0, kBlockTextBytes)) return Torn();
  return closing;
}

std::uint64_t BlockOffset(std::uint64_t new_size, std::uint64_t body_size) {
  return AlignUp(new_size + body_size, kAtomicBlock);
}

/// True if the edit writes `value` at `offset`. Ranges overlap where a damaged file's tables do.
bool WritesValue(const UndoRecord& record, std::uint64_t offset, char value) {
  return std::any_of(record.ranges.begin(), record.ranges.end(), [&](const UndoRange& range) {
    if (offset < range.offset || offset - range.offset >= range.before.size()) return false;
    return value == (range.after.empty() ? '\0' : range.after[offset - range.offset]);
  });
}

class BeforeView final : public File {
 public:
  BeforeView(std::unique_ptr<File> file, UndoRecord record)
      : file_(std::move(file)), record_(std::move(record)) {}

  Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes buffer) override {
    if (offset >= record_.old_size) return std::size_t{0};
    buffer = buffer.first(std::min<std::uint64_t>(buffer.size(), record_.old_size - offset));
    PTPKG_TRY(const std::size_t got, file_->ReadAt(offset, buffer));
    for (auto range = record_.ranges.rbegin(); range != record_.ranges.rend(); ++range) {
      const std::uint64_t from = std::max(offset, range->offset);
      const std::uint64_t to = std::min(offset + got, range->offset + range->before.size());
      if (from >= to) continue;
      const Bytes old = AsBytes(range->before).subspan(from - range->offset, to - from);
      std::copy(old.begin(), old.end(), buffer.begin() + static_cast<std::ptrdiff_t>(from - offset));
    }
    return got;
  }
  Result<FileStat> Stat() override {
    PTPKG_TRY(FileStat stat, file_->Stat());
    stat.size_bytes = record_.old_size;
    return stat;
  }
  Result<void> WriteAt(std::uint64_t /*offset*/, Bytes /*bytes*/) override { return OnlyRead(); }
  Result<void> Truncate(std::uint64_t /*size_bytes*/) override { return OnlyRead(); }
  Result<void> Sync() override { return OnlyRead(); }
  Result<void> Lock() override { return file_->Lock(); }
  Result<void> Close() override { return file_->Close(); }

 private:
  static Error OnlyRead() { return {ErrorCode::kInternal, "a view of an interrupted edit is only read"}; }

  std::unique_ptr<File> file_;
  UndoRecord record_;
};

}  // namespace

Result<UndoRecord> MakeUndo(File& file, const EditPlan& plan) {
  UndoRecord record{.old_size = plan.old_size, .new_size = plan.new_size, .ranges = {}};
  for (const PlannedWrite& write : plan.writes) {
    if (write.offset >= plan.old_size) continue;
    PTPKG_TRY(const auto before, ReadExact(file, write.offset, write.bytes.size(), "the bytes to change"));
    // New bytes that are all zero are not stored: erasing a copied string table would double the record.
    const bool clears = std::all_of(write.bytes.begin(), write.bytes.end(),
                                    [](std::byte byte) { return byte == std::byte{0}; });
    record.ranges.push_back({.offset = write.offset,
                             .before = std::string(AsText(before)),
                             .after = clears ? "" : std::string(AsText(write.bytes))});
  }
  return record;
}

Result<void> AppendUndo(File& file, const UndoRecord& record) {
  const std::string body = EncodeRanges(record.ranges);
  if (body.size() > kMaxBodyBytes) {
    return Error(
        ErrorCode::kUnsupported,
        fmt::format("the edit changes {} bytes in place, too many to keep an undo record of", body.size()));
  }
  Closing closing{
      .old_size = record.old_size, .new_size = record.new_size, .body_size = body.size(), .body_digest = {}};
  const std::uint64_t block = BlockOffset(record.new_size, body.size());
  PTPKG_CHECK(file.WriteAt(block, AsBytes(EncodeClosing(closing))));
  PTPKG_CHECK(file.WriteAt(record.new_size, AsBytes(body)));
  closing.body_digest = DigestOf(body);
  return file.WriteAt(block, AsBytes(EncodeClosing(closing)));
}

Result<std::optional<UndoRecord>> ReadUndo(File& file) {
  PTPKG_TRY(const FileStat stat, file.Stat());
  // Cheap test first: nearly all files end at a place where no record can be.
  const std::uint64_t size_in_page = stat.size_bytes % kAtomicBlock;
  if (size_in_page < kBlockTextBytes || size_in_page > kBlockBytes) return std::optional<UndoRecord>();
  const std::uint64_t block = stat.size_bytes - size_in_page;
  std::string text(kBlockTextBytes, '\0');
  PTPKG_TRY(const std::size_t got, file.ReadAt(block, std::as_writable_bytes(std::span(text))));
  if (got != text.size() || !text.starts_with(kMagic)) return std::optional<UndoRecord>();
  PTPKG_TRY(const Closing closing, DecodeClosing(text));
  const bool is_placed = closing.old_size <= closing.new_size && closing.new_size <= block &&
                         closing.body_size <= std::min(kMaxBodyBytes, block - closing.new_size) &&
                         block == BlockOffset(closing.new_size, closing.body_size);
  if (!is_placed) return Torn();
  UndoRecord record{.old_size = closing.old_size, .new_size = closing.new_size, .ranges = {}};
  if (closing.body_digest.empty()) return std::optional<UndoRecord>(std::move(record));
  PTPKG_TRY(const auto body, ReadExact(file, closing.new_size, closing.body_size, "the undo record"));
  if (DigestOf(AsText(body)) != closing.body_digest) return Torn();
  PTPKG_TRY(record.ranges, DecodeRanges(AsText(body), record.old_size));
  return std::optional<UndoRecord>(std::move(record));
}

Result<bool> IsUndoable(File& file, const UndoRecord& record) {
  for (const UndoRange& range : record.ranges) {
    std::string now(range.before.size(), '\0');
    PTPKG_TRY(const std::size_t got, file.ReadAt(range.offset, std::as_writable_bytes(std::span(now))));
    if (got != now.size()) return false;
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i] != range.before[i] && !WritesValue(record, range.offset + i, now[i])) return false;
    }
  }
  return true;
}

Result<void> RollBack(File& file, const UndoRecord& record) {
  for (auto range = record.ranges.rbegin(); range != record.ranges.rend(); ++range) {
    PTPKG_CHECK(file.WriteAt(range->offset, AsBytes(range->before)));
  }
  PTPKG_TRY(const FileStat stat, file.Stat());
  if (stat.size_bytes > record.old_size) PTPKG_CHECK(file.Truncate(record.old_size));
  return Ok();
}

std::unique_ptr<File> ViewAsBefore(std::unique_ptr<File> file, UndoRecord record) {
  return std::make_unique<BeforeView>(std::move(file), std::move(record));
}

}  // namespace ptpkg::elf
