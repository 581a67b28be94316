#include "verify/rules/build_path_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::verify {
namespace {

using test::FailsWith;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

class CheckBuildPathsTest : public testing::Test {
 protected:
  void Add(const std::string& name, const std::string& content) {
    env_.dir().WriteFile("t/" + name, content);
  }

  Result<std::vector<Finding>> Check(const std::vector<std::string>& paths) {
    PTPKG_TRY(const StagedTree tree, ScanTree(env_, env_.dir() / "t"));
    std::vector<Finding> findings;
    PTPKG_CHECK(CheckBuildPaths(env_, tree, paths, findings));
    return findings;
  }

  test::TestEnv env_;
};

TEST_F(CheckBuildPathsTest, NamesFilePathAndPlace) {
  Add("a.txt", "clean");
  Add("b.bin", std::string("\0\0/build/x/y\0", 13));
  ASSERT_OK_AND_ASSIGN(const auto findings, Check({"/build/x"}));
  ASSERT_THAT(findings, ElementsAre(Field(&Finding::file, "b.bin")));
  EXPECT_EQ(findings[0].id, "artifact-build-path");
  EXPECT_EQ(findings[0].severity, Severity::kError);
  EXPECT_EQ(findings[0].message, "the build path '/build/x' occurs in the file");
  EXPECT_THAT(findings[0].fix, HasSubstr("it is at byte 2"));
}

TEST_F(CheckBuildPathsTest, APathEndsWhereItsNameEnds) {
  Add("a", "/build/xy /build/x-1 /build/x_ /build/x2");
  EXPECT_THAT(Check({"/build/x"}), test::IsOkAndHolds(IsEmpty()));
  Add("b", "/build/xy then /build/x");
  ASSERT_OK_AND_ASSIGN(const auto findings, Check({"/build/x/"}));
  EXPECT_THAT(findings, ElementsAre(Field(&Finding::fix, HasSubstr("at byte 15"))));
}

TEST_F(CheckBuildPathsTest, FindsAPathAcrossReadBoundaries) {
  constexpr std::size_t kChunk = 1U << 20U;
  for (const std::size_t before : {kChunk - 9, kChunk - 8, kChunk - 4, kChunk - 1, kChunk}) {
    Add("f" + std::to_string(before), std::string(before, '.') + "/build/x");
  }
  ASSERT_OK_AND_ASSIGN(const auto findings, Check({"/build/x"}));
  EXPECT_EQ(findings.size(), 5U);
}

TEST_F(CheckBuildPathsTest, TemporaryFilesOfNvccAreWarnedOf) {
  Add("a.so", "0123 tmpxft_00007fd9_00000000-6_k.cudafe1.cpp tmpxft_00007fda_00000000-6_k");
  Add("nvcc", "tmpxft_%08x_%08x tmpxft_ tmpxft_0000");
  Add("word", "tmpxft_0000zfd9_00000000");
  ASSERT_OK_AND_ASSIGN(const auto findings, Check({"/build/x"}));
  ASSERT_THAT(findings, ElementsAre(Field(&Finding::file, "a.so")));
  EXPECT_EQ(findings[0].id, "artifact-nvcc-temporary");
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_THAT(findings[0].fix, HasSubstr("at byte 5"));
  EXPECT_THAT(Check({}), test::IsOkAndHolds(IsEmpty()));
}

TEST_F(CheckBuildPathsTest, OfAPathInDeviceCodeItSaysWhatWritesIt) {
  const auto with = [&](const std::string& section) {
    Command command;
    command.argv = {"/bin/sh", "-c",
                    "printf 'x/build/x/k.cu' > in && printf 'int f;' | gcc -xc -c - -o t/o.o && "
                    "objcopy --add-section " +
                        section + "=in t/o.o"};
    command.env = {{"PATH", "/usr/bin:/bin"}};
    command.cwd = env_.dir().path();
    const auto status = env_->process.Run(command);
    EXPECT_TRUE(status.has_value() && status->ok());
    const auto findings = Check({"/build/x"});
    return findings && findings->size() == 1 ? findings->front().message + "; " + findings->front().fix : "";
  };
  env_.dir().MakeDir("t");
  EXPECT_THAT(with(".nv_fatbin"),
              testing::AllOf(HasSubstr("occurs in the line tables of the device code (nvcc -lineinfo); "),
                             HasSubstr("without nvcc's -lineinfo; it is at byte")));
  EXPECT_THAT(with(".rodata.x"), HasSubstr("-ffile-prefix-map"));
}

TEST_F(CheckBuildPathsTest, LooksIntoLinkTargets) {
  StagedTree tree;
  tree.root = env_.dir().path();
  tree.entries.push_back({.path = RelPath::Literal("l"),
                          .kind = FileKind::kSymlink,
                          .mode = 0,
                          .size_bytes = 0,
                          .sha256 = {},
                          .link_target = "/build/x/lib"});
  std::vector<Finding> findings;
  ASSERT_OK(CheckBuildPaths(env_, tree, {"/build/x", "/build/xylophone"}, findings));
  EXPECT_THAT(findings, ElementsAre(Field(&Finding::message, HasSubstr("in the link's target"))));
}

TEST_F(CheckBuildPathsTest, NothingForbiddenReadsNothing) {
  StagedTree tree;
  tree.entries.push_back({.path = RelPath::Literal("gone"),
                          .kind = FileKind::kRegular,
                          .mode = 0644,
                          .size_bytes = 1,
                          .sha256 = {},
                          .link_target = ""});
  std::vector<Finding> findings;
  EXPECT_OK(CheckBuildPaths(env_, tree, {"", "/"}, findings));
  EXPECT_THAT(CheckBuildPaths(env_, tree, {"/b"}, findings),
              FailsWith(ErrorCode::kNotFound, HasSubstr("gone")));
  env_.cancel.Cancel();
  EXPECT_THAT(CheckBuildPaths(env_, tree, {"/b"}, findings),
              FailsWith(ErrorCode::kCancelled, HasSubstr("interrupted")));
}

}  // namespace
}  // namespace ptpkg::verify
