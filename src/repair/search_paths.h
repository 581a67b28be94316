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

/// An entry that goes, and why: "leads to no directory", "is a path of one machine".
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
  /// `layout`: the first rule that matches a file says its path; directories that it must reach come behind.
  SearchPaths(const verify::ElfTree& tree, const verify::ResolvedLibraries& loads,
              std::vector<elf::PathRule> layout);

  /// The path of `member` after a cleaning, and with a way to each of `folders` (tree paths). Kept are
  /// entries that lead to a directory of the tree, and those that another distribution may fill: entries that
  /// climb out of the wheel's own files stay as long as the file, or anything that its DT_RPATH serves, still
  /// misses a library or opens one by name; so do entries with $LIB or $PLATFORM below $ORIGIN. Absolute,
  /// relative and empty entries go, directories of stubs, pads and repetitions too. The tag stays; a file
  /// without a path gets DT_RPATH, which no LD_LIBRARY_PATH comes before. Errors: kUnsupported for a file in
  /// a place that has no fixed way to the directories (*.data/scripts and the like), and for such a
  /// directory.
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
