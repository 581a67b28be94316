#include "verify/elf_tree.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "elf/edit.h"
#include "elf/string_scan.h"
#include "support/parallel.h"

namespace ptpkg::verify {
namespace {

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
  std::optional<ElfMember> member = {};
  bool misnamed = false;
  std::optional<FileDeviceCode> device_code = {};
};

/// `image`: the file's headers, if it is an ELF file.
Result<std::optional<FileDeviceCode>> ReadCode(File& file, const RelPath& path,
                                               const std::optional<elf::Image>& image) {
  const auto code = image ? elf::ReadDeviceCode(file, *image) : elf::ReadDeviceCode(file);
  if (!code) {
    const ErrorCode why = code.error().code();
    const bool at_fault =
        why == ErrorCode::kInvalidInput || why == ErrorCode::kUnsupported || why == ErrorCode::kCorrupt;
    if (!at_fault) return code.error();
    return std::optional(FileDeviceCode{.file = path.str(), .problem = code.error().message()});
  }
  if (!*code) return std::optional<FileDeviceCode>();
  return std::optional(FileDeviceCode{.file = path.str(), .code = **code});
}

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
    ReadFile other;
    PTPKG_TRY(other.misnamed, IsMisnamed(*file, path));
    PTPKG_TRY(other.device_code, ReadCode(*file, path, image));
    return other;
  }
  PTPKG_CHECK(elf::CheckFinished(*file));
  ReadFile read;
  PTPKG_TRY(read.device_code, ReadCode(*file, path, image));
  if (!image->dynamic) return read;
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
  read.member = std::move(member);
  return read;
}

Finding Misnamed(const RelPath& path) {
  return {"elf-not-elf", Severity::kWarning, path.str(),
          "is named like a shared library but is not an ELF file",
          "pack the library itself: a pointer or an error page may have been fetched in its place"};
}

Finding Damaged(const RelPath& path, const Error& error) {
  return {"elf-damaged", Severity::kError, path.str(),
          fmt::format("the ELF file is damaged: {}", error.message()), "build or fetch the file again"};
}

/// Where an entry that begins with $ORIGIN leads.
EntryKind KindOf(const ElfTree& tree, const std::string& folder, const std::string& below) {
  if (!ResolveInTree(folder, below)) return EntryKind::kOutside;
  return tree.map.FollowToFolder(folder, below) ? EntryKind::kInTree : EntryKind::kDead;
}

}  // namespace

Result<ElfTree> ReadElfTree(Env& env, const AbsPath& root, const DlopenTable& opened,
                            std::vector<Finding>& findings) {
  ElfTree tree;
  tree.root = root;
  PTPKG_TRY(tree.map, TreeMap::Read(env, root));
  for (const auto& [path, node] : tree.map.nodes()) {
    if (node.kind == FileKind::kRegular || node.kind == FileKind::kSymlink) {
      tree.files.push_back(RelPath::Literal(path));
    }
  }
  std::vector<std::optional<ElfMember>> members(tree.files.size());
  std::vector<std::optional<FileDeviceCode>> device_code(tree.files.size());
  std::vector<std::optional<Finding>> found(tree.files.size());
  PTPKG_CHECK(ParallelFor(env.jobs, tree.files.size(), [&](std::size_t i) -> Result<void> {
    auto read = ReadMember(env, root, tree.files[i], opened);
    if (read) {
      members[i] = std::move(read->member);
      device_code[i] = std::move(read->device_code);
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
    if (device_code[i]) tree.device_code.push_back(*std::move(device_code[i]));
    if (found[i]) findings.push_back(*std::move(found[i]));
    tree.by_name[std::string(tree.files[i].Name())].push_back(tree.files[i].str());
  }
  return tree;
}

std::optional<std::size_t> ElfTree::FindMember(std::string_view path) const {
  const auto it = std::lower_bound(
      members.begin(), members.end(), path,
      [](const ElfMember& member, std::string_view text) { return member.path.str() < text; });
  if (it == members.end() || it->path.str() != path) return std::nullopt;
  return static_cast<std::size_t>(it - members.begin());
}

std::vector<PathEntry> ExplainSearchPath(const ElfTree& tree, const ElfMember& member,
                                         const std::vector<elf::TokenValues>& tokens) {
  std::vector<PathEntry> entries;
  const auto& path = member.facts.Effective();
  if (!path) return entries;
  for (std::string& text : elf::SplitSearchPath(path->text)) {
    PathEntry entry{.text = std::move(text), .kind = EntryKind::kRelative};
    if (entry.text.empty()) {
      entry.kind = EntryKind::kEmpty;
    } else if (entry.text.front() == '/') {
      entry.kind = EntryKind::kAbsolute;
    } else if (const auto below = elf::AfterOrigin(entry.text)) {
      for (const elf::TokenValues& values : tokens) {
        const EntryKind kind = KindOf(tree, member.path.ParentText(), elf::ExpandTokens(*below, values));
        entry.kind = std::min(entry.kind, kind);
      }
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace ptpkg::verify
