#pragma once
// Dynamic ELF files of a tree with their search paths. Layer: verify. Source: ld.so(8).

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elf/load/isa_level.h"
#include "elf/load/load_faults.h"
#include "elf/load/loader_compatibility.h"
#include "elf/load/search_path.h"
#include "elf/read/image.h"
#include "elf/symbols/python_symbols.h"
#include "elf/symbols/symbol_use.h"
#include "elf/symbols/symbol_versions.h"
#include "model/finding.h"
#include "support/env.h"
#include "verify/elf/dlopen_table.h"
#include "verify/elf/file_device_code.h"
#include "verify/rules/tree_map.h"

namespace ptpkg::verify {

/// DT_FILTER or DT_AUXILIARY: a library that replaces the file's own symbols.
struct ElfFilter {
  std::string name;
  bool is_auxiliary = false;  ///< DT_AUXILIARY: ld.so continues without it.
};

struct ElfMember {
  RelPath path;
  std::uint16_t machine = 0;
  elf::ElfClass elf_class = elf::ElfClass::k64;
  elf::ByteOrder order = elf::ByteOrder::kLittle;
  bool text_relocations = false;
  bool position_independent = true;  ///< False for a program linked to fixed addresses.
  elf::LinkFacts facts;
  std::vector<elf::RequiredVersion> required_versions = {};
  std::vector<std::string> defined_versions = {};  ///< Sorted.
  elf::IsaLevel isa = elf::IsaLevel::kUnstated;
  std::vector<std::string> mentions = {};  ///< Names of the table of opened libraries, sorted.
  /// For each of required_versions, the first kNamedSymbols that are bound to it, in the order of the symbol
  /// table; empty if that is damaged.
  std::vector<elf::BoundSymbol> bound_symbols = {};
  /// Libraries in `needed` → the symbols that the file uses and that are not part of their interface
  /// (PolicyLibraries::InternalSymbols), sorted; none where the symbol table is damaged.
  std::map<std::string, std::vector<std::string>> internal_symbols = {};
  elf::PythonSymbols python = {};  ///< None where the symbol table is damaged.
  std::vector<ElfFilter> filters = {};
  std::vector<elf::LoadFault> faults = {};
  std::vector<elf::LoaderNeed> loader_needs = {};
  /// Without symbols that SystemLibraries give a version to.
  elf::SymbolUse symbols = {};
  /// For the functions that an import calls (ModuleNameOf): the file's own, and all others that it defines,
  /// because modules that need the file have them too. None in a file with `faults`.
  elf::EntryPoints entry_points = {};
};

/// True if the file is a program: linked to fixed addresses, with an interpreter, or a PIE that is
/// not named like a shared library.
bool IsProgram(const ElfMember& member);

/// True for a library for better processors: it lies in a directory of glibc-hwcaps, next to the usual one.
bool IsVariant(const ElfMember& member);

inline constexpr std::size_t kNamedSymbols = 3;  ///< Per version: enough to find the object that uses them.

/// The processes that can load the file.
inline elf::Host HostOf(const ElfMember& member) {
  return {.elf_class = member.elf_class, .order = member.order, .machine = member.machine};
}

/// $ORIGIN of the file: the directory where it is installed, or its directory in the tree if that is outside
/// site-packages.
std::string OriginOf(const ElfMember& member);

/// A search-path entry seen from the file's directory.
enum class EntryKind : std::uint8_t {
  kInTree,   ///< A directory of the tree.
  kDead,     ///< Would be in the tree, but no such directory exists.
  kOutside,  ///< Climbs above the tree's root.
  kAbsolute,
  kRelative,  ///< Relative to the working directory.
  kEmpty,     ///< Means the working directory.
};

struct PathEntry {
  std::string text;
  EntryKind kind = EntryKind::kInTree;
};

struct ElfTree {
  AbsPath root = AbsPath::Literal("/nonexistent");
  TreeMap map;
  std::vector<ElfMember> members;                                        ///< Sorted by path.
  std::vector<FileDeviceCode> device_code;                               ///< For files with GPU code, sorted.
  std::vector<RelPath> files;                                            ///< All files and symlinks, sorted.
  std::map<std::string, std::vector<std::string>, std::less<>> by_name;  ///< File name → tree paths.

  /// Index in `members` of the file at `path`.
  [[nodiscard]] std::optional<std::size_t> FindMember(std::string_view path) const;
};

/// Gets the path and content of a regular file of a tree. Called once for each, several at a time; `file`
/// ends with the call.
using OnFile = std::function<Result<void>(const RelPath& path, File& file)>;

/// The files and symlinks of `map`, sorted by path.
std::vector<RelPath> FilesOf(const TreeMap& map);

/// Reads ElfMember::filters. REQUIRES: image.dynamic. Errors: kCorrupt, kIo.
Result<std::vector<ElfFilter>> ReadFilters(File& file, const elf::Image& image);

/// Facts read from one file.
struct ElfFacts {
  std::optional<ElfMember> member = {};  ///< Also set with elf-damaged, for damage that ld.so does not see.
  std::optional<FileDeviceCode> device_code = {};
  std::optional<Finding> finding = {};  ///< elf-damaged, elf-not-elf
};

/// Null: no facts, as for most files. Shared by the trees that have the file.
using SharedElfFacts = std::shared_ptr<const ElfFacts>;

/// Reads the file at `path` of a tree. Errors: kIo, kCancelled.
Result<SharedElfFacts> ReadElfFacts(File& file, const RelPath& path, const DlopenTable& opened);

/// The tree of `map`; `facts` of its files and symlinks, in their order. Appends the findings of `facts`.
ElfTree MakeElfTree(const AbsPath& root, TreeMap map, const std::vector<SharedElfFacts>& facts,
                    std::vector<Finding>& findings);

/// Lists `root` and reads every ELF file in it, in parallel (env.jobs). A damaged ELF file becomes an
/// "elf-damaged" finding. A file named like a shared library that is not one becomes an "elf-not-elf"
/// finding. Static programs, objects, debug companions, linker scripts and libraries of other systems are not
/// members. GPU code is read from all of these, and from static archives. `on_file`, if set, gets all files.
/// Errors: any from `on_file`, kIo, kNotFound, kCancelled.
Result<ElfTree> ReadElfTree(Env& env, const AbsPath& root, const DlopenTable& opened,
                            std::vector<Finding>& findings, const OnFile& on_file = {});

/// The effective search path of `member`, with OriginOf(member) as $ORIGIN. An entry with $LIB or $PLATFORM
/// is evaluated for all values in `tokens`: the kind that comes first in EntryKind counts.
std::vector<PathEntry> ExplainSearchPath(const ElfTree& tree, const ElfMember& member,
                                         const std::vector<elf::TokenValues>& tokens);

}  // namespace ptpkg::verify
