// What a wheel that was written from another one must not have, and what it may keep.

#include "pipeline/edit_wheel/edited_wheel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"
#include "unit/pipeline/fixtures/stale_signature.h"
#include "unit/wheel/wheel_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

archive::Entry EntryOf(const std::string& name, const std::string& text) {
  return {.name = RelPath::Literal(name), .size_bytes = text.size(), .text = text};
}

TEST(WriteEditedWheel, WhatTheOldWheelHadMayStayAndNothingElseOfItsKind) {
  test::TestEnv env;
  auto members = wheel::MinimalMembers();
  members.emplace_back("toy/unlisted.py", "x = 1\n");
  env.dir().MakeDir("new");
  const AbsPath from = wheel::WriteRawZip(env, env.dir().path() / "toy-1.0-py3-none-any.whl", members);
  const AbsPath to = env.dir().path() / "new/toy-1.0-py3-none-any.whl";
  const archive::ZipEdits edits{.added = {EntryOf("toy/another.py", "y = 2\n")}};
  const EditedWheel wheel{.from = from, .to = to, .edits = edits};
  RegressionCheck judgement{.refused = {"wheel-record-unlisted"}, .hint = "list it", .can_be_skipped = false};

  const auto both = WriteEditedWheel(env, wheel, ExistingFilePolicy::kRefuse, judgement);
  EXPECT_THAT(both, FailsWith(ErrorCode::kCheckFailed,
                              AllOf(HasSubstr("toy/unlisted.py"), HasSubstr("toy/another.py"))));
  EXPECT_EQ(both.error().hint(), "list it");

  ASSERT_OK_AND_ASSIGN(const Report before, verify::CheckArtifact(env, from, {}));
  judgement.had = BaselineFindings(before.findings);
  EXPECT_THAT(WriteEditedWheel(env, wheel, ExistingFilePolicy::kRefuse, judgement),
              FailsWith(ErrorCode::kCheckFailed,
                        AllOf(HasSubstr("toy/another.py"), Not(HasSubstr("toy/unlisted.py")))));
  EXPECT_THAT(Exists(env->fs, to), test::IsOkAndHolds(false));

  const archive::ZipEdits nothing;
  EXPECT_THAT(WriteEditedWheel(env, {.from = from, .to = to, .edits = nothing}, ExistingFilePolicy::kRefuse,
                               judgement),
              test::IsOk());
  judgement.had = {};
  judgement.can_be_skipped = true;
  const auto refused = WriteEditedWheel(env, {.from = from, .to = to, .edits = nothing},
                                        ExistingFilePolicy::kReplace, judgement);
  ASSERT_THAT(refused, FailsWith(ErrorCode::kCheckFailed, HasSubstr("toy/unlisted.py")));
  EXPECT_EQ(refused.error().hint(), "list it; write the wheel anyway: --no-check");
}

TEST(WriteEditedWheel, AnOldSignatureIsNeverBesideTheNewWheel) {
  test::TestEnv env;
  const AbsPath from =
      wheel::WriteRawZip(env, env.dir() / "toy-1.0-py3-none-any.whl", wheel::MinimalMembers());
  const AbsPath to = env.dir() / "new/toy-1.0-py3-none-any.whl";
  const archive::ZipEdits nothing;
  const EditedWheel wheel{.from = from, .to = to, .edits = nothing};
  for (const auto& judgement : {std::optional<RegressionCheck>(), std::optional(RegressionCheck())})
    ExpectNoStaleSignature(env, to, [&](Env& faulty) {
      return WriteEditedWheel(faulty, wheel, ExistingFilePolicy::kReplace, judgement);
    });
}

}  // namespace
}  // namespace ptpkg::pipeline
