#pragma once
// Which file of a tree the loader takes for a name. Layer: verify. Source: ld.so(8).

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verify/elf_tree.h"

namespace ptpkg::verify {

/// Resolves names for the members of one tree, which it borrows; remembers each member's own search path.
class LibraryResolver {
 public:
  LibraryResolver(Env& env, const ElfTree& tree);

  /// The tree path that ld.so finds for `name` on behalf of member `index`: through its own search path or,
  /// without DT_RUNPATH, through DT_RPATH of a file that needs it.
  std::optional<std::string> Resolve(std::size_t index, const std::string& name);

 private:
  Env& env_;
  const ElfTree& tree_;
  std::vector<std::vector<PathEntry>> paths_;
  std::map<std::string, std::vector<std::size_t>> loaders_;
};

}  // namespace ptpkg::verify
