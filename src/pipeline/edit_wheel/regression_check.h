#pragma once
// Checks that an edited artifact has no new errors. Layer: pipeline.

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "archive/zip/zip_edit.h"
#include "support/env.h"
#include "verify/check_artifact.h"
#include "wheel/file_name.h"

namespace ptpkg::pipeline {

/// Findings about files that contradict a tag.
inline constexpr std::array<std::string_view, 6> kFindingsOfTags = {
    "elf-glibc-floor", "elf-libc-mismatch",  "elf-machine-mismatch",
    "elf-isa-level",   "wheel-tag-mismatch", "wheel-pure-with-binaries"};

/// Findings of the original artifact, which the edited one can have too.
class BaselineFindings {
 public:
  BaselineFindings() = default;
  /// `names`: names that differ between the two artifacts, such as file names, versions and directories named
  /// after them. Findings that differ only in these are the same.
  explicit BaselineFindings(const std::vector<Finding>& findings, const std::set<std::string>& names = {});

  /// True if the baseline has it: id, file and message are equal. Also true for an id and severity whose
  /// findings were not all listed, because then nobody can tell which are new.
  [[nodiscard]] bool Has(const Finding& finding) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // id, file, message
  [[nodiscard]] Key KeyOf(const Finding& finding) const;

  std::vector<std::string> names_;  // longest first: one may be in another
  std::set<Key> keys_;
  std::set<std::pair<std::string, Severity>> not_listed_;
};

/// The names of a wheel and of its edited version, where they differ. `before`: a file name, in any form.
std::set<std::string> OldAndNewNames(std::string_view before, const wheel::FileName& after,
                                     const archive::ZipEdits& edits);

/// Findings that an artifact must not have. Other findings were there before, and stay.
struct RegressionCheck {
  std::vector<std::string_view> refused = {};  ///< Ids of findings; they count where they are errors.
  bool refuses_all = false;                    ///< Every error counts.
  std::string hint = {};                       ///< Remedy for the findings.
  verify::CheckOptions options = {};
  BaselineFindings had = {};   ///< May stay.
  bool can_be_skipped = true;  ///< The verb has --no-check, which the hint then names.
  bool platform = false;       ///< For a wheel: its files must satisfy the platform tag
                               ///< (verify::CheckPlatformFits).
};

/// The number of errors that the artifact has and can keep. Errors: any from verify::ExamineArtifact,
/// kCheckFailed with the findings that it must not have.
Result<std::uint64_t> CheckForRegressions(Env& env, const AbsPath& artifact,
                                          const RegressionCheck& judgement);

}  // namespace ptpkg::pipeline
