// Builds that go on where an earlier run was ended.

#include "builder/resume/resume.h"

#include <algorithm>
#include <utility>

#include "builder/resume/work_state.h"
#include "pipeline/commands/cache.h"
#include "pipeline/stages/build_folder.h"
#include "support/fake_process.h"
#include "support/mem_fs.h"
#include "unit/pipeline/fixtures/build_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOk;
using test::IsOkAndHolds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

class ResumePipelineTest : public BuildFixture {
 protected:
  /// A build of one "object", which is old enough to be trusted, and of a failure until Allow(). Each
  /// compilation is counted.
  [[nodiscard]] std::string Script(const std::string& install = "cp obj $PREFIX/share/toy") const {
    const std::string dir = env_.dir().path().str();
    return "[ -e obj ] || { echo compiled >> " + dir +
           "/count; cat a.c > obj; touch -d 2025-12-01 obj; }\n"
           "touch -d 2025-12-31 progress\n" +
           "mkdir -p $PREFIX/share\n[ -e " + dir + "/allowed ] || { touch $PREFIX/share/junk; exit 3; }\n" +
           install;
  }
  void WriteToy(const std::string& rest = kCondaOnly, const std::string& script = "") {
    Put("toy/src/a.c", "int a;");
    WriteRecipe("toy", script.empty() ? Script() : script, "source: {path: src}\n" + rest);
  }
  void Allow() { Put("allowed", ""); }
  int Compilations() {
    const auto text = ReadFile(env_->fs, env_.dir() / "count");
    return text ? static_cast<int>(std::count(text->begin(), text->end(), '\n')) : 0;
  }
  /// The first run, which is stopped by the script.
  void Interrupt() {
    EXPECT_THAT(Run(Request({"toy"})), FailsWith(ErrorCode::kCommandFailed, HasSubstr("3")));
  }
  /// As Interrupt, with a ccache that is enough for a script that compiles nothing, or without.
  void InterruptWith(bool ccache, const std::string& recipe = "toy") {
    env_.dir().WriteFile("bin/ccache", "#!/bin/sh\n", 0755);
    const std::string programs = (env_.dir() / "bin").str() + ":";
    if (!env_->variables["PATH"].starts_with(programs)) env_->variables["PATH"].insert(0, programs);
    BuildRequest request = Request({recipe});
    request.ccache = ccache;
    EXPECT_THAT(Run(request), FailsWith(ErrorCode::kCommandFailed, HasSubstr("3")));
  }
  /// Names in <cache>/work.
  std::vector<std::string> Folders() {
    const auto names = env_->fs.ListDir(env_->cache_dir / "work");
    return names ? *names : std::vector<std::string>();
  }
  AbsPath OnlyFolder() {
    const std::vector<std::string> names = Folders();
    EXPECT_THAT(names, SizeIs(1));
    return env_->cache_dir / "work" / names.front();
  }
  std::vector<std::string> Notes() { return env_.reporter.notes(); }
};

TEST_F(ResumePipelineTest, AFailedBuildGoesOnAndEndsInTheSameBytes) {
  WriteToy();
  Interrupt();
  EXPECT_THAT(Notes(), Contains(HasSubstr("kept work directory")));
  Interrupt();
  EXPECT_THAT(
      Notes(),
      Contains(HasSubstr(
          "resuming the interrupted build of 'toy-1.0-0'; redoing files that may be half-written (1 file)")));
  const auto third = Run(Request({"toy"}));
  EXPECT_THAT(third, HasHint(HasSubstr("full output:")));
  EXPECT_THAT(third, HasHint(HasSubstr("start over with --fresh")));
  Allow();
  ASSERT_OK_AND_ASSIGN(const BuildSummary resumed, Run(Request({"toy"})));
  EXPECT_EQ(Compilations(), 1);
  EXPECT_THAT(Folders(), IsEmpty());

  env_->cache_dir = env_.dir() / "another-cache";
  BuildRequest request = Request({"toy"});
  request.output = env_.dir() / "other";
  ASSERT_OK_AND_ASSIGN(const BuildSummary clean, Run(request));
  EXPECT_EQ(Compilations(), 2);
  EXPECT_EQ(resumed.artifacts.front().sha256, clean.artifacts.front().sha256);
}

TEST_F(ResumePipelineTest, AFileThatAProcessWasLeftWritingIsMadeAgain) {
  WriteToy(kCondaOnly,
           "mkdir -p $PREFIX/share\ntest -e half || { (echo x; exec sleep 300) > half & }\n"
           "until test -s half; do sleep 0.01; done\ntest -e " +
               env_.dir().path().str() + "/allowed || exit 0\ncp half $PREFIX/share/");
  const auto first = Run(Request({"toy"}));
  EXPECT_THAT(first, FailsWith(ErrorCode::kCommandFailed,
                               HasSubstr("its process 'sleep 300' was still writing '$SRC_DIR/half'")));
  // Made anew, and so left half-written again: were it taken for whole, this would end well.
  EXPECT_THAT(Run(Request({"toy"})), FailsWith(ErrorCode::kCommandFailed, HasSubstr("was still writing")));
}

TEST_F(ResumePipelineTest, AShellThatWasKilledCostsNoLaterRun) {
  WriteToy();
  Interrupt();
  // As `ptpkg shell` leaves it when it is killed, and nothing was changed.
  const AbsPath work = OnlyFolder();
  ASSERT_OK_AND_ASSIGN(const auto names, env_->fs.ListDir(work / "d"));
  const auto root = std::find_if(names.begin(), names.end(),
                                 [](const std::string& name) { return name.starts_with("w_"); });
  ASSERT_NE(root, names.end());
  ASSERT_OK_AND_ASSIGN(const auto entered, builder::SourceRecord::Take(env_, work / "d" / *root / "work"));
  ASSERT_OK(entered.Write(env_->fs, builder::ShellRecordFile(work)));
  Interrupt();  // goes on, and writes "progress" again
  Allow();
  ASSERT_OK(Run(Request({"toy"})));
  EXPECT_EQ(Compilations(), 1);
  EXPECT_THAT(env_.reporter.warnings(), Not(Contains(HasSubstr("changed by hand"))));
}

TEST_F(ResumePipelineTest, FreshAndResumeFalseStartFromTheBeginning) {
  WriteToy();
  Interrupt();
  BuildRequest fresh = Request({"toy"});
  fresh.fresh = true;
  EXPECT_THAT(Run(fresh), Not(HasHint(HasSubstr("--fresh"))));
  EXPECT_EQ(Compilations(), 2);
  EXPECT_THAT(Notes(), Contains(HasSubstr("starts over; removing the files of the interrupted run")));
  WriteToy("about: {license: MIT}\nextra: {ptpkg: {formats: [conda], resume: false}}\n");
  Interrupt();
  EXPECT_EQ(Compilations(), 3);
  EXPECT_THAT(Folders(), SizeIs(1)) << "the key is the same";
  EXPECT_THAT(Notes().back(), Not(HasSubstr("rerun the same command to resume")));
}

TEST_F(ResumePipelineTest, AMistakeThatShowsAfterTheScriptCostsNoCompilation) {
  Allow();
  Put("toy/src/LICENSE", "free");
  const auto write = [&](const std::string& files, const std::string& rest) {
    Put("toy/src/a.c", "int a;");
    Put("toy/recipe.yaml",
        "schema_version: 1\npackage: {name: toy, version: \"1.0\"}\n"
        "source: {path: src}\nbuild: {number: 0, string: \"0\", " +
            files + "script: {content: [" + Json(Script()).dump() + "]}}\n" + rest);
  };
  write("files: [\"lib/**\"], ", kCondaOnly);
  EXPECT_THAT(Run(Request({"toy"})), FailsWith(ErrorCode::kInvalidInput, HasSubstr("leaves out all")));
  write("files: [\"share/**\"], ",
        "about: {license: MIT, license_file: LICENSE}\nextra: {ptpkg: {formats: [conda]}}\n");
  ASSERT_OK(Run(Request({"toy"})));
  EXPECT_EQ(Compilations(), 1);
}

TEST_F(ResumePipelineTest, AMissingLicenceIsToldBeforeTheScriptAndOnlySourcesCount) {
  const std::string rest =
      "about: {license: MIT, license_file: \"*.txt\"}\nextra: {ptpkg: {formats: [conda]}}\n";
  WriteToy(rest, "echo made > made.txt\n" + Script());
  EXPECT_THAT(Run(Request({"toy"})), FailsWith(ErrorCode::kNotFound, HasSubstr("'*.txt' matches no file")));
  EXPECT_EQ(Compilations(), 0);
  Put("toy/src/b.txt", "free");
  Interrupt();
  Allow();
  ASSERT_OK(Run(Request({"toy"})));
  ASSERT_OK_AND_ASSIGN(const auto keys, env_->fs.ListDir(env_->cache_dir / "stages/results/build"));
  EXPECT_THAT(env_->fs.ListDir(env_->cache_dir / "stages/results/build" / keys.front() / "files/licenses"),
              IsOkAndHolds(ElementsAre("b.txt")))
      << "what the earlier script made is none of the sources";
}

TEST_F(ResumePipelineTest, WhatIsSupersededIsRemoved) {
  WriteToy();
  Interrupt();
  const AbsPath first = OnlyFolder();
  Put("other/toy/src/a.c", "int a;");
  ASSERT_OK(env_->fs.CopyFile(env_.dir() / "toy/recipe.yaml", env_.dir() / "other/toy/recipe.yaml"));
  Put("other/toy/src/b.c", "int b;");
  Put("toy/src/a.c", "int another;");
  EXPECT_THAT(Run(Request({"other/toy"})), FailsWith(ErrorCode::kCommandFailed, HasSubstr("3")));
  EXPECT_THAT(Folders(), SizeIs(2)) << "another project's recipe of the same name";
  EXPECT_THAT(Run(Request({"toy"})), FailsWith(ErrorCode::kCommandFailed, HasSubstr("3")));
  EXPECT_THAT(Folders(), SizeIs(2));
  EXPECT_THAT(Folders(), Not(Contains(std::string(first.Name()))));
  EXPECT_THAT(Notes(), Contains(HasSubstr("its inputs have changed")));
}

TEST_F(ResumePipelineTest, WithACompilerCacheTheFolderIsThatOfTheName) {
  WriteToy();
  InterruptWith(true);
  const AbsPath lasting = OnlyFolder();
  InterruptWith(true);
  EXPECT_EQ(Compilations(), 1);
  EXPECT_THAT(Notes(), Contains(HasSubstr("resuming the interrupted build of")));
  InterruptWith(false);
  EXPECT_THAT(Folders(), SizeIs(2)) << "each command goes on in its own";
  Put("toy/src/a.c", "int another;");
  InterruptWith(true);
  EXPECT_EQ(OnlyFolder(), lasting);
  EXPECT_EQ(Compilations(), 3);
  EXPECT_THAT(Notes(), Contains(HasSubstr("removing an interrupted build of 'toy-1.0-0': its inputs")));

  std::optional<Lease> held = *Lease::Try(env_->fs, lasting, LockKind::kExclusive);
  Put("toy/src/a.c", "int a_third;");
  InterruptWith(true);
  EXPECT_THAT(Folders(), SizeIs(2));
  EXPECT_THAT(Notes(),
              Contains(HasSubstr(
                  "another build of this name is running; building 'toy-1.0-0' in a separate directory")));
  EXPECT_EQ(Compilations(), 4);
  held.reset();
  InterruptWith(true);
  EXPECT_EQ(Compilations(), 4) << "it goes on where it was";
}

TEST_F(ResumePipelineTest, WithACompilerCacheABuildGoesOnWhereOneWithoutWasEnded) {
  WriteToy();
  InterruptWith(false);
  const AbsPath folder = OnlyFolder();
  InterruptWith(true);
  EXPECT_EQ(Compilations(), 1);
  EXPECT_EQ(OnlyFolder(), folder);
}

TEST_F(ResumePipelineTest, WithACompilerCacheUnfinishedWorkOfOthersStays) {
  WriteToy();
  InterruptWith(true);
  const AbsPath lasting = OnlyFolder();
  Put("other/toy/src/a.c", "int a;");
  Put("other/toy/src/b.c", "int b;");
  ASSERT_OK(env_->fs.CopyFile(env_.dir() / "toy/recipe.yaml", env_.dir() / "other/toy/recipe.yaml"));
  InterruptWith(true, "other/toy");
  EXPECT_THAT(Folders(), SizeIs(2));
  EXPECT_THAT(
      Notes(),
      Contains(HasSubstr("can still be resumed in the directory of this name; building 'toy-1.0-0'")));
  EXPECT_EQ(Compilations(), 2);
  InterruptWith(true);
  InterruptWith(true, "other/toy");
  EXPECT_EQ(Compilations(), 2);
  EXPECT_THAT(Folders(), Contains(std::string(lasting.Name())));
}

TEST_F(ResumePipelineTest, TheSameBuildWithACompilerCacheWaitsForOneWithout) {
  WriteToy();
  InterruptWith(false);
  std::optional<Lease> other = *Lease::Try(env_->fs, OnlyFolder(), LockKind::kExclusive);
  ASSERT_TRUE(other.has_value());
  int sleeps = 0;
  env_.clock.OnSleep([&] {
    if (++sleeps == 7) other.reset();
  });
  InterruptWith(true);
  EXPECT_EQ(sleeps, 7);
  EXPECT_EQ(Compilations(), 1);
  EXPECT_THAT(Notes(), Contains("another run is building 'toy-1.0-0'; waiting for it"));
}

TEST_F(ResumePipelineTest, WithACompilerCacheTheFolderOfTheInputsIsHeldAsWell) {
  WriteToy();
  InterruptWith(false);
  const AbsPath inputs = OnlyFolder();
  ASSERT_OK(RemoveTree(env_->fs, inputs));
  InterruptWith(true);
  const std::optional<Lease> lasting = *Lease::Try(env_->fs, OnlyFolder(), LockKind::kExclusive);
  bool looked = false;
  env_.clock.OnSleep([&] {
    const auto held = Lease::Try(env_->fs, inputs, LockKind::kExclusive);
    looked = true;
    EXPECT_TRUE(held && !held->has_value());
  });
  InterruptWith(true);
  EXPECT_TRUE(looked);
}

TEST_F(ResumePipelineTest, AStateThatCannotBeUsedStartsAnewWithAWarning) {
  WriteToy();
  Interrupt();
  const AbsPath state = OnlyFolder() / "state.json";
  ASSERT_OK(WriteFile(env_->fs, state, "{"));
  Interrupt();
  EXPECT_THAT(env_.reporter.warnings(), Contains(HasSubstr("state.json' is damaged")));
  EXPECT_EQ(Compilations(), 2);
  ASSERT_OK_AND_ASSIGN(builder::WorkState moved, builder::ReadWorkState(env_->fs, OnlyFolder()));
  moved.place = "/elsewhere";
  ASSERT_OK(builder::WriteWorkState(env_->fs, OnlyFolder(), moved));
  Interrupt();
  EXPECT_THAT(env_.reporter.warnings(), Contains(HasSubstr("it was created as '/elsewhere'")));
  ASSERT_OK(RemoveTree(env_->fs, OnlyFolder() / "sources"));
  Interrupt();
  EXPECT_EQ(Compilations(), 4);
}

TEST_F(ResumePipelineTest, AScriptThatAppendsToItsSourcesStartsAnew) {
  Allow();
  WriteToy(kCondaOnly, "echo more >> a.c; touch -d 2025-12-01 a.c; touch -d 2025-12-31 progress\n[ -e " +
                           (env_.dir() / "again").str() +
                           " ] || exit 3\nmkdir -p $PREFIX/share && cp a.c $PREFIX/share/toy");
  Interrupt();
  Put("again", "");
  ASSERT_OK(Run(Request({"toy"})));
  EXPECT_THAT(env_.reporter.warnings(), Contains(HasSubstr("changes its source 'a.c' differently")));
  ASSERT_OK_AND_ASSIGN(const auto keys, env_->fs.ListDir(env_->cache_dir / "stages/results/build"));
  EXPECT_THAT(
      ReadFile(env_->fs, env_->cache_dir / "stages/results/build" / keys.front() / "files/tree/share/toy"),
      IsOkAndHolds(std::string("int a;more\n")));
}

TEST_F(ResumePipelineTest, ABuildThatAnotherRunMakesIsWaitedFor) {
  WriteToy();
  Interrupt();
  Allow();
  const AbsPath folder = OnlyFolder();
  ASSERT_OK_AND_ASSIGN(std::optional<Lease> other, Lease::Try(env_->fs, folder, LockKind::kExclusive));
  ASSERT_TRUE(other.has_value());
  int sleeps = 0;
  env_.clock.OnSleep([&] {
    if (++sleeps == 7) other.reset();
  });
  ASSERT_OK(Run(Request({"toy"})));
  EXPECT_EQ(sleeps, 7);
  EXPECT_THAT(Notes(), Contains("another run is building 'toy-1.0-0'; waiting for it"));
}

TEST_F(ResumePipelineTest, WaitingCanBeInterrupted) {
  WriteToy();
  Interrupt();
  ASSERT_OK_AND_ASSIGN(const std::optional<Lease> other,
                       Lease::Try(env_->fs, OnlyFolder(), LockKind::kExclusive));
  env_.clock.OnSleep([&] { env_.cancel.Cancel(); });
  EXPECT_THAT(Run(Request({"toy"})), FailsWith(ErrorCode::kCancelled, "interrupted"));
}

TEST_F(ResumePipelineTest, WhatAnotherRunMadeMeanwhileIsTaken) {
  WriteToy();
  Interrupt();
  Allow();
  const AbsPath folder = OnlyFolder();
  ASSERT_OK_AND_ASSIGN(std::optional<Lease> other, Lease::Try(env_->fs, folder, LockKind::kExclusive));
  bool made = false;
  env_.clock.OnSleep([&] {
    if (std::exchange(made, true)) return;
    other.reset();
    BuildRequest request = Request({"toy"});
    request.output = env_.dir() / "other";
    EXPECT_THAT(Run(request), IsOk());
  });
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Run(Request({"toy"})));
  EXPECT_EQ(Compilations(), 1);
  EXPECT_THAT(Ran(summary), Not(Contains("build toy-1.0-0")));
  EXPECT_THAT(Folders(), IsEmpty());
}

TEST_F(ResumePipelineTest, OnlyWhatNobodyNeedsIsSwept) {
  WriteToy();
  Interrupt();
  const AbsPath work = env_->cache_dir / "work";
  const std::string left(OnlyFolder().Name());
  ASSERT_OK(env_->fs.MakeDirs(work / "0123456789abcdef/d"));  // its maker was killed at once
  ASSERT_OK(env_->fs.MakeDirs(work / "somebody's"));
  bool done = false;
  const auto has_result = [&](const std::string& key) -> Result<bool> { return done && key.size() == 64; };
  ASSERT_OK(PruneWorkDirs(env_, has_result));
  EXPECT_THAT(Folders(), ElementsAre(left, "somebody's"));
  ASSERT_OK_AND_ASSIGN(std::optional<Lease> held, Lease::Try(env_->fs, work / left, LockKind::kExclusive));
  done = true;
  ASSERT_OK(PruneWorkDirs(env_, has_result));
  EXPECT_THAT(Folders(), ElementsAre(left, "somebody's"));
  held.reset();
  ASSERT_OK(PruneWorkDirs(env_, has_result));
  EXPECT_THAT(Folders(), ElementsAre("somebody's"));
}

TEST_F(ResumePipelineTest, AForgottenFolderGoesWithANote) {
  WriteToy();
  Interrupt();
  const auto never = [](const std::string&) -> Result<bool> { return false; };
  const auto set_age = [&](std::chrono::hours age) {
    const std::int64_t time = builder::NowNs(env_) - std::chrono::nanoseconds(age).count();
    EXPECT_THAT(env_->fs.SetMtime(OnlyFolder() / "state.json", time), IsOk());
  };
  set_age(kForgottenAfter - std::chrono::hours(1));
  ASSERT_OK(PruneWorkDirs(env_, never));
  EXPECT_THAT(Folders(), SizeIs(1));
  set_age(kForgottenAfter + std::chrono::hours(1));
  ASSERT_OK(PruneWorkDirs(env_, never));
  EXPECT_THAT(Folders(), IsEmpty());
  EXPECT_THAT(Notes(), Contains(HasSubstr("it was not resumed for 14 days")));
}

TEST_F(ResumePipelineTest, TheCacheShowsAndCleansIt) {
  WriteToy();
  Interrupt();
  ASSERT_OK_AND_ASSIGN(const std::vector<CacheItem> items, ListCache(env_));
  const auto work = std::find_if(items.begin(), items.end(),
                                 [](const CacheItem& item) { return item.kind == CacheKind::kWork; });
  ASSERT_NE(work, items.end());
  EXPECT_EQ(work->subject, "toy-1.0-0");
  EXPECT_EQ(work->state, CacheState::kFree);
  EXPECT_GT(work->size_bytes, 0U);
  ASSERT_OK(CleanCache(env_, {}));
  EXPECT_THAT(Folders(), IsEmpty());
}

TEST_F(ResumePipelineTest, AKeptFolderIsThatOfTheBuild) {
  WriteToy();
  BuildRequest request = Request({"toy"});
  request.keep_work = true;
  EXPECT_THAT(Run(request), FailsWith(ErrorCode::kCommandFailed, HasSubstr("3")));
  EXPECT_THAT(Notes(), Contains(HasSubstr((OnlyFolder() / "d").str())));
  Allow();
  ASSERT_OK(Run(request));
  EXPECT_EQ(Compilations(), 1);
  EXPECT_THAT(Folders(), IsEmpty());
  EXPECT_THAT(Notes(), Contains(HasSubstr("kept work directory: ")));
}

TEST_F(ResumePipelineTest, AKeptFolderThatSomebodyIsInStays) {
  WriteToy();
  Allow();
  BuildRequest request = Request({"toy"});
  request.keep_work = true;
  const auto build_again = [&] {
    EXPECT_THAT(RemoveTree(env_->fs, env_->cache_dir / "stages"), IsOk());
    EXPECT_THAT(RemoveTree(env_->fs, request.output), IsOk());
    return Run(request);
  };
  ASSERT_OK(Run(request));
  const AbsPath kept = env_->cache_dir / "kept";
  const auto folders = [&] { return *env_->fs.ListDir(kept); };
  std::vector<std::string> expected = folders();  // of each node one
  ASSERT_THAT(expected, Not(IsEmpty()));
  const auto of_build = std::find_if(expected.begin(), expected.end(), [&](const std::string& folder) {
    const std::vector<std::string> inside = *env_->fs.ListDir(kept / folder);
    return std::find(inside.begin(), inside.end(), "home") != inside.end();
  });
  ASSERT_NE(of_build, expected.end());
  const std::string name = *of_build;
  expected.push_back(name + "-2");
  ASSERT_OK_AND_ASSIGN(auto held, Lease::Try(env_->fs, kept / name, LockKind::kExclusive));
  ASSERT_TRUE(held.has_value());
  ASSERT_OK(WriteFile(env_->fs, kept / name / "mine", ""));
  ASSERT_OK(build_again());
  EXPECT_THAT(folders(), UnorderedElementsAreArray(expected));
  EXPECT_THAT(Exists(env_->fs, kept / name / "mine"), IsOkAndHolds(true));
  held.reset();
  ASSERT_OK(build_again());
  EXPECT_THAT(folders(), UnorderedElementsAreArray(expected));
  EXPECT_THAT(Exists(env_->fs, kept / name / "mine"), IsOkAndHolds(false));
}

TEST(ResumeWithoutLocks, ABuildWorksInAFolderOfItsOwnAndSaysSo) {
  test::MemFs fs;
  fs.DisableLocks();
  fs.AddFile("/r/recipe.yaml",
             "schema_version: 1\npackage: {name: toy, version: \"1.0\"}\n"
             "build: {number: 0, string: \"0\", script: {content: [\"make\"]}}\n" +
                 std::string(kCondaOnly));
  test::FakeProcess process;
  process.On("bash", [&fs](const Command& command) -> Result<ExitStatus> {
    fs.AddFile(command.env.at("PREFIX") + "/share/toy", "x");
    return ExitStatus{};
  });
  test::TestEnv env({.fs = &fs, .process = &process, .jobs = 1});
  env->cache_dir = AbsPath::Literal("/cache");
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Build(env, {.recipes = {AbsPath::Literal("/r")},
                                                               .output = AbsPath::Literal("/dist"),
                                                               .host_env = builder::HostEnv::kSystem}));
  EXPECT_FALSE(summary.failure.has_value());
  EXPECT_THAT(env.reporter.warnings(), Contains(HasSubstr("cannot resume interrupted builds")));
}

}  // namespace
}  // namespace ptpkg::pipeline
