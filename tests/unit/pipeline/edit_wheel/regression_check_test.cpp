// Which findings keep a fresh artifact back.

#include "pipeline/edit_wheel/regression_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/must.h"
#include "support/test_env.h"
#include "unit/wheel/wheel_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::Must;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A wheel with two files that RECORD lacks, and a wrong digest.
AbsPath BadWheel(test::TestEnv& env) {
  auto members = wheel::MinimalMembers();
  members.front().second += " ";
  members.emplace_back("toy/unlisted.py", "x = 1\n");
  members.emplace_back("toy/another.py", "y = 2\n");
  return wheel::WriteRawZip(env, env.dir() / "toy-1.0-py3-none-any.whl", members);
}

TEST(CheckForRegressions, EveryErrorCountsThatIsNotOld) {
  test::TestEnv env;
  const AbsPath wheel = BadWheel(env);
  RegressionCheck judgement{.refuses_all = true, .hint = "mend it", .can_be_skipped = false};
  const auto all = CheckForRegressions(env, wheel, judgement);
  EXPECT_THAT(all, FailsWith(ErrorCode::kCheckFailed,
                             AllOf(HasSubstr("toy/unlisted.py"), HasSubstr("[wheel-record-digest]"))));
  EXPECT_EQ(all.error().hint(), "mend it");
  ASSERT_OK_AND_ASSIGN(const Report report, verify::CheckArtifact(env, wheel));
  std::vector<Finding> old = report.findings;
  std::erase_if(old, [](const Finding& finding) { return finding.id == "wheel-record-digest"; });
  judgement.had = BaselineFindings(old);
  EXPECT_THAT(CheckForRegressions(env, wheel, judgement),
              FailsWith(ErrorCode::kCheckFailed,
                        AllOf(HasSubstr("[wheel-record-digest]"), Not(HasSubstr("toy/unlisted.py")))));
  judgement.had = BaselineFindings(report.findings);
  EXPECT_THAT(CheckForRegressions(env, wheel, judgement),
              test::IsOkAndHolds(CountFindings(report.findings, Severity::kError)));
}

TEST(CheckForRegressions, OfAKindOfWhichNotAllWereListedNobodyKnowsWhatIsNew) {
  test::TestEnv env;
  const AbsPath wheel = BadWheel(env);
  RegressionCheck judgement{.refused = {"wheel-record-unlisted"}};
  ASSERT_FALSE(CheckForRegressions(env, wheel, judgement));
  Finding capped{"wheel-record-unlisted", Severity::kError, "", "and others", ""};
  capped.more = 7;
  judgement.had = BaselineFindings({capped});
  EXPECT_THAT(CheckForRegressions(env, wheel, judgement), test::IsOk());
}

TEST(BaselineFindings, OfAKindAreOneIdAndOneSeverity) {
  Finding capped{"x", Severity::kWarning, "", "and others", ""};
  capped.more = 7;
  const BaselineFindings old({capped});
  EXPECT_TRUE(old.Has({"x", Severity::kWarning, "a", "m", ""}));
  EXPECT_FALSE(old.Has({"x", Severity::kError, "a", "m", ""}));
}

TEST(BaselineFindings, AreTheSameUnderOtherNames) {
  const std::set<std::string> names = OldAndNewNames(
      "Toy-1.0-py3-none-any.whl", Must(wheel::FileName::Parse("toy-1.0+sm90-py3-none-any.whl")),
      {.renamed = {{"Toy-1.0.data/a", "toy-1.0+sm90.data/a"}}});
  const auto finding = [](const std::string& file, const std::string& message = "m") {
    return Finding{"x", Severity::kError, file, message, ""};
  };
  const auto is_old = [&](const Finding& before, const Finding& now) {
    return BaselineFindings({before}, names).Has(now);
  };
  EXPECT_TRUE(is_old(finding("toy-1.0.dist-info/WHEEL"), finding("toy-1.0+sm90.dist-info/WHEEL")));
  EXPECT_TRUE(is_old(finding("Toy-1.0.data/run"), finding("toy-1.0+sm90.data/run")));
  EXPECT_TRUE(is_old(finding("a", "'Toy-1.0-py3-none-any.whl' says 1.0, needs GLIBC_1.0"),
                     finding("a", "'toy-1.0+sm90-py3-none-any.whl' says 1.0+sm90, needs GLIBC_1.0")));
  EXPECT_FALSE(is_old(finding("toy-1.0.dist-info/WHEEL"), finding("toy-1.0+sm90.dist-info/METADATA")));
  // Of another distribution that lies in the wheel.
  EXPECT_FALSE(is_old(finding("other-2.0.dist-info/WHEEL"), finding("other-3.0.dist-info/WHEEL")));
  EXPECT_FALSE(is_old(finding("a/toy.data"), finding("b/toy.data")));
  EXPECT_FALSE(is_old(finding("a", "one"), finding("a", "another")));
  EXPECT_FALSE(is_old(finding("a"), {"y", Severity::kError, "a", "m", ""}));
}

}  // namespace
}  // namespace ptpkg::pipeline
