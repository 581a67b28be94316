#include "patchelf/patch_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/core.h>

#include "elf/read/section_table.h"
#include "support/files/atomic_file.h"

namespace ptpkg::patchelf {
namespace {

constexpr std::uint32_t kOwnerWrite = 0200;
constexpr std::uint32_t kPlainBits = 0777;

struct Opened {
  std::unique_ptr<File> file;
  elf::Image image;
  elf::LinkFacts facts;
};

Result<Opened> OpenElf(Fs& fs, const AbsPath& path) {
  PTPKG_TRY(elf::RecoveredFile opened, elf::OpenRecovered(fs, path));
  PTPKG_TRY(auto image, elf::ReadImage(*opened.file));
  if (!image) return Error(ErrorCode::kUnsupported, fmt::format("'{}' is not an ELF file", path.str()));
  PTPKG_TRY(elf::LinkFacts facts, elf::ReadLinkFacts(*opened.file, *image));
  return Opened{.file = std::move(opened.file), .image = *std::move(image), .facts = std::move(facts)};
}

}  // namespace

Result<ElfSummary> SummarizeElf(Fs& fs, const AbsPath& file) {
  PTPKG_TRY(const Opened opened, OpenElf(fs, file));
  ElfSummary summary;
  PTPKG_TRY(summary.warnings, elf::CheckSectionTable(*opened.file, opened.image));
  const std::uint16_t type = opened.image.header.type;
  summary.is_linked = type == elf::kTypeExec || type == elf::kTypeDyn;
  summary.has_dynamic = opened.image.dynamic.has_value();
  summary.declares_dynamic = summary.has_dynamic || opened.image.FindSegment(elf::kSegmentDynamic) != nullptr;
  summary.is_library = type == elf::kTypeDyn;
  summary.interpreter = opened.facts.interpreter;
  summary.soname = opened.facts.soname;
  if (const auto& path = opened.facts.Effective()) summary.search_path = path->text;
  summary.needed = opened.facts.needed;
  if (opened.facts.stack == elf::StackFlag::kExecutable) summary.executable_stack = 'X';
  if (opened.facts.stack == elf::StackFlag::kNotExecutable) summary.executable_stack = '-';
  return summary;
}

namespace {

/// A name of a descriptor or device: a file in its place would not reach the reader of the old one.
bool IsDeviceName(const AbsPath& path) {
  const std::string& name = path.str();
  return (name.starts_with("/dev/") && !name.starts_with("/dev/shm/")) || name.starts_with("/proc/");
}

/// Rewords a failure to name the output: users do not know the temporary files beside it.
Error Unwritable(const Error& error, const AbsPath& output) {
  if (error.sys_errno() == 0) return error;
  return ErrnoError(error.sys_errno(), fmt::format("cannot write '{}'", output.str()));
}

/// The file that open(2) finds or makes under the name `output`: the last one of a chain of links, also where
/// it is missing.
Result<AbsPath> FollowLinks(Fs& fs, AbsPath output) {
  constexpr int kMostLinks = 40;  // as the kernel
  for (int followed = 0; followed < kMostLinks; ++followed) {
    PTPKG_TRY(const bool exists, Exists(fs, output));
    if (!exists) return output;
    PTPKG_TRY(const FileStat own, fs.Lstat(output));
    if (own.kind != FileKind::kSymlink) return output;
    PTPKG_TRY(const std::string target, fs.ReadLink(output));
    const std::string text =
        target.starts_with('/') ? target : fmt::format("{}/{}", output.Parent().str(), target);
    const std::size_t name = text.rfind('/') + 1;
    // "..", "." and the end of "folder/" are directories.
    const bool is_folder = text.find_first_not_of('.', name) == std::string::npos && text.size() - name < 3;
    if (is_folder) return fs.RealPath(text);
    PTPKG_TRY(const AbsPath folder, fs.RealPath(text.substr(0, name)));
    PTPKG_TRY(output, AbsPath::Resolve(folder, text.substr(name)));
  }
  return ErrnoError(ELOOP, fmt::format("cannot follow '{}'", output.str()));
}

/// The edited content of `file` in memory.
Result<std::vector<std::byte>> EditedContent(File& file, const elf::EditPlan& plan) {
  std::vector<std::byte> content(plan.new_size);
  const std::uint64_t size = std::min(plan.old_size, plan.new_size);
  PTPKG_TRY(const std::size_t got, file.ReadAt(0, MutableBytes(content).first(size)));
  if (got != size) return Error(ErrorCode::kCorrupt, "the file was cut short while it was read");
  // In the plan's order of writing. memmove, since nothing keeps the two ranges of a copy apart.
  for (const elf::PlannedWrite& write : plan.writes) {
    std::byte* const to = content.data() + write.offset;
    if (write.copy_bytes != 0) std::memmove(to, content.data() + write.copy_from, write.copy_bytes);
    std::copy(write.bytes.begin(), write.bytes.end(), to);
  }
  return content;
}

/// Gives `copy` owner, attributes and mode of the file at `output`. False if this user cannot give it that
/// owner.
Result<bool> CopyRights(Fs& fs, const AbsPath& output, const AbsPath& copy) {
  PTPKG_TRY(const FileStat replaced, fs.Stat(output));
  if (!fs.CopyOwner(output, copy)) return false;
  PTPKG_CHECK(fs.CopyAttributes(output, copy));
  PTPKG_CHECK(fs.SetMode(copy, replaced.mode));
  return true;
}

/// Edits a copy beside `output` and renames it over the name. False if the file that is there can only be
/// written into.
Result<bool> ReplaceOutput(Fs& fs, const AbsPath& input, AbsPath output, const elf::EditPlan& plan,
                           const elf::Edits& edits) {
  PTPKG_TRY(output, FollowLinks(fs, output));
  PTPKG_TRY(const bool exists, Exists(fs, output));
  PTPKG_TRY(const FileStat parent, fs.Stat(output.Parent()));  // patchelf makes no directories either
  if (parent.kind != FileKind::kDirectory) return ErrnoError(ENOTDIR, "cannot make the file");
  auto scratch = TempDir::Create(fs, output.Parent(), elf::kEditFolderPrefix);
  if (!scratch) {
    const int cause = scratch.error().sys_errno();
    if (exists && (cause == EACCES || cause == EPERM || cause == EROFS)) return false;
    return std::move(scratch).error();
  }
  // A directory is made with 0777 less the umask, like an output of patchelf.
  PTPKG_TRY(const FileStat folder, fs.Lstat(scratch->path()));
  const AbsPath copy = scratch->path() / "copy";
  PTPKG_CHECK(fs.CopyFile(input, copy));
  // The edit needs write permission even if the umask takes it; the copy gets its final mode afterwards.
  PTPKG_CHECK(fs.SetMode(copy, (folder.mode & kPlainBits) | kOwnerWrite));
  PTPKG_CHECK(fs.SetMtime(copy, folder.mtime_ns));  // now
  PTPKG_CHECK(elf::RecoverEdit(fs, copy));
  if (!plan.writes.empty()) {
    PTPKG_TRY(const elf::EditPlan edited, elf::EditFile(fs, copy, edits));
  }
  PTPKG_TRY(const bool has_rights, exists ? CopyRights(fs, output, copy) : Result<bool>(true));
  if (!has_rights) return false;
  if (!exists) PTPKG_CHECK(fs.SetMode(copy, folder.mode & kPlainBits));
  PTPKG_CHECK(fs.Rename(copy, output));
  return true;
}

Result<void> WriteOutput(Fs& fs, const PatchElfRequest& request, const Opened& opened,
                         const elf::EditPlan& plan, const elf::Edits& edits) {
  const AbsPath& output = *request.output;
  const auto stat = fs.Stat(output);
  if (stat && stat->kind == FileKind::kDirectory)
    return Unwritable(ErrnoError(EISDIR, "cannot open the file"), output);
  const bool is_device = stat && (stat->kind == FileKind::kOther || IsDeviceName(output));
  if (!is_device) {
    const auto replaced = ReplaceOutput(fs, request.file, output, plan, edits);
    if (!replaced) return Unwritable(replaced.error(), output);
    if (*replaced) return Ok();
  } else {
    // Descriptors of this process have names too. A failure would leave a part of the input.
    PTPKG_TRY(const FileStat own, opened.file->Stat());
    if (own.inode == stat->inode && own.device == stat->device)
      return Error(
          ErrorCode::kInvalidInput,
          fmt::format("cannot write '{}': it is the input, which is edited in place without --output",
                      output.str()));
  }
  // No rename can replace a device or FIFO, so its content is written through in one pass.
  PTPKG_TRY(const std::vector<std::byte> content, EditedContent(*opened.file, plan));
  return fs.WriteThrough(output, content);
}

Result<bool> PatchOnce(Fs& fs, const PatchElfRequest& request) {
  const AbsPath& input = request.file;
  // A killed edit left its undo record in the file, and the new plan must start from the old content. With
  // --output the input stays as it is, and ReplaceOutput recovers the copy.
  if (!request.output) PTPKG_CHECK(elf::RecoverEdit(fs, input));
  PTPKG_TRY(Opened opened, OpenElf(fs, input));
  PTPKG_TRY(const elf::Edits edits, elf::ResolveEdits(fs, request.edits, opened.image, opened.facts));
  PTPKG_TRY(const elf::EditPlan plan, elf::PlanEdit(*opened.file, opened.image, edits));
  if (request.output) {
    PTPKG_CHECK(WriteOutput(fs, request, opened, plan, edits));
  } else {
    opened.file.reset();
    PTPKG_CHECK(elf::ApplyEdit(fs, input, plan));
  }
  return plan.strip_hazard;
}

}  // namespace

Result<bool> PatchElf(Fs& fs, const PatchElfRequest& request) {
  // Each further try follows an edit of somebody else that went through.
  constexpr int kMostTries = 100;
  for (int tried = 1;; ++tried) {
    auto patched = PatchOnce(fs, request);
    if (patched || patched.error().code() != ErrorCode::kRefused || tried == kMostTries) return patched;
  }
}

}  // namespace ptpkg::patchelf
