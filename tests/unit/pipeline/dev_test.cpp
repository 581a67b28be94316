// `ptpkg dev` and the folder that it works in.

#include "pipeline/dev.h"

#include <algorithm>

#include "build/work_state.h"
#include "pipeline/cache.h"
#include "pipeline/shell.h"
#include "support/mem_fs.h"
#include "unit/pipeline/build_fixture.h"

namespace ptpkg::pipeline {
namespace {

using build::WorkPhase;
using test::FailsWith;
using test::HasHint;
using test::IsOk;
using test::IsOkAndHolds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kSource = "source: {path: src}\n";
constexpr const char* kTests =
    "tests: [{script: ['test -e $PREFIX/share/a.c']}, {package_contents: {files: [share/a.c]}}]\n";

class DevTest : public BuildFixture {
 protected:
  /// A build that counts its runs and installs what it was given.
  [[nodiscard]] std::string Script(const std::string& more = "true") const {
    return "echo whole >> " + env_.dir().path().str() + "/count\n" + more +
           "\nmkdir -p $PREFIX/share\ncp *.c $PREFIX/share/";
  }
  void WriteToy(const std::string& rest = "", const std::string& more = "true") {
    WriteRecipe("toy", Script(more), kSource + std::string(kTests) + rest);
  }
  void PutSource(const std::string& name, const std::string& text) { Put("toy/src/" + name, text); }

  NativeRequest DevRequest(const std::string& name = "") { return {.build = Request({"toy"}), .name = name}; }
  Result<DevSummary> RunDev() { return Dev(env_, DevRequest()); }

  static std::vector<std::string> Names(const std::vector<RelPath>& paths) {
    std::vector<std::string> names;
    for (const RelPath& path : paths) names.push_back(path.str());
    return names;
  }
  int Runs() {
    const auto text = ReadFile(env_->fs, env_.dir() / "count");
    return text ? static_cast<int>(std::count(text->begin(), text->end(), '\n')) : 0;
  }
  AbsPath Root() {
    const auto names = env_->fs.ListDir(env_->cache_dir / "dev");
    EXPECT_TRUE(names && names->size() == 1);
    return env_->cache_dir / "dev" / names->front();
  }
  /// The folder looks as if the run had been killed in its script.
  void LeaveInScript(const std::string& boot_id) {
    ASSERT_OK_AND_ASSIGN(build::WorkState state, build::ReadWorkState(env_->fs, Root()));
    state.phase = WorkPhase::kScript;
    state.boot_id = boot_id;
    ASSERT_OK(build::WriteWorkState(env_->fs, Root(), state));
  }
  std::vector<std::string> Notes() { return env_.reporter.notes(); }
};

TEST_F(DevTest, AnEditIsCopiedAndTheScriptAndTestsRunAgainInTheSameFolder) {
  PutSource("a.c", "int a;");
  WriteToy();
  ASSERT_OK_AND_ASSIGN(const DevSummary first, RunDev());
  EXPECT_TRUE(first.anew);
  EXPECT_EQ(first.why_anew, "");
  EXPECT_EQ(first.script, "build.script");
  EXPECT_THAT(first.tests.ran, ElementsAre("test -e $PREFIX/share/a.c", "package_contents"));
  EXPECT_FALSE(first.tests.report.HasErrors());

  PutSource("a.c", "int a2;");
  PutSource("b.c", "int b;");
  ASSERT_OK_AND_ASSIGN(const DevSummary second, RunDev());
  EXPECT_FALSE(second.anew);
  EXPECT_THAT(Names(second.copied), ElementsAre("a.c", "b.c"));
  EXPECT_THAT(Names(second.removed), IsEmpty());
  EXPECT_THAT(ReadFile(env_->fs, second.layout.prefix / "share/b.c"), IsOkAndHolds("int b;"));
  EXPECT_EQ(second.layout.prefix, first.layout.prefix);
  EXPECT_EQ(Runs(), 2);

  ASSERT_OK_AND_ASSIGN(const DevSummary third, RunDev());
  EXPECT_THAT(third.copied, IsEmpty());
  EXPECT_THAT(Notes(), Not(Contains(HasSubstr("starts anew"))));
}

TEST_F(DevTest, AFailedTestIsAFinding) {
  PutSource("a.c", "int a;");
  WriteToy("", "rm -f a.c; touch z.c");
  ASSERT_OK_AND_ASSIGN(const DevSummary summary, RunDev());
  EXPECT_TRUE(summary.tests.report.HasErrors());
  EXPECT_THAT(summary.tests.report.findings, SizeIs(2));
}

TEST_F(DevTest, TestsThatCannotRunHereAreNamed) {
  PutSource("a.c", "int a;");
  WriteRecipe(
      "toy", Script(),
      kSource + std::string("tests: [{python: {imports: [toy]}}, {script: [\"true\"], requirements: {run: "
                            "[no-such-tool]}}]\n"));
  ASSERT_OK_AND_ASSIGN(const DevSummary summary, RunDev());
  EXPECT_THAT(summary.tests.ran, IsEmpty());
  EXPECT_THAT(summary.tests.skipped,
              ElementsAre("import toy: the build has no Python", "pip check: for the package alone",
                          AllOf(HasSubstr("true: "), HasSubstr("no-such-tool"))));
}

TEST_F(DevTest, TestsAreNotRunWhenTheyAreSwitchedOff) {
  PutSource("a.c", "int a;");
  WriteToy();
  NativeRequest request = DevRequest();
  request.build.test = false;
  ASSERT_OK_AND_ASSIGN(const DevSummary summary, Dev(env_, request));
  EXPECT_THAT(summary.tests.ran, IsEmpty());
}

TEST_F(DevTest, TheShorterScriptRunsOnceAWholeOneHasEndedWell) {
  PutSource("a.c", "int a;");
  const std::string dev = "extra: {ptpkg: {dev: {script: {content: ['echo $WHO >> " +
                          env_.dir().path().str() + "/short'], env: {WHO: me}}}}}\n";
  WriteToy(dev, "[ -e ok ]");
  EXPECT_THAT(RunDev(), FailsWith(ErrorCode::kCommandFailed, HasSubstr("the build script of 'toy-1.0-0'")));
  PutSource("ok", "");
  ASSERT_OK_AND_ASSIGN(const DevSummary whole, RunDev());
  EXPECT_FALSE(whole.anew);
  EXPECT_EQ(whole.script, "build.script");
  ASSERT_OK_AND_ASSIGN(const DevSummary later, RunDev());
  EXPECT_EQ(later.script, "extra.ptpkg.dev.script");
  EXPECT_EQ(Runs(), 2);
  EXPECT_THAT(ReadFile(env_->fs, env_.dir() / "short"), IsOkAndHolds("me\n"));
}

TEST_F(DevTest, AFailedScriptLeavesTheFolderAndIsGoneOnWith) {
  PutSource("a.c", "int a;");
  WriteToy("", "touch made; [ ! -e bad ] || exit 3");
  PutSource("bad", "");
  EXPECT_THAT(RunDev(), FailsWith(ErrorCode::kCommandFailed, HasSubstr("ended with status 3")));
  EXPECT_THAT(Notes(), Contains(HasSubstr("the folder stays, and the same command goes on there")));
  ASSERT_OK(env_->fs.Remove(env_.dir() / "toy/src/bad"));
  ASSERT_OK_AND_ASSIGN(const DevSummary summary, RunDev());
  EXPECT_FALSE(summary.anew);
  EXPECT_THAT(Names(summary.removed), ElementsAre("bad"));
  EXPECT_THAT(Exists(env_->fs, summary.layout.source / "made"), IsOkAndHolds(true));
}

TEST_F(DevTest, AnEditedScriptIsRunInTheSameFolder) {
  PutSource("a.c", "int a;");
  WriteToy();
  ASSERT_THAT(RunDev(), IsOk());
  WriteToy("", "touch other");
  ASSERT_OK_AND_ASSIGN(const DevSummary summary, RunDev());
  EXPECT_FALSE(summary.anew);
  EXPECT_THAT(Exists(env_->fs, summary.layout.source / "other"), IsOkAndHolds(true));
}

TEST_F(DevTest, WhatElseChangesMakesTheFolderAnewAndIsNamed) {
  PutSource("a.c", "int a;");
  WriteToy();
  ASSERT_THAT(RunDev(), IsOk());
  WriteToy("requirements: {build: [make]}\n");
  ASSERT_OK_AND_ASSIGN(const DevSummary summary, RunDev());
  EXPECT_TRUE(summary.anew);
  EXPECT_THAT(summary.why_anew, AllOf(HasSubstr("'recipe.requirements'"), HasSubstr("changed")));
  EXPECT_THAT(Notes(),
              Contains(AllOf(HasSubstr("'toy-1.0-0' starts anew: "), HasSubstr("'recipe.requirements'"))));
  NativeRequest request = DevRequest();
  request.build.fresh = true;
  ASSERT_OK_AND_ASSIGN(const DevSummary fresh, Dev(env_, request));
  EXPECT_EQ(fresh.why_anew, "--fresh");
}

TEST_F(DevTest, ToolsAreAskedAgainOnlyWhenTheirFilesHaveChanged) {
  Put("bin/make", "#!/bin/sh\necho asked >> " + env_.dir().path().str() + "/asked\necho GNU Make 4.3\n");
  ASSERT_OK(env_->fs.SetMode(env_.dir() / "bin/make", 0755));
  env_->variables["PATH"] = (env_.dir() / "bin").str() + ":" + env_->variables["PATH"];
  const auto asked = [&] {
    const auto text = ReadFile(env_->fs, env_.dir() / "asked");
    EXPECT_THAT(RemoveTree(env_->fs, env_.dir() / "asked"), IsOk());
    return text.has_value();
  };
  PutSource("a.c", "int a;");
  WriteToy("requirements: {build: [make]}\n");
  ASSERT_THAT(RunDev(), IsOk());
  EXPECT_TRUE(asked());
  ASSERT_THAT(RunDev(), IsOk());
  EXPECT_FALSE(asked());
  // A tool that says the same, in another folder of PATH: asked once, and nothing is made anew.
  Put("bin/other", "");
  ASSERT_OK_AND_ASSIGN(const DevSummary same, RunDev());
  EXPECT_TRUE(asked());
  EXPECT_FALSE(same.anew);
  ASSERT_THAT(RunDev(), IsOk());
  EXPECT_FALSE(asked());
  Put("bin/make", "#!/bin/sh\necho GNU Make 4.4\n");
  ASSERT_OK(env_->fs.SetMode(env_.dir() / "bin/make", 0755));
  ASSERT_OK_AND_ASSIGN(const DevSummary other, RunDev());
  EXPECT_THAT(other.why_anew, HasSubstr("'tools'"));
}

TEST_F(DevTest, WhatIsMadeAnewIsMadeWithToolsThatWereAsked) {
  PutSource("a.c", "int a;");
  WriteToy();
  ASSERT_THAT(RunDev(), IsOk());
  ASSERT_OK(WriteFile(env_->fs, Root() / "synchronised", "{"));
  ASSERT_OK_AND_ASSIGN(const DevSummary summary, RunDev());
  EXPECT_TRUE(summary.anew);
  EXPECT_THAT(summary.why_anew, HasSubstr("synchronised"));
}

TEST_F(DevTest, APatchedSourceIsTakenAnewWhenItChangesAndOnlyThen) {
  PutSource("a.c", "int a;\n");
  Put("toy/p.patch", "--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-int a;\n+int patched;\n");
  WriteRecipe("toy", Script(), "source: {path: src, patches: [p.patch]}\n");
  ASSERT_OK_AND_ASSIGN(const DevSummary first, RunDev());
  EXPECT_THAT(ReadFile(env_->fs, first.layout.source / "a.c"), IsOkAndHolds("int patched;\n"));
  PutSource("a.c", "int a;\n");  // a new time alone
  ASSERT_OK_AND_ASSIGN(const DevSummary second, RunDev());
  EXPECT_FALSE(second.anew);
  PutSource("b.c", "int b;\n");
  ASSERT_OK_AND_ASSIGN(const DevSummary third, RunDev());
  EXPECT_TRUE(third.anew);
  EXPECT_THAT(third.why_anew, HasSubstr("a source changed that is patched"));
}

TEST_F(DevTest, ARunThatWasKilledIsGoneOnWithUnlessTheMachineWentDown) {
  PutSource("a.c", "int a;");
  WriteToy();
  ASSERT_THAT(RunDev(), IsOk());
  LeaveInScript(build::BootId(env_->fs));
  ASSERT_OK_AND_ASSIGN(const DevSummary second, RunDev());
  EXPECT_FALSE(second.anew);
  LeaveInScript("another");
  ASSERT_OK_AND_ASSIGN(const DevSummary third, RunDev());
  EXPECT_EQ(third.why_anew, "the machine went down while the script ran");
}

TEST_F(DevTest, ADamagedFolderIsMadeAnew) {
  PutSource("a.c", "int a;");
  WriteToy();
  ASSERT_THAT(RunDev(), IsOk());
  for (const char* name : {"state.json", "dev.json", "synchronised"}) {
    ASSERT_OK(WriteFile(env_->fs, Root() / name, "{"));
    ASSERT_OK_AND_ASSIGN(const DevSummary summary, RunDev());
    EXPECT_TRUE(summary.anew) << name;
    EXPECT_THAT(summary.why_anew, HasSubstr(name));
  }
}

TEST_F(DevTest, SeveralVariantsAreRefusedWithTheFlagThatPicksOne) {
  PutSource("a.c", "int a;");
  Put("toy/variants.yaml", "flavour: [sweet, sour]\n");
  Put("toy/recipe.yaml",
      "schema_version: 1\npackage: {name: toy, version: \"1\"}\nsource: {path: src}\n"
      "build: {string: \"${{ flavour }}\", script: [echo $flavour]}\n");
  EXPECT_THAT(RunDev(), FailsWith(ErrorCode::kUsage, AllOf(HasSubstr("'toy' has 2 variants"),
                                                           HasSubstr("toy-1-sweet (--select flavour=sweet)"),
                                                           HasSubstr("toy-1-sour (--select flavour=sour)"))));
  EXPECT_THAT(RunDev(), HasHint("pick one: --select flavour=sweet"));
  EXPECT_THAT(Exists(env_->fs, env_->cache_dir / "dev"), IsOkAndHolds(false));
}

TEST_F(DevTest, SeveralOutputsAreRefusedAndOneIsNamed) {
  Put("toy/src/a.c", "int a;");
  Put("toy/recipe.yaml",
      "schema_version: 1\nrecipe: {name: toy, version: \"1\"}\noutputs:\n"
      "- {staging: {name: base}, source: {path: src}, build: {script: [touch made, 'mkdir -p $PREFIX/share', "
      "touch $PREFIX/share/base]}}\n"
      "- {package: {name: one}, inherit: base, build: {string: \"0\", script: ['test -e made', cp a.c "
      "$PREFIX/share/]}, about: {license: MIT}}\n");
  EXPECT_THAT(RunDev(),
              FailsWith(ErrorCode::kUsage, HasSubstr("has 2 native builds, and this command works on "
                                                     "one: one, base")));
  EXPECT_THAT(RunDev(), HasHint("name one: --name one"));
  EXPECT_THAT(Dev(env_, DevRequest("two")), FailsWith(ErrorCode::kUsage, HasSubstr("no output 'two'")));
  ASSERT_OK_AND_ASSIGN(const DevSummary base, Dev(env_, DevRequest("base")));
  EXPECT_THAT(Exists(env_->fs, base.layout.prefix / "share/base"), IsOkAndHolds(true));
  ASSERT_OK_AND_ASSIGN(const DevSummary one, Dev(env_, DevRequest("one")));
  EXPECT_THAT(Exists(env_->fs, one.layout.prefix / "share/base"), IsOkAndHolds(true));
  EXPECT_THAT(Exists(env_->fs, one.layout.prefix / "share/a.c"), IsOkAndHolds(true));
}

TEST_F(DevTest, ARecipeThatSkipsEverythingIsRefused) {
  PutSource("a.c", "int a;");
  Put("toy/recipe.yaml", "schema_version: 1\npackage: {name: toy, version: \"1\"}\nbuild: {skip: true}\n");
  EXPECT_THAT(RunDev(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("skips every variant")));
}

TEST_F(DevTest, AShellWithoutBashSaysSo) {
  PutSource("a.c", "int a;");
  WriteToy();
  ASSERT_THAT(RunDev(), IsOk());
  env_->variables["PATH"] = "/nonexistent";
  EXPECT_THAT(Shell(env_, {.native = DevRequest(), .command = {"true"}}),
              FailsWith(ErrorCode::kNotFound, HasSubstr("'bash' is not on PATH")));
}

TEST(DevFolderWithoutLocks, IsTakenWithAWarning) {
  test::MemFs fs;
  fs.DisableLocks();
  test::TestEnv env({.fs = &fs});
  recipe::Recipe recipe;
  recipe.name = "toy";
  const auto folder = DevFolder::Take(env, recipe);
  ASSERT_THAT(folder, IsOk());
  EXPECT_FALSE(folder->left().has_value());
  EXPECT_THAT(env.reporter.warnings(), Contains(HasSubstr("on a file system without locks")));
}

TEST_F(DevTest, ASourceOfAnotherRecipeIsATypingError) {
  PutSource("a.c", "int a;");
  WriteToy();
  NativeRequest request = DevRequest();
  request.build.sources.emplace("tow", env_.dir().path());
  EXPECT_THAT(Dev(env_, request), FailsWith(ErrorCode::kUsage, HasSubstr("'tow'")));
}

TEST_F(DevTest, BuildsLeaveTheFolderAloneAndTheCacheListsIt) {
  PutSource("a.c", "int a;");
  WriteToy(kCondaOnly);
  ASSERT_THAT(RunDev(), IsOk());
  PutSource("a.c", "int a2;");
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<CacheItem> items, ListCache(env_));
  const auto found = std::find_if(items.begin(), items.end(),
                                  [](const CacheItem& item) { return item.kind == CacheKind::kDev; });
  ASSERT_NE(found, items.end());
  EXPECT_EQ(found->subject, "toy-1.0-0");
  EXPECT_EQ(found->state, CacheState::kFree);
  ASSERT_THAT(CleanCache(env_, {}), IsOk());
  EXPECT_THAT(env_->fs.ListDir(env_->cache_dir / "dev"), IsOkAndHolds(IsEmpty()));
}

}  // namespace
}  // namespace ptpkg::pipeline
