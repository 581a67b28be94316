#pragma once
// Computes the search path of a wheel's file. Layer: repair. Source: ld.so(8); what auditwheel keeps.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elf/edit/relink_tree.h"
#include "verify/elf/elf_tree_map.h"
#include "verify/elf/resolved_libraries.h"

namespace ptpkg::repair {

/// A removed entry, and the reason: "leads to no directory", "is a path of one machine".
struct DroppedEntry {
  std::string text;
  std::string why;
  bool operator==(const DroppedEntry&) const = default;
};

struct NewSearchPath {
  std::optional<elf::SearchPath> path = {};  ///< nullopt: none.
  std::vector<DroppedEntry> dropped = {};
};

/// Decides for the files of one tree, which it borrows.
class SearchPaths {
 public:
  /// `layout`: the first rule that matches a file sets its path; directories that it must reach are appended.
  SearchPaths(const verify::ElfTree& tree, const verify::ResolvedLibraries& loads,
              std::vector<elf::PathRule> layout);

  /// The cleaned path of `member`, with a way to each of `folders` (tree paths). Keeps entries that lead to a
  /// directory of the tree, and entries that another distribution can fill. Entries that leave the wheel's
  /// own files stay as long as the file, or one that its DT_RPATH serves, still misses a library or opens one
  /// by name. Entries with $LIB or $PLATFORM below $ORIGIN stay too. Removes absolute, relative, empty and
  /// repeated entries, and directories of stubs and pads. The tag stays; a file without a path gets DT_RPATH,
  /// which ld.so searches before LD_LIBRARY_PATH. Errors: kUnsupported for a file without a fixed relative
  /// path to the directories (*.data/scripts and the like), and for such a directory.
  [[nodiscard]] Result<NewSearchPath> NewPathFor(const verify::ElfMember& member,
                                                 const std::set<std::string>& folders) const;

  /// True if `wanted` differs from the file's search path.
  static bool Differs(const NewSearchPath& wanted, const elf::LinkFacts& facts);

 private:
  [[nodiscard]] bool MayNeedOthers(const verify::ElfMember& member) const;
  /// The entries that stay, in their order; those that go are added to `dropped`.
  [[nodiscard]] std::vector<std::string> Keep(const verify::ElfMember& member,
                                              std::vector<DroppedEntry>& dropped) const;
  [[nodiscard]] std::string DropReason(const verify::PathEntry& entry, bool others) const;

  const verify::ElfTree& tree_;
  std::vector<elf::PathRule> layout_;
  std::set<std::string> missing_;  // files that need, or may open, what the tree lacks
};

/// Appends to `entries`, a search path of the member `file`, a way from where it is installed to each of
/// `folders` (tree paths) that no entry leads to yet. Errors: as SearchPaths::NewPathFor.
Result<void> AddFolders(const RelPath& file, const std::set<std::string>& folders,
                        std::vector<std::string>& entries);

}  // namespace ptpkg::repair
