#include "pipeline/patch_elf.h"

#include <fmt/format.h>

#include "elf/edit.h"
#include "elf/search_path.h"
#include "elf/section_table.h"
#include "elf/shrink.h"
#include "support/atomic_file.h"

namespace ptpkg::pipeline {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel follows

Result<AbsPath> FollowLinks(Fs& fs, AbsPath path) {
  for (int i = 0; i < kMaxLinks; ++i) {
    PTPKG_TRY(const FileStat stat, fs.Lstat(path));
    if (stat.kind != FileKind::kSymlink) return path;
    PTPKG_TRY(const std::string target, fs.ReadLink(path));
    PTPKG_TRY(path, AbsPath::Resolve(path.Parent(), target));
  }
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is a chain of too many symlinks", path.str()));
}

struct Opened {
  std::unique_ptr<File> file;
  elf::Image image;
  elf::LinkFacts facts;
};

Result<Opened> OpenElf(Fs& fs, const AbsPath& path) {
  PTPKG_TRY(auto file, fs.Open(path, OpenMode::kRead));
  PTPKG_TRY(auto image, elf::ReadImage(*file));
  if (!image) return Error(ErrorCode::kUnsupported, fmt::format("'{}' is not an ELF file", path.str()));
  PTPKG_TRY(elf::LinkFacts facts, elf::ReadLinkFacts(*file, *image));
  return Opened{.file = std::move(file), .image = *std::move(image), .facts = std::move(facts)};
}

/// The text after a set, add or shrink; nullopt when there is nothing to do.
Result<std::optional<std::string>> NewPath(Env& env, const PatchElfRequest& request, const Opened& opened) {
  const auto& current = opened.facts.Effective();
  switch (request.path_action) {
    case PathAction::kKeep:
    case PathAction::kRemove:
      return std::optional<std::string>();
    case PathAction::kSet:
      return std::optional<std::string>(request.path_text);
    case PathAction::kAdd: {
      if (!current || current->text.empty()) return std::optional<std::string>(request.path_text);
      return std::optional<std::string>(current->text + ":" + request.path_text);
    }
    case PathAction::kShrink:
      break;
  }
  if (!current) return std::optional<std::string>();
  PTPKG_TRY(const auto kept, elf::ShrinkSearchPath(env.fs, {.entries = elf::SplitSearchPath(current->text),
                                                            .needed = opened.facts.needed,
                                                            .machine = opened.image.header.machine,
                                                            .allowed_prefixes = request.allowed_prefixes}));
  return std::optional<std::string>(elf::JoinSearchPath(kept));
}

Result<elf::Edits> EditsOf(Env& env, const PatchElfRequest& request, const Opened& opened) {
  elf::Edits edits;
  edits.blank = 'X';  // what scripts that look for leftovers expect of this command line
  PTPKG_TRY(const auto path, NewPath(env, request, opened));
  // A debug companion has no dynamic section to edit; its paths are silently left, as patchelf does.
  const bool has_dynamic = opened.image.dynamic.has_value();
  if (path && has_dynamic) {
    const elf::PathTag tag = request.rpath_tag ? elf::PathTag::kRpath : elf::PathTag::kRunpath;
    edits.search_path = elf::SearchPath{.tag = tag, .text = *path};
  }
  edits.remove_search_path = request.path_action == PathAction::kRemove;
  if (opened.image.header.type == elf::kTypeDyn) edits.soname = request.soname;
  edits.interpreter = request.interpreter;
  edits.add_needed = request.add_needed;
  edits.remove_needed = request.remove_needed;
  for (const auto& [from, to] : request.replace_needed) edits.replace_needed[from] = to;
  edits.executable_stack = request.executable_stack;
  edits.no_default_libraries = request.no_default_libraries;
  edits.add_debug_entry = request.add_debug_entry;
  return edits;
}

/// Edits a copy beside `output` and renames it over the name.
Result<void> PatchCopy(Env& env, const AbsPath& input, const AbsPath& output, const elf::EditPlan& plan,
                       const elf::Edits& edits) {
  PTPKG_TRY(const bool exists, Exists(env.fs, output));
  if (exists) {
    PTPKG_TRY(const FileStat stat, env.fs.Stat(output));
    if (stat.kind == FileKind::kOther) return Ok();
  }
  PTPKG_TRY(TempDir scratch, TempDir::Create(env.fs, output.Parent(), ".ptpkg-edit"));
  const AbsPath copy = scratch.path() / "copy";
  PTPKG_CHECK(env.fs.CopyFile(input, copy));
  if (!plan.writes.empty()) {
    PTPKG_TRY(const elf::EditPlan edited, elf::EditFile(env.fs, copy, edits));
  }
  return env.fs.Rename(copy, output);
}

}  // namespace

Result<ElfSummary> SummarizeElf(Env& env, const AbsPath& file) {
  PTPKG_TRY(const Opened opened, OpenElf(env.fs, file));
  ElfSummary summary;
  PTPKG_TRY(summary.warnings, elf::CheckSectionTable(*opened.file, opened.image));
  summary.has_dynamic = opened.image.dynamic.has_value();
  summary.is_library = opened.image.header.type == elf::kTypeDyn;
  summary.interpreter = opened.facts.interpreter;
  summary.soname = opened.facts.soname;
  if (const auto& path = opened.facts.Effective()) summary.search_path = path->text;
  summary.needed = opened.facts.needed;
  if (opened.facts.stack == elf::StackFlag::kExecutable) summary.executable_stack = 'X';
  if (opened.facts.stack == elf::StackFlag::kNotExecutable) summary.executable_stack = '-';
  return summary;
}

Result<void> PatchElf(Env& env, const PatchElfRequest& request) {
  PTPKG_TRY(const AbsPath input, FollowLinks(env.fs, request.file));
  PTPKG_TRY(const bool recovered, elf::RecoverEdit(env.fs, input));
  static_cast<void>(recovered);
  PTPKG_TRY(const Opened opened, OpenElf(env.fs, input));
  PTPKG_TRY(const elf::Edits edits, EditsOf(env, request, opened));
  PTPKG_TRY(const elf::EditPlan plan, elf::PlanEdit(*opened.file, opened.image, edits));
  if (request.output) return PatchCopy(env, input, *request.output, plan, edits);
  return elf::ApplyEdit(env.fs, input, plan);
}

}  // namespace ptpkg::pipeline
