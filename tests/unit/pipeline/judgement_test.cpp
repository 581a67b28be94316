// Which findings keep a fresh artifact back.

#include "pipeline/judgement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"
#include "unit/wheel/wheel_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
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

TEST(JudgeArtifact, EveryErrorCountsThatIsNotOld) {
  test::TestEnv env;
  const AbsPath wheel = BadWheel(env);
  Judgement judgement{.refuses_all = true, .hint = "mend it", .can_be_skipped = false};
  const auto all = JudgeArtifact(env, wheel, judgement);
  EXPECT_THAT(all, FailsWith(ErrorCode::kCheckFailed,
                             AllOf(HasSubstr("toy/unlisted.py"), HasSubstr("[wheel-record-digest]"))));
  EXPECT_EQ(all.error().hint(), "mend it");
  ASSERT_OK_AND_ASSIGN(const Report report, verify::CheckArtifact(env, wheel));
  std::vector<Finding> old = report.findings;
  std::erase_if(old, [](const Finding& finding) { return finding.id == "wheel-record-digest"; });
  judgement.AddOld(old);
  EXPECT_THAT(JudgeArtifact(env, wheel, judgement),
              FailsWith(ErrorCode::kCheckFailed,
                        AllOf(HasSubstr("[wheel-record-digest]"), Not(HasSubstr("toy/unlisted.py")))));
  judgement.AddOld(report.findings);
  EXPECT_THAT(JudgeArtifact(env, wheel, judgement), test::IsOk());
}

TEST(JudgeArtifact, OfAKindOfWhichNotAllWereListedNobodyKnowsWhatIsNew) {
  test::TestEnv env;
  const AbsPath wheel = BadWheel(env);
  Judgement judgement{.refused = {"wheel-record-unlisted"}};
  ASSERT_FALSE(JudgeArtifact(env, wheel, judgement));
  Finding capped{"wheel-record-unlisted", Severity::kError, "", "and others", ""};
  capped.more = 7;
  judgement.AddOld({capped});
  EXPECT_THAT(JudgeArtifact(env, wheel, judgement), test::IsOk());
}

TEST(KeyOf, IsTheSameInAWheelOfAnotherVersion) {
  const auto key = [](const std::string& file) { return KeyOf({"x", Severity::kError, file, "m", ""}); };
  EXPECT_EQ(key("toy-1.0.dist-info/WHEEL"), key("toy-1.0+cu130.sm90.dist-info/WHEEL"));
  EXPECT_EQ(key("toy-1.0.data/scripts/run"), key("toy-2.0.data/scripts/run"));
  EXPECT_NE(key("toy-1.0.dist-info/WHEEL"), key("toy-1.0.dist-info/METADATA"));
  EXPECT_NE(key("toy-1.0/a"), key("toy-2.0/a"));
  EXPECT_NE(key("a/toy.data"), key("b/toy.data"));
}

}  // namespace
}  // namespace ptpkg::pipeline
