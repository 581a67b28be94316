#pragma once
// Resolves the libraries of all files in every possible process. Layer: verify.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "verify/elf/loader.h"

namespace ptpkg::verify {

/// One NEEDED of one member, over all processes that load the member.
struct NeedOutcome {
  std::set<std::string> found;  ///< Tree paths of the files that it gets.
  /// For each of these, the rule of the first process that looked for it; kLoaded if none had to.
  std::map<std::string, LoadRule> rules;
  std::set<std::string> passed_over;  ///< Files of that name for other processors.
  struct Refusal {
    std::string path;
    std::string_view reason;  ///< ld.so's message.
  };
  std::optional<Refusal> refused;
  /// True if some process does not find it, whatever the machine.
  bool missing = false;
  /// Other processes of the same machine find it: the first member that does not, as entry point.
  std::optional<std::size_t> missing_from;
  /// Not found on such a machine, although others find it: "where $LIB is 'lib64'"; "" if there is none.
  std::string missing_where;
};

class ResolvedLibraries {
 public:
  /// Simulates a process for each entry point: programs, Python modules and plugins (NAME.so without "lib"),
  /// then libraries that none of these loads, beginning with those that nothing needs. Machines differ in
  /// $LIB, $PLATFORM and processor level, as far as the tree depends on them. `least` is the level of every
  /// machine. Errors: any from Loader::Run.
  static Result<ResolvedLibraries> SimulateLoads(Env& env, const ElfTree& tree, elf::IsaLevel least);

  /// REQUIRES: the member needs `name`.
  [[nodiscard]] const NeedOutcome& Of(std::size_t member, const std::string& name) const {
    return outcomes_.at({first_twin_.at(member), name});
  }

 private:
  std::vector<std::size_t> first_twin_;
  std::map<std::pair<std::size_t, std::string>, NeedOutcome> outcomes_;
};

/// The machines on which a tree behaves differently, for files of `host`. If a search path uses them, every
/// value of $LIB and $PLATFORM on known distributions and processors. If there is a directory glibc-hwcaps,
/// every level from `least` on. One machine if the tree depends on none of these.
std::vector<LoaderMachine> MachinesFor(const ElfTree& tree, const elf::Host& host, elf::IsaLevel least);

}  // namespace ptpkg::verify
