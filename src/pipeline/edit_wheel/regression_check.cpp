// An edited artifact may keep the errors that it had, but must not get new ones. Findings are compared by id,
// file and message, and messages contain names that the edit changes on purpose: file names, versions,
// directories. KeyOf replaces all of them by a byte that no finding has, so equal findings stay equal.
//
// If the check of the original did not list all findings of an id, nobody can tell which are new, and all of
// them count as old.

#include "pipeline/edit_wheel/regression_check.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/text/text.h"
#include "verify/wheel/computed_platform.h"

namespace ptpkg::pipeline {
namespace {

std::string HintOf(const RegressionCheck& judgement) {
  return judgement.hint + (judgement.can_be_skipped ? "; write the wheel anyway: --no-check" : "");
}

/// The check that ptpkg wheel --platform makes, too.
Result<void> CheckPlatform(const AbsPath& wheel, const verify::Examination& examined,
                           const RegressionCheck& judgement) {
  PTPKG_TRY(const wheel::FileName name, wheel::FileName::Parse(wheel.Name()));
  auto fits = verify::CheckPlatformFits(examined.files, name.tag.platform, examined.code);
  if (fits || fits.error().code() != ErrorCode::kCheckFailed) return fits;
  return Error(ErrorCode::kCheckFailed, fits.error().message()).WithHint(HintOf(judgement));
}

}  // namespace

BaselineFindings::BaselineFindings(const std::vector<Finding>& findings, const std::set<std::string>& names)
    : names_(names.begin(), names.end()) {
  std::erase(names_, std::string());
  // Longest first: one name may be part of another.
  std::stable_sort(names_.begin(), names_.end(), [](const std::string& left, const std::string& right) {
    return left.size() > right.size();
  });
  for (const Finding& finding : findings) {
    keys_.insert(KeyOf(finding));
    if (finding.more > 0) not_listed_.emplace(finding.id, finding.severity);
  }
}

BaselineFindings::Key BaselineFindings::KeyOf(const Finding& finding) const {
  constexpr std::string_view kName("\0", 1);  // no finding contains it
  Key key{finding.id, finding.file, finding.message};
  for (const std::string& name : names_) {
    std::get<1>(key) = ReplaceAll(std::get<1>(key), name, kName);
    std::get<2>(key) = ReplaceAll(std::get<2>(key), name, kName);
  }
  return key;
}

bool BaselineFindings::Has(const Finding& finding) const {
  return keys_.contains(KeyOf(finding)) || not_listed_.contains({finding.id, finding.severity});
}

std::set<std::string> OldAndNewNames(std::string_view before, const wheel::FileName& after,
                                     const archive::ZipEdits& edits) {
  std::set<std::string> names{std::string(before), after.str()};
  if (const Result<wheel::FileName> name = wheel::FileName::Parse(before);
      name && name->Stem() != after.Stem())
    names.insert({name->str(), name->Stem(), name->version, after.Stem(), after.version});
  // The directory may be spelled in another way than the file name.
  for (const auto& [from, to] : edits.renamed)
    names.insert({from.substr(0, from.find('/')), to.substr(0, to.find('/'))});
  return names;
}

Result<std::uint64_t> CheckForRegressions(Env& env, const AbsPath& artifact,
                                          const RegressionCheck& judgement) {
  Task task(env.reporter, {.stage = "check", .subject = std::string(artifact.Name())});
  PTPKG_TRY(const verify::Examination examined, verify::ExamineArtifact(env, artifact, judgement.options));
  std::vector<std::string> reasons;
  for (const Finding& finding : examined.report.findings) {
    const auto& ids = judgement.refused;
    const bool counts = judgement.refuses_all || std::find(ids.begin(), ids.end(), finding.id) != ids.end();
    if (counts && finding.severity == Severity::kError && !judgement.had.Has(finding))
      reasons.push_back(fmt::format("\n    {} [{}] {}", finding.file, finding.id, finding.message));
  }
  if (reasons.empty()) {
    if (judgement.platform) PTPKG_CHECK(CheckPlatform(artifact, examined, judgement));
    task.Done();
    return CountFindings(examined.report.findings, Severity::kError);
  }
  constexpr std::size_t kShown = 10;
  std::string lines;
  for (std::size_t i = 0; i < std::min(kShown, reasons.size()); ++i) lines += reasons[i];
  if (reasons.size() > kShown) lines += fmt::format("\n    and {} more", reasons.size() - kShown);
  return Error(ErrorCode::kCheckFailed,
               fmt::format("'{}' does not satisfy its tags:{}", artifact.Name(), lines))
      .WithHint(HintOf(judgement));
}

}  // namespace ptpkg::pipeline
