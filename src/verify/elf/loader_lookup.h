#pragma once
// Answers lookups of the ld.so simulation within one tree. Layer: verify. Source: glibc elf/dl-load.c.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "elf/load/isa_level.h"
#include "elf/load/loader_compatibility.h"
#include "verify/elf/elf_tree_map.h"

namespace ptpkg::verify {

/// A machine as far as the search depends on it.
struct LoaderMachine {
  std::string lib;                               ///< Value of $LIB; "" if no file uses it.
  std::string platform;                          ///< Value of $PLATFORM.
  elf::IsaLevel isa = elf::IsaLevel::kBaseline;  ///< Which directories of glibc-hwcaps are searched.

  auto operator<=>(const LoaderMachine&) const = default;
};

/// Facts about a process on which its lookups depend.
struct LoaderTarget {
  elf::Host host;
  LoaderMachine machine;
  /// Searched below every directory of a search path, before the directory itself; best first.
  std::vector<std::string> subfolders;
};

/// The target of a process on `machine` that loads files for `host`.
LoaderTarget MakeLoaderTarget(const elf::Host& host, const LoaderMachine& machine);

/// A directory that ld.so looks into.
struct LoaderFolder {
  std::string path;        ///< In the tree, without links.
  bool named = true;       ///< In the search path; false for one of its subdirectories.
  std::string entry = {};  ///< Entry of the search path, as written.
};

/// Entry at a place where ld.so looks.
struct LoaderCandidate {
  enum class Kind : std::uint8_t {
    kNone,
    kLoop,       ///< A link that leads to itself.
    kFolder,     ///< A directory.
    kFile,       ///< A regular file of the tree.
    kElsewhere,  ///< A link to a regular file outside the tree.
  };
  Kind kind = Kind::kNone;
  std::string path = {};
  const TreeNode* node = nullptr;  ///< kFolder, kFile.
};

/// A candidate with the directory of the tree in which it was looked up.
struct PlacedCandidate {
  std::string folder;
  const LoaderCandidate& candidate;
};

/// Lookups in one tree, which it borrows. No answer depends on the process beyond its LoaderTarget, so each
/// is kept for all processes. References to answers stay valid as long as the object.
class LoaderLookup {
 public:
  LoaderLookup(Env& env, const ElfTree& tree) : env_(env), tree_(tree) {}

  /// The directories of `path`, the search path of `member`, with `origin` as its $ORIGIN.
  const std::vector<LoaderFolder>& FoldersOf(const LoaderTarget& target, std::size_t member,
                                             const std::string& origin, const elf::SearchPath& path);

  /// REQUIRES: `folder` is a directory of the tree.
  const LoaderCandidate& LookUp(const std::string& folder, const std::string& name);

  /// The candidate at an absolute path; nullopt if its directory is not in the tree.
  std::optional<PlacedCandidate> LookUpPath(std::string_view path);

  /// Whether a process of `host` loads the candidate. REQUIRES: its kind is neither kNone nor kLoop.
  /// Errors: kIo.
  Result<elf::LoaderCompatibility> Judge(const LoaderCandidate& candidate, const elf::Host& host);

  /// `text` of a file with tokens replaced; `origin`: tree path of $ORIGIN.
  [[nodiscard]] std::string Expand(const std::string& text, const std::string& origin,
                                   const LoaderMachine& machine) const;

 private:
  Result<elf::LoaderCompatibility> ReadCompatibility(const std::string& path, const elf::Host& host);
  /// The part of an absolute path below the tree's root; nullopt if it lies elsewhere.
  [[nodiscard]] std::optional<std::string> PathInTree(std::string_view expanded) const;

  Env& env_;
  const ElfTree& tree_;
  std::map<std::pair<std::string, std::string>, LoaderCandidate> candidates_;
  std::map<std::pair<std::string, elf::Host>, elf::LoaderCompatibility> fits_;
  /// By member, $ORIGIN and machine.
  std::map<std::tuple<std::size_t, std::string, LoaderMachine>, std::vector<LoaderFolder>> folders_;
};

}  // namespace ptpkg::verify
