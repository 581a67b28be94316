#include "verify/elf_tree.h"

#include <algorithm>
#include <fmt/format.h>

#include "elf/search_path.h"
#include "support/parallel.h"

namespace ptpkg::verify {
namespace {

constexpr int kMaxDepth = 128;  // deeper trees are a trap, not a package

Result<void> List(Env& env, const AbsPath& root, const std::string& folder, int depth, ElfTree& tree) {
  PTPKG_CHECK(env.cancel.Check());
  if (depth > kMaxDepth) {
    return Error(ErrorCode::kInvalidInput, fmt::format("folders are nested more than {} deep", kMaxDepth));
  }
  PTPKG_TRY(const AbsPath here, AbsPath::Resolve(root, folder.empty() ? "." : folder));
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(here));
  for (const std::string& name : names) {
    const std::string text = folder.empty() ? name : folder + "/" + name;
    PTPKG_TRY(const RelPath path, RelPath::Parse(text));
    PTPKG_TRY(const FileStat stat, env.fs.Lstat(root / path));
    if (stat.kind == FileKind::kDirectory) {
      PTPKG_CHECK(List(env, root, text, depth + 1, tree));
    } else if (stat.kind != FileKind::kOther) {
      tree.files.push_back(path);
    }
  }
  return Ok();
}

Result<std::optional<ElfMember>> ReadMember(Env& env, const AbsPath& root, const RelPath& path) {
  PTPKG_CHECK(env.cancel.Check());
  PTPKG_TRY(const FileStat stat, env.fs.Lstat(root / path));
  if (stat.kind != FileKind::kRegular || stat.size_bytes < 4) return std::optional<ElfMember>();
  PTPKG_TRY(const auto file, env.fs.Open(root / path, OpenMode::kRead));
  PTPKG_TRY(const auto image, elf::ReadImage(*file));
  if (!image || !image->dynamic) return std::optional<ElfMember>();
  PTPKG_TRY(elf::LinkFacts facts, elf::ReadLinkFacts(*file, *image));
  constexpr std::uint64_t kFlagTextrel = 4;  // DF_TEXTREL
  const bool flagged = (image->dynamic->Find(elf::kDtFlags).value_or(0) & kFlagTextrel) != 0;
  return std::optional<ElfMember>(
      ElfMember{.path = path,
                .machine = image->header.machine,
                .elf_class = image->codec.elf_class(),
                .text_relocations = flagged || image->dynamic->Find(elf::kDtTextrel),
                .position_independent = image->header.type == elf::kTypeDyn,
                .facts = std::move(facts)});
}

Finding Damaged(const RelPath& path, const Error& error) {
  return {"elf-damaged", Severity::kError, path.str(),
          fmt::format("the ELF file is damaged: {}", error.message()), "build or fetch the file again"};
}

bool IsFolder(Env& env, const AbsPath& root, const std::string& folder) {
  const auto path = AbsPath::Resolve(root, folder.empty() ? "." : folder);
  if (!path) return false;
  const auto stat = env.fs.Stat(*path);
  return stat && stat->kind == FileKind::kDirectory;
}

}  // namespace

Result<ElfTree> ReadElfTree(Env& env, const AbsPath& root, std::vector<Finding>& findings) {
  ElfTree tree;
  tree.root = root;
  PTPKG_CHECK(List(env, root, "", 0, tree));
  std::sort(tree.files.begin(), tree.files.end());
  std::vector<std::optional<ElfMember>> members(tree.files.size());
  std::vector<std::optional<Finding>> damaged(tree.files.size());
  PTPKG_CHECK(ParallelFor(env.jobs, tree.files.size(), [&](std::size_t i) -> Result<void> {
    auto member = ReadMember(env, root, tree.files[i]);
    if (member) {
      members[i] = *std::move(member);
      return Ok();
    }
    const ErrorCode code = member.error().code();
    if (code != ErrorCode::kCorrupt && code != ErrorCode::kUnsupported) return std::move(member).error();
    damaged[i] = Damaged(tree.files[i], member.error());
    return Ok();
  }));
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i]) tree.members.push_back(*std::move(members[i]));
    if (damaged[i]) findings.push_back(*std::move(damaged[i]));
    tree.by_name[std::string(tree.files[i].Name())].push_back(tree.files[i].str());
  }
  return tree;
}

std::vector<PathEntry> ExplainSearchPath(Env& env, const ElfTree& tree, const ElfMember& member) {
  std::vector<PathEntry> entries;
  const auto& path = member.facts.Effective();
  if (!path) return entries;
  for (std::string& text : elf::SplitSearchPath(path->text)) {
    PathEntry entry{.text = std::move(text), .kind = EntryKind::kRelative, .folder = {}};
    if (entry.text.empty()) {
      entry.kind = EntryKind::kEmpty;
    } else if (entry.text.front() == '/') {
      entry.kind = EntryKind::kAbsolute;
    } else if (const auto below = elf::AfterOrigin(entry.text)) {
      const auto folder = ResolveInTree(member.path.ParentText(), *below);
      entry.folder = folder.value_or("");
      entry.kind = !folder                                  ? EntryKind::kOutside
                   : IsFolder(env, tree.root, entry.folder) ? EntryKind::kInTree
                                                            : EntryKind::kDead;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::optional<std::string> FindLibrary(Env& env, const ElfTree& tree, const std::vector<PathEntry>& entries,
                                       std::string_view name) {
  for (const PathEntry& entry : entries) {
    if (entry.kind != EntryKind::kInTree) continue;
    const std::string text =
        entry.folder.empty() ? std::string(name) : fmt::format("{}/{}", entry.folder, name);
    const auto path = AbsPath::Resolve(tree.root, text);
    if (!path) continue;
    const auto stat = env.fs.Stat(*path);
    if (stat && stat->kind == FileKind::kRegular) return text;
  }
  return std::nullopt;
}

}  // namespace ptpkg::verify
