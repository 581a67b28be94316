#include "archive/zip/zip_edit.h"

#include <algorithm>
#include <fmt/core.h>
#include <mutex>

#include "archive/member_content.h"
#include "archive/zip/zip_directory.h"
#include "archive/zip/zip_format.h"
#include "support/process/parallel.h"
#include "support/text/plural.h"

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
  if (type != 0 && type != zip::kModeRegular) return refuse("is not a regular file");
  return Ok();
}

/// True if a strict reader finds the local header equal to the new central directory: without descriptor,
/// with no flag but UTF-8, no extra field but ZIP64, and the version that these need.
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
    std::size_t spliced = 0;
    for (const CentralRecord& record : directory_.records) {
      PTPKG_CHECK(CheckCopies(record, zip_.str()));
      total_bytes_ += record.stored_bytes;
      if (!edits_.spliced.contains(record.name)) continue;
      total_bytes_ += record.stored_bytes;  // once for the edits, once for the copy
      ++spliced;
    }
    if (spliced != edits_.spliced.size()) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}': a member to edit is missing or removed", zip_.str()));
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
    PTPKG_CHECK(SpliceAll(task));
    PTPKG_CHECK(WritePart(writer, task, /*last=*/false));
    PTPKG_CHECK(WritePart(writer, task, /*last=*/true));
    PTPKG_TRY([[maybe_unused]] const std::uint64_t size_bytes, writer.Finish());
    task.Done(Plural(directory_.records.size() + edits_.added.size(), "file"));
    return Ok();
  }

 private:
  /// `last`: what is in edits_.last_folder, else all but that.
  Result<void> WritePart(ZipWriter& writer, Task& task, bool last) {
    const auto belongs = [&](const std::string& name) {
      return last == (!edits_.last_folder.empty() && name.starts_with(edits_.last_folder));
    };
    for (const CentralRecord& record : directory_.records) {
      if (!belongs(NameAfter(record))) continue;
      const auto spliced = spliced_.find(&record);
      PTPKG_CHECK(spliced == spliced_.end() ? Keep(writer, record)
                                            : WriteSpliced(writer, record, spliced->second));
    }
    std::vector<const Entry*> added;
    for (const Entry& entry : edits_.added) {
      if (belongs(entry.name.str())) added.push_back(&entry);
    }
    if (added.empty()) return Ok();
    DeflateOptions options = edits_.deflate;
    options.hash = false;  // RECORD, which is one of them, has the digests
    PTPKG_TRY([[maybe_unused]] const std::vector<PackedMember> packed,
              WriteZipMembers(env_, writer, added, options, task));
    return Ok();
  }

  [[nodiscard]] const std::string& NameAfter(const CentralRecord& record) const {
    const auto renamed = edits_.renamed.find(record.name);
    return renamed == edits_.renamed.end() ? record.name : renamed->second;
  }

  [[nodiscard]] Result<RelPath> NewName(const CentralRecord& record) const {
    const std::string& name = NameAfter(record);
    PTPKG_TRY(RelPath path, RelPath::Parse(name), fmt::format("in '{}'", zip_.str()));
    return path;
  }

  static std::uint32_t ModeOf(const CentralRecord& record) {
    const std::uint32_t mode = record.UnixMode();
    return mode == 0 ? zip::kModeRegular | 0644U : mode;
  }

  /// A member with its edits, on its way into the archive.
  struct Spliced {
    File* stored = nullptr;    ///< A scratch file.
    std::uint64_t offset = 0;  ///< In it.
    SplicedStream stream;
  };

  /// Several at once, which is why they wait in scratch files: the two largest libraries of torch's wheel
  /// take most of the time of its repair.
  Result<void> SpliceAll(Task& task) {
    std::vector<const CentralRecord*> records;
    for (const CentralRecord& record : directory_.records) {
      if (edits_.spliced.contains(record.name)) records.push_back(&record);
    }
    if (records.empty()) return Ok();
    std::stable_sort(records.begin(), records.end(), [](const CentralRecord* a, const CentralRecord* b) {
      return a->size_bytes > b->size_bytes;  // a large one that begins last would be alone at the end
    });
    PTPKG_TRY(small_, OpenScratch(env_, env_.cache_dir));
    std::vector<Spliced> made(records.size());
    PTPKG_CHECK(ParallelFor(env_.jobs, records.size(), [&](std::size_t i) -> Result<void> {
      PTPKG_TRY(made[i], Splice(*records[i]));
      task.Advance(records[i]->stored_bytes);
      return Ok();
    }));
    for (std::size_t i = 0; i < records.size(); ++i) spliced_[records[i]] = made[i];
    return Ok();
  }

  /// Small ones share a scratch file: a wheel may have more libraries than a process may have open files.
  Result<Spliced> Splice(const CentralRecord& record) {
    constexpr std::uint64_t kSmallBytes = 4U << 20U;
    Spliced spliced;
    if (record.stored_bytes < kSmallBytes) {
      StringSink sink;
      PTPKG_TRY(spliced.stream, SpliceTo(record, sink));
      const std::lock_guard lock(mutex_);
      spliced.stored = small_.get();
      spliced.offset = small_bytes_;
      small_bytes_ += sink.str().size();
      PTPKG_CHECK(small_->WriteAt(spliced.offset, AsBytes(sink.str())));
      return spliced;
    }
    PTPKG_TRY(std::unique_ptr<File> file, OpenScratch(env_, env_.cache_dir));
    FileSink sink(*file);
    PTPKG_TRY(spliced.stream, SpliceTo(record, sink));
    spliced.stored = file.get();
    const std::lock_guard lock(mutex_);
    large_.push_back(std::move(file));
    return spliced;
  }

  /// Asks before each piece whether somebody wants it to end.
  class InterruptibleSink final : public ByteSink {
   public:
    InterruptibleSink(Env& env, ByteSink& next) : env_(env), next_(next) {}
    Result<void> Write(Bytes bytes) override {
      PTPKG_CHECK(env_.cancel.Check());
      return next_.Write(bytes);
    }

   private:
    Env& env_;
    ByteSink& next_;
  };

  Result<SplicedStream> SpliceTo(const CentralRecord& record, ByteSink& out) {
    const MemberSplice& splice = edits_.spliced.find(record.name)->second;
    PTPKG_TRY(const LocalRecord local, zip::ReadLocal(*file_, record.offset, zip_.str()));
    InterruptibleSink sink(env_, out);
    const DeflateRange range{
        .offset = local.data_offset, .stored_bytes = record.stored_bytes, .size_bytes = record.size_bytes};
    const std::string frame = fmt::format("while editing '{}' of '{}'", record.name, zip_.str());
    PTPKG_TRY(const SplicedStream stream,
              record.method == static_cast<std::uint16_t>(ZipMethod::kDeflate)
                  ? SpliceDeflate(*file_, range, splice.edits, edits_.deflate.level, sink)
                  : SpliceStored(*file_, range, splice.edits, sink),
              frame);
    if (stream.old_crc32 != record.crc32) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("'{}': member '{}' has another CRC than the zip says: it is damaged",
                               zip_.str(), record.name));
    }
    if (stream.sha256 != splice.sha256) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format(
                       "'{}': member '{}' becomes a file with sha256 {}, not the {} that its edits were "
                       "made for",
                       zip_.str(), record.name, stream.sha256.Hex(), splice.sha256.Hex()))
          .WithHint("if another program changed the file, run the command again");
    }
    return stream;
  }

  Result<void> WriteSpliced(ZipWriter& writer, const CentralRecord& record, const Spliced& spliced) {
    PTPKG_TRY(RelPath path, NewName(record));
    return writer.Copy(*spliced.stored, {.name = std::move(path),
                                         .mode = ModeOf(record),
                                         .method = static_cast<ZipMethod>(record.method),
                                         .time = ZipTimeOf(env_.source_date_epoch),
                                         .crc32 = spliced.stream.crc32,
                                         .size_bytes = spliced.stream.size_bytes,
                                         .stored_bytes = spliced.stream.stored_bytes,
                                         .data_offset = spliced.offset});
  }

  Result<void> Keep(ZipWriter& writer, const CentralRecord& record) {
    PTPKG_TRY(const LocalRecord local, zip::ReadLocal(*file_, record.offset, zip_.str()));
    PTPKG_TRY(RelPath path, NewName(record));
    const bool plain = path.str() == record.name && IsPlain(local);
    return writer.Copy(*file_, {.name = std::move(path),
                                .mode = ModeOf(record),
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
  std::map<const CentralRecord*, Spliced> spliced_;
  std::mutex mutex_;
  std::unique_ptr<File> small_;  // of small spliced members, one behind the other
  std::uint64_t small_bytes_ = 0;
  std::vector<std::unique_ptr<File>> large_;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace

Result<void> WriteEditedZip(Env& env, const AbsPath& zip, const AbsPath& target,
                            ExistingFilePolicy on_existing, const ZipEdits& edits) {
  ZipEditor editor(env, zip, edits);
  PTPKG_CHECK(editor.Open());
  PTPKG_TRY(AtomicFile out, AtomicFile::Create(env.fs, target));
  PTPKG_CHECK(editor.Write(out.file(), target.Name()), fmt::format("while writing '{}'", target.str()));
  return std::move(out).Commit(on_existing);
}

}  // namespace ptpkg::archive
