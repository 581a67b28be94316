#include "builder/resume/work_layout.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"
#include "support/text/text.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::TestEnv;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(MakeWorkLayout, GivesEveryWorkFolderPathsOfOneLength) {
  TestEnv env;
  env.dir().MakeDir("a");
  env.dir().MakeDir("deeper/than/that/one");
  ASSERT_OK_AND_ASSIGN(const WorkLayout one, MakeWorkLayout(env, env.dir() / "a"));
  ASSERT_OK_AND_ASSIGN(const WorkLayout other, MakeWorkLayout(env, env.dir() / "deeper/than/that/one"));

  EXPECT_THAT(one.root.str(), SizeIs(kRootLength));
  EXPECT_THAT(one.prefix.str(), SizeIs(kPrefixLength));
  EXPECT_EQ(one.source.str().size(), other.source.str().size());
  EXPECT_EQ(one.RootPlaceholder(), other.RootPlaceholder());
  EXPECT_EQ(one.PrefixPlaceholder(), other.PrefixPlaceholder());
  EXPECT_THAT(one.PrefixPlaceholder(), SizeIs(kPrefixLength));
  EXPECT_THAT(one.PrefixPlaceholder(), StartsWith(one.RootPlaceholder()));
  EXPECT_TRUE(one.source.IsWithin(one.root));
  EXPECT_TRUE(one.prefix.IsWithin(one.root));
  EXPECT_THAT(Exists(env->fs, one.source), test::IsOkAndHolds(false)) << "source::Prepare makes it";
  EXPECT_THAT(env.reporter.warnings(), IsEmpty());
}

TEST(MakeWorkLayout, LooksThroughSymlinks) {
  TestEnv env;
  env.dir().MakeDir("real/work");
  env.dir().MakeSymlink("real", "link");
  ASSERT_OK_AND_ASSIGN(const WorkLayout layout, MakeWorkLayout(env, env.dir() / "link/work"));
  EXPECT_TRUE(layout.root.IsWithin(env.dir() / "real/work"));
}

TEST(MakeWorkLayout, NamesALoopOfSymlinks) {
  TestEnv env;
  env.dir().MakeSymlink("two", "one");
  env.dir().MakeSymlink("one", "two");
  EXPECT_THAT(MakeWorkLayout(env, env.dir() / "one"),
              FailsWith(ErrorCode::kIo, HasSubstr("too many symlinks")));
}

TEST(MakeWorkLayout, WarnsOfAPathThatIsTooLong) {
  TestEnv env;
  std::string deep(100, 'd');
  deep += "/" + deep;
  env.dir().MakeDir(deep);
  ASSERT_OK_AND_ASSIGN(const WorkLayout layout, MakeWorkLayout(env, env.dir() / deep));
  EXPECT_GT(layout.root.str().size(), kRootLength);
  EXPECT_GE(layout.prefix.str().size(), kPrefixLength);
  EXPECT_EQ(layout.RootPlaceholder().size(), layout.root.str().size());
  EXPECT_EQ(layout.PrefixPlaceholder().size(), layout.prefix.str().size());
  EXPECT_THAT(env.reporter.warnings(), ::testing::ElementsAre(HasSubstr("build results can depend on it")));
}

TEST(SearchPathPad, IsOneLongAbsoluteFolderWithUsableNames) {
  const std::string pad = SearchPathPad();
  EXPECT_GE(pad.size(), 640U);
  EXPECT_THAT(AbsPath::Parse(pad), test::IsOk());
  EXPECT_EQ(pad.find(':'), std::string::npos);
  for (const std::string& part : Split(pad, '/')) EXPECT_LE(part.size(), 255U);
}

TEST(CheckWorkFolder, RefusesWhatToolsWouldSplit) {
  EXPECT_OK(CheckWorkFolder(AbsPath::Literal("/home/j.doe/.cache/ptpkg-1_2/w+x@y~/\xc3\xbc")));
  const auto blank = CheckWorkFolder(AbsPath::Literal("/home/j doe/w"));
  EXPECT_THAT(blank, test::FailsWith(ErrorCode::kInvalidInput,
                                     ::testing::HasSubstr("'/home/j doe/w', contains a blank")));
  EXPECT_THAT(blank, test::HasHint(::testing::HasSubstr("--cache-dir")));
  for (const char* path : {"/a:b", "/a,b", "/a=b", "/a;b", "/a$b", "/a'b", "/a\tb", "/a%b", "/a#b"}) {
    EXPECT_THAT(CheckWorkFolder(AbsPath::Literal(path)),
                test::FailsWith(ErrorCode::kInvalidInput, ::testing::_));
  }
}

TEST(MakeWorkLayout, RefusesSuchAFolderBeforeItMakesAnything) {
  test::TestEnv env;
  const AbsPath work = env.dir().MakeDir("a b");
  EXPECT_THAT(MakeWorkLayout(env, work),
              test::FailsWith(ErrorCode::kInvalidInput, ::testing::HasSubstr("a blank")));
  EXPECT_THAT(env->fs.ListDir(work), test::IsOkAndHolds(::testing::IsEmpty()));
}

}  // namespace
}  // namespace ptpkg::builder
