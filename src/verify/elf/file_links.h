#pragma once
// Resolved library search of one ELF file. Layer: verify.

#include <optional>
#include <string>
#include <vector>

#include "verify/elf/elf_tree_map.h"

namespace ptpkg::verify {

/// Origin of a library that a file needs.
enum class NeedState : std::uint8_t {
  kFound,       ///< From the tree, in every process that loads the file.
  kSystem,      ///< Every system has it, or a driver.
  kDependency,  ///< A package that the tree depends on has it, or may have it.
  kAllowed,     ///< The options, or the package itself, allow it.
  kMissing,     ///< Some process does not get it.
};

/// "found", as JSON and text say it.
std::string_view NeedStateName(NeedState state);

struct FoundFile {
  std::string path;
  std::string rule;  ///< Rule of ld.so, in words: "RPATH $ORIGIN/lib of torch/_C.so".
};

/// One NEEDED.
struct NeedLink {
  std::string name;
  NeedState state = NeedState::kMissing;
  std::vector<FoundFile> files = {};  ///< Files that processes load for it, by path.
  std::string problem = {};           ///< Why it is missing; "" for other states.
};

struct FileLinks {
  std::string file;
  std::optional<elf::PathTag> tag = {};  ///< Tag of the search path that ld.so obeys; nullopt: there is none.
  std::vector<PathEntry> search_path = {};
  std::vector<NeedLink> needed = {};  ///< In the order of the file.
};

}  // namespace ptpkg::verify
