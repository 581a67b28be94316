#include "builder/post_process.h"

#include <gtest/gtest.h>

#include "builder/prefix_diff.h"
#include "support/matchers.h"
#include "support/process/console_script.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::HasHint;
using test::TestEnv;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<RelPath> Paths(std::initializer_list<const char*> names) {
  std::vector<RelPath> paths;
  for (const char* name : names) paths.push_back(RelPath::Literal(name));
  return paths;
}

TEST(SelectFiles, DropsWhatNoPackageShips) {
  const recipe::Recipe recipe;
  const std::string site = "lib/python3.11/site-packages/";
  std::vector<RelPath> added = Paths({"lib/libx.la", "lib/libx.a", "share/info/dir", "conda-meta/history",
                                      "src/.git/config", "share/info/x.info", "lib/xla"});
  for (const char* name :
       {"x/__pycache__/a.cpython-311.pyc", "x/a.pyo", "x-1.dist-info/direct_url.json", "x/a.py"}) {
    added.push_back(RelPath::Literal(site + name));
  }
  ASSERT_OK_AND_ASSIGN(const auto selected, SelectFiles(recipe, added));
  EXPECT_EQ(selected,
            Paths({"lib/libx.a", "share/info/x.info", "lib/xla", "lib/python3.11/site-packages/x/a.py"}));
}

TEST(SelectFiles, FollowsTheRecipesGlobs) {
  recipe::Recipe recipe;
  recipe.files_include = {"lib/**"};
  recipe.files_exclude = {"lib/*.a"};
  EXPECT_THAT(SelectFiles(recipe, Paths({"bin/x", "lib/x.a", "lib/x.so", "lib/sub/y.a"})),
              test::IsOkAndHolds(Paths({"lib/x.so", "lib/sub/y.a"})));
}

TEST(SelectFiles, RefusesDebiansLayout) {
  const auto result = SelectFiles({}, Paths({"local/lib/python3.11/dist-packages/x.py"}));
  EXPECT_THAT(result, FailsWith(ErrorCode::kInvalidInput, HasSubstr("dist-packages")));
  EXPECT_THAT(result, HasHint(HasSubstr("$PYTHON")));
}

TEST(SelectFiles, LeavesTheEntryPointsOfANoarchPackageToItsInstaller) {
  recipe::Recipe recipe;
  recipe.python_entry_points = {"toy = toy:main"};
  EXPECT_THAT(SelectFiles(recipe, Paths({"bin/other", "bin/toy"})),
              test::IsOkAndHolds(Paths({"bin/other", "bin/toy"})));
  recipe.noarch_python = true;
  EXPECT_THAT(SelectFiles(recipe, Paths({"bin/other", "bin/toy"})), test::IsOkAndHolds(Paths({"bin/other"})));
}

class PostProcessTest : public ::testing::Test {
 protected:
  PostProcessTest() {
    env_.dir().MakeDir("w");
    layout_ = *MakeWorkLayout(env_, env_.dir() / "w");
  }

  void Write(const std::string& name, const std::string& text, std::uint32_t mode = 0644) {
    const AbsPath path = layout_.prefix / name;
    ASSERT_OK(env_->fs.MakeDirs(path.Parent()));
    ASSERT_OK(WriteFile(env_->fs, path, text));
    ASSERT_OK(env_->fs.SetMode(path, mode));
  }
  std::string Read(const std::string& name) { return *ReadFile(env_->fs, layout_.prefix / name); }
  Result<void> Run(const std::string& python = "") {
    return PostProcess(env_, {.recipe = recipe_, .layout = layout_, .python = python});
  }

  TestEnv env_;
  recipe::Recipe recipe_;
  WorkLayout layout_;
};

TEST_F(PostProcessTest, ReplacesThePathOfTheWorkFolder) {
  Write("lib/x.pc", "prefix=" + layout_.prefix.str() + "\n");
  Write("lib/x.so",
        std::string("\0ELF", 4) + layout_.source.str() + "/build:" + layout_.prefix.str() + "/lib\0");
  ASSERT_OK(Run());
  EXPECT_EQ(Read("lib/x.pc"), "prefix=" + layout_.PrefixPlaceholder() + "\n");
  EXPECT_EQ(Read("lib/x.so").find(env_.dir().path().str()), std::string::npos);
  const std::string source_below_root = layout_.source.str().substr(layout_.root.str().size());
  EXPECT_THAT(Read("lib/x.so"), HasSubstr(layout_.RootPlaceholder() + source_below_root + "/build:"));
}

TEST_F(PostProcessTest, MakesAbsoluteLinksIntoThePrefixRelative) {
  Write("lib/libx.so.1", "x");
  ASSERT_OK(env_->fs.MakeDirs(layout_.prefix / "lib/sub"));
  ASSERT_OK(env_->fs.CreateSymlink((layout_.prefix / "lib/libx.so.1").str(), layout_.prefix / "lib/libx.so"));
  ASSERT_OK(
      env_->fs.CreateSymlink((layout_.prefix / "lib/libx.so.1").str(), layout_.prefix / "lib/sub/libx.so"));
  ASSERT_OK(env_->fs.CreateSymlink("libx.so.1", layout_.prefix / "lib/liby.so"));
  ASSERT_OK(Run());
  EXPECT_THAT(env_->fs.ReadLink(layout_.prefix / "lib/libx.so"),
              test::IsOkAndHolds(std::string("libx.so.1")));
  EXPECT_THAT(env_->fs.ReadLink(layout_.prefix / "lib/sub/libx.so"),
              test::IsOkAndHolds(std::string("../libx.so.1")));
  EXPECT_THAT(env_->fs.ReadLink(layout_.prefix / "lib/liby.so"),
              test::IsOkAndHolds(std::string("libx.so.1")));
}

TEST_F(PostProcessTest, RefusesALinkIntoTheBuildFolder) {
  ASSERT_OK(env_->fs.MakeDirs(layout_.prefix / "lib"));
  ASSERT_OK(env_->fs.CreateSymlink((layout_.source / "x.so").str(), layout_.prefix / "lib/x.so"));
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kInvalidInput,
                               HasSubstr("symlink 'lib/x.so' points into the build directory")));
}

TEST_F(PostProcessTest, BreaksHardLinks) {
  Write("lib/a", layout_.source.str());
  ASSERT_OK(env_->fs.CreateHardLink(layout_.prefix / "lib/a", layout_.prefix / "lib/b"));
  const AbsPath outside = env_.dir().WriteFile("outside", layout_.source.str());
  ASSERT_OK(env_->fs.CreateHardLink(outside, layout_.prefix / "lib/c"));
  ASSERT_OK(Run());
  for (const char* name : {"lib/a", "lib/b", "lib/c"}) {
    ASSERT_OK_AND_ASSIGN(const FileStat stat, env_->fs.Lstat(layout_.prefix / name));
    EXPECT_EQ(stat.link_count, 1U) << name;
    EXPECT_EQ(Read(name), layout_.RootPlaceholder() + "/work") << name;
  }
  EXPECT_EQ(env_.dir().ReadFile("outside"), layout_.source.str())
      << "a file outside was changed through its link";
}

TEST_F(PostProcessTest, NormalisesPermissions) {
  Write("bin/run", "x", 0700);
  Write("share/data", "x", 0666);
  Write("share/locked", layout_.root.str(), 0400);
  ASSERT_OK(Run());
  const auto mode = [&](const char* name) { return env_->fs.Lstat(layout_.prefix / name)->mode; };
  EXPECT_EQ(mode("bin/run"), 0755U);
  EXPECT_EQ(mode("share/data"), 0644U);
  EXPECT_EQ(mode("share/locked"), 0644U);
}

TEST_F(PostProcessTest, GivesScriptsThePrefixsInterpreter) {
  Write("bin/short", "#!/venv/bin/python\nimport x\n", 0755);
  Write("bin/long", "#!/bin/sh\n'''exec' /venv/bin/python \"$0\" \"$@\"\n' '''\nimport x\n", 0755);
  Write("bin/other", "#!/usr/bin/perl\nuse x;\n", 0755);
  Write("bin/similar", "#!/venv/bin/python3\nimport x\n", 0755);
  Write("lib/data", "#!/venv/bin/python\n");
  ASSERT_OK(Run("/venv/bin/python"));
  const std::string own = "#!" + layout_.PrefixPlaceholder() + "/bin/python\nimport x\n";
  EXPECT_EQ(Read("bin/short"), own);
  EXPECT_EQ(Read("bin/long"), own);
  EXPECT_EQ(Read("bin/other"), "#!/usr/bin/perl\nuse x;\n");
  EXPECT_EQ(Read("bin/similar"), "#!/venv/bin/python3\nimport x\n");
  EXPECT_EQ(Read("lib/data"), "#!/venv/bin/python\n");
  EXPECT_EQ(env_->fs.Lstat(layout_.prefix / "bin/short")->mode, 0755U);
}

TEST_F(PostProcessTest, KnowsThePythonOfThePrefixByAllItsNames) {
  const std::string python = layout_.prefix.str() + "/bin/python";
  Write("bin/pip3", "#!/bin/sh\n'''exec' " + python + "3.11 \"$0\" \"$@\"\n' '''\nimport x\n", 0755);
  Write("bin/setup", "#!" + python + " -E\nimport x\n", 0755);
  Write("bin/config", "#!" + python + "3-config\n", 0755);
  ASSERT_OK(Run());
  const std::string own = "#!" + layout_.PrefixPlaceholder() + "/bin/python";
  EXPECT_EQ(Read("bin/pip3"), own + "\nimport x\n");
  EXPECT_EQ(Read("bin/setup"), own + " -E\nimport x\n");
  EXPECT_EQ(Read("bin/config"), own + "3-config\n");
}

TEST_F(PostProcessTest, WritesEntryPointsUnlessTheInstallerDoes) {
  recipe_.python_entry_points = {"toy = toy.cli:App.main"};
  Write("bin/toy", "of pip", 0755);
  ASSERT_OK(WriteEntryPoints(env_, recipe_, layout_));
  EXPECT_EQ(Read("bin/toy"),
            ConsoleScriptText({.prefix = layout_.prefix.str(), .module = "toy.cli", .object = "App.main"}));
  EXPECT_EQ(env_->fs.Lstat(layout_.prefix / "bin/toy")->mode, 0755U);
  recipe_.noarch_python = true;
  recipe_.python_entry_points = {"other = toy:main"};
  ASSERT_OK(WriteEntryPoints(env_, recipe_, layout_));
  EXPECT_THAT(Exists(env_->fs, layout_.prefix / "bin/other"), test::IsOkAndHolds(false));
}

TEST_F(PostProcessTest, KeepsOnlyNamesOfPresentFilesInRecord) {
  const std::string site = "lib/python3.11/site-packages/";
  Write("bin/x", "");
  Write(site + "x.py", "");
  Write(site + "x-1.dist-info/RECORD",
        "x.py,sha256=abc,0\r\n../../../bin/x,sha256=def,0\nx-1.dist-info/direct_url.json,sha256=abc,9\n"
        "../../../../../../etc/passwd,,\nx-1.dist-info/RECORD,,\n");
  ASSERT_OK(Run());
  EXPECT_EQ(Read(site + "x-1.dist-info/RECORD"), "x.py,,\n../../../bin/x,,\nx-1.dist-info/RECORD,,\n");
}

TEST_F(PostProcessTest, ReportsADamagedRecord) {
  Write("lib/python3.11/site-packages/x-1.dist-info/RECORD", "\"open,,\n");
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kCorrupt, HasSubstr("quot")));
}

TEST_F(PostProcessTest, StopsWhenInterrupted) {
  Write("a", "x");
  env_.cancel.Cancel();
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kCancelled, "interrupted"));
}

TEST_F(PostProcessTest, DiffFindsNewFilesAndWarnsOfChangedOnes) {
  Write("lib/host.a", "1");
  Write("lib/gone.a", "1");
  ASSERT_OK_AND_ASSIGN(const PrefixSnapshot before, PrefixSnapshot::Take(env_, layout_.prefix));
  Write("lib/new.a", "1");
  Write("lib/host.a", "changed");
  ASSERT_OK(env_->fs.Remove(layout_.prefix / "lib/gone.a"));

  ASSERT_OK_AND_ASSIGN(const auto added, before.Added(env_, layout_.prefix));
  ASSERT_OK(RemoveAllExcept(env_, layout_.prefix, added));

  EXPECT_EQ(added, Paths({"lib/new.a"}));
  EXPECT_THAT(test::ListTree(env_->fs, layout_.prefix), ElementsAre("lib/", "lib/new.a"));
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("'lib/host.a'"), HasSubstr("removed 1 files")));
}

TEST_F(PostProcessTest, AHelperCountsOnlyWhenTheScriptReplacedIt) {
  Write("bin/pip", "helper");
  Write("bin/python", "helper");
  ASSERT_OK_AND_ASSIGN(const PrefixSnapshot before,
                       PrefixSnapshot::Take(env_, layout_.prefix, Paths({"bin/pip", "bin/python"})));
  Write("bin/pip", "the package's own pip");
  EXPECT_THAT(before.Added(env_, layout_.prefix), test::IsOkAndHolds(Paths({"bin/pip"})));
  ASSERT_OK(env_->fs.Remove(layout_.prefix / "bin/python"));
  EXPECT_THAT(before.Added(env_, layout_.prefix), test::IsOkAndHolds(Paths({"bin/pip"})));
  EXPECT_THAT(env_.reporter.warnings(), IsEmpty());
}

}  // namespace
}  // namespace ptpkg::builder
