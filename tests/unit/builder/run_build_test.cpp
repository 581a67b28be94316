// The whole stage on tiny scripts; the example pair of fixtures/ runs in the end-to-end tests.
#include "builder/run_build.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOkAndHolds;
using test::TestEnv;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class BuildTest : public ::testing::Test {
 protected:
  BuildTest() {
    recipe_.name = "toy";
    recipe_.version = "1.0";
    recipe_.build_string = "0";
    recipe_.recipe_dir = env_.dir().MakeDir("recipe");
  }

  Result<StagedBuild> Run(const std::string& work = "w") {
    env_.dir().MakeDir(work);
    PTPKG_TRY(layout_, MakeWorkLayout(env_, env_.dir() / work));
    PTPKG_CHECK(env_->fs.MakeDirs(layout_.source));
    std::set<std::string> provided;
    for (const LocalPackage& package : packages_) provided.insert(package.name);
    PTPKG_TRY(const HostPlan host, CheckTools(env_, recipe_, {.host_env = host_env_, .provided = provided}));
    return builder::Run(env_, {.recipe = recipe_,
                               .subject = "toy-1.0-0",
                               .source_root = layout_.source,
                               .packages = packages_,
                               .unpack = unpack_,
                               .host = host,
                               .layout = layout_,
                               .log_file = env_.dir() / "log",
                               .mentioned = mentioned_});
  }

  TestEnv env_;
  std::set<std::string> mentioned_;
  recipe::Recipe recipe_;
  WorkLayout layout_;
  std::vector<LocalPackage> packages_;
  UnpackFunction unpack_;
  HostEnv host_env_ = HostEnv::kSystem;
};

TEST_F(BuildTest, StagesWhatTheScriptAddedWithoutHostFiles) {
  packages_ = {{.name = "magma", .path = env_.dir() / "magma-1-0.conda", .sha256 = {}}};
  recipe_.requirements.host = {{.name = "magma", .version = "", .build = ""}};
  unpack_ = [](Env& env, const AbsPath& package, const UnpackInto& into) -> Result<void> {
    PTPKG_CHECK(env.fs.MakeDirs(into.prefix / "lib"));
    return WriteFile(env.fs, into.prefix / "lib/libmagma.a", package.Name());
  };
  recipe_.script.lines = {"test -e \"$PREFIX/lib/libmagma.a\"", "mkdir -p \"$PREFIX/share/toy\"",
                          "echo \"$PREFIX\" > \"$PREFIX/share/toy/place\"",
                          "ln -s place \"$PREFIX/share/toy/link\""};

  ASSERT_OK_AND_ASSIGN(const StagedBuild staged, Run());

  ASSERT_THAT(staged.tree.entries, SizeIs(2));
  EXPECT_EQ(staged.tree.entries[0].path.str(), "share/toy/link");
  EXPECT_EQ(staged.tree.entries[1].path.str(), "share/toy/place");
  EXPECT_THAT(ReadFile(env_->fs, staged.tree.root / "share/toy/place"), IsOkAndHolds(staged.prefix + "\n"));
  EXPECT_THAT(staged.prefix, SizeIs(kPrefixLength));
  EXPECT_EQ(staged.python_version, "");
  EXPECT_THAT(staged.forbidden_paths, Contains(layout_.RootPlaceholder() + "/work"));
  for (const std::string& path : staged.forbidden_paths)
    EXPECT_FALSE(staged.prefix.starts_with(path)) << path;
}

TEST_F(BuildTest, TakesHostFilesAndLicencesOfThePrefixThatTheRecipeNames) {
  packages_ = {{.name = "magma", .path = env_.dir() / "magma-1-0.conda", .sha256 = {}}};
  recipe_.requirements.host = {{.name = "magma", .version = "", .build = ""}};
  unpack_ = [](Env& env, const AbsPath&, const UnpackInto& into) -> Result<void> {
    PTPKG_CHECK(env.fs.MakeDirs(into.prefix / "etc"));
    PTPKG_CHECK(WriteFile(env.fs, into.prefix / "etc/magma.conf", "a"));
    return WriteFile(env.fs, into.prefix / "etc/other.conf", "b");
  };
  recipe_.always_include_files = {"etc/magma.*"};
  recipe_.about.license_files = {"${PREFIX}/share/licences/GPL-*"};
  recipe_.files_exclude = {"share/**"};
  recipe_.script.lines = {"mkdir -p \"$PREFIX/share/licences\"",
                          "echo text > \"$PREFIX/share/licences/GPL-3\""};

  ASSERT_OK_AND_ASSIGN(const StagedBuild staged, Run());

  ASSERT_THAT(staged.tree.entries, SizeIs(1));
  EXPECT_EQ(staged.tree.entries[0].path.str(), "etc/magma.conf");
  ASSERT_THAT(staged.licenses, SizeIs(1));
  EXPECT_EQ(staged.licenses[0].name, "share/licences/GPL-3");
  EXPECT_THAT(ReadFile(env_->fs, staged.licenses[0].path), IsOkAndHolds(std::string("text\n")));

  recipe_.about.license_files = {"${PREFIX}/share/licences/MIT"};
  EXPECT_THAT(Run("again"), FailsWith(ErrorCode::kNotFound, HasSubstr("matches no file in the prefix")));
}

TEST_F(BuildTest, NoCompiledPythonFileIsPacked) {
  recipe_.script.lines = {"mkdir -p \"$PREFIX/lib/__pycache__\"", "touch \"$PREFIX/lib/a.py\"",
                          "touch \"$PREFIX/lib/a.pyc\" \"$PREFIX/lib/__pycache__/a.cpython-311.pyc\""};
  ASSERT_OK_AND_ASSIGN(const StagedBuild staged, Run());
  ASSERT_THAT(staged.tree.entries, SizeIs(1)) << "build.python.skip_pyc_compilation holds for every file";
  EXPECT_EQ(staged.tree.entries[0].path.str(), "lib/a.py");
}

TEST_F(BuildTest, MakesEqualTreesInDifferentFolders) {
  recipe_.script.lines = {"echo \"$SRC_DIR $PREFIX\" > \"$PREFIX/paths\"", "cp \"$0\" \"$PREFIX/script\""};
  ASSERT_OK_AND_ASSIGN(const StagedBuild one, Run("w"));
  ASSERT_OK_AND_ASSIGN(const StagedBuild two, Run("another/much/longer/folder"));
  EXPECT_EQ(TreeDigest(one.tree), TreeDigest(two.tree));
  EXPECT_EQ(one.prefix, two.prefix);
}

TEST_F(BuildTest, ReportsMissingToolsBeforeAnythingRuns) {
  env_->variables["PATH"] = (env_.dir() / "empty").str();
  recipe_.requirements.build = {{.name = "ninja", .version = "", .build = ""}};
  recipe_.script.lines = {"touch \"$PREFIX/made\""};
  const auto result = Run();
  EXPECT_THAT(result, FailsWith(ErrorCode::kNotFound, HasSubstr("'ninja'")));
  EXPECT_THAT(result, HasHint(HasSubstr("apt-get install ninja-build")));
  EXPECT_THAT(Exists(env_->fs, layout_.prefix / "made"), IsOkAndHolds(false));
}

TEST_F(BuildTest, WantsAClientForCondaEnvironments) {
  env_->variables["PATH"] = (env_.dir() / "empty").str();
  host_env_ = HostEnv::kConda;
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kNotFound, HasSubstr("no conda client")));
}

TEST_F(BuildTest, BuildsInCondaPrefixesWhenTheMachineLacksATool) {
  // A client whose "packages" are a tool in the build prefix and an activation script.
  env_.dir().WriteFile("bin/micromamba",
                       "#!/bin/sh\n/bin/mkdir -p \"$4/bin\" \"$4/etc/conda/activate.d\"\n"
                       "echo \"export ACTIVATED='$5'\" > \"$4/etc/conda/activate.d/x.sh\"\n",
                       0755);
  env_->variables["PATH"] = (env_.dir() / "bin").str();
  host_env_ = HostEnv::kAuto;
  recipe_.requirements.build = {{.name = "ninja", .version = "1.*", .build = ""}};
  recipe_.script.lines = {"echo \"$ACTIVATED\" > \"$PREFIX/seen\""};
  ASSERT_OK_AND_ASSIGN(const StagedBuild staged, Run());
  ASSERT_THAT(staged.tree.entries, SizeIs(1));
  EXPECT_THAT(ReadFile(env_->fs, staged.tree.root / "seen"), IsOkAndHolds(std::string("ninja 1.*\n")));
}

TEST_F(BuildTest, NamesThePackageThatCannotBeUnpacked) {
  packages_ = {{.name = "magma", .path = env_.dir() / "magma-1-0.conda", .sha256 = {}}};
  unpack_ = [](Env&, const AbsPath&, const UnpackInto&) -> Result<void> {
    return Error(ErrorCode::kCorrupt, "bad zip");
  };
  const auto result = Run();
  EXPECT_THAT(result, FailsWith(ErrorCode::kCorrupt, "bad zip"));
  EXPECT_THAT(result.error().context(), ElementsAre(HasSubstr("magma-1-0.conda")));
}

TEST_F(BuildTest, RefusesAnEmptyResultUnlessTheRecipeAsksForIt) {
  recipe_.script.lines = {"true"};
  const auto empty = Run("a");
  EXPECT_THAT(empty,
              FailsWith(ErrorCode::kInvalidInput, "the build of 'toy-1.0-0' added no file to the prefix"));
  EXPECT_THAT(empty, HasHint(HasSubstr("extra.ptpkg.allow_empty")));
  recipe_.ptpkg.allow_empty = true;
  ASSERT_OK_AND_ASSIGN(const StagedBuild staged, Run("b"));
  EXPECT_THAT(staged.tree.entries, IsEmpty());
}

TEST_F(BuildTest, AMetapackageIsEmptyOnPurpose) {
  ASSERT_OK_AND_ASSIGN(const StagedBuild staged, Run("a"));
  EXPECT_THAT(staged.tree.entries, IsEmpty());
  recipe_.sources.emplace_back().path = "src";
  EXPECT_THAT(Run("b"), HasHint(HasSubstr("has sources but no script")));
}

TEST_F(BuildTest, SaysWhenTheGlobsLeaveNothing) {
  recipe_.script.lines = {"touch \"$PREFIX/a\""};
  recipe_.files_include = {"lib/**"};
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("leaves out all of the 1 files")));
}

TEST_F(BuildTest, RecipeDirIsACopyThatWasHashed) {
  env_.dir().WriteFile("recipe/data.txt", "hashed");
  env_.dir().WriteFile("recipe/build.sh",
                       "cp \"$RECIPE_DIR/data.txt\" \"$PREFIX/data\"; echo x > \"$RECIPE_DIR/new\"\n");
  ASSERT_OK_AND_ASSIGN(const StagedBuild staged, Run());
  EXPECT_THAT(ReadFile(env_->fs, staged.tree.root / "data"), IsOkAndHolds(std::string("hashed")));
  EXPECT_THAT(Exists(env_->fs, env_.dir() / "recipe/new"), IsOkAndHolds(false));
}

TEST_F(BuildTest, AnInterpretersScriptsBecomeThePrefixs) {
  const auto python = FindProgram("python3", env_->variables["PATH"]);
  if (!python) GTEST_SKIP() << "no python3 on PATH";
  recipe_.requirements.host = {{.name = "python", .version = "", .build = ""}};
  recipe_.python_entry_points = {"toy = toy:main"};
  recipe_.script.lines = {"mkdir -p \"$SP_DIR\"", "echo 'def main(): print(\"hello\")' > \"$SP_DIR/toy.py\"",
                          "test \"$(command -v python3)\" = \"$PREFIX/bin/python3\"",
                          "$PYTHON -c 'import sys; assert sys.prefix == sys.argv[1]' \"$PREFIX\""};
  ASSERT_OK_AND_ASSIGN(const StagedBuild staged, Run());
  std::vector<std::string> names;
  for (const TreeEntry& entry : staged.tree.entries) names.push_back(entry.path.str());
  EXPECT_THAT(names, ElementsAre("bin/toy", "lib/python" + staged.python_version + "/site-packages/toy.py"));
  EXPECT_THAT(ReadFile(env_->fs, staged.tree.root / "bin/toy"),
              IsOkAndHolds(::testing::StartsWith("#!" + staged.prefix + "/bin/python\n")));
}

TEST_F(BuildTest, PackagesGetThePythonVersionThatTheirFilesGoTo) {
  if (!FindProgram("python3", env_->variables["PATH"])) GTEST_SKIP() << "no python3 on PATH";
  packages_ = {{.name = "pure", .path = env_.dir() / "pure-1-0.conda", .sha256 = {}}};
  recipe_.requirements.host = {{.name = "python", .version = "", .build = ""},
                               {.name = "pure", .version = "", .build = ""}};
  std::string version;
  unpack_ = [&](Env& env, const AbsPath&, const UnpackInto& into) -> Result<void> {
    version = into.python_version;
    const AbsPath site = into.prefix / ("lib/python" + version + "/site-packages");
    PTPKG_CHECK(env.fs.MakeDirs(site));
    return WriteFile(env.fs, site / "pure.py", "");
  };
  recipe_.script.lines = {"python -c 'import pure'", "touch \"$PREFIX/made\""};
  ASSERT_OK_AND_ASSIGN(const StagedBuild staged, Run());
  EXPECT_EQ(version, staged.python_version);
  EXPECT_THAT(staged.tree.entries, SizeIs(1));
}

TEST_F(BuildTest, RefusesALinkThatLeavesThePrefix) {
  recipe_.script.lines = {"ln -s /etc/passwd \"$PREFIX/secrets\""};
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("secrets")));
}

TEST_F(BuildTest, ABuildNumberReachesAScriptThatMentionsIt) {
  recipe_.build_number = 5;
  recipe_.script.lines = {"env > \"$PREFIX/env\""};
  ASSERT_OK_AND_ASSIGN(const StagedBuild unseen, Run("a"));
  EXPECT_THAT(*ReadFile(env_->fs, unseen.tree.root / "env"), ::testing::Not(HasSubstr("PKG_BUILDNUM")));
  mentioned_ = {"PKG_BUILDNUM"};
  ASSERT_OK_AND_ASSIGN(const StagedBuild seen, Run("b"));
  EXPECT_THAT(*ReadFile(env_->fs, seen.tree.root / "env"), HasSubstr("\nPKG_BUILDNUM=5\n"));
}

}  // namespace
}  // namespace ptpkg::builder
