#include "archive/zip_edit.h"

#include <algorithm>
#include <fmt/core.h>

#include "archive/zip_directory.h"
#include "archive/zip_format.h"
#include "support/plural.h"

namespace ptpkg::archive {
namespace {

using zip::CentralRecord;
using zip::LocalRecord;

bool IsFolder(const CentralRecord& record) { return record.name.ends_with('/'); }

/// Errors: kUnsupported for what no copy can hold.
Result<void> CheckCopies(const CentralRecord& record, std::string_view archive) {
  const auto refuse = [&](std::string_view why) {
    return Error(ErrorCode::kUnsupported, fmt::format("'{}': member '{}' {}", archive, record.name, why));
  };
  if ((record.flags & zip::kFlagEncrypted) != 0) return refuse("is encrypted");
  if (record.method != static_cast<std::uint16_t>(ZipMethod::kStored) &&
      record.method != static_cast<std::uint16_t>(ZipMethod::kDeflate))
    return refuse(fmt::format("uses compression method {}, not stored or deflate", record.method));
  const std::uint32_t type = record.UnixMode() & zip::kModeType;
  if (type != 0 && type != zip::kModeRegular) return refuse("is no regular file");
  return Ok();
}

/// Whether a strict reader finds in the header what the new central directory will say: no descriptor, no
/// flags but that of UTF-8, nothing extra but a ZIP64 field, no version above what those need.
bool IsPlain(const LocalRecord& local) {
  if (local.flags != (IsAscii(local.name) ? 0 : zip::kFlagUtf8)) return false;
  if (local.extra.empty()) return local.version_needed <= zip::kVersionDeflate;
  const auto fields = zip::ParseExtra(local.extra);
  if (!fields || fields->size() != 1 || fields->front().id != zip::kZip64ExtraId) return false;
  return fields->front().data.size() == 2 * sizeof(std::uint64_t) && local.stored_bytes32 == zip::kMax32 &&
         local.size_bytes32 == zip::kMax32 && local.version_needed <= zip::kVersionZip64;
}

class ZipEditor {
 public:
  ZipEditor(Env& env, const AbsPath& zip, const ZipEdits& edits) : env_(env), zip_(zip), edits_(edits) {}

  /// Everything that can be refused before a byte is written. Errors: as WriteEditedZip.
  Result<void> Open() {
    PTPKG_TRY(file_, env_.fs.Open(zip_, OpenMode::kRead));
    PTPKG_TRY(directory_, zip::ReadDirectory(*file_, zip_.str()));
    PTPKG_CHECK(zip::CheckLocalHeaders(*file_, directory_, zip_.str()));
    std::erase_if(directory_.records, [&](const CentralRecord& record) {
      return IsFolder(record) || edits_.dropped.contains(record.name);
    });
    for (const CentralRecord& record : directory_.records) {
      PTPKG_CHECK(CheckCopies(record, zip_.str()));
      total_bytes_ += record.stored_bytes;
    }
    for (const Entry& entry : edits_.added) total_bytes_ += entry.size_bytes;
    std::sort(directory_.records.begin(), directory_.records.end(),
              [](const CentralRecord& a, const CentralRecord& b) { return a.offset < b.offset; });
    return Ok();
  }

  Result<void> Write(File& out, std::string_view title) {
    Task task(env_.reporter, {"zip", std::string(title), total_bytes_});
    ZipWriter writer(out, env_.source_date_epoch);
    writer.OnCopied([&](std::uint64_t bytes) -> Result<void> {
      task.Advance(bytes);
      return env_.cancel.Check();
    });
    for (const CentralRecord& record : directory_.records) PTPKG_CHECK(Keep(writer, record));
    std::vector<const Entry*> added;
    for (const Entry& entry : edits_.added) added.push_back(&entry);
    PTPKG_CHECK(WriteZipMembers(env_, writer, added, edits_.deflate, task));
    PTPKG_TRY([[maybe_unused]] const std::uint64_t size_bytes, writer.Finish());
    task.Done(Plural(directory_.records.size() + added.size(), "file"));
    return Ok();
  }

 private:
  Result<void> Keep(ZipWriter& writer, const CentralRecord& record) {
    PTPKG_TRY(const LocalRecord local, zip::ReadLocal(*file_, record.offset, zip_.str()));
    const auto renamed = edits_.renamed.find(record.name);
    const std::string& name = renamed == edits_.renamed.end() ? record.name : renamed->second;
    PTPKG_TRY(RelPath path, RelPath::Parse(name), fmt::format("in '{}'", zip_.str()));
    const bool plain = name == record.name && IsPlain(local);
    const std::uint32_t mode = record.UnixMode();
    return writer.Copy(*file_, {.name = std::move(path),
                                .mode = mode == 0 ? 0644U : mode,
                                .method = static_cast<ZipMethod>(record.method),
                                .time = record.time,
                                .crc32 = record.crc32,
                                .size_bytes = record.size_bytes,
                                .stored_bytes = record.stored_bytes,
                                .data_offset = local.data_offset,
                                .header_bytes = plain ? local.data_offset - record.offset : 0,
                                .zip64 = !local.extra.empty()});
  }

  Env& env_;
  const AbsPath& zip_;
  const ZipEdits& edits_;
  std::unique_ptr<File> file_;
  zip::Directory directory_;  // what is kept, by offset
  std::uint64_t total_bytes_ = 0;
};

}  // namespace

Result<void> WriteEditedZip(Env& env, const AbsPath& zip, const AbsPath& target, OnExisting on_existing,
                            const ZipEdits& edits) {
  ZipEditor editor(env, zip, edits);
  PTPKG_CHECK(editor.Open());
  PTPKG_TRY(AtomicFile out, AtomicFile::Create(env.fs, target));
  PTPKG_CHECK(editor.Write(out.file(), target.Name()), fmt::format("while writing '{}'", target.str()));
  return std::move(out).Commit(on_existing);
}

}  // namespace ptpkg::archive
