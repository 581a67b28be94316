// `ptpkg dev` and the directory that it works in.

#include "pipeline/develop/dev.h"

#include "builder/resume/resume.h"
#include "builder/resume/work_state.h"
#include "pipeline/commands/cache.h"
#include "pipeline/develop/shell.h"
#include "support/mem_fs.h"
#include "unit/pipeline/fixtures/dev_fixture.h"
#include "unit/source/git_repository.h"

namespace ptpkg::pipeline {
namespace {

using builder::WorkPhase;
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
  EXPECT_THAT(Notes(), Not(Contains(HasSubstr("starts over"))));
}

TEST_F(DevTest, AFailedTestIsAFinding) {
  PutSource("a.c", "int a;");
  WriteToy("", "rm -f a.c; touch z.c");
  ASSERT_OK_AND_ASSIGN(const DevSummary summary, RunDev());
  EXPECT_TRUE(summary.tests.report.HasErrors());
  EXPECT_THAT(summary.tests.report.findings, SizeIs(2));
  EXPECT_EQ(summary.tests.failed, 2U);
}

TEST_F(DevTest, ATestWithTwoFindingsFailedOnce) {
  PutSource("a.c", "int a;");
  WriteRecipe("toy", Script(),
              kDevSource + std::string("tests: [{package_contents: {files: [share/x.c, share/y.c]}}]\n"));
  ASSERT_OK_AND_ASSIGN(const DevSummary summary, RunDev());
  EXPECT_THAT(summary.tests.report.findings, SizeIs(2));
  EXPECT_EQ(summary.tests.failed, 1U);
}

TEST_F(DevTest, TestsThatCannotRunHereAreNamed) {
  PutSource("a.c", "int a;");
  WriteRecipe(
      "toy", Script(),
      kDevSource + std::string("tests: [{python: {imports: [toy]}}, {script: [\"true\"], requirements: {run: "
                               "[no-such-tool]}}]\n"));
  ASSERT_OK_AND_ASSIGN(const DevSummary summary, RunDev());
  EXPECT_THAT(summary.tests.ran, IsEmpty());
  EXPECT_THAT(summary.tests.skipped,
              ElementsAre("import toy: the build has no Python", "pip check: only for the package",
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

constexpr const char* kShorterFile = "extra: {ptpkg: {dev: {script: {file: dev.sh}}}}\n";

TEST_F(DevTest, AnEditOfTheBuildScriptOrOfAFileBesideItRunsItAgainWhole) {
  PutSource("a.c", "int a;");
  Put("toy/dev.sh", "true\n");
  WriteToy(kShorterFile);
  ASSERT_THAT(RunDev(), IsOk());
  ASSERT_OK_AND_ASSIGN(const DevSummary shorter, RunDev());
  EXPECT_EQ(shorter.script, "extra.ptpkg.dev.script");
  WriteToy(kShorterFile, "touch other");
  ASSERT_OK_AND_ASSIGN(const DevSummary edited, RunDev());
  EXPECT_FALSE(edited.anew);
  EXPECT_EQ(edited.script, "build.script");
  EXPECT_THAT(Exists(env_->fs, edited.layout.source / "other"), IsOkAndHolds(true));
  Put("toy/data.txt", "data");
  ASSERT_OK_AND_ASSIGN(const DevSummary beside, RunDev());
  EXPECT_EQ(beside.script, "build.script");
  // The shorter one is no business of the whole one.
  Put("toy/dev.sh", "touch more\n");
  ASSERT_OK_AND_ASSIGN(const DevSummary later, RunDev());
  EXPECT_EQ(later.script, "extra.ptpkg.dev.script");
  EXPECT_THAT(Exists(env_->fs, later.layout.source / "more"), IsOkAndHolds(true));
}

TEST_F(DevTest, ANewOrRemovedSourceFileRunsTheWholeScriptUntilItEndsWell) {
  PutSource("a.c", "int a;");
  PutSource("state", "good");
  Put("toy/dev.sh", "true\n");
  WriteToy(kShorterFile, "grep -q good state");
  const auto ran = [&]() -> Result<std::string> {
    PTPKG_TRY(const DevSummary summary, RunDev());
    return summary.script;
  };
  EXPECT_THAT(ran(), IsOkAndHolds("build.script"));
  PutSource("a.c", "int a2;");
  EXPECT_THAT(ran(), IsOkAndHolds("extra.ptpkg.dev.script"));
  PutSource("b.c", "int b;");
  PutSource("state", "bad");
  EXPECT_THAT(ran(), FailsWith(ErrorCode::kCommandFailed, HasSubstr("the build script")));
  PutSource("state", "good");
  EXPECT_THAT(ran(), IsOkAndHolds("build.script"));
  ASSERT_OK(env_->fs.Remove(env_.dir() / "toy/src/b.c"));
  EXPECT_THAT(ran(), IsOkAndHolds("build.script"));
  EXPECT_THAT(ran(), IsOkAndHolds("extra.ptpkg.dev.script"));
}

TEST_F(DevTest, TheShorterScriptSaysHowManyJobsItRuns) {
  PutSource("a.c", "int a;");
  WriteToy(
      "extra: {ptpkg: {dev: {script: {content: ['echo $CPU_COUNT > jobs'], env: {CPU_COUNT: '77'}}}}}\n");
  ASSERT_THAT(RunDev(), IsOk());
  ASSERT_OK_AND_ASSIGN(const DevSummary summary, RunDev());
  EXPECT_THAT(ReadFile(env_->fs, summary.layout.source / "jobs"), IsOkAndHolds("77\n"));
}

TEST_F(DevTest, TheScriptGetsTheCommitOfItsSource) {
  source::GitRepository repository(env_, "repo");
  const std::string commit = repository.Commit("a.c", "int a;");
  WriteRecipe("toy", Script("echo $GIT_FULL_HASH > $PREFIX/hash"),
              "source: {git: " + repository.path().str() + ", rev: main}\n");
  ASSERT_OK_AND_ASSIGN(const DevSummary summary, RunDev());
  EXPECT_THAT(ReadFile(env_->fs, summary.layout.prefix / "hash"), IsOkAndHolds(commit + "\n"));
}

TEST_F(DevTest, AScriptThatCannotRunTwiceStartsAnew) {
  PutSource("a.c", "int a;");
  WriteToy("extra: {ptpkg: {resume: false}}\n", "mkdir made");
  ASSERT_THAT(RunDev(), IsOk());
  ASSERT_OK_AND_ASSIGN(const DevSummary again, RunDev());
  EXPECT_EQ(again.why_anew, "its script cannot run twice in one directory (extra.ptpkg.resume: false)");
}

TEST_F(DevTest, BesideAShorterScriptAlsoOneThatCannotRunTwiceIsGoneOnWith) {
  PutSource("a.c", "int a;");
  WriteToy("extra: {ptpkg: {resume: false, dev: {script: [touch short]}}}\n", "mkdir made");
  ASSERT_THAT(RunDev(), IsOk());
  ASSERT_OK_AND_ASSIGN(const DevSummary shorter, RunDev());
  EXPECT_FALSE(shorter.anew);
  EXPECT_EQ(shorter.script, "extra.ptpkg.dev.script");
  PutSource("b.c", "int b;");
  ASSERT_OK_AND_ASSIGN(const DevSummary whole, RunDev());
  EXPECT_TRUE(whole.anew);
  EXPECT_EQ(whole.script, "build.script");
}

TEST_F(DevTest, WhatWasChangedByHandIsTakenFromTheSourcesAgain) {
  PutSource("a.c", "int a;");
  PutSource("b.c", "int b;");
  WriteToy();
  ASSERT_OK_AND_ASSIGN(const DevSummary first, RunDev());
  // As `ptpkg shell` leaves it when a person has changed something there.
  const AbsPath entered = builder::ShellRecordFile(Root());
  ASSERT_OK_AND_ASSIGN(const auto before, builder::SourceRecord::Take(env_, first.layout.source));
  ASSERT_OK(before.Write(env_->fs, entered));
  ASSERT_OK(WriteFile(env_->fs, first.layout.source / "a.c", "int by_hand;"));
  ASSERT_OK(env_->fs.Remove(first.layout.source / "b.c"));
  ASSERT_OK(WriteFile(env_->fs, first.layout.source / "own", "notes"));
  ASSERT_OK_AND_ASSIGN(const DevSummary second, RunDev());
  EXPECT_FALSE(second.anew);
  EXPECT_THAT(Names(second.copied), ElementsAre("a.c", "b.c"));
  EXPECT_THAT(env_.reporter.warnings(), Contains(AllOf(HasSubstr("changed in the directory of 'ptpkg dev'"),
                                                       HasSubstr("'a.c', 'b.c'"))));
  EXPECT_THAT(ReadFile(env_->fs, first.layout.source / "a.c"), IsOkAndHolds("int a;"));
  EXPECT_THAT(Exists(env_->fs, first.layout.source / "own"), IsOkAndHolds(true));
  EXPECT_THAT(Exists(env_->fs, entered), IsOkAndHolds(false));
  ASSERT_OK(WriteFile(env_->fs, entered, "{"));
  ASSERT_OK_AND_ASSIGN(const DevSummary third, RunDev());
  EXPECT_THAT(third.why_anew, HasSubstr("entered"));
}

TEST_F(DevTest, ASourceThatIsNotThereIsAnErrorThatLeavesTheFolder) {
  PutSource("a.c", "int a;");
  WriteToy();
  ASSERT_OK_AND_ASSIGN(const DevSummary first, RunDev());
  ASSERT_OK(RemoveTree(env_->fs, env_.dir() / "toy/src"));
  EXPECT_THAT(RunDev(), FailsWith(ErrorCode::kNotFound, HasSubstr("of package 'toy' does not exist")));
  NativeRequest request = DevRequest();
  request.build.sources.emplace("toy", env_.dir() / "nowhere");
  EXPECT_THAT(Dev(env_, request), FailsWith(ErrorCode::kNotFound, HasSubstr("nowhere")));
  EXPECT_THAT(Exists(env_->fs, first.layout.source / "a.c"), IsOkAndHolds(true));
}

TEST_F(DevTest, InItsOwnEnvironmentItIsRefused) {
  PutSource("a.c", "int a;");
  WriteToy();
  ASSERT_OK_AND_ASSIGN(const DevSummary first, RunDev());
  env_->variables["SRC_DIR"] = first.layout.source.str();
  EXPECT_THAT(RunDev(), FailsWith(ErrorCode::kUsage, HasSubstr("uses the work directory of 'toy-1.0-0'")));
  EXPECT_THAT(RunDev(), HasHint("exit the shell first"));
  env_->variables["PTPKG_ENVIRONMENT_READ"] = "1";
  EXPECT_THAT(RunDev(), IsOk());
}

TEST_F(DevTest, AFailedScriptLeavesTheFolderAndIsGoneOnWith) {
  PutSource("a.c", "int a;");
  WriteToy("", "touch made; [ ! -e bad ] || exit 3");
  PutSource("bad", "");
  EXPECT_THAT(RunDev(), FailsWith(ErrorCode::kCommandFailed, HasSubstr("exited with status 3")));
  EXPECT_THAT(Notes(), Contains(HasSubstr("rerun the same command to continue")));
  // A compiler that was killed makes a script fail like any other.
  ASSERT_OK_AND_ASSIGN(const builder::WorkState state, builder::ReadWorkState(env_->fs, Root()));
  EXPECT_EQ(state.phase, WorkPhase::kScript);
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
              Contains(AllOf(HasSubstr("'toy-1.0-0' starts over: "), HasSubstr("'recipe.requirements'"))));
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
  // A tool that says the same, in another directory of PATH: asked once, and nothing is made anew.
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

TEST_F(DevTest, WhatIsMadeAnewListsNoEdits) {
  Put("bin/make", "#!/bin/sh\necho GNU Make 4.3\n");
  ASSERT_OK(env_->fs.SetMode(env_.dir() / "bin/make", 0755));
  env_->variables["PATH"] = (env_.dir() / "bin").str() + ":" + env_->variables["PATH"];
  PutSource("a.c", "int a;");
  PutSource("old.c", "int b;");
  WriteToy("requirements: {build: [make]}\nextra: {ptpkg: {resume: false}}\n");
  ASSERT_THAT(RunDev(), IsOk());
  PutSource("a.c", "int a = 1;");
  ASSERT_OK(env_->fs.Remove(env_.dir() / "toy/src/old.c"));
  // Tools in another directory of PATH are looked at first, so the run that copies the edits also starts
  // over.
  Put("bin/other", "");
  ASSERT_OK_AND_ASSIGN(const DevSummary again, RunDev());
  EXPECT_TRUE(again.anew);
  EXPECT_THAT(again.copied, IsEmpty());
  EXPECT_THAT(again.removed, IsEmpty());
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
  EXPECT_THAT(third.why_anew, HasSubstr("a source that is patched"));
}

TEST_F(DevTest, WhatWasChangedByHandInAFixedSourceMakesTheFolderAnew) {
  PutSource("a.c", "int a;\n");
  Put("toy/p.patch", "--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-int a;\n+int patched;\n");
  WriteRecipe("toy", Script(), "source: {path: src, patches: [p.patch]}\n");
  ASSERT_OK_AND_ASSIGN(const DevSummary first, RunDev());
  ASSERT_OK_AND_ASSIGN(const auto before, builder::SourceRecord::Take(env_, first.layout.source));
  ASSERT_OK(before.Write(env_->fs, builder::ShellRecordFile(Root())));
  ASSERT_OK(WriteFile(env_->fs, first.layout.source / "built.o", "by hand, but no source"));
  ASSERT_OK_AND_ASSIGN(const DevSummary second, RunDev());
  EXPECT_FALSE(second.anew);
  ASSERT_OK(before.Write(env_->fs, builder::ShellRecordFile(Root())));
  ASSERT_OK(WriteFile(env_->fs, first.layout.source / "a.c", "int by_hand;\n"));
  ASSERT_OK_AND_ASSIGN(const DevSummary third, RunDev());
  EXPECT_THAT(third.why_anew,
              HasSubstr("'a.c', from a source that is patched, unpacked or from git, was changed"));
  EXPECT_THAT(ReadFile(env_->fs, third.layout.source / "a.c"), IsOkAndHolds("int patched;\n"));
}

TEST_F(DevTest, AnotherFolderOfEqualTimesAndSizesIsRead) {
  PutSource("a.c", "int a;");
  Put("other/a.c", "int b;");
  WriteToy();
  constexpr std::int64_t kTimeNs = 1'700'000'000'000'000'000;
  ASSERT_OK(env_->fs.SetMtime(env_.dir() / "toy/src/a.c", kTimeNs));
  ASSERT_OK(env_->fs.SetMtime(env_.dir() / "other/a.c", kTimeNs));
  ASSERT_THAT(RunDev(), IsOk());
  NativeRequest request = DevRequest();
  request.build.sources.emplace("toy", env_.dir() / "other");
  ASSERT_OK_AND_ASSIGN(const DevSummary second, Dev(env_, request));
  EXPECT_FALSE(second.anew);
  EXPECT_THAT(Names(second.copied), ElementsAre("a.c"));
  EXPECT_THAT(ReadFile(env_->fs, second.layout.prefix / "share/a.c"), IsOkAndHolds("int b;"));
}

TEST_F(DevTest, AFileThatAnotherSourceHasIsRefusedAsInABuild) {
  PutSource("a.c", "int a;\n");
  Put("toy/more/b.c", "int b;\n");
  Put("toy/p.patch", "--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-int a;\n+int patched;\n");
  WriteRecipe("toy", Script(), "source: [{path: src, patches: [p.patch]}, {path: more}]\n");
  ASSERT_OK_AND_ASSIGN(const DevSummary first, RunDev());
  Put("toy/more/a.c", "int mine;\n");
  EXPECT_THAT(RunDev(),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("two sources of the recipe contain 'a.c'")));
  EXPECT_THAT(ReadFile(env_->fs, first.layout.source / "a.c"), IsOkAndHolds("int patched;\n"));
  ASSERT_OK(env_->fs.Remove(env_.dir() / "toy/more/a.c"));
  Put("toy/more/c.c", "int c;\n");
  ASSERT_OK_AND_ASSIGN(const DevSummary second, RunDev());
  EXPECT_FALSE(second.anew);
  EXPECT_THAT(Names(second.copied), ElementsAre("c.c"));
}

TEST_F(DevTest, ADamagedFolderIsMadeAnew) {
  PutSource("a.c", "int a;");
  WriteToy();
  ASSERT_THAT(RunDev(), IsOk());
  for (const char* name : {"state.json", "dev.json", "synchronised", "fixed"}) {
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
  EXPECT_THAT(RunDev(), FailsWith(ErrorCode::kUsage, AllOf(HasSubstr("works on one variant, but 'toy' has 2"),
                                                           HasSubstr("toy-1-sweet (--select flavour=sweet)"),
                                                           HasSubstr("toy-1-sour (--select flavour=sour)"))));
  EXPECT_THAT(RunDev(), HasHint("choose one: --select flavour=sweet"));
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
  EXPECT_THAT(RunDev(), FailsWith(ErrorCode::kUsage,
                                  HasSubstr("works on one native build, but the recipe has 2: one, base")));
  EXPECT_THAT(RunDev(), HasHint("choose one: --name one"));
  EXPECT_THAT(Dev(env_, DevRequest("two")), FailsWith(ErrorCode::kUsage, HasSubstr("no output 'two'")));
  ASSERT_OK_AND_ASSIGN(const DevSummary base, Dev(env_, DevRequest("base")));
  EXPECT_THAT(Exists(env_->fs, base.layout.prefix / "share/base"), IsOkAndHolds(true));
  ASSERT_OK_AND_ASSIGN(const DevSummary one, Dev(env_, DevRequest("one")));
  EXPECT_THAT(Exists(env_->fs, one.layout.prefix / "share/base"), IsOkAndHolds(true));
  EXPECT_THAT(Exists(env_->fs, one.layout.prefix / "share/a.c"), IsOkAndHolds(true));

  const AbsPath root = one.layout.root.Parent().Parent();
  ASSERT_OK_AND_ASSIGN(builder::WorkState state, builder::ReadWorkState(env_->fs, root));
  state.phase = WorkPhase::kScript;
  ASSERT_OK(builder::WriteWorkState(env_->fs, root, state));
  ASSERT_OK_AND_ASSIGN(const DevSummary killed, Dev(env_, DevRequest("one")));
  EXPECT_THAT(killed.why_anew, HasSubstr("its script was interrupted, and its output"));
  EXPECT_THAT(Exists(env_->fs, killed.layout.prefix / "share/base"), IsOkAndHolds(true));
}

TEST_F(DevTest, ARecipeThatSkipsEverythingIsRefused) {
  PutSource("a.c", "int a;");
  Put("toy/recipe.yaml", "schema_version: 1\npackage: {name: toy, version: \"1\"}\nbuild: {skip: true}\n");
  EXPECT_THAT(RunDev(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("skips every selected variant")));
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
