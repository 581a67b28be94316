// Staging outputs whose hand-over is disturbed: what was compiled is not compiled again.

#include <algorithm>

#include "unit/pipeline/fixtures/build_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StagingTest : public BuildFixture {
 protected:
  /// An "object" that is compiled once, and a tar that fails while the file "full" or "torn" is there.
  StagingTest() {
    const std::string dir = env_.dir().path().str();
    Put("toy/src/in", "1");
    Put("toy/native.sh", "[ -e obj ] || { echo compiled >> " + dir +
                             "/count; cp in obj; }\nmkdir -p $PREFIX/lib\ncp obj $PREFIX/lib/libtoy\n");
    Put("toy/app.sh", "mkdir $PREFIX/bin\ncp obj $PREFIX/bin/toy\n");
    Put("toy/recipe.yaml", R"(recipe: {name: toy, version: "1.0"}
source: {path: src}
build: {string: s}
about: {license: MIT}
outputs:
- staging: {name: native}
  build: {script: native.sh}
- package: {name: toy}
  inherit: native
  build: {script: app.sh}
extra: {ptpkg: {formats: [conda]}}
)");
    Put("bin/tar",
        "#!/bin/sh\n"
        "case $1 in\n"
        "--create) if [ -e " +
            dir +
            "/full ]; then echo 'tar: No space left on device' >&2; exit 2; fi ;;\n"
            "--extract) if [ -e " +
            dir +
            "/torn ]; then /bin/tar \"$@\"; echo 'tar: torn' >&2; exit 2; fi ;;\n"
            "esac\nexec /bin/tar \"$@\"\n");
    EXPECT_THAT(env_->fs.SetMode(env_.dir() / "bin/tar", 0755), IsOk());
    env_->variables["PATH"] = dir + "/bin:" + env_->variables["PATH"];
  }
  int Compilations() {
    const auto text = ReadFile(env_->fs, env_.dir() / "count");
    return text ? static_cast<int>(std::count(text->begin(), text->end(), '\n')) : 0;
  }
};

TEST_F(StagingTest, AFullDiskWhileItIsArchivedCostsNoCompilation) {
  Put("full", "");
  const auto failed = Run(Request({"toy"}));
  EXPECT_THAT(failed, FailsWith(ErrorCode::kIo, HasSubstr("No space left on device")));
  EXPECT_THAT(failed, HasHint(HasSubstr("the disk is full: ")));
  ASSERT_THAT(env_->fs.Remove(env_.dir() / "full"), IsOk());
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  EXPECT_EQ(Compilations(), 1);
}

TEST_F(StagingTest, AnInheritedFolderThatIsHalfMadeIsMadeAgain) {
  Put("torn", "");
  EXPECT_THAT(Run(Request({"toy"})), FailsWith(ErrorCode::kIo, HasSubstr("tar: torn")));
  ASSERT_THAT(env_->fs.Remove(env_.dir() / "torn"), IsOk());
  ASSERT_OK_AND_ASSIGN(const BuildSummary resumed, Run(Request({"toy"})));
  EXPECT_EQ(Compilations(), 1);
  env_->cache_dir = env_.dir() / "another-cache-of-another-length";
  BuildRequest request = Request({"toy"});
  request.output = env_.dir() / "other";
  ASSERT_OK_AND_ASSIGN(const BuildSummary clean, Run(request));
  EXPECT_EQ(Compilations(), 2);
  EXPECT_EQ(resumed.artifacts.front().sha256, clean.artifacts.front().sha256);
}

TEST_F(StagingTest, AMissingTarIsToldBeforeAnythingRuns) {
  env_->variables["PATH"] = "/nonexistent";
  const auto refused = Run(Request({"toy"}));
  EXPECT_THAT(refused, FailsWith(ErrorCode::kNotFound, HasSubstr("program 'tar' is missing")));
  EXPECT_THAT(refused, HasHint(HasSubstr("apt-get install tar")));
  EXPECT_EQ(Compilations(), 0);
}

}  // namespace
}  // namespace ptpkg::pipeline
