// 1. Open the archive, and refuse whatever no copy can hold before a byte is written.
// 2. Splice the edited members, several at once, into scratch files.
// 3. Write two parts: the members outside last_folder, then those in it. In each, kept members come first, in
//    the order in which they lie in the archive. Kept members are copied without inflating them.
// Invariant: the bytes written do not depend on env.jobs, nor on the order in which splices end.

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

/// The archive that is edited, and its edits.
struct EditedArchive {
  const AbsPath& zip;
  const ZipEdits& edits;
  std::unique_ptr<File> file;
  std::vector<CentralRecord> kept;  ///< By offset.
  std::uint64_t total_bytes = 0;    ///< Work to do: bytes to splice, copy and add.
};

/// Everything that can be refused before a byte is written. Errors: as WriteEditedZip.
Result<EditedArchive> OpenArchive(Env& env, const AbsPath& zip, const ZipEdits& edits) {
  EditedArchive archive{.zip = zip, .edits = edits, .file = nullptr, .kept = {}};
  PTPKG_TRY(archive.file, env.fs.Open(zip, OpenMode::kRead));
  PTPKG_TRY(zip::Directory directory, zip::ReadDirectory(*archive.file, zip.str()));
  PTPKG_CHECK(zip::CheckLocalHeaders(*archive.file, directory, zip.str()));
  archive.kept = std::move(directory.records);
  std::erase_if(archive.kept, [&](const CentralRecord& record) {
    return IsFolder(record) || edits.dropped.contains(record.name);
  });
  std::size_t spliced = 0;
  for (const CentralRecord& record : archive.kept) {
    PTPKG_CHECK(CheckCopies(record, zip.str()));
    archive.total_bytes += record.stored_bytes;
    if (!edits.spliced.contains(record.name)) continue;
    archive.total_bytes += record.stored_bytes;  // once for the edits, once for the copy
    ++spliced;
  }
  if (spliced != edits.spliced.size()) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}': a member to edit is missing or removed", zip.str()));
  }
  for (const Entry& entry : edits.added) archive.total_bytes += entry.size_bytes;
  std::sort(archive.kept.begin(), archive.kept.end(),
            [](const CentralRecord& a, const CentralRecord& b) { return a.offset < b.offset; });
  return archive;
}

const std::string& NameAfter(const ZipEdits& edits, const CentralRecord& record) {
  const auto renamed = edits.renamed.find(record.name);
  return renamed == edits.renamed.end() ? record.name : renamed->second;
}

Result<RelPath> NewName(const EditedArchive& archive, const CentralRecord& record) {
  PTPKG_TRY(RelPath path, RelPath::Parse(NameAfter(archive.edits, record)),
            fmt::format("in '{}'", archive.zip.str()));
  return path;
}

std::uint32_t ModeOf(const CentralRecord& record) {
  const std::uint32_t mode = record.UnixMode();
  return mode == 0 ? zip::kModeRegular | 0644U : mode;
}

/// A member with its edits, on its way into the archive.
struct SplicedMember {
  File* stored = nullptr;    ///< A scratch file.
  std::uint64_t offset = 0;  ///< In it.
  SplicedStream stream;
};

/// Scratch files of spliced members; several threads may add members. Small ones share a file: a wheel may
/// have more libraries than a process may have open files.
class SpliceScratch {
 public:
  explicit SpliceScratch(std::unique_ptr<File> small) : small_(std::move(small)) {}

  Result<SplicedMember> AddSmall(std::string_view bytes, const SplicedStream& stream) {
    const std::lock_guard lock(mutex_);
    SplicedMember member{.stored = small_.get(), .offset = small_bytes_, .stream = stream};
    small_bytes_ += bytes.size();
    PTPKG_CHECK(small_->WriteAt(member.offset, AsBytes(bytes)));
    return member;
  }
  SplicedMember AddLarge(std::unique_ptr<File> file, const SplicedStream& stream) {
    const std::lock_guard lock(mutex_);
    large_.push_back(std::move(file));
    return {.stored = large_.back().get(), .offset = 0, .stream = stream};
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<File> small_;  ///< Small members, one behind the other.
  std::uint64_t small_bytes_ = 0;
  std::vector<std::unique_ptr<File>> large_;
};

/// Stops at the next piece when somebody wants the run to end.
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

Result<SplicedStream> SpliceTo(Env& env, const EditedArchive& archive, const CentralRecord& record,
                               ByteSink& out) {
  const std::string& zip = archive.zip.str();
  const MemberSplice& splice = archive.edits.spliced.find(record.name)->second;
  PTPKG_TRY(const LocalRecord local, zip::ReadLocal(*archive.file, record.offset, zip));
  InterruptibleSink sink(env, out);
  const DeflateRange range{
      .offset = local.data_offset, .stored_bytes = record.stored_bytes, .size_bytes = record.size_bytes};
  const std::string frame = fmt::format("while editing '{}' of '{}'", record.name, zip);
  PTPKG_TRY(const SplicedStream stream,
            record.method == static_cast<std::uint16_t>(ZipMethod::kDeflate)
                ? SpliceDeflate(*archive.file, range, splice.edits, archive.edits.deflate.level, sink)
                : SpliceStored(*archive.file, range, splice.edits, sink),
            frame);
  if (stream.old_crc32 != record.crc32) {
    return Error(
        ErrorCode::kCorrupt,
        fmt::format("'{}': member '{}' has another CRC than the zip says: it is damaged", zip, record.name));
  }
  if (stream.sha256 != splice.sha256) {
    return Error(
               ErrorCode::kCorrupt,
               fmt::format("'{}': member '{}' becomes a file with sha256 {}, not the {} that its edits were "
                           "made for",
                           zip, record.name, stream.sha256.Hex(), splice.sha256.Hex()))
        .WithHint("if another program changed the file, run the command again");
  }
  return stream;
}

Result<SplicedMember> SpliceMember(Env& env, const EditedArchive& archive, const CentralRecord& record,
                                   SpliceScratch& scratch) {
  constexpr std::uint64_t kSmallBytes = 4U << 20U;
  if (record.stored_bytes < kSmallBytes) {
    StringSink sink;
    PTPKG_TRY(const SplicedStream stream, SpliceTo(env, archive, record, sink));
    return scratch.AddSmall(sink.str(), stream);
  }
  PTPKG_TRY(std::unique_ptr<File> file, OpenScratch(env, env.cache_dir));
  FileSink sink(*file);
  PTPKG_TRY(const SplicedStream stream, SpliceTo(env, archive, record, sink));
  return scratch.AddLarge(std::move(file), stream);
}

struct SplicedMembers {
  std::unique_ptr<SpliceScratch> scratch;  ///< Holds their content; null if there are none.
  std::map<const CentralRecord*, SplicedMember> members = {};
};

/// Several at once, which is why they wait in scratch files: the two largest libraries of torch's wheel
/// take most of the time of its repair.
Result<SplicedMembers> SpliceMembers(Env& env, const EditedArchive& archive, Task& task) {
  SplicedMembers spliced;
  std::vector<const CentralRecord*> records;
  for (const CentralRecord& record : archive.kept) {
    if (archive.edits.spliced.contains(record.name)) records.push_back(&record);
  }
  if (records.empty()) return spliced;
  std::stable_sort(records.begin(), records.end(), [](const CentralRecord* a, const CentralRecord* b) {
    return a->size_bytes > b->size_bytes;  // a large one that begins last would be alone at the end
  });
  PTPKG_TRY(std::unique_ptr<File> small, OpenScratch(env, env.cache_dir));
  spliced.scratch = std::make_unique<SpliceScratch>(std::move(small));
  std::vector<SplicedMember> made(records.size());
  PTPKG_CHECK(ParallelFor(env.jobs, records.size(), [&](std::size_t i) -> Result<void> {
    PTPKG_TRY(made[i], SpliceMember(env, archive, *records[i], *spliced.scratch));
    task.Advance(records[i]->stored_bytes);
    return Ok();
  }));
  for (std::size_t i = 0; i < records.size(); ++i) spliced.members[records[i]] = made[i];
  return spliced;
}

Result<void> WriteSpliced(Env& env, const EditedArchive& archive, const CentralRecord& record,
                          const SplicedMember& spliced, ZipWriter& writer) {
  PTPKG_TRY(RelPath path, NewName(archive, record));
  return writer.Copy(*spliced.stored, {.name = std::move(path),
                                       .mode = ModeOf(record),
                                       .method = static_cast<ZipMethod>(record.method),
                                       .time = ZipTimeOf(env.source_date_epoch),
                                       .crc32 = spliced.stream.crc32,
                                       .size_bytes = spliced.stream.size_bytes,
                                       .stored_bytes = spliced.stream.stored_bytes,
                                       .data_offset = spliced.offset});
}

Result<void> CopyKept(const EditedArchive& archive, const CentralRecord& record, ZipWriter& writer) {
  PTPKG_TRY(const LocalRecord local, zip::ReadLocal(*archive.file, record.offset, archive.zip.str()));
  PTPKG_TRY(RelPath path, NewName(archive, record));
  const bool plain = path.str() == record.name && IsPlain(local);
  return writer.Copy(*archive.file, {.name = std::move(path),
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

/// Members that are written together.
struct ArchivePart {
  std::vector<const CentralRecord*> kept = {};
  std::vector<const Entry*> added = {};
};

/// `last`: the members in last_folder, by their new names; else all others.
ArchivePart SelectPart(const EditedArchive& archive, bool last) {
  const ZipEdits& edits = archive.edits;
  const auto belongs = [&](const std::string& name) {
    return last == (!edits.last_folder.empty() && name.starts_with(edits.last_folder));
  };
  ArchivePart part;
  for (const CentralRecord& record : archive.kept) {
    if (belongs(NameAfter(edits, record))) part.kept.push_back(&record);
  }
  for (const Entry& entry : edits.added) {
    if (belongs(entry.name.str())) part.added.push_back(&entry);
  }
  return part;
}

Result<void> WriteKept(Env& env, const EditedArchive& archive,
                       const std::vector<const CentralRecord*>& records, const SplicedMembers& spliced,
                       ZipWriter& writer) {
  for (const CentralRecord* const record : records) {
    const auto member = spliced.members.find(record);
    PTPKG_CHECK(member == spliced.members.end()
                    ? CopyKept(archive, *record, writer)
                    : WriteSpliced(env, archive, *record, member->second, writer));
  }
  return Ok();
}

Result<void> WriteAdded(Env& env, const std::vector<const Entry*>& added, DeflateOptions options,
                        ZipWriter& writer, Task& task) {
  if (added.empty()) return Ok();
  options.hash = false;  // RECORD, which is one of them, has the digests
  PTPKG_TRY([[maybe_unused]] const std::vector<PackedMember> packed,
            WriteZipMembers(env, writer, added, options, task));
  return Ok();
}

Result<void> WriteArchive(Env& env, const EditedArchive& archive, File& out, std::string_view title) {
  Task task(env.reporter, {"zip", std::string(title), archive.total_bytes});
  ZipWriter writer(out, env.source_date_epoch);
  writer.OnCopied([&](std::uint64_t bytes) -> Result<void> {
    task.Advance(bytes);
    return env.cancel.Check();
  });
  PTPKG_TRY(const SplicedMembers spliced, SpliceMembers(env, archive, task));
  for (const bool last : {false, true}) {
    const ArchivePart part = SelectPart(archive, last);
    PTPKG_CHECK(WriteKept(env, archive, part.kept, spliced, writer));
    PTPKG_CHECK(WriteAdded(env, part.added, archive.edits.deflate, writer, task));
  }
  PTPKG_TRY([[maybe_unused]] const std::uint64_t size_bytes, writer.Finish());
  task.Done(Plural(archive.kept.size() + archive.edits.added.size(), "file"));
  return Ok();
}

}  // namespace

Result<void> WriteEditedZip(Env& env, const AbsPath& zip, const AbsPath& target,
                            ExistingFilePolicy on_existing, const ZipEdits& edits) {
  PTPKG_TRY(const EditedArchive archive, OpenArchive(env, zip, edits));
  PTPKG_TRY(AtomicFile out, AtomicFile::Create(env.fs, target));
  PTPKG_CHECK(WriteArchive(env, archive, out.file(), target.Name()),
              fmt::format("while writing '{}'", target.str()));
  return std::move(out).Commit(on_existing);
}

}  // namespace ptpkg::archive
