#include "pipeline/image/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/image/containerfile.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::pipeline {
namespace {

using ::testing::HasSubstr;

const AbsPath kContext = AbsPath::Literal("/out/context");

void AddInputs(test::MemFs& fs) {
  fs.AddFile("/in/toy-1.0-py3-none-any.whl", "wheel");
  fs.AddFile("/in/image.yaml", "base: example.org/base\nimages: {a: {user: alice, uid: 5}}\n");
  fs.AddDir("/out");
}

ImageRequest ContextRequest() {
  return {.inputs = {AbsPath::Literal("/in/toy-1.0-py3-none-any.whl")},
          .file = AbsPath::Literal("/in/image.yaml"),
          .context = kContext};
}

TEST(Image, AFaultLeavesNoContextAndAWholeOneAppears) {
  const auto run = [](Fs& fs) -> Result<void> {
    test::TestEnv env({.fs = &fs});
    env->cache_dir = AbsPath::Literal("/c");
    auto made = MakeImages(env, ContextRequest());
    return made ? Ok() : Result<void>(made.error());
  };
  const auto check = [](test::MemFs& fs, const Error&) {
    if (!*Exists(fs, kContext)) return;
    // The last steps come after the directory has its name.
    EXPECT_TRUE(*Exists(fs, kContext / "Containerfile"));
    EXPECT_TRUE(*Exists(fs, kContext / "artifacts/toy-1.0-py3-none-any.whl"));
  };
  for (const test::FaultAfter after : {test::FaultAfter::kRecover, test::FaultAfter::kDead}) {
    EXPECT_GT(test::RunFaultLoop(
                  {.after = after, .setup = AddInputs, .run = run, .check = check, .may_swallow = true}),
              10);
  }
}

TEST(Image, AFullDiskIsAnErrorWithAHint) {
  test::MemFs fs;
  AddInputs(fs);
  fs.LimitBytes(100);
  test::TestEnv env({.fs = &fs});
  EXPECT_THAT(MakeImages(env, ContextRequest()),
              test::FailsWith(ErrorCode::kIo, HasSubstr("No space left on device")));
  EXPECT_FALSE(*Exists(fs, kContext));
}

TEST(Image, WordsOfADescriptionNeverBecomeShellCode) {
  const auto file = ParseImageFile(
      "base: b\npip: ['x; touch $(pwned)']\nimages: {a: {labels: {k: 'a\"; $(x) `y` \\'}}}\n", "i.yaml");
  ASSERT_OK(file);
  const std::string text = ContainerfileText({.file = *file, .runs_recipe = true});
  EXPECT_THAT(text, HasSubstr(" 'x; touch $(pwned)'\n"));
  EXPECT_THAT(text, HasSubstr(R"(LABEL k="a\"; \$(x) `y` \\")"));
}

}  // namespace
}  // namespace ptpkg::pipeline
