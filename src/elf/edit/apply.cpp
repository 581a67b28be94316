// ApplyEdit and EditFile (declared in elf/edit/edit.h). Carries out a planned edit so that a killed process
// leaves the old or the new file, never a third one.
//
// In place: lock, compare the file with the plan, append an undo record, write, verify, cut the record off.
// A plan that is one write within one page needs no record, because such a write is atomic. A failure rolls
// back at once, and a killed process is rolled back by the next edit (elf/edit/undo.cpp).
//
// By copy: files with other hard links, without write permission for the owner, with a set-ID bit, or running
// as a program are copied, edited and renamed over their name. Owner, attributes and mode follow before the
// rename.
//
// Verification reads the written file again with our reader, and for grown files with LIEF, which shares no
// code with the editor. docs/formats/elf-search-path.md has the depths. Nothing is synced: the promise
// covers the death of the process, not of the machine.

#include <algorithm>
#include <cerrno>
#include <fmt/core.h>
#include <functional>

#include "elf/edit/byte_diff.h"
#include "elf/edit/edit.h"
#include "elf/edit/string_slots.h"
#include "elf/edit/undo.h"
#include "elf/read/model.h"
#include "support/files/atomic_file.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kCopyBytes = 256U << 10U;
constexpr std::uint32_t kOwnerWrite = 0200;
constexpr std::uint32_t kSetIdBits = 06000;

Result<void> CopyWithin(File& file, const PlannedWrite& write) {
  std::vector<std::byte> buffer(std::min(kCopyBytes, write.copy_bytes));
  for (std::uint64_t done = 0; done < write.copy_bytes;) {
    const std::uint64_t size = std::min<std::uint64_t>(buffer.size(), write.copy_bytes - done);
    const MutableBytes piece = MutableBytes(buffer).first(size);
    PTPKG_TRY(const std::size_t got, file.ReadAt(write.copy_from + done, piece));
    if (got != size) return Error(ErrorCode::kCorrupt, "the file was cut short while it was copied from");
    PTPKG_CHECK(file.WriteAt(write.offset + done, piece));
    done += size;
  }
  return Ok();
}

Result<void> WriteAll(File& file, const EditPlan& plan) {
  for (const PlannedWrite& write : plan.writes) {
    if (write.copy_bytes != 0) PTPKG_CHECK(CopyWithin(file, write));
    if (!write.bytes.empty()) PTPKG_CHECK(file.WriteAt(write.offset, write.bytes));
  }
  return Ok();
}

/// The quick verification: a fresh read of the file gives the planned facts, and its segments are sound.
Result<void> Verify(File& file, const EditPlan& plan) {
  PTPKG_TRY(const auto image, ReadImage(file), "while verifying the written file");
  if (!image) return Error(ErrorCode::kInternal, "the file is no longer an ELF file");
  PTPKG_CHECK(CheckSegments(*image), "while verifying the written file");
  PTPKG_TRY(const LinkFacts facts, ReadLinkFacts(file, *image), "while verifying the written file");
  if (facts != plan.after) return Error(ErrorCode::kInternal, "the written file differs from the plan");
  return Ok();
}

/// State that deep verification compares with; taken before the first write.
struct DeepState {
  Model model;
  CodeDigest code{};
};

enum class Depth : std::uint8_t {
  kQuick,
  kTables,  ///< LIEF reads the tables; that no write touches code is seen from the plan.
  kWhole,   ///< LIEF reads the whole file, and the code is hashed.
};

Depth DepthOf(const EditPlan& plan, Verification verification) {
  if (verification == Verification::kDeep) return Depth::kWhole;
  const bool grows = plan.tier == WriteTier::kAppend;
  return verification == Verification::kDeepIfGrown && grows ? Depth::kTables : Depth::kQuick;
}

Result<DeepState> ReadDeepState(File& file, const AbsPath& path, const EditPlan& plan, Depth depth) {
  DeepState state;
  PTPKG_TRY(const auto image, ReadImage(file));
  if (!image) return Error(ErrorCode::kInternal, "the file is no longer an ELF file");
  if (depth == Depth::kWhole) {
    PTPKG_TRY(state.code, HashCode(file, *image, plan.writes));
    PTPKG_TRY(state.model, ReadModel(path));
    // LIEF counts symbols by relocations too, whose layout it misreads in 64-bit little-endian files of MIPS.
    // It then takes the bytes behind the table for symbols.
    PTPKG_TRY(const auto count, CountDynamicSymbols(file, *image));
    if (count && state.model.symbols.size() > *count) state.model.symbols.resize(*count);
    return state;
  }
  PTPKG_CHECK(CheckCodeUntouched(*image, plan));
  PTPKG_TRY(state.model, ReadModelOfTables(file, *image));
  return state;
}

/// `path` is where `file` can be opened again.
Result<void> WriteAndVerify(File& file, const AbsPath& path, const EditPlan& plan,
                            Verification verification) {
  const Depth depth = DepthOf(plan, verification);
  std::optional<DeepState> before;
  if (depth != Depth::kQuick) {
    // The state before must be read before the first write, or the comparison would compare the result with
    // itself.
    PTPKG_TRY(before, ReadDeepState(file, path, plan, depth));
  }
  PTPKG_CHECK(WriteAll(file, plan));
  PTPKG_CHECK(Verify(file, plan));
  if (!before) return Ok();
  PTPKG_TRY(const DeepState after, ReadDeepState(file, path, plan, depth));
  if (after.code != before->code) return Error(ErrorCode::kInternal, "deep verification: the code changed");
  return CompareModels(before->model, after.model, plan.after);
}

Error ConcurrentChangeError() {
  return Error(ErrorCode::kRefused, "another process changed the file after the edit was planned")
      .WithHint("find the process that writes to it, and run the edit again");
}

bool IsSingleAtomicWrite(const EditPlan& plan) {
  return plan.writes.size() == 1 && plan.new_size == plan.old_size && IsAtomic(plan.writes.front());
}

/// Says in `error` that the old content could not be restored either.
Error NotRestoredError(Error error) {
  return std::move(error).WithHint("the next edit of the file restores its old content");
}

/// Ends with a file that was closed without an error, and has no record.
Result<void> WriteInPlace(Fs& fs, const AbsPath& path, const EditPlan& plan, const UndoRecord& undo,
                          Verification verification) {
  PTPKG_TRY(const auto file, fs.Open(path, OpenMode::kReadWrite));
  const bool keeps_record = !IsSingleAtomicWrite(plan);
  // The complete record is in the file before the first byte of the edit.
  if (keeps_record) PTPKG_CHECK(AppendUndo(*file, undo));
  PTPKG_CHECK(WriteAndVerify(*file, path, plan, verification));
  // The cut is the end of the transaction: until here, the next edit would roll back.
  if (keeps_record) PTPKG_CHECK(file->Truncate(plan.new_size));
  return file->Close();
}

Result<void> EditInPlace(Fs& fs, const AbsPath& path, const EditPlan& plan, Verification verification) {
  // Locked until all is done: who waits for it must not find the record of a finished edit. Writable, to roll
  // back what another descriptor failed to write or close.
  PTPKG_TRY(const auto guard, fs.Open(path, OpenMode::kReadWrite));
  PTPKG_CHECK(guard->Lock());
  PTPKG_TRY(const FileStat now, guard->Stat());
  if (!plan.IsFor(now)) return ConcurrentChangeError();
  PTPKG_TRY(const UndoRecord undo, MakeUndo(*guard, plan));
  auto edited = WriteInPlace(fs, path, plan, undo, verification);
  if (edited) return edited;
  if (auto restored = RollBack(*guard, undo); !restored) return NotRestoredError(std::move(edited).error());
  return edited;
}

/// Why a file is edited by copy.
constexpr std::string_view kCopyReasons =
    "it has other hard links, is read-only, is running or has a set-ID bit";

/// The owner, attributes and mode of `original`, which is at `path`. A copy that belongs to somebody else
/// would take the file from its owner, and set-ID bits would give other rights.
Result<void> CopyOwnerAndMode(Fs& fs, const AbsPath& path, const FileStat& original, const AbsPath& copy) {
  if (const auto owned = fs.CopyOwner(path, copy); !owned) {
    return Error(
               owned.error().code(),
               fmt::format("cannot replace '{}' by an edited copy ({}): it belongs to another user or group",
                           path.str(), kCopyReasons))
        .WithErrno(owned.error().sys_errno())
        .WithHint("run the command as its owner or as root");
  }
  // Before the mode: who may not write a file may not give it attributes either.
  PTPKG_CHECK(fs.CopyAttributes(path, copy));
  return fs.SetMode(copy, original.mode);
}

Error NeedsFolder(Error error, const AbsPath& path) {
  if (error.sys_errno() != EACCES && error.sys_errno() != EPERM) return error;
  return std::move(error).WithHint(fmt::format(
      "cannot replace '{}' by an edited copy ({}): its directory is not writable", path.str(), kCopyReasons));
}

/// Fills `copy`, a new file, with the edited content of `path`.
using MakeCopy = std::function<Result<void>(const AbsPath& copy)>;

/// Makes an edited copy and renames it over the name: splits hard links, works on read-only files.
Result<void> EditCopy(Fs& fs, const AbsPath& path, const EditPlan& plan, const MakeCopy& make) {
  PTPKG_TRY(const auto source, fs.Open(path, OpenMode::kRead));
  PTPKG_CHECK(source->Lock());
  auto scratch = TempDir::Create(fs, path.Parent(), kEditFolderPrefix);
  if (!scratch) return NeedsFolder(std::move(scratch).error(), path);
  const AbsPath copy = scratch->path() / path.Name();
  PTPKG_CHECK(fs.CopyFile(path, copy));
  // After the copy, so that a change during the copy shows too.
  PTPKG_TRY(const FileStat original, fs.Lstat(path));
  if (!plan.IsFor(original)) return ConcurrentChangeError();
  PTPKG_CHECK(fs.SetMode(copy, (original.mode & 0777) | kOwnerWrite));
  PTPKG_CHECK(make(copy));
  PTPKG_CHECK(CopyOwnerAndMode(fs, path, original, copy));
  return fs.Rename(copy, path);
}

Result<void> WriteCopy(Fs& fs, const AbsPath& copy, const EditPlan& plan, Verification verification) {
  PTPKG_TRY(const auto file, fs.Open(copy, OpenMode::kReadWrite));
  PTPKG_CHECK(WriteAndVerify(*file, copy, plan, verification));
  return file->Close();
}

/// `copy` has the old content, and gets the one that LIEF makes of it.
Result<void> TryLief(Fs& fs, const AbsPath& copy, const EditPlan& plan) {
  PTPKG_TRY(const auto file, fs.Open(copy, OpenMode::kReadWrite));
  PTPKG_TRY(const DeepState before, ReadDeepState(*file, copy, plan, Depth::kWhole));
  PTPKG_TRY(const std::vector<std::uint8_t> bytes, RewriteByLief(copy, plan.before, plan.after));
  PTPKG_CHECK(file->WriteAt(0, std::as_bytes(std::span(bytes))));
  PTPKG_CHECK(file->Truncate(bytes.size()));
  PTPKG_CHECK(Verify(*file, plan));
  PTPKG_TRY(const DeepState after, ReadDeepState(*file, copy, plan, Depth::kWhole));
  if (after.code != before.code) return Error(ErrorCode::kInternal, "deep verification: the code changed");
  PTPKG_CHECK(CompareModels(before.model, after.model, plan.after, Addresses::kMayMove));
  return file->Close();
}

/// LIEF's writer changes more in some files than the edit: the file is sound, so the error names the limit.
Result<void> WriteCopyByLief(Fs& fs, const AbsPath& copy, const EditPlan& plan) {
  auto written = TryLief(fs, copy, plan);
  if (written ||
      (written.error().code() != ErrorCode::kInternal && written.error().code() != ErrorCode::kCorrupt))
    return written;
  return Error(ErrorCode::kUnsupported,
               fmt::format("LIEF's writer changes other parts of the file: {}", written.error().message()))
      .WithHint("nothing was changed; remove --writer lief");
}

bool IsBusyProgram(const Result<void>& result) { return !result && result.error().sys_errno() == ETXTBSY; }

}  // namespace

Result<void> ApplyEdit(Fs& fs, const AbsPath& path, const EditPlan& plan, const ApplyOptions& options) {
  if (plan.writes.empty()) return Ok();
  PTPKG_TRY(const FileStat stat, fs.Lstat(path));
  if (stat.kind != FileKind::kRegular) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a regular file", path.str()))
        .WithHint("give the file itself, not a link to it");
  }
  const MakeCopy make = [&](const AbsPath& copy) {
    if (options.writer == Writer::kLief) return WriteCopyByLief(fs, copy, plan);
    return WriteCopy(fs, copy, plan, options.verification);
  };
  // The kernel takes set-ID bits from a file that is written.
  const bool needs_copy = stat.link_count > 1 || (stat.mode & kOwnerWrite) == 0 ||
                          (stat.mode & kSetIdBits) != 0 || options.writer == Writer::kLief;
  if (needs_copy) {
    PTPKG_CHECK(EditCopy(fs, path, plan, make));
  } else if (auto edited = EditInPlace(fs, path, plan, options.verification); IsBusyProgram(edited)) {
    PTPKG_CHECK(EditCopy(fs, path, plan, make));
  } else if (!edited) {
    return edited;
  }
  if (options.keep_mtime) return fs.SetMtime(path, stat.mtime_ns);
  return Ok();
}

Result<EditPlan> EditFile(Fs& fs, const AbsPath& path, const Edits& edits, const ApplyOptions& options) {
  const std::string frame = fmt::format("while editing '{}'", path.str());
  PTPKG_CHECK(RecoverEdit(fs, path), frame);
  PTPKG_TRY(auto opened, OpenRecovered(fs, path));
  PTPKG_TRY(const auto image, ReadImage(*opened.file), frame);
  if (!image) {
    return Error(ErrorCode::kUnsupported, fmt::format("'{}' is not an ELF file", path.str()));
  }
  PTPKG_TRY(EditPlan plan, PlanEdit(*opened.file, *image, edits), frame);
  // Releases the shared lock of the reader, for which ApplyEdit's exclusive one would wait.
  opened.file.reset();
  PTPKG_CHECK(ApplyEdit(fs, path, plan, options), frame);
  return plan;
}

}  // namespace ptpkg::elf
