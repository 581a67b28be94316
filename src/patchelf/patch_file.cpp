#include "patchelf/patch_file.h"

#include <fmt/core.h>

#include "elf/read/section_table.h"
#include "support/files/atomic_file.h"

namespace ptpkg::patchelf {
namespace {

constexpr std::uint32_t kOwnerWrite = 0200;

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

/// Edits a copy beside `output` and renames it over the name.
Result<void> PatchCopy(Fs& fs, const AbsPath& input, AbsPath output, const elf::EditPlan& plan,
                       const elf::Edits& edits) {
  PTPKG_TRY(const bool exists, Exists(fs, output));
  PTPKG_CHECK(fs.Stat(output.Parent()));  // patchelf makes no directories either
  if (exists) {
    PTPKG_TRY(output, fs.RealPath(output.str()));
    PTPKG_TRY(const FileStat stat, fs.Stat(output));
    if (stat.kind == FileKind::kOther) return Ok();
  }
  PTPKG_TRY(TempDir scratch, TempDir::Create(fs, output.Parent(), elf::kEditFolderPrefix));
  const AbsPath copy = scratch.path() / "copy";
  PTPKG_CHECK(fs.CopyFile(input, copy));
  PTPKG_TRY(const FileStat original, fs.Lstat(copy));
  PTPKG_CHECK(fs.SetMode(copy, original.mode | kOwnerWrite));
  PTPKG_CHECK(fs.CopyAttributes(input, copy));
  PTPKG_CHECK(elf::RecoverEdit(fs, copy));
  if (!plan.writes.empty()) {
    PTPKG_TRY(const elf::EditPlan edited, elf::EditFile(fs, copy, edits));
  }
  PTPKG_CHECK(fs.SetMode(copy, original.mode));
  return fs.Rename(copy, output);
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

Result<bool> PatchOnce(Fs& fs, const PatchElfRequest& request) {
  const AbsPath& input = request.file;
  if (!request.output) PTPKG_CHECK(elf::RecoverEdit(fs, input));
  PTPKG_TRY(Opened opened, OpenElf(fs, input));
  PTPKG_TRY(const elf::Edits edits, elf::ResolveEdits(fs, request.edits, opened.image, opened.facts));
  PTPKG_TRY(const elf::EditPlan plan, elf::PlanEdit(*opened.file, opened.image, edits));
  if (request.output) {
    PTPKG_CHECK(PatchCopy(fs, input, *request.output, plan, edits));
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
