#include "verify/elf_tree.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "elf/search_path.h"
#include "elf/string_scan.h"
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

/// "libx.so", "libx.so.1.2"; not "x.so.txt".
bool IsLibraryName(std::string_view name) {
  const std::size_t mark = name.rfind(".so");
  if (mark == std::string_view::npos || mark == 0) return false;
  const std::string_view rest = name.substr(mark + 3);
  return rest.empty() ||
         (rest.front() == '.' && rest.find_first_not_of(".0123456789") == std::string_view::npos);
}

/// A text that linkers read in place of a library, or a library of another system.
bool HasReasonToBeNoElf(std::string_view head) {
  // Mach-O (32 bit, 64 bit, universal) is called .so by Python, too.
  constexpr std::array<std::string_view, 3> kMachO = {"\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe",
                                                      "\xca\xfe\xba\xbe"};
  constexpr std::array<std::string_view, 4> kScript = {"/*", "INPUT", "GROUP", "OUTPUT_FORMAT"};
  const auto begins = [&](std::string_view text) { return head.starts_with(text); };
  return std::any_of(kMachO.begin(), kMachO.end(), begins) ||
         std::any_of(kScript.begin(), kScript.end(), begins);
}

Result<bool> IsMisnamed(File& file, const RelPath& path) {
  if (!IsLibraryName(path.Name())) return false;
  std::array<std::byte, 16> head{};
  PTPKG_TRY(const std::size_t got, file.ReadAt(0, head));
  return !HasReasonToBeNoElf(AsText(Bytes(head).first(got)));
}

struct ReadFile {
  std::optional<ElfMember> member;
  bool misnamed = false;
};

Result<std::vector<std::string>> ReadMentions(File& file, const elf::Image& image,
                                              const DlopenTable& opened) {
  PTPKG_TRY(std::vector<std::string> names, elf::ScanLibraryNames(file, image));
  std::erase_if(names, [&](const std::string& name) { return !opened.Knows(name); });
  return names;
}

Result<ReadFile> ReadMember(Env& env, const AbsPath& root, const RelPath& path, const DlopenTable& opened) {
  PTPKG_CHECK(env.cancel.Check());
  PTPKG_TRY(const FileStat stat, env.fs.Lstat(root / path));
  if (stat.kind != FileKind::kRegular) return ReadFile{};
  PTPKG_TRY(const auto file, env.fs.Open(root / path, OpenMode::kRead));
  PTPKG_TRY(const auto image, elf::ReadImage(*file));
  if (!image) {
    PTPKG_TRY(const bool misnamed, IsMisnamed(*file, path));
    return ReadFile{.member = std::nullopt, .misnamed = misnamed};
  }
  if (!image->dynamic) return ReadFile{};
  ElfMember member{.path = path,
                   .machine = image->header.machine,
                   .elf_class = image->codec.elf_class(),
                   .order = image->codec.order(),
                   .position_independent = image->header.type == elf::kTypeDyn,
                   .facts = {}};
  PTPKG_TRY(member.facts, elf::ReadLinkFacts(*file, *image));
  constexpr std::uint64_t kFlagTextrel = 4;  // DF_TEXTREL
  const bool flagged = (image->dynamic->Find(elf::kDtFlags).value_or(0) & kFlagTextrel) != 0;
  member.text_relocations = flagged || image->dynamic->Find(elf::kDtTextrel);
  PTPKG_TRY(member.required_versions, elf::ReadRequiredVersions(*file, *image));
  PTPKG_TRY(member.defined_versions, elf::ReadDefinedVersions(*file, *image));
  PTPKG_TRY(member.isa, elf::ReadNeededIsaLevel(*file, *image));
  PTPKG_TRY(member.mentions, ReadMentions(*file, *image, opened));
  return ReadFile{.member = std::move(member), .misnamed = false};
}

Finding Misnamed(const RelPath& path) {
  return {"elf-not-elf", Severity::kWarning, path.str(), "is called a shared library and is no ELF file",
          "pack the library itself: a pointer or an error page may have been fetched in its place"};
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

Result<ElfTree> ReadElfTree(Env& env, const AbsPath& root, const DlopenTable& opened,
                            std::vector<Finding>& findings) {
  ElfTree tree;
  tree.root = root;
  PTPKG_CHECK(List(env, root, "", 0, tree));
  std::sort(tree.files.begin(), tree.files.end());
  std::vector<std::optional<ElfMember>> members(tree.files.size());
  std::vector<std::optional<Finding>> found(tree.files.size());
  PTPKG_CHECK(ParallelFor(env.jobs, tree.files.size(), [&](std::size_t i) -> Result<void> {
    auto read = ReadMember(env, root, tree.files[i], opened);
    if (read) {
      members[i] = std::move(read->member);
      if (read->misnamed) found[i] = Misnamed(tree.files[i]);
      return Ok();
    }
    const ErrorCode code = read.error().code();
    if (code != ErrorCode::kCorrupt && code != ErrorCode::kUnsupported) return std::move(read).error();
    found[i] = Damaged(tree.files[i], read.error());
    return Ok();
  }));
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i]) tree.members.push_back(*std::move(members[i]));
    if (found[i]) findings.push_back(*std::move(found[i]));
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
