#include "elf/undo.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/blake2b.h"
#include "support/hash.h"

namespace ptpkg::elf {
namespace {

constexpr std::string_view kMagic = "ptpkg-undo 2\n";
constexpr std::uint64_t kMaxRecordBytes = 1U << 30U;
constexpr std::size_t kDigestBytes = 64;

std::string DigestOf(std::string_view text) {
  Blake2b256Hasher hasher;
  hasher.Update(AsBytes(text));
  return Blake2b256{hasher.Finish()}.Hex();
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

  static Error Torn() { return {ErrorCode::kCorrupt, "the undo record is incomplete"}; }

 private:
  std::string_view rest_;
};

/// Whether the edit writes `value` at `offset`. Ranges overlap where a damaged file's tables do.
bool WritesValue(const UndoRecord& record, std::uint64_t offset, char value) {
  return std::any_of(record.ranges.begin(), record.ranges.end(), [&](const UndoRange& range) {
    if (offset < range.offset || offset - range.offset >= range.before.size()) return false;
    return value == (range.after.empty() ? '\0' : range.after[offset - range.offset]);
  });
}

/// By content, not by inode: the file and its record may have been copied together. A file whose bytes are
/// all old ones is not changed by the rollback, so a chance match does no harm.
Result<bool> StillOurs(File& file, const UndoRecord& record) {
  PTPKG_TRY(const FileStat stat, file.Stat());
  if (stat.size_bytes < record.old_size || stat.size_bytes > record.new_size) return false;
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

}  // namespace

AbsPath UndoPath(const AbsPath& path) {
  constexpr std::size_t kNameMaxBytes = 255;  // NAME_MAX of every common file system
  std::string name = fmt::format(".{}.ptpkg-undo", path.Name());
  if (name.size() > kNameMaxBytes) name = fmt::format(".{}.ptpkg-undo", DigestOf(path.Name()));
  return path.Parent() / name;
}

std::string EncodeUndo(const UndoRecord& record) {
  std::string out(kMagic);
  PutNumber(out, record.old_size);
  PutNumber(out, record.new_size);
  PutNumber(out, record.ranges.size());
  for (const UndoRange& range : record.ranges) {
    PutNumber(out, range.offset);
    PutBytes(out, range.before);
    PutBytes(out, range.after);
  }
  return out + DigestOf(out);
}

Result<UndoRecord> DecodeUndo(std::string_view text) {
  if (text.size() < kMagic.size() + kDigestBytes || text.substr(0, kMagic.size()) != kMagic)
    return Cursor::Torn();
  const std::string_view body = text.substr(0, text.size() - kDigestBytes);
  if (DigestOf(body) != text.substr(body.size())) return Cursor::Torn();
  Cursor cursor(body.substr(kMagic.size()));
  UndoRecord record;
  PTPKG_TRY(record.old_size, cursor.Number());
  PTPKG_TRY(record.new_size, cursor.Number());
  PTPKG_TRY(const std::uint64_t count, cursor.Number());
  for (std::uint64_t i = 0; i < count; ++i) {
    UndoRange range;
    PTPKG_TRY(range.offset, cursor.Number());
    PTPKG_TRY(range.before, cursor.ByteString());
    PTPKG_TRY(range.after, cursor.ByteString());
    if (!range.after.empty() && range.before.size() != range.after.size()) return Cursor::Torn();
    record.ranges.push_back(std::move(range));
  }
  return record;
}

Result<UndoRecord> MakeUndo(File& file, const EditPlan& plan) {
  UndoRecord record{.old_size = plan.old_size, .new_size = plan.new_size, .ranges = {}};
  for (const PlannedWrite& write : plan.writes) {
    if (write.offset >= plan.old_size) continue;
    PTPKG_TRY(const auto before, ReadExact(file, write.offset, write.bytes.size(), "the bytes to change"));
    const bool clears = std::all_of(write.bytes.begin(), write.bytes.end(),
                                    [](std::byte byte) { return byte == std::byte{0}; });
    record.ranges.push_back({.offset = write.offset,
                             .before = std::string(AsText(before)),
                             .after = clears ? "" : std::string(AsText(write.bytes))});
  }
  return record;
}

Result<void> WriteUndo(Fs& fs, const AbsPath& path, const UndoRecord& record) {
  const std::string text = EncodeUndo(record);
  if (text.size() > kMaxRecordBytes) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("the edit changes {} bytes in place, too many to keep an "
                             "undo record of",
                             text.size()));
  }
  PTPKG_TRY(const auto file, fs.Open(path, OpenMode::kCreateNew));
  auto written = file->WriteAt(0, AsBytes(text));
  if (written) written = file->Close();
  if (!written) static_cast<void>(fs.Remove(path));  // the write's own error is the one to report
  return written;
}

Result<void> RollBack(File& file, const UndoRecord& record) {
  for (auto range = record.ranges.rbegin(); range != record.ranges.rend(); ++range) {
    PTPKG_CHECK(file.WriteAt(range->offset, AsBytes(range->before)));
  }
  PTPKG_TRY(const FileStat stat, file.Stat());
  if (stat.size_bytes > record.old_size) PTPKG_CHECK(file.Truncate(record.old_size));
  return Ok();
}

Result<bool> RecoverEdit(Fs& fs, const AbsPath& path) {
  const AbsPath undo_path = UndoPath(path);
  PTPKG_TRY(bool pending, Exists(fs, undo_path));
  if (!pending) return false;
  // Whoever is at work on the file holds its lock, and removes the record before letting go.
  PTPKG_TRY(const auto guard, fs.Open(path, OpenMode::kRead));
  PTPKG_CHECK(guard->Lock());
  PTPKG_TRY(pending, Exists(fs, undo_path));
  if (!pending) return false;
  PTPKG_TRY(const std::string text, ReadFile(fs, undo_path, kMaxRecordBytes));
  const auto record = DecodeUndo(text);
  if (!record) {
    PTPKG_CHECK(fs.Remove(undo_path));
    return false;
  }
  PTPKG_TRY(const auto file, fs.Open(path, OpenMode::kReadWrite));
  PTPKG_TRY(const bool ours, StillOurs(*file, *record));
  if (!ours) {
    return Error(ErrorCode::kRefused,
                 fmt::format("'{}' does not belong to the '{}' beside it", undo_path.str(), path.Name()))
        .WithHint(
            "an edit was interrupted, and the file was written since: if it is whole, delete the undo "
            "record");
  }
  PTPKG_CHECK(RollBack(*file, *record));
  PTPKG_CHECK(file->Close());
  PTPKG_CHECK(fs.Remove(undo_path));
  return true;
}

}  // namespace ptpkg::elf
