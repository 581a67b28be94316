// Building and repacking on a file system that breaks at one operation after the other, as an error from
// which it recovers and as the death of the process. The files lie in memory and the build script is a
// function, so a sweep goes through whole runs: planning, sources, script, packing, checks, tests,
// publication, index.
//
// A run has 500 to 2300 operations and takes a tenth of a second unoptimised. So here every n-th operation is
// broken, another one in each way of breaking; test_pipeline_faults_slow breaks every operation in every way.

#include <algorithm>
#include <cerrno>
#include <fmt/core.h>

#include "graph/plan.h"
#include "pipeline/plan/build_plan.h"
#include "pipeline/plan/repack_plan.h"
#include "pipeline/plan/run_plan.h"
#include "support/digest/hash.h"
#include "support/fake_process.h"
#include "support/fault_fs.h"
#include "support/files/scratch.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "support/text/json.h"
#include "unit/elf/fixtures/synthetic_elf.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::FaultAfter;
using test::FaultFs;
using test::IsOk;
using test::MemFs;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

#ifdef PTPKG_EVERY_FAULT
constexpr bool kEveryFault = true;
#else
constexpr bool kEveryFault = false;
#endif

constexpr const char* kOutput = "/dist";
constexpr const char* kJournal = "/dist/.ptpkg/publication.json";
constexpr const char* kRecipePath = "/recipes/toy/recipe.yaml";

/// A way in which the file system breaks.
struct Way {
  const char* name;
  FaultAfter after;
  int sys_errno;
  std::uint64_t number;  ///< Among the ways.
};
constexpr std::uint64_t kWays = 3;

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

using Job = std::function<Result<BuildSummary>(Env&)>;

/// Puts a distribution with a binary into PREFIX. A test script finds it there and is content.
Result<ExitStatus> FakeScript(MemFs& fs, const Command& command) {
  const std::string site = command.env.at("PREFIX") + "/lib/python3.11/site-packages/";
  PTPKG_TRY(const bool is_test, Exists(fs, AbsPath::Literal(site + "toy")));
  if (is_test) return ExitStatus{};
  elf::test::SyntheticElf elf;
  elf.needed = {};
  elf.version = "";
  elf.runpath = "/nowhere";
  fs.AddFile(site + "toy/_c.so", elf.Build(), 0755);
  fs.AddFile(site + "toy/__init__.py", "answer = 42\n");
  fs.AddFile(site + "toy-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n");
  fs.AddFile(site + "toy-1.0.dist-info/WHEEL",
             "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n");
  return ExitStatus{};
}

/// A node's failure as the error.
Result<BuildSummary> Whole(Result<BuildSummary> summary) {
  if (summary && summary->failure) return *std::move(summary->failure);
  return summary;
}

/// `fs` is `mem`, or breaks it. The script runs on `mem`: another process.
Result<BuildSummary> RunJob(const Job& job, MemFs& mem, Fs& fs) {
  test::FakeProcess process;
  process.On("bash", [&mem](const Command& command) { return FakeScript(mem, command); });
  test::TestEnv env({.fs = &fs, .process = &process, .jobs = 1});
  env->cache_dir = AbsPath::Literal("/cache");
  return Whole(job(env));
}

void AddRecipe(MemFs& fs, const std::string& summary) {
  fs.AddFile(kRecipePath,
             "schema_version: 1\n"
             "package: {name: toy, version: \"1.0\"}\n"
             "source: {path: src}\n"
             "build: {number: 0, string: \"0\", script: {content: [\"make\"]}}\n"
             "tests: [{script: [\"true\"]}]\n"
             "about: {license: MIT, license_file: LICENSE, summary: " +
                 summary +
                 "}\n"
                 "extra: {ptpkg: {formats: [conda, tar.bz2, wheel]}}\n");
  fs.AddFile("/recipes/toy/LICENSE", "free\n");
  fs.AddFile("/recipes/toy/src/toy.c", "int toy;\n");
}

BuildRequest RequestInto(const std::string& output) {
  return {.recipes = {AbsPath::Literal(kRecipePath)},
          .output = AbsPath::Literal(output),
          .host_env = builder::HostEnv::kSystem};
}

Result<BuildSummary> BuildToy(Env& env) { return Build(env, RequestInto(kOutput)); }

/// What users see of an output directory, by path below it.
struct Shown {
  std::map<std::string, std::string> artifacts = {};
  std::map<std::string, std::string> indexes = {};
  Json recorded = Json::array();  ///< The manifest's artifacts, without their times.

  bool operator==(const Shown&) const = default;
};

bool IsArtifact(std::string_view path) {
  return path.ends_with(".conda") || path.ends_with(".tar.bz2") || path.ends_with(".whl");
}

Shown Look(MemFs& fs) {
  Shown shown;
  for (const std::string& path : fs.List(kOutput)) {
    const bool own = path.starts_with(".ptpkg/") || path.starts_with("logs/") ||
                     path.find("/.cache/") != std::string::npos;
    const bool scratch = IsScratchFileName(std::string_view(path).substr(path.rfind('/') + 1));
    if (path.ends_with('/') || own || scratch) continue;
    std::string content = fs.Content(fmt::format("{}/{}", kOutput, path));
    if (path != "manifest.json") {
      (IsArtifact(path) ? shown.artifacts : shown.indexes).emplace(path, std::move(content));
      continue;
    }
    const Result<Json> manifest = ParseJson(content, path);
    EXPECT_THAT(manifest, IsOk());
    if (manifest) shown.recorded = manifest->at("artifacts");
    for (Json& item : shown.recorded) item.erase("mtime_ns");
  }
  return shown;
}

/// Every path but those of the records, which only say why a stage ran: a fault may cost one of them.
std::vector<std::string> AllPaths(MemFs& fs) {
  std::vector<std::string> paths = fs.List();
  std::erase_if(paths, [](const std::string& path) { return path.find("/records/") != std::string::npos; });
  return paths;
}

std::vector<std::string> ScratchIn(MemFs& fs) {
  std::vector<std::string> found;
  for (std::string path : fs.List()) {
    if (path.ends_with('/')) path.pop_back();
    const std::string name = path.substr(path.rfind('/') + 1);
    if (IsScratchFolderName(name) || IsScratchFileName(name)) found.push_back(path);
  }
  return found;
}

bool HasJournal(MemFs& fs) {
  const auto there = Exists(fs, AbsPath::Literal(kJournal));
  EXPECT_THAT(there, IsOk());
  return there && *there;
}

/// One job that starts on the files of `start`, broken again and again.
class FaultSweep {
 public:
  FaultSweep(const MemFs& start, Job job, const Way& way) : start_(start), job_(std::move(job)), way_(way) {
    MemFs fs;
    fs.CopyFrom(start_);
    before_ = Look(fs);
    begins_with_journal_ = HasJournal(fs);
    EXPECT_THAT(RunJob(job_, fs, fs), IsOk());
    good_ = Look(fs);
    good_paths_ = AllPaths(fs);
    EXPECT_THAT(ScratchIn(fs), IsEmpty());
    EXPECT_FALSE(HasJournal(fs));
  }

  /// Breaks every `step`-th operation. Returns how many faults were tried.
  int BreakEach(std::uint64_t step) {
    if (kEveryFault) step = 1;
    int tried = 0;
    for (std::uint64_t number = 1 + way_.number * step / kWays; BreakAt(number); number += step) ++tried;
    return tried;
  }

 private:
  /// False if the run has fewer operations.
  bool BreakAt(std::uint64_t number) {
    MemFs mem;
    mem.CopyFrom(start_);
    FaultFs broken(mem, {.number = number, .sys_errno = way_.sys_errno, .after = way_.after});
    const Result<BuildSummary> result = RunJob(job_, mem, broken);
    SCOPED_TRACE(fmt::format("fault at operation {}: {}", number,
                             result ? "the run succeeded" : FormatError(result.error())));
    EXPECT_EQ(mem.open_files(), 0);
    if (!broken.fired()) {
      EXPECT_THAT(result, IsOk());
      return false;
    }
    if (result) {
      EXPECT_EQ(Look(mem), good_) << "success was claimed";
    } else {
      ExpectTold(result.error());
      ExpectAllOrNone(mem);
    }
    EXPECT_THAT(RunJob(job_, mem, mem), IsOk());
    EXPECT_EQ(Look(mem), good_);
    EXPECT_THAT(ScratchIn(mem), IsEmpty());
    EXPECT_EQ(AllPaths(mem), good_paths_);
    return true;
  }

  /// The error is the operating system's, names the path, and has the remedy.
  void ExpectTold(const Error& error) const {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_EQ(error.sys_errno(), way_.sys_errno);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("injected fault"), HasSubstr("'/")));
    EXPECT_THAT(error.hint(), HasSubstr(way_.sys_errno == ENOSPC ? "free space" : ""));
  }

  /// The variant's artifacts are all as they were or all new, and so is the manifest. A process that died
  /// between two names has left the journal, from which the next one completes them.
  void ExpectAllOrNone(MemFs& fs) const {
    const Shown shown = Look(fs);
    const bool between = HasJournal(fs) && (way_.after == FaultAfter::kDead || begins_with_journal_);
    if (between || shown.artifacts == good_.artifacts) {
      ExpectOldOrNew(shown.artifacts, before_.artifacts, good_.artifacts);
      ExpectOldOrNew(shown.indexes, before_.indexes, good_.indexes);
      EXPECT_TRUE(shown.recorded == good_.recorded || (between && shown.recorded == before_.recorded));
    } else {
      EXPECT_EQ(shown, before_);
    }
  }

  /// Each file is one of the two, never torn.
  static void ExpectOldOrNew(const std::map<std::string, std::string>& files,
                             const std::map<std::string, std::string>& before,
                             const std::map<std::string, std::string>& good) {
    for (const auto& [path, content] : files) {
      const auto is_in = [&, &name = path, &text = content](const std::map<std::string, std::string>& known) {
        const auto found = known.find(name);
        return found != known.end() && found->second == text;
      };
      EXPECT_TRUE(is_in(before) || is_in(good)) << path;
    }
  }

  const MemFs& start_;
  Job job_;
  Way way_;
  Shown before_;
  bool begins_with_journal_ = false;
  Shown good_;
  std::vector<std::string> good_paths_;
};

class PipelineFaults : public ::testing::TestWithParam<Way> {
 protected:
  PipelineFaults() { AddRecipe(recipe_, "old"); }

  /// A file system with nothing but an artifact of the toy whose name ends so, and its path.
  std::string PutArtifact(MemFs& fs, std::string_view extension) {
    MemFs built;
    built.CopyFrom(recipe_);
    EXPECT_THAT(RunJob(BuildToy, built, built), IsOk());
    for (const auto& [path, content] : Look(built).artifacts) {
      if (!path.ends_with(extension)) continue;
      std::string place = "/in/" + path.substr(path.rfind('/') + 1);
      fs.AddFile(place, content);
      return place;
    }
    ADD_FAILURE() << "no artifact ends in " << extension;
    return "/nowhere";
  }

  void SweepRepack(std::string_view extension) {
    MemFs start;
    RepackRequest request;
    request.input = AbsPath::Literal(PutArtifact(start, extension));
    request.output = AbsPath::Literal(kOutput);
    const Job repack = [&](Env& env) { return Repack(env, request); };
    EXPECT_GT(FaultSweep(start, repack, GetParam()).BreakEach(37), 15);
  }

  /// Packed and checked packages that wait for their publication, because a foreign file was in the way.
  void MakeWaiting(MemFs& fs) {
    fs.CopyFrom(recipe_);
    const char* foreign = "/dist/conda/linux-64/toy-1.0-0.conda";
    fs.AddFile(foreign, "foreign");
    EXPECT_THAT(RunJob(BuildToy, fs, fs), FailsWith(ErrorCode::kAlreadyExists, HasSubstr(foreign)));
    EXPECT_THAT(fs.Remove(AbsPath::Literal(foreign)), IsOk());
  }

  MemFs recipe_;
};

TEST_P(PipelineFaults, Build) { EXPECT_GT(FaultSweep(recipe_, BuildToy, GetParam()).BreakEach(101), 20); }

TEST_P(PipelineFaults, WheelToConda) { SweepRepack(".whl"); }

TEST_P(PipelineFaults, CondaToWheel) { SweepRepack(".conda"); }

/// What was built is kept and the wheel stays: two of the three artifacts are replaced.
TEST_P(PipelineFaults, BuildOverAnOlderOne) {
  MemFs start;
  start.CopyFrom(recipe_);
  ASSERT_OK(RunJob(BuildToy, start, start));
  AddRecipe(start, "new");
  EXPECT_GT(FaultSweep(start, BuildToy, GetParam()).BreakEach(89), 15);
}

TEST_P(PipelineFaults, PublicationOfWhatWaits) {
  MemFs start;
  MakeWaiting(start);
  EXPECT_GT(FaultSweep(start, BuildToy, GetParam()).BreakEach(31), 15);
}

/// A second fault, in the run that completes what a killed one began.
TEST_P(PipelineFaults, CompletionOfAKilledPublication) {
  MemFs waiting;
  MakeWaiting(waiting);
  const auto kill_at = [&](std::uint64_t number, MemFs& fs) {
    fs.CopyFrom(waiting);
    FaultFs dying(fs, {.number = number, .after = FaultAfter::kDead});
    const auto result = RunJob(BuildToy, fs, dying);
    EXPECT_EQ(result.has_value(), !dying.fired());
  };
  std::uint64_t before = 0;  // a death there comes before the journal
  for (std::uint64_t step = 512; step > 0; step /= 2) {
    MemFs fs;
    kill_at(before + step, fs);
    if (!HasJournal(fs) && Look(fs).artifacts.empty()) before += step;
  }
  int deaths = 0;
  for (std::uint64_t number = before + 1;; number += 17) {
    MemFs killed;
    kill_at(number, killed);
    if (!HasJournal(killed)) break;
    SCOPED_TRACE(fmt::format("killed at operation {}", number));
    ++deaths;
    EXPECT_GT(FaultSweep(killed, BuildToy, GetParam()).BreakEach(149), 2);
  }
  EXPECT_GT(deaths, 2);
}

INSTANTIATE_TEST_SUITE_P(Ways, PipelineFaults,
                         ::testing::Values(Way{"full", FaultAfter::kRecover, ENOSPC, 0},
                                           Way{"damaged", FaultAfter::kRecover, EIO, 1},
                                           Way{"killed", FaultAfter::kDead, EIO, 2}),
                         [](const auto& way) { return std::string(way.param.name); });

/// Keys of the plan for a recipe whose output directory is below its source and holds `content`.
Result<std::vector<std::string>> KeysWithOutputInSource(const std::string& content, test::FaultPlan fault,
                                                        bool& fired) {
  MemFs mem;
  AddRecipe(mem, "toy");
  mem.AddFile("/recipes/toy/src/dist/old.txt", content);
  mem.AddFile("/recipes/toy/src/dist/.ptpkg/lock", "");
  FaultFs broken(mem, fault);
  test::TestEnv env({.fs = &broken, .jobs = 1});
  env->cache_dir = AbsPath::Literal("/cache");
  const auto planned = PlanBuild(env, RequestInto("/recipes/toy/src/dist"));
  fired = broken.fired();
  if (!planned) return planned.error();
  std::vector<std::string> keys;
  for (const graph::NodeKey& key : graph::KeysOf(planned->plan)) keys.push_back(key.key);
  return keys;
}

TEST(BuildFaults, AnOutputFolderInsideTheSourceIsNeverPartOfIt) {
  bool fired = false;
  const auto sound = KeysWithOutputInSource("one", {.number = 1'000'000}, fired);
  ASSERT_THAT(sound, IsOk());
  int failures = 0;
  for (std::uint64_t number = 1;; ++number) {
    SCOPED_TRACE(number);
    const auto keys = KeysWithOutputInSource("another", {.number = number}, fired);
    if (!keys) {
      EXPECT_EQ(keys.error().code(), ErrorCode::kIo) << keys.error().message();
      ++failures;
    } else {
      EXPECT_EQ(*keys, *sound);
    }
    if (!fired) break;
  }
  EXPECT_GT(failures, 5);
}

TEST(BuildFaults, AFolderOfOthersInsideTheSourceIsNoOutputFolder) {
  MemFs mem;
  AddRecipe(mem, "toy");
  mem.AddFile("/recipes/toy/src/dist/app.js", "of the project");
  test::TestEnv env({.fs = &mem, .jobs = 1});
  env->cache_dir = AbsPath::Literal("/cache");
  EXPECT_THAT(PlanBuild(env, RequestInto("/recipes/toy/src/dist")),
              FailsWith(ErrorCode::kUsage, HasSubstr("contains other files")));
  ASSERT_OK(mem.Remove(AbsPath::Literal("/recipes/toy/src/dist/app.js")));
  EXPECT_OK(PlanBuild(env, RequestInto("/recipes/toy/src/dist")));
}

TEST(BuildFaults, AFileOfTheRecipeThatCannotBeReadIsNotCalledChanged) {
  MemFs mem;
  AddRecipe(mem, "toy");
  test::TestEnv env({.fs = &mem, .jobs = 1});
  env->cache_dir = AbsPath::Literal("/cache");
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env, RequestInto(kOutput)));
  const AbsPath file = AbsPath::Literal("/plan.json");
  ASSERT_OK(WriteFile(mem, file, DumpJson(graph::PlanToJson(planned.plan))));
  ASSERT_OK(mem.SetMode(AbsPath::Literal("/recipes/toy/LICENSE"), 0));
  EXPECT_THAT(RunNode(env, file, "build/toy-1.0-0"), FailsWith(ErrorCode::kIo, HasSubstr("toy/LICENSE")));
  ASSERT_OK(mem.Remove(AbsPath::Literal("/recipes/toy/LICENSE")));
  EXPECT_THAT(RunNode(env, file, "build/toy-1.0-0"),
              FailsWith(ErrorCode::kRefused, HasSubstr("LICENSE' changed after planning")));
}

TEST(BuildFaults, WhatFailsAfterAFailureDoesNotHideIt) {
  MemFs mem;
  AddRecipe(mem, "toy");
  test::FakeProcess process;
  const std::string waiting = "/cache/waiting/" + HashText(kOutput).Hex().substr(0, 16) + "/results";
  process.On("bash", [&](const Command&) -> Result<ExitStatus> {
    mem.AddDir(waiting, 0);           // what waits there cannot be listed
    mem.AddDir("/cache/kept", 0555);  // the work directory cannot be moved there
    ExitStatus status;
    status.code = 1;
    return status;
  });
  test::TestEnv env({.fs = &mem, .process = &process, .jobs = 1});
  env->cache_dir = AbsPath::Literal("/cache");
  BuildRequest request = RequestInto(kOutput);
  for (const bool keep_work : {false, true}) {
    SCOPED_TRACE(keep_work);
    request.keep_work = keep_work;
    EXPECT_THAT(Whole(Build(env, request)), FailsWith(ErrorCode::kCommandFailed, HasSubstr("build script")));
    ASSERT_OK(mem.SetMode(AbsPath::Literal(waiting), 0755));
  }
}

}  // namespace
}  // namespace ptpkg::pipeline
