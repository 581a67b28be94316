// Reads everything about the ELF files of a tree that checks need, each file once and in parallel. Damage is
// of two kinds. If it hides how ld.so loads the file, the file is not a member, and elf-damaged is its only
// finding. Other damage is in parts that ld.so doesn't need: notes, names of libraries to open, version
// definitions. The file then stays a member without the part, so that its other faults are found as well.
// Invariants: members, files and device_code are sorted by path, and FindMember relies on it. `facts` has the
// order of FilesOf.

#include "verify/elf/elf_tree_map.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "elf/edit/edit.h"
#include "elf/read/string_scan.h"
#include "support/process/parallel.h"
#include "support/text/globs.h"
#include "verify/elf/elf_tables.h"
#include "verify/elf/module_checks.h"
#include "verify/wheel/policy_libraries.h"

namespace ptpkg::verify {
namespace {

/// "libx.so", "libx.so.1.2"; not "x.so.txt".
bool IsLibraryName(std::string_view name) {
  // The last ".so" counts: "x.so.1.so" is a library, and "x.so.txt" is not.
  const std::size_t mark = name.rfind(".so");
  if (mark == std::string_view::npos || mark == 0) return false;
  const std::string_view rest = name.substr(mark + 3);
  return rest.empty() ||
         (rest.front() == '.' && rest.find_first_not_of(".0123456789") == std::string_view::npos);
}

/// A text that linkers read in place of a library, or a library of another system.
bool IsLinkerScriptOrForeignLibrary(std::string_view head) {
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
  return !IsLinkerScriptOrForeignLibrary(AsText(Bytes(head).first(got)));
}

/// `image`: the file's headers, if it is an ELF file.
Result<std::optional<FileDeviceCode>> ReadCode(File& file, const RelPath& path,
                                               const std::optional<elf::Image>& image) {
  const auto code = image ? elf::ReadDeviceCode(file, *image) : elf::ReadDeviceCode(file);
  if (!code) {
    const ErrorCode why = code.error().code();
    // These errors are about the file. All others (disk, cancellation) end the check.
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
  // Only names of the table are kept: most constants that look like a library are never opened.
  std::erase_if(names, [&](const std::string& name) { return !opened.Knows(name); });
  return names;
}

/// Errors: as elf::FindBoundSymbols, but none for a damaged table.
Result<std::vector<elf::BoundSymbol>> ReadBoundSymbols(File& file, const elf::Image& image,
                                                       const std::vector<elf::RequiredVersion>& versions) {
  std::vector<std::uint16_t> indexes;
  for (const elf::RequiredVersion& version : versions) indexes.push_back(version.index);
  auto symbols = elf::FindBoundSymbols(file, image, indexes, kNamedSymbols);
  if (!symbols && symbols.error().code() == ErrorCode::kCorrupt) return std::vector<elf::BoundSymbol>();
  return symbols;
}

/// Parsed once: it is asked for each ELF file.
const Result<PolicyLibraries>& PoliciesOfLibraries() {
  static const Result<PolicyLibraries> kLibraries = PolicyLibraries::BuiltIn();
  return kLibraries;
}

/// Reads ElfMember::internal_symbols.
Result<std::map<std::string, std::vector<std::string>>> ReadInternalSymbols(
    File& file, const elf::Image& image, const std::vector<std::string>& needed) {
  std::map<std::string, std::vector<std::string>> used;
  const Result<PolicyLibraries>& libraries = PoliciesOfLibraries();
  if (!libraries) return libraries.error();
  for (const std::string& library : needed) {
    const std::vector<std::string> internal = libraries->InternalSymbols(library);
    if (internal.empty()) continue;
    auto symbols = elf::FindUndefinedSymbols(file, image, internal);
    if (!symbols && symbols.error().code() != ErrorCode::kCorrupt) return symbols.error();
    if (symbols && !symbols->empty()) used[library] = *std::move(symbols);
  }
  return used;
}

/// Reads how glibc's loader treats the file. Returns RelocationFacts::symbol_count.
Result<std::uint64_t> ReadLoading(File& file, const elf::Image& image, ElfMember& member) {
  // The kernel reads the header of a program, by other rules than ld.so.
  if (IsLibraryName(member.path.Name())) {
    PTPKG_TRY(member.faults, elf::FindHeaderFaults(file, image));
  }
  PTPKG_TRY(auto faults, elf::FindLoadFaults(file, image));
  std::vector<std::uint16_t> of_system;
  for (const elf::RequiredVersion& version : member.required_versions) {
    if (MatchesAnyGlob(SystemLibraries(), version.library) ||
        MatchesAnyGlob(VersionedLibraries(), version.library))
      of_system.push_back(version.index);
  }
  PTPKG_TRY(auto relocations, elf::ReadRelocationFacts(file, image, of_system));
  member.symbols = std::move(relocations.symbols);
  member.faults.insert(member.faults.end(), faults.begin(), faults.end());
  member.faults.insert(member.faults.end(), relocations.faults.begin(), relocations.faults.end());
  member.loader_needs = elf::FindLoaderNeeds(image);
  return relocations.symbol_count;
}

/// Reads ElfMember::entry_points.
Result<void> ReadEntryPoints(File& file, const elf::Image& image, std::uint64_t symbol_count,
                             ElfMember& member) {
  if (!member.faults.empty()) return Ok();
  const ModuleName module = ModuleNameOf(member.path.str());
  std::set<std::string> names;
  for (const std::string& name : module.functions) names.insert(name);
  for (const std::string& name : member.python.defined) {
    if (IsModuleFunction(name)) names.insert(name);
  }
  auto found = elf::FindEntryPoints(file, image, names, symbol_count);
  if (!found && found.error().code() != ErrorCode::kCorrupt) return found.error();
  if (found) {
    member.entry_points = *std::move(found);
  } else {
    member.faults.push_back(
        {.part = elf::LoadFault::Part::kDynamic,
         .message = fmt::format("the search for '{}' fails: {}", *names.begin(), found.error().message())});
  }
  return Ok();
}

Finding Misnamed(const RelPath& path) {
  return {"elf-not-elf", Severity::kWarning, path.str(),
          "is named like a shared library but is not an ELF file",
          "pack the library itself: the file may be an LFS pointer or an error page"};
}

Finding Damaged(const RelPath& path, const Error& error) {
  return {"elf-damaged", Severity::kError, path.str(),
          fmt::format("the ELF file is damaged: {}", error.message()), "rebuild or fetch the file"};
}

bool IsDamage(const Error& error) {
  return error.code() == ErrorCode::kCorrupt || error.code() == ErrorCode::kUnsupported;
}

/// Turns damage in a part that ld.so does not need into a finding; the file stays a member without it.
template <class Value>
Result<Value> OrFinding(Result<Value> value, const RelPath& path, std::optional<Finding>& finding) {
  if (value || !IsDamage(value.error())) return value;
  finding = Damaged(path, value.error());
  return Value{};
}

Result<ElfMember> ReadMember(File& file, const RelPath& path, const elf::Image& image,
                             const DlopenTable& opened, std::optional<Finding>& finding) {
  ElfMember member{.path = path,
                   .machine = image.header.machine,
                   .elf_class = image.codec.elf_class(),
                   .order = image.codec.order(),
                   .position_independent = image.header.type == elf::kTypeDyn,
                   .facts = {}};
  PTPKG_TRY(member.facts, elf::ReadLinkFacts(file, image));
  // Linkers write DT_TEXTREL, DF_TEXTREL, or both.
  constexpr std::uint64_t kFlagTextrel = 4;  // DF_TEXTREL
  const bool flagged = (image.dynamic->Find(elf::kDtFlags).value_or(0) & kFlagTextrel) != 0;
  member.text_relocations = flagged || image.dynamic->Find(elf::kDtTextrel);
  PTPKG_TRY(member.required_versions, elf::ReadRequiredVersions(file, image));
  PTPKG_TRY(member.defined_versions, OrFinding(elf::ReadDefinedVersions(file, image), path, finding));
  PTPKG_TRY(member.isa, OrFinding(elf::ReadNeededIsaLevel(file, image), path, finding));
  PTPKG_TRY(member.mentions, OrFinding(ReadMentions(file, image, opened), path, finding));
  PTPKG_TRY(member.filters, ReadFilters(file, image));
  PTPKG_TRY(const std::uint64_t symbol_count, ReadLoading(file, image, member));
  PTPKG_TRY(member.bound_symbols, ReadBoundSymbols(file, image, member.required_versions));
  PTPKG_TRY(member.internal_symbols, ReadInternalSymbols(file, image, member.facts.needed));
  auto python = elf::FindPythonSymbols(file, image);
  if (!python && !IsDamage(python.error())) return std::move(python).error();
  if (python) member.python = *std::move(python);
  PTPKG_CHECK(ReadEntryPoints(file, image, symbol_count, member));
  return member;
}

/// A debug companion of code or of data: it has headers, and no bytes for them.
bool IsCompanion(const elf::Image& image) {
  // SHF_ALLOC. `objcopy --only-keep-debug` turns allocated sections into NOBITS, without content in the file.
  constexpr std::uint64_t kAllocated = 2;
  return std::any_of(image.sections.begin(), image.sections.end(),
                     [](const elf::Section& section) {
                       return (section.flags & kAllocated) != 0 && section.type == elf::kSectionNobits;
                     }) &&
         std::none_of(image.sections.begin(), image.sections.end(), [](const elf::Section& section) {
           return (section.flags & kAllocated) != 0 && section.type == elf::kSectionProgbits;
         });
}

/// Judges a file that is named like a library. GPU code and objects in archives have other names.
Result<std::optional<Finding>> JudgeWithoutDynamic(File& file, const RelPath& path, const elf::Image& image) {
  PTPKG_TRY(const auto faults, elf::FindHeaderFaults(file, image));
  const auto finding = [&](std::string id, const std::string& why) {
    return std::optional(Finding{std::move(id), Severity::kError, path.str(),
                                 fmt::format("ld.so cannot load the file: {}", why),
                                 "link the file again, or fetch an undamaged copy"});
  };
  if (!faults.empty()) return finding("elf-header", faults.front().message);
  const bool has_loads = image.FindSegment(elf::kSegmentLoad) != nullptr;
  return finding("elf-segments",
                 has_loads ? "object file has no dynamic section" : "object file has no loadable segments");
}

/// The same as ReadElfFacts, but damage that hides how the file is loaded is an error.
Result<ElfFacts> ReadSoundFacts(File& file, const RelPath& path, const DlopenTable& opened) {
  ElfFacts facts;
  const auto read = elf::ReadImage(file);
  if (!read) {
    // An interrupted edit explains the damage better than what it left.
    if (read.error().code() == ErrorCode::kCorrupt) PTPKG_CHECK(elf::CheckFinished(file));
    return read.error();
  }
  const std::optional<elf::Image>& image = *read;
  if (!image) {
    PTPKG_TRY(const bool misnamed, IsMisnamed(file, path));
    if (misnamed) facts.finding = Misnamed(path);
    PTPKG_TRY(facts.device_code, ReadCode(file, path, image));
    return facts;
  }
  // Also for a file with sound headers: the record of an interrupted edit is at the end.
  PTPKG_CHECK(elf::CheckFinished(file));
  if (!image->dynamic && IsLibraryName(path.Name()) && !IsCompanion(*image)) {
    PTPKG_TRY(facts.finding, JudgeWithoutDynamic(file, path, *image));
  }
  PTPKG_TRY(facts.device_code, ReadCode(file, path, image));
  if (image->dynamic) {
    PTPKG_TRY(facts.member, ReadMember(file, path, *image, opened, facts.finding));
  }
  return facts;
}

/// Kind of the directory to which an entry with $ORIGIN leads.
EntryKind KindOf(const ElfTree& tree, const std::string& folder, const std::string& below) {
  // As text, before links are followed: an entry that climbs out leads to other files on each machine.
  if (!ResolveInTree(folder, below)) return EntryKind::kOutside;
  return tree.map.FollowToFolder(folder, below) ? EntryKind::kInTree : EntryKind::kDead;
}

}  // namespace

bool IsVariant(const ElfMember& member) {
  return member.path.str().find("glibc-hwcaps/") != std::string::npos;
}

// The type ET_DYN is the same for a PIE and a library. The interpreter and DF_1_PIE tell them apart.
bool IsProgram(const ElfMember& member) {
  const bool is_pie = (member.facts.flags_1 & elf::kFlag1Pie) != 0;
  return !member.position_independent || member.facts.interpreter.has_value() ||
         (is_pie && !IsLibraryName(member.path.Name()));
}

std::string OriginOf(const ElfMember& member) {
  const auto installed = InstalledPath(member.path.str());
  return installed ? RelPath::Literal(*installed).ParentText() : member.path.ParentText();
}

std::vector<RelPath> FilesOf(const TreeMap& map) {
  std::vector<RelPath> files;
  for (const auto& [path, node] : map.nodes()) {
    if (node.kind == FileKind::kRegular || node.kind == FileKind::kSymlink) {
      files.push_back(RelPath::Literal(path));
    }
  }
  return files;
}

Result<std::vector<ElfFilter>> ReadFilters(File& file, const elf::Image& image) {
  std::vector<ElfFilter> filters;
  for (const elf::DynamicEntry& entry : image.dynamic->entries) {
    if (entry.tag != elf::kDtFilter && entry.tag != elf::kDtAuxiliary) continue;
    PTPKG_TRY(std::string name,
              elf::ReadDynamicString(file, image, entry.value, "the name of a filtered library"));
    filters.push_back({.name = std::move(name), .is_auxiliary = entry.tag == elf::kDtAuxiliary});
  }
  return filters;
}

Result<SharedElfFacts> ReadElfFacts(File& file, const RelPath& path, const DlopenTable& opened) {
  auto facts = ReadSoundFacts(file, path, opened);
  if (!facts && !IsDamage(facts.error())) return std::move(facts).error();
  if (!facts) facts = ElfFacts{.finding = Damaged(path, facts.error())};
  if (!facts->member && !facts->device_code && !facts->finding) return SharedElfFacts();
  return std::make_shared<const ElfFacts>(*std::move(facts));  // see SharedElfFacts
}

ElfTree MakeElfTree(const AbsPath& root, TreeMap map, const std::vector<SharedElfFacts>& facts,
                    std::vector<Finding>& findings) {
  ElfTree tree;
  tree.root = root;
  tree.files = FilesOf(map);
  tree.map = std::move(map);
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (facts[i] != nullptr && facts[i]->member) tree.members.push_back(*facts[i]->member);
    if (facts[i] != nullptr && facts[i]->device_code) tree.device_code.push_back(*facts[i]->device_code);
    if (facts[i] != nullptr && facts[i]->finding) findings.push_back(*facts[i]->finding);
    tree.by_name[std::string(tree.files[i].Name())].push_back(tree.files[i].str());
  }
  return tree;
}

Result<ElfTree> ReadElfTree(Env& env, const AbsPath& root, const DlopenTable& opened,
                            std::vector<Finding>& findings, const OnFile& on_file) {
  PTPKG_TRY(TreeMap map, TreeMap::Read(env, root));
  const std::vector<RelPath> files = FilesOf(map);
  std::vector<SharedElfFacts> facts(files.size());
  PTPKG_CHECK(ParallelFor(env.jobs, files.size(), [&](std::size_t i) -> Result<void> {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(const FileStat stat, env.fs.Lstat(root / files[i]));
    if (stat.kind != FileKind::kRegular) return Ok();
    PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(root / files[i], OpenMode::kRead));
    if (on_file) PTPKG_CHECK(on_file(files[i], *file));
    PTPKG_TRY(facts[i], ReadElfFacts(*file, files[i], opened));
    return Ok();
  }));
  return MakeElfTree(root, std::move(map), facts, findings);
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
        const EntryKind kind = KindOf(tree, OriginOf(member), elf::ExpandTokens(*below, values));
        // Each value of $LIB belongs to some machine. An entry that leads into the tree on one of them is in
        // use.
        entry.kind = std::min(entry.kind, kind);
      }
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace ptpkg::verify
