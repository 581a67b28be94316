#pragma once
// What a fresh artifact must not have, read the way `ptpkg check` reads it, before it gets its name. Layer:
// pipeline.

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/env.h"
#include "verify/check.h"

namespace ptpkg::pipeline {

/// Findings about what tags promise.
inline constexpr std::array<std::string_view, 6> kFindingsOfTags = {
    "elf-glibc-floor", "elf-libc-mismatch",  "elf-machine-mismatch",
    "elf-isa-level",   "wheel-tag-mismatch", "wheel-pure-with-binaries"};

/// By which a finding is known again in another report, also of a wheel of another version: id, file,
/// message.
using FindingKey = std::tuple<std::string, std::string, std::string>;
FindingKey KeyOf(const Finding& finding);

/// What an artifact must not have. Other findings were there before, and stay.
struct Judgement {
  std::vector<std::string_view> refused = {};  ///< Ids of findings; they count where they are errors.
  bool refuses_all = false;                    ///< Every error counts.
  std::string hint = {};                       ///< What to do about them.
  verify::CheckOptions options = {};
  std::set<FindingKey> had = {};  ///< What the old artifact had: it may stay.
  /// Ids of which not all were listed there, so that nobody can tell which are new: they may stay.
  std::set<std::string, std::less<>> not_listed = {};
  bool can_be_skipped = true;  ///< The verb has --no-check, which the hint then names.
  bool platform = false;       ///< Of a wheel: its files have to deserve the platform tag
                               ///< (verify::CheckDeserved).

  /// Notes what may stay.
  void AddOld(const std::vector<Finding>& findings);
};

/// Errors: kCheckFailed with the findings that the artifact must not have; those of verify::ExamineArtifact.
Result<void> JudgeArtifact(Env& env, const AbsPath& artifact, const Judgement& judgement);

}  // namespace ptpkg::pipeline
