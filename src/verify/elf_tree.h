#pragma once
// The dynamic ELF files of a tree and what their search paths say. Layer: verify. Source: ld.so(8).

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elf/host_fit.h"
#include "elf/image.h"
#include "elf/isa_level.h"
#include "elf/search_path.h"
#include "elf/symbol_versions.h"
#include "model/finding.h"
#include "support/env.h"
#include "verify/dlopen_table.h"
#include "verify/file_device_code.h"
#include "verify/tree_map.h"

namespace ptpkg::verify {

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
};

/// The processes that can load the file.
inline elf::Host HostOf(const ElfMember& member) {
  return {.elf_class = member.elf_class, .order = member.order, .machine = member.machine};
}

/// A search-path entry seen from the file's folder.
enum class EntryKind : std::uint8_t {
  kInTree,   ///< A folder of the tree.
  kDead,     ///< Would lie in the tree, but no such folder exists.
  kOutside,  ///< Climbs above the tree's root.
  kAbsolute,
  kRelative,  ///< To the working folder.
  kEmpty,     ///< Means the working folder.
};

struct PathEntry {
  std::string text;
  EntryKind kind = EntryKind::kInTree;
};

struct ElfTree {
  AbsPath root = AbsPath::Literal("/nonexistent");
  TreeMap map;
  std::vector<ElfMember> members;                                        ///< Sorted by path.
  std::vector<FileDeviceCode> device_code;                               ///< Of those that hold some, sorted.
  std::vector<RelPath> files;                                            ///< All files and symlinks, sorted.
  std::map<std::string, std::vector<std::string>, std::less<>> by_name;  ///< File name → tree paths.

  /// Index in `members` of the file at `path`.
  [[nodiscard]] std::optional<std::size_t> FindMember(std::string_view path) const;
};

/// Lists `root` and reads every ELF file in it, in parallel (env.jobs). A damaged ELF file becomes an
/// "elf-damaged" finding, a file that is called a shared library and is none an "elf-not-elf" finding; static
/// programs, objects, debug companions, linker scripts and libraries of other systems are no members. GPU
/// code is read of all of these, and of static archives. Errors: kIo, kNotFound, kCancelled.
Result<ElfTree> ReadElfTree(Env& env, const AbsPath& root, const DlopenTable& opened,
                            std::vector<Finding>& findings);

/// The effective search path of `member`, $ORIGIN being its own folder. An entry with $LIB or $PLATFORM is
/// judged by `tokens`, all the values that they have: the kind that comes first in EntryKind counts.
std::vector<PathEntry> ExplainSearchPath(const ElfTree& tree, const ElfMember& member,
                                         const std::vector<elf::TokenValues>& tokens);

}  // namespace ptpkg::verify
