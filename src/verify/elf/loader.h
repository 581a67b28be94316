#pragma once
// Simulates the library search of ld.so. Layer: verify. Source: glibc elf/dl-deps.c (breadth first),
// elf/dl-load.c (names, search paths, $ORIGIN, requirements of a file), elf/dl-hwcaps.c.
// tests/e2e/elf/ld_so*.py compares with ld.so itself. Omits directories that glibc 2.37 no longer searches:
// those named after processors outside glibc-hwcaps ("haswell", "tls").

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "elf/load/isa_level.h"
#include "elf/load/loader_compatibility.h"
#include "verify/elf/elf_tree_map.h"

namespace ptpkg::verify {

/// A machine as far as the search depends on it.
struct LoaderMachine {
  std::string lib;                               ///< Value of $LIB; "" where no file uses $LIB.
  std::string platform;                          ///< Value of $PLATFORM.
  elf::IsaLevel isa = elf::IsaLevel::kBaseline;  ///< Which directories of glibc-hwcaps are searched.

  auto operator<=>(const LoaderMachine&) const = default;
};

enum class LoadEnd : std::uint8_t {
  kFound,
  kMissing,  ///< Not in the tree; the system or another package may have it.
  kRefused,  ///< A file in the way ends the process.
};

/// Rule by which ld.so found a file.
struct LoadRule {
  enum class Kind : std::uint8_t { kLoaded, kPath, kRunpath, kRpath };
  Kind kind = Kind::kLoaded;  ///< kLoaded: the process has it already, under this name or as this file.
  std::string entry = {};     ///< kRunpath, kRpath: the entry of the search path as written.
  std::size_t holder = 0;     ///< kRpath: index of the member whose path it is.
};

/// One NEEDED of one file in one process.
struct Load {
  std::size_t needed_by = 0;  ///< Index of the member.
  std::string name = {};      ///< Name as in the file.
  LoadEnd end = LoadEnd::kMissing;
  std::string path = {};         ///< kFound, kRefused: tree path of the file itself, links followed.
  LoadRule rule = {};            ///< kFound, kRefused.
  std::string_view reason = {};  ///< kRefused: ld.so's message.
  std::vector<std::string> passed_over = {};  ///< Files of that name for other processors.
};

/// Limit on names that the processes of one tree request together: a torch wheel has 700, a large prefix
/// 300,000.
inline constexpr std::uint64_t kMaxLoadRequests = 100'000'000;

/// Simulates processes on one tree, which it borrows, and caches its lookups.
class Loader {
 public:
  Loader(Env& env, const ElfTree& tree, std::uint64_t max_requests = kMaxLoadRequests)
      : env_(env), tree_(tree), max_requests_(max_requests) {}

  /// Everything that a process beginning with member `entry` requests, in ld.so's order. A missing or refused
  /// name does not end it. Errors: kIo, kCancelled, kInvalidInput when all calls together request more than
  /// `max_requests` names.
  Result<std::vector<Load>> Run(std::size_t entry, const LoaderMachine& machine);

 private:
  struct Object;
  struct Process;
  /// A directory that ld.so looks into.
  struct Folder {
    std::string path;        ///< In the tree, without links.
    bool named = true;       ///< In the search path; false for one of its subdirectories.
    std::string entry = {};  ///< Entry of the search path, as written.
  };
  /// Entry at a place where ld.so looks.
  struct Candidate {
    enum class Kind : std::uint8_t { kNone, kLoop, kFolder, kFile, kElsewhere };
    Kind kind = Kind::kNone;
    std::string path = {};
    const TreeNode* node = nullptr;
  };
  struct Hit {
    Candidate file;
    std::string origin;  ///< Directory that it was found in.
    elf::LoaderCompatibility fit;
    LoadRule rule = {};
  };

  Result<Load> Request(Process& process, std::size_t loader, const std::string& needed);
  Result<std::optional<Hit>> Search(Process& process, std::size_t loader, const std::string& name,
                                    std::vector<std::string>& passed_over);
  Result<std::optional<Hit>> SearchFolders(const Process& process, const std::vector<Folder>& folders,
                                           const std::string& name, std::vector<std::string>& passed_over);
  Result<std::optional<Hit>> OpenPath(const Process& process, const std::string& path,
                                      std::vector<std::string>& passed_over);
  Result<elf::LoaderCompatibility> Judge(const Candidate& candidate, const elf::Host& host);
  Result<elf::LoaderCompatibility> ContentCompatibility(const std::string& path, const elf::Host& host);

  const std::vector<Folder>& FoldersOf(const Process& process, std::size_t object,
                                       const elf::SearchPath& path);
  /// REQUIRES: `folder` is a directory of the tree.
  const Candidate& LookUp(const std::string& folder, const std::string& name);
  /// The part of an absolute path below the tree's root; nullopt if it is elsewhere.
  [[nodiscard]] std::optional<std::string> PathInTree(std::string_view expanded) const;

  Env& env_;
  const ElfTree& tree_;
  const std::uint64_t max_requests_;
  std::uint64_t requests_ = 0;
  std::map<std::pair<std::string, std::string>, Candidate> candidates_;
  std::map<std::pair<std::string, elf::Host>, elf::LoaderCompatibility> fits_;
  /// By member, $ORIGIN and machine.
  std::map<std::tuple<std::size_t, std::string, LoaderMachine>, std::vector<Folder>> folders_;
};

}  // namespace ptpkg::verify
