// Edits the ELF files of a wheel in a scratch directory, and describes each change to the zip writer as small
// as possible. A file edited in place becomes a splice (the written ranges and the appended bytes), so that
// the zip writer keeps the rest of the compressed bytes.
// A splice needs the old content. Copied and stripped files are therefore written as a whole: their bytes
// have no counterpart in the wheel. Planned writes can overlap, and their order is by offset with the longest
// at each. DifferenceOf counts each byte once and reads it back from the edited file, which holds the final
// content. Invariant: CompareWithRecord runs before the edits. After them, RECORD gets digests of the edited
// files, and earlier damage would pass as the wheel's content.

#include "repair/edited_tree.h"

#include <algorithm>
#include <fmt/core.h>
#include <span>

#include "archive/extract.h"
#include "elf/edit/edit.h"
#include "model/package_note.h"
#include "repair/strip_file.h"
#include "support/digest/hash.h"
#include "support/process/parallel.h"
#include "verify/elf/dlopen_table.h"

namespace ptpkg::repair {
namespace {

constexpr std::string_view kElfMagic = "\177ELF";

bool IsWanted(std::string_view name, Bytes head) {
  if (AsText(head) == kElfMagic) return true;
  const std::size_t slash = name.rfind('/');
  const std::string_view file = name.substr(slash + 1);
  const bool in_dist_info = slash != std::string_view::npos && name.substr(0, slash).ends_with(".dist-info");
  // The planner reads these three: dependencies, tags, and libraries that may be missing.
  if (in_dist_info) return file == "METADATA" || file == "WHEEL" || file == kPackageNoteName;
  return file.ends_with(".so") || file.find(".so.") != std::string_view::npos;
}

Result<EditedFile> EditOne(Env& env, const AbsPath& folder, const FileEdit& edit) {
  PTPKG_CHECK(env.cancel.Check());
  const AbsPath path = folder / edit.path;
  if (edit.source) {
    PTPKG_CHECK(env.fs.CopyFile(*edit.source, path));
    PTPKG_TRY(const FileStat stat, env.fs.Lstat(path));
    // Wheels have only these two modes. Libraries of this machine can be read-only, and the edit has to
    // write.
    PTPKG_CHECK(env.fs.SetMode(path, (stat.mode & 0100U) != 0 ? 0755 : 0644));
  }
  EditedFile edited{.path = edit.path, .before = {}, .after = {}, .differs = edit.source.has_value()};
  if (edit.strip) {
    PTPKG_TRY(edited.stripped, StripFile(env, path));
  }
  PTPKG_TRY(const elf::EditPlan plan,
            elf::EditFile(env.fs, path, edit.edits, {.verification = elf::Verification::kDeepIfGrown}));
  if (!edit.source && !edited.stripped) {
    edited.touched.emplace();
    edited.old_size = plan.old_size;
    for (const elf::PlannedWrite& write : plan.writes) {
      std::uint64_t& length = (*edited.touched)[write.offset];
      length = std::max(length, write.size_bytes());
    }
  }
  edited.before = plan.before;
  edited.after = plan.after;
  edited.differs = edited.differs || edited.stripped || plan.tier != elf::WriteTier::kNothing;
  return edited;
}

/// Difference between the file and its earlier content. Overlapping writes count once.
Result<archive::ContentEdits> DifferenceOf(Env& env, const AbsPath& path, const EditedFile& edited) {
  archive::ContentEdits edits;
  PTPKG_TRY(const auto file, env.fs.Open(path, OpenMode::kRead));
  const auto read = [&](std::uint64_t from, std::uint64_t to) -> Result<std::string> {
    std::string bytes(to - from, '\0');
    PTPKG_TRY(const std::size_t got, file->ReadAt(from, std::as_writable_bytes(std::span(bytes))));
    if (got == bytes.size()) return bytes;
    return Error(ErrorCode::kInternal, fmt::format("'{}' is shorter than planned", path.str()));
  };
  std::uint64_t done = 0;
  for (const auto& [offset, length] : *edited.touched) {
    const std::uint64_t from = std::max(done, offset);
    const std::uint64_t to = std::min(offset + length, edited.old_size);
    if (from >= to) continue;
    PTPKG_TRY(std::string bytes, read(from, to));
    edits.replaced.push_back({.offset = from, .bytes = std::move(bytes)});
    done = to;
  }
  PTPKG_TRY(const FileStat stat, file->Stat());
  if (stat.size_bytes > edited.old_size) {
    PTPKG_TRY(edits.appended, read(edited.old_size, stat.size_bytes));
  }
  return edits;
}

}  // namespace

Result<void> UnpackElfFiles(Env& env, const AbsPath& wheel, const AbsPath& folder) {
  archive::ExtractOptions options;
  options.wanted = IsWanted;
  return archive::ExtractZip(env, wheel, folder, options);
}

Result<void> CompareWithRecord(Env& env, const AbsPath& folder, const std::vector<FileEdit>& edits,
                               const std::vector<wheel::RecordRow>& record) {
  std::map<std::string_view, std::string_view> due;
  for (const wheel::RecordRow& row : record) due.emplace(row.path, row.sha256);
  return ParallelFor(env.jobs, edits.size(), [&](std::size_t i) -> Result<void> {
    const FileEdit& edit = edits[i];
    const auto row = due.find(edit.path.str());
    if (edit.source || row == due.end() || row->second.empty()) return Ok();
    PTPKG_TRY(const Digests digests, HashFile(env.fs, folder / edit.path));
    if (Base64UrlUnpadded(std::as_bytes(std::span(digests.sha256.bytes))) == row->second) return Ok();
    return Error(ErrorCode::kCorrupt, fmt::format("'{}' does not match RECORD", edit.path.str()))
        .WithHint("fetch or build the wheel again, or accept the file with 'ptpkg check --fix'");
  });
}

Result<std::vector<wheel::NewFile>> HashChanged(Env& env, const AbsPath& folder,
                                                const std::vector<EditedFile>& edited) {
  std::vector<const EditedFile*> changed;
  for (const EditedFile& file : edited) {
    if (file.differs) changed.push_back(&file);
  }
  std::vector<wheel::NewFile> files;
  for (const EditedFile* file : changed)
    files.push_back({.path = file->path, .file = folder / file->path, .sha256 = {}});
  PTPKG_CHECK(ParallelFor(env.jobs, files.size(), [&](std::size_t i) -> Result<void> {
    PTPKG_TRY(const FileStat stat, env.fs.Lstat(files[i].file));
    PTPKG_TRY(const Digests digests, HashFile(env.fs, files[i].file));
    files[i].mode = stat.mode & 0777U;
    files[i].sha256 = digests.sha256;
    files[i].size_bytes = digests.size_bytes;
    if (changed[i]->touched) {
      PTPKG_TRY(files[i].splice, DifferenceOf(env, files[i].file, *changed[i]));
    }
    return Ok();
  }));
  return files;
}

Result<verify::ElfTree> ReadSoundTree(Env& env, const AbsPath& folder) {
  std::vector<Finding> findings;
  PTPKG_TRY(const verify::DlopenTable opened, verify::DlopenTable::BuiltIn());
  PTPKG_TRY(verify::ElfTree tree, verify::ReadElfTree(env, folder, opened, findings));
  for (const Finding& finding : findings) {
    if (finding.severity != Severity::kError) continue;
    return Error(ErrorCode::kCorrupt, fmt::format("'{}': {}", finding.file, finding.message))
        .WithHint(finding.fix);
  }
  for (const verify::ElfMember& member : tree.members) {
    if (member.faults.empty()) continue;
    return Error(ErrorCode::kCheckFailed, fmt::format("'{}': ld.so cannot load the file: {}",
                                                      member.path.str(), member.faults.front().message))
        .WithHint("list all findings with 'ptpkg check'; repair cannot fix such a file");
  }
  return tree;
}

Result<std::vector<EditedFile>> EditFiles(Env& env, const AbsPath& folder,
                                          const std::vector<FileEdit>& edits) {
  for (const FileEdit& edit : edits) PTPKG_CHECK(env.fs.MakeDirs((folder / edit.path).Parent()));
  std::vector<EditedFile> edited;
  for (const FileEdit& edit : edits) edited.push_back({.path = edit.path, .before = {}, .after = {}});
  PTPKG_CHECK(ParallelFor(env.jobs, edits.size(), [&](std::size_t i) -> Result<void> {
    PTPKG_TRY(edited[i], EditOne(env, folder, edits[i]),
              fmt::format("while repairing '{}'", edits[i].path.str()));
    return Ok();
  }));
  return edited;
}

}  // namespace ptpkg::repair
