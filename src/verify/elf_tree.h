#pragma once
// The dynamic ELF files of a tree and how their names resolve inside it. Layer: verify.
// Source: ld.so(8): DT_RPATH of the file and of its loaders unless it has DT_RUNPATH, then DT_RUNPATH.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elf/image.h"
#include "elf/isa_level.h"
#include "elf/symbol_versions.h"
#include "model/finding.h"
#include "support/env.h"
#include "verify/dlopen_table.h"

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
  std::string folder;  ///< Tree-relative, "" for the root; for kInTree and kDead.
};

struct ElfTree {
  AbsPath root = AbsPath::Literal("/nonexistent");
  std::vector<ElfMember> members;                                        ///< Sorted by path.
  std::vector<RelPath> files;                                            ///< All files and symlinks, sorted.
  std::map<std::string, std::vector<std::string>, std::less<>> by_name;  ///< File name → tree paths.
};

/// Lists `root` and reads every ELF file in it, in parallel (env.jobs). A damaged ELF file becomes an
/// "elf-damaged" finding, a file that is called a shared library and is none an "elf-not-elf" finding; static
/// programs, objects, debug companions, linker scripts and libraries of other systems are passed over.
/// Errors: kIo, kNotFound, kCancelled.
Result<ElfTree> ReadElfTree(Env& env, const AbsPath& root, const DlopenTable& opened,
                            std::vector<Finding>& findings);

/// The effective search path of `member`.
std::vector<PathEntry> ExplainSearchPath(Env& env, const ElfTree& tree, const ElfMember& member);

/// The tree path of library `name` as `entries` lead to it; nullopt if none does.
std::optional<std::string> FindLibrary(Env& env, const ElfTree& tree, const std::vector<PathEntry>& entries,
                                       std::string_view name);

}  // namespace ptpkg::verify
