#include "elf/undo.h"

#include <algorithm>
#include <fmt/format.h>

#include "support/blake2b.h"
#include "support/hash.h"

namespace ptpkg::elf {
namespace {

constexpr std::string_view kMagic = "ptpkg-undo 1\n";
constexpr std::uint64_t kMaxRecordBytes = 64U << 20U;
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
    return offset >= range.offset && offset - range.offset < range.after.size() &&
           range.after[offset - range.offset] == value;
  });
}

Result<bool> StillOurs(File& file, const UndoRecord& record) {
  PTPKG_TRY(const FileStat stat, file.Stat());
  if (stat.inode != record.inode || stat.device != record.device || stat.size_bytes < record.old_size)
    return false;
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

AbsPath UndoPath(const AbsPath& path) { return path.Parent() / fmt::format(".{}.ptpkg-undo", path.Name()); }

std::string EncodeUndo(const UndoRecord& record) {
  std::string out(kMagic);
  PutNumber(out, record.inode);
  PutNumber(out, record.device);
  PutNumber(out, record.old_size);
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
  PTPKG_TRY(record.inode, cursor.Number());
  PTPKG_TRY(record.device, cursor.Number());
  PTPKG_TRY(record.old_size, cursor.Number());
  PTPKG_TRY(const std::uint64_t count, cursor.Number());
  for (std::uint64_t i = 0; i < count; ++i) {
    UndoRange range;
    PTPKG_TRY(range.offset, cursor.Number());
    PTPKG_TRY(range.before, cursor.ByteString());
    PTPKG_TRY(range.after, cursor.ByteString());
    if (range.before.size() != range.after.size()) return Cursor::Torn();
    record.ranges.push_back(std::move(range));
  }
  return record;
}

Result<UndoRecord> MakeUndo(File& file, const EditPlan& plan) {
  UndoRecord record{
      .inode = plan.seen.inode, .device = plan.seen.device, .old_size = plan.old_size, .ranges = {}};
  for (const PlannedWrite& write : plan.writes) {
    if (write.offset >= plan.old_size) continue;
    PTPKG_TRY(const auto before, ReadExact(file, write.offset, write.bytes.size(), "the bytes to change"));
    record.ranges.push_back({.offset = write.offset,
                             .before = std::string(AsText(before)),
                             .after = std::string(AsText(write.bytes))});
  }
  return record;
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
  PTPKG_TRY(const bool pending, Exists(fs, undo_path));
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
        .WithHint("the file was replaced after an interrupted edit; delete the undo record");
  }
  PTPKG_CHECK(RollBack(*file, *record));
  PTPKG_CHECK(file->Close());
  PTPKG_CHECK(fs.Remove(undo_path));
  return true;
}

}  // namespace ptpkg::elf
