#pragma once
// Simulates the library search of ld.so. Layer: verify. Source: glibc elf/dl-deps.c (breadth first),
// elf/dl-load.c (names, search paths, $ORIGIN, requirements of a file), elf/dl-hwcaps.c.
// tests/e2e/elf/ld_so*.py compares with ld.so itself. Omits directories that glibc 2.37 no longer searches:
// those named after processors outside glibc-hwcaps ("haswell", "tls").

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verify/elf/elf_tree_map.h"
#include "verify/elf/loader_lookup.h"

namespace ptpkg::verify {

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
      : env_(env), tree_(tree), max_requests_(max_requests), lookup_(env, tree) {}

  /// Everything that a process beginning with member `entry` requests, in ld.so's order. A missing or refused
  /// name does not end it. Errors: kIo, kCancelled, kInvalidInput when all calls together request more than
  /// `max_requests` names.
  Result<std::vector<Load>> Run(std::size_t entry, const LoaderMachine& machine);

 private:
  Env& env_;
  const ElfTree& tree_;
  const std::uint64_t max_requests_;
  std::uint64_t requests_ = 0;
  LoaderLookup lookup_;
};

}  // namespace ptpkg::verify
