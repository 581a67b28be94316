#include "pipeline/judgement.h"

#include <algorithm>
#include <fmt/core.h>

#include "verify/deserved_platform.h"
#include "wheel/file_name.h"

namespace ptpkg::pipeline {
namespace {

std::string HintOf(const Judgement& judgement) {
  return judgement.hint + (judgement.can_be_skipped ? "; --no-check writes the wheel all the same" : "");
}

/// What ptpkg wheel --platform asks of files, too.
Result<void> CheckPlatform(const AbsPath& wheel, const verify::Examination& examined,
                           const Judgement& judgement) {
  PTPKG_TRY(const wheel::FileName name, wheel::FileName::Parse(wheel.Name()));
  auto deserved = verify::CheckDeserved(examined.files, name.tag.platform, examined.code);
  if (deserved || deserved.error().code() != ErrorCode::kCheckFailed) return deserved;
  return Error(ErrorCode::kCheckFailed, deserved.error().message()).WithHint(HintOf(judgement));
}

}  // namespace

FindingKey KeyOf(const Finding& finding) {
  // A wheel of another version has another name for its .dist-info and .data.
  const std::size_t slash = std::min(finding.file.find('/'), finding.file.size());
  const std::string_view top = std::string_view(finding.file).substr(0, slash);
  const bool is_named_by_version = top.ends_with(".dist-info") || top.ends_with(".data");
  const std::size_t cut = is_named_by_version ? top.rfind('.') : 0;
  return {finding.id, finding.file.substr(cut), finding.message};
}

void Judgement::AddOld(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    had.insert(KeyOf(finding));
    if (finding.more > 0) not_listed.insert(finding.id);
  }
}

Result<void> JudgeArtifact(Env& env, const AbsPath& artifact, const Judgement& judgement) {
  Task task(env.reporter, {.stage = "check", .subject = std::string(artifact.Name())});
  PTPKG_TRY(const verify::Examination examined, verify::ExamineArtifact(env, artifact, judgement.options));
  std::vector<std::string> reasons;
  for (const Finding& finding : examined.report.findings) {
    const auto& ids = judgement.refused;
    const bool counts = judgement.refuses_all || std::find(ids.begin(), ids.end(), finding.id) != ids.end();
    const bool may_stay = judgement.had.contains(KeyOf(finding)) || judgement.not_listed.contains(finding.id);
    if (counts && finding.severity == Severity::kError && !may_stay)
      reasons.push_back(fmt::format("\n    {} [{}] {}", finding.file, finding.id, finding.message));
  }
  if (reasons.empty()) {
    if (judgement.platform) PTPKG_CHECK(CheckPlatform(artifact, examined, judgement));
    task.Done();
    return Ok();
  }
  constexpr std::size_t kShown = 10;
  std::string lines;
  for (std::size_t i = 0; i < std::min(kShown, reasons.size()); ++i) lines += reasons[i];
  if (reasons.size() > kShown) lines += fmt::format("\n    and {} more", reasons.size() - kShown);
  return Error(ErrorCode::kCheckFailed,
               fmt::format("'{}' would not keep what it promises:{}", artifact.Name(), lines))
      .WithHint(HintOf(judgement));
}

}  // namespace ptpkg::pipeline
