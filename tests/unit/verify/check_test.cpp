#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "unit/wheel/wheel_fixture.h"
#include "verify/check_artifact.h"

namespace ptpkg::verify {
namespace {

using test::FailsWith;
using test::TestEnv;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CheckArtifact, AWheelOfOurOwnIsFitForAnIndexOfOnesOwn) {
  TestEnv env;
  const wheel::ToyProject project(env, env.dir());
  ASSERT_OK_AND_ASSIGN(const Artifact wheel, project.Write(env));
  ASSERT_OK_AND_ASSIGN(const Report report, CheckArtifact(env, wheel.path));
  EXPECT_EQ(report.subject, wheel.path.str());
  EXPECT_THAT(report.findings, ElementsAre(Field(&Finding::id, "wheel-platform-tag")));
  EXPECT_FALSE(report.HasErrors());
}

TEST(CheckArtifact, LeavesNothingUnpackedAndRemovesWhatKilledRunsLeft) {
  TestEnv env;
  const wheel::ToyProject project(env, env.dir());
  ASSERT_OK_AND_ASSIGN(const Artifact wheel, project.Write(env));
  // "check-<pid>-<n>": of versions before the leases.
  for (const char* const left : {"check-4711-0", "check-0123456789ab.ptpkg-tmp"}) {
    ASSERT_OK(env->fs.MakeDirs(env->cache_dir / left / "d/lib"));
    ASSERT_OK(WriteFile(env->fs, env->cache_dir / left / "d/lib/libtoy.so", "half"));
  }
  ASSERT_OK(CheckArtifact(env, wheel.path));
  EXPECT_THAT(test::ListTree(env->fs, env->cache_dir), IsEmpty());
}

TEST(CheckArtifact, FindsForbiddenPathsInAWheel) {
  TestEnv env;
  const wheel::ToyProject project(env, env.dir());
  ASSERT_OK_AND_ASSIGN(const Artifact wheel, project.Write(env));
  ASSERT_OK_AND_ASSIGN(const Report report,
                       CheckArtifact(env, wheel.path, {.forbidden_paths = {"#!python"}}));
  EXPECT_THAT(report.findings, ElementsAre(Field(&Finding::id, "wheel-platform-tag"),
                                           Field(&Finding::file, "toy_project-1.0+cpu.data/scripts/run")));
  EXPECT_TRUE(report.HasErrors());
}

TEST(CheckArtifact, ADamagedWheelIsAFindingAndAMissingOneAnError) {
  TestEnv env;
  const AbsPath junk = env.dir().WriteFile("toy-1.0-py3-none-any.whl", "junk");
  ASSERT_OK_AND_ASSIGN(const Report report, CheckArtifact(env, junk));
  EXPECT_THAT(report.findings, Contains(Field(&Finding::id, "artifact-unreadable")));
  EXPECT_THAT(CheckArtifact(env, env.dir() / "none-1.0-py3-none-any.whl"),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none-1.0")));
  EXPECT_THAT(CheckArtifact(env, env.dir() / "a.tar"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("not a conda package, wheel or zip")));
}

TEST(CheckArtifact, APackageThatIsNoArchiveIsAFinding) {
  TestEnv env;
  for (const char* const name : {"a-1-0.conda", "a-1-0.tar.bz2"}) {
    ASSERT_OK_AND_ASSIGN(const Report report, CheckArtifact(env, env.dir().WriteFile(name, "junk")));
    EXPECT_THAT(report.findings, Contains(Field(&Finding::id, "artifact-unreadable"))) << name;
  }
}

}  // namespace
}  // namespace ptpkg::verify
