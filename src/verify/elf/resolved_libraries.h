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
  /// For each of these the rule of the first process that looked for it; kLoaded where none had to.
  std::map<std::string, LoadRule> rules;
  std::set<std::string> passed_over;  ///< Files of that name for other processors.
  struct Refusal {
    std::string path;
    std::string_view reason;  ///< ld.so's words.
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
  /// Plays a process for each entry point: programs; Python modules and plugins (NAME.so without "lib");
  /// libraries that none of these loads, those that nobody needs first. Machines differ in $LIB,
  /// $PLATFORM and processor level, as far as the tree makes use of them; `least` is the level
  /// that every machine has. Errors: those of Loader::Run.
  static Result<ResolvedLibraries> SimulateLoads(Env& env, const ElfTree& tree, elf::IsaLevel least);

  /// REQUIRES: the member needs `name`.
  [[nodiscard]] const NeedOutcome& Of(std::size_t member, const std::string& name) const {
    return outcomes_.at({first_twin_.at(member), name});
  }

 private:
  std::vector<std::size_t> first_twin_;
  std::map<std::pair<std::size_t, std::string>, NeedOutcome> outcomes_;
};

/// The machines that a tree tells apart, for files of `host`: every value of $LIB and $PLATFORM that
/// distributions and processors have, if a search path says so; every level from `least` on, if there is a
/// directory glibc-hwcaps. One machine for a tree that makes no difference.
std::vector<LoaderMachine> MachinesFor(const ElfTree& tree, const elf::Host& host, elf::IsaLevel least);

}  // namespace ptpkg::verify
