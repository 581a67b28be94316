#pragma once
// Rules for bundling libraries: repair/data. Layer: repair. Source: data/graft_rules.yaml, which names its
// own.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/edit/relink_tree.h"

namespace ptpkg::repair {

/// Naming of copied libraries.
enum class Rename : std::uint8_t {
  kHash,  ///< "libx-1a2b3c4d.so.1": no other wheel's copy takes its place in a process.
  kNone,  ///< The requested name.
  kBare,  ///< "libx.so": without version.
};

/// "hash", "none", "bare". Errors: kUsage.
Result<Rename> ParseRename(std::string_view name);
std::vector<std::string> RenameNames();

/// The repair step of one project's builds for one backend.
struct Backend {
  std::string name;
  std::vector<elf::PathRule> layout = {};
  std::string folder = {};    ///< In the wheel.
  std::string platform = {};  ///< "manylinux_2_28": without the machine.
  Rename rename = Rename::kHash;
  std::vector<std::string> never_rename = {};  ///< Globs.
  std::vector<std::string> never_graft = {};   ///< Globs.
  /// Glob of libraries → directory of the wheel from which they read their kernels.
  std::map<std::string, std::string> data_folders = {};
};

class GraftRules {
 public:
  /// Errors: kInvalidInput with the place in `name` (not a table of this shape).
  static Result<GraftRules> Parse(std::string_view text, const std::string& name);
  /// The table built into the program.
  static Result<GraftRules> BuiltIn();

  /// True if it is never copied: includes libraries of graphics drivers.
  [[nodiscard]] bool IsNeverGrafted(std::string_view library) const;
  /// Why it is left to the machine; "": it is not.
  [[nodiscard]] std::string MachineLibraryReason(std::string_view library) const;
  /// True if the interpreter provides it, so that files must not need it any more.
  [[nodiscard]] bool IsProvidedByInterpreter(std::string_view library) const;
  [[nodiscard]] bool IsNeverRenamed(std::string_view library) const;

  [[nodiscard]] std::vector<std::string> BackendNames() const;
  /// Errors: kUsage, with the nearest name or all names as hint.
  [[nodiscard]] Result<Backend> FindBackend(std::string_view name) const;

 private:
  std::vector<std::string> never_graft_;
  std::map<std::string, std::vector<std::string>> of_machine_;  ///< By reason.
  std::vector<std::string> dropped_;
  std::vector<std::string> never_rename_;
  std::vector<Backend> backends_;
};

}  // namespace ptpkg::repair
