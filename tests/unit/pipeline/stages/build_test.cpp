// What a rerun repeats, what it does not, and what a failure leaves.

#include "conda/info/package_info.h"
#include "conda/package.h"
#include "graph/plan.h"
#include "index/index.h"
#include "pipeline/plan/build_plan.h"
#include "pipeline/plan/run_plan.h"
#include "pipeline/stages/pack_result.h"
#include "support/files/scratch.h"
#include "unit/conda/package_builder.h"
#include "unit/pipeline/fixtures/build_fixture.h"

namespace ptpkg::pipeline {
namespace {

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

constexpr const char* kMake = "mkdir -p $PREFIX/share && echo made > $PREFIX/share/toy";

using BuildPipelineTest = BuildFixture;

TEST_F(BuildPipelineTest, MakesChecksAndPublishesAndThenRepeatsNothing) {
  WriteRecipe("toy", kMake, kCondaOnly);
  ASSERT_OK_AND_ASSIGN(const BuildSummary first, Run(Request({"toy"})));
  EXPECT_THAT(Ran(first), ElementsAre("build toy-1.0-0", "conda toy-1.0-0", "check toy-1.0-0",
                                      "publish toy-1.0-0", "index dist"));
  EXPECT_THAT(Artifacts(), ElementsAre("toy-1.0-0.conda"));
  EXPECT_THAT(first.artifacts, SizeIs(1));
  ASSERT_OK_AND_ASSIGN(const BuildSummary second, Run(Request({"toy"})));
  EXPECT_THAT(Ran(second), IsEmpty());
  EXPECT_THAT(second.artifacts, SizeIs(1));
  EXPECT_THAT(env_->fs.ListDir(output_ / ".ptpkg"), IsOkAndHolds(Not(Contains("publication.json"))));
}

TEST_F(BuildPipelineTest, WhatTheScriptCanReadIsInTheKey) {
  WriteRecipe("toy", "mkdir -p $PREFIX && cp $RECIPE_DIR/data.txt $PREFIX/data.txt", kCondaOnly);
  Put("toy/data.txt", "one");
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  Put("toy/data.txt", "two");
  ASSERT_OK_AND_ASSIGN(const BuildSummary second, Run(Request({"toy"})));
  EXPECT_THAT(Ran(second), Contains("build toy-1.0-0"));
  ASSERT_THAT(env_->fs.MakeDirs(env_.dir().path() / "look"), IsOk());
  ASSERT_THAT(
      conda::UnpackPackage(env_, output_ / "conda/linux-64/toy-1.0-0.conda", env_.dir().path() / "look", {}),
      IsOk());
  EXPECT_THAT(ReadFile(env_->fs, env_.dir().path() / "look/data.txt"), IsOkAndHolds(::testing::Eq("two")));
}

TEST_F(BuildPipelineTest, EveryEditedKeyIsSeen) {
  struct Edit {
    const char* what;
    std::string rest;
    const char* stage;  ///< The first that must run.
  };
  const std::vector<Edit> edits = {
      {"licence file", "about: {license: MIT, license_file: LICENSE}\nextra: {ptpkg: {formats: [conda]}}\n",
       "build"},
      {"summary", "about: {license: MIT, summary: new}\nextra: {ptpkg: {formats: [conda]}}\n", "conda"},
      {"requirement",
       "requirements: {run: [libz]}\nabout: {license: MIT}\nextra: {ptpkg: {formats: [conda]}}\n", "conda"},
      {"format", "about: {license: MIT}\nextra: {ptpkg: {formats: [conda, tar.bz2]}}\n", "conda"},
      {"exports",
       "requirements: {run_exports: [toy]}\nabout: {license: MIT}\nextra: {ptpkg: {formats: [conda]}}\n",
       "conda"},
      {"unresolved",
       "about: {license: MIT}\nextra: {ptpkg: {formats: [conda], allow_unresolved: [libq.so]}}\n", "conda"},
  };
  for (const Edit& edit : edits) {
    SCOPED_TRACE(edit.what);
    WriteRecipe("toy", kMake, kCondaOnly);
    Put("toy/LICENSE", "MIT");
    ASSERT_THAT(Run(Request({"toy"})), IsOk());
    WriteRecipe("toy", kMake, edit.rest);
    ASSERT_OK_AND_ASSIGN(const BuildSummary again, Run(Request({"toy"})));
    ASSERT_THAT(Ran(again), Not(IsEmpty()));
    EXPECT_EQ(Ran(again).front(), std::string(edit.stage) + " toy-1.0-0");
  }
}

TEST_F(BuildPipelineTest, ANewBuildNumberDoesNotCompileAgain) {
  WriteRecipe("toy", kMake, kCondaOnly);
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  Put("toy/recipe.yaml",
      "schema_version: 1\npackage: {name: toy, version: \"1.0\"}\nbuild: {number: 1, string: \"1\", "
      "script: {content: [\"" +
          std::string(kMake) + "\"]}}\n" + kCondaOnly);
  ASSERT_OK_AND_ASSIGN(const BuildSummary second, Run(Request({"toy"})));
  EXPECT_THAT(Ran(second), Not(Contains("build toy-1.0-1")));
  EXPECT_THAT(Ran(second), Contains("conda toy-1.0-1"));
}

TEST_F(BuildPipelineTest, SaysWhyTheStageThatFailedRan) {
  WriteRecipe("toy", "false", kCondaOnly);
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Build(env_, Request({"toy"})));
  EXPECT_TRUE(summary.failure);
  std::vector<std::string> lines;
  for (const StageTime& stage : summary.stages) lines.push_back(stage.stage + ": " + stage.reason);
  EXPECT_THAT(lines, ElementsAre("build: failed; it ran because: first run"));
}

TEST_F(BuildPipelineTest, SaysThatARefusedPublicationFailed) {
  WriteRecipe("toy", kMake, kCondaOnly);
  Put("dist/conda/linux-64/toy-1.0-0.conda", "of somebody else");
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Build(env_, Request({"toy"})));
  ASSERT_TRUE(summary.failure);
  EXPECT_EQ(summary.failure->code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(summary.stages.back().stage, "publish");
  EXPECT_EQ(summary.stages.back().reason, "failed");
}

TEST_F(BuildPipelineTest, ALayoutRuleThatDecidesNoFileIsWarnedOf) {
  WriteRecipe("toy", kMake,
              "about: {license: MIT}\n"
              "extra: {ptpkg: {formats: [conda], layouts: {conda: [{files: \"lib/*\", rpath: []}]}}}\n");
  ASSERT_OK(Run(Request({"toy"})));
  EXPECT_THAT(env_.reporter.warnings(),
              Contains("'lib/*' of extra.ptpkg.layouts.conda matches no file of 'toy-1.0-0'"));
}

/// A library with a versioned name, and one that needs it.
constexpr const char* kCore =
    "mkdir -p $PREFIX/lib && echo 'int f(void) { return 1; }' > f.c && "
    "cc -shared -fPIC -Wl,-soname,libcore.so.2.6 f.c -o $PREFIX/lib/libcore.so.2.6";
constexpr const char* kUser =
    "mkdir -p $PREFIX/lib && echo 'int f(void); int g(void) { return f(); }' > g.c && "
    "cc -shared -fPIC g.c $PREFIX/lib/libcore.so.2.6 -o $PREFIX/lib/libuser.so";

std::vector<std::string> MessagesOf(const std::vector<Report>& reports) {
  std::vector<std::string> messages;
  for (const Report& report : reports) {
    for (const Finding& finding : report.findings) messages.push_back(finding.id + ": " + finding.message);
  }
  return messages;
}

TEST_F(BuildPipelineTest, ALibraryOfAPackageThatDependsNamesIsFound) {
  const std::string rest = "requirements: {host: [core], run: [\"core ==1.0\"]}\n";
  WriteRecipe("core", kCore, kCondaOnly);
  WriteRecipe("user", kUser, rest + kCondaOnly);
  ASSERT_OK_AND_ASSIGN(const BuildSummary together, Run(Request({"core", "user"})));
  EXPECT_THAT(MessagesOf(together.reports), Not(Contains(HasSubstr("libcore.so.2.6"))));
  // From the channel, of an earlier run.
  ASSERT_OK(env_->fs.Remove(output_ / "conda/linux-64/user-1.0-0.conda"));
  WriteRecipe("user", std::string(kUser) + " && true", rest + kCondaOnly);
  ASSERT_OK_AND_ASSIGN(const BuildSummary after, Run(Request({"user"})));
  EXPECT_THAT(Ran(after), Contains("check user-1.0-0"));
  EXPECT_THAT(MessagesOf(after.reports), Not(Contains(HasSubstr("libcore.so.2.6"))));
}

TEST_F(BuildPipelineTest, ALibraryThatNoPackageOfDependsHasIsWarnedOf) {
  WriteRecipe("core", kCore, kCondaOnly);
  WriteRecipe("other", "mkdir -p $PREFIX/share && touch $PREFIX/share/other", kCondaOnly);
  WriteRecipe("user", kUser, std::string("requirements: {host: [core], run: [other]}\n") + kCondaOnly);
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Run(Request({"core", "other", "user"})));
  EXPECT_THAT(MessagesOf(summary.reports),
              Contains(HasSubstr("needs 'libcore.so.2.6', which is not in the tree")));
}

// conda reads such packages too, and nothing of them is unpacked here.
TEST_F(BuildPipelineTest, APackageOfDependsWithoutAListOfItsFilesFailsNoCheck) {
  std::vector<test::RawMember> info = test::DemoInfo({});
  std::erase_if(info, [](const test::RawMember& member) { return member.name.ends_with("paths.json"); });
  Put("dist/conda/linux-64/demo-1.0-0.tar.bz2", test::MakeTarBz2(info));
  WriteRecipe("toy", kMake, std::string("requirements: {run: [demo]}\n") + kCondaOnly);
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Run(Request({"toy"})));
  EXPECT_THAT(Ran(summary), Contains("check toy-1.0-0"));
}

// A version that the channel does not have: the check has nothing to look into, and the build is no worse.
TEST_F(BuildPipelineTest, APackageOfDependsThatIsNotThereFailsNoCheck) {
  WriteRecipe("core", kCore, kCondaOnly);
  WriteRecipe("user", kUser, std::string("requirements: {host: [core], run: [core >=2]}\n") + kCondaOnly);
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Run(Request({"core", "user"})));
  EXPECT_THAT(MessagesOf(summary.reports), Contains(HasSubstr("libcore.so.2.6")));
}

TEST_F(BuildPipelineTest, ADamagedCacheIsBuiltAgainAndNeverShipped) {
  WriteRecipe("toy", kMake, kCondaOnly);
  ASSERT_OK_AND_ASSIGN(const BuildSummary first, Run(Request({"toy"})));
  ASSERT_OK_AND_ASSIGN(const auto keys, env_->fs.ListDir(env_->cache_dir / "stages/results/build"));
  const AbsPath staged = env_->cache_dir / "stages/results/build" / keys.front() / "files/tree/share/toy";
  ASSERT_THAT(WriteFile(env_->fs, staged, "bade\n"), IsOk());
  BuildRequest request = Request({"toy"});
  request.output = env_.dir().path() / "other";
  ASSERT_OK_AND_ASSIGN(const BuildSummary second, Run(request));
  EXPECT_THAT(Ran(second), Contains("build toy-1.0-0"));
  EXPECT_EQ(second.artifacts.front().sha256, first.artifacts.front().sha256);
  EXPECT_THAT(env_.reporter.warnings(), Contains(HasSubstr("damaged")));
}

TEST_F(BuildPipelineTest, AKeptWorkFolderSharesNothingWithTheStore) {
  WriteRecipe("toy", kMake, kCondaOnly);
  BuildRequest request = Request({"toy"});
  request.keep_work = true;
  ASSERT_OK_AND_ASSIGN(const BuildSummary first, Run(request));
  // Whatever is in the kept directory under the staged name is written to.
  ASSERT_OK_AND_ASSIGN(const StagedTree kept, ScanTree(env_, env_->cache_dir / "kept"));
  int edited = 0;
  for (const TreeEntry& entry : kept.entries) {
    if (!entry.path.str().ends_with("share/toy")) continue;
    ASSERT_OK_AND_ASSIGN(const auto file, env_->fs.Open(kept.root / entry.path, OpenMode::kReadWrite));
    const std::string text = "evil\n";
    ASSERT_THAT(file->WriteAt(0, Bytes(reinterpret_cast<const std::byte*>(text.data()), text.size())),
                IsOk());
    ++edited;
  }
  EXPECT_GT(edited, 0);
  request.output = env_.dir().path() / "other";
  request.keep_work = false;
  ASSERT_OK_AND_ASSIGN(const BuildSummary second, Run(request));
  EXPECT_THAT(Ran(second), Not(Contains("build toy-1.0-0")))
      << ::testing::PrintToString(env_.reporter.warnings());
  EXPECT_EQ(second.artifacts.front().sha256, first.artifacts.front().sha256);
}

TEST_F(BuildPipelineTest, AVariantAppearsWholeOrNotAtAll) {
  // The wheel is refused (its script leaves the work directory's path in a file), the conda package is fine.
  const std::string dist = "$PREFIX/lib/python3.11/site-packages/toy-1.0.dist-info";
  const std::string make = "mkdir -p " + dist +
                           " && printf 'Metadata-Version: 2.1\\nName: toy\\nVersion: 1.0\\n' > " + dist +
                           "/METADATA && printf 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: "
                           "true\\nTag: py3-none-any\\n' > " +
                           dist + "/WHEEL && echo ";
  const std::string rest = "about: {license: MIT}\nextra: {ptpkg: {formats: [conda, wheel]}}\n";
  WriteRecipe("toy", make + "$PREFIX > $PREFIX/lib/python3.11/site-packages/toy.txt", rest);
  EXPECT_THAT(Run(Request({"toy"})), FailsWith(ErrorCode::kCheckFailed, HasSubstr("toy-1.0")));
  EXPECT_THAT(Artifacts(), IsEmpty());
  EXPECT_THAT(env_->fs.ListDir(output_ / ".ptpkg"), IsOkAndHolds(ElementsAre("lock")))
      << "nothing that was refused lies in the output folder";
  WriteRecipe("toy", make + "fine > $PREFIX/lib/python3.11/site-packages/toy.txt", rest);
  ASSERT_THAT(Run(Request({"toy"})), IsOk()) << "the corrected recipe is not in anybody's way";
  EXPECT_THAT(Artifacts(), ElementsAre("toy-1.0-0.conda", "toy-1.0-py3-none-any.whl"));
}

TEST_F(BuildPipelineTest, TwoVariantsDoNotReplaceEachOthersWheel) {
  const std::string make =
      "S=$PREFIX/lib/python3.11/site-packages; D=$S/toy-1.0.dist-info; mkdir -p $D; printf "
      "'Metadata-Version: 2.1\\nName: toy\\nVersion: "
      "1.0\\n' > "
      "$D/METADATA; printf 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: "
      "py3-none-any\\n' > "
      "$D/WHEEL; echo ";
  const auto write = [&](const std::string& text) {
    Put("toy/recipe.yaml",
        "package: {name: toy, version: \"1.0\"}\nbuild: {string: \"v${{ v }}\", script: {content: [" +
            Json(make + text + " > $S/toy.txt").dump() +
            "], env: {V: \"${{ v }}\"}}}\nabout: {license: MIT}\n"
            "extra: {ptpkg: {formats: [conda, wheel]}}\n");
  };
  Put("toy/variants.yaml", "v: [\"1\", \"2\"]\n");
  env_->jobs = 1;
  write("$V");
  EXPECT_THAT(Run(Request({"toy"})),
              FailsWith(ErrorCode::kAlreadyExists, AllOf(HasSubstr("toy-1.0-v1"), HasSubstr("toy-1.0-v2"))));
  EXPECT_THAT(Artifacts(), ElementsAre("toy-1.0-v1.conda", "toy-1.0-py3-none-any.whl"));
  EXPECT_THAT(Run(Request({"toy"})), FailsWith(ErrorCode::kAlreadyExists, HasSubstr("toy-1.0-v2")))
      << "what an earlier run published counts as well";
  write("same");
  ASSERT_THAT(Run(Request({"toy"})), IsOk()) << "the same wheel of both is one wheel";
  EXPECT_THAT(Artifacts(), ElementsAre("toy-1.0-v1.conda", "toy-1.0-v2.conda", "toy-1.0-py3-none-any.whl"));
  write("other");
  EXPECT_THAT(Run(Request({"toy"})), IsOk()) << "wheels of an earlier recipe are in nobody's way";
}

TEST_F(BuildPipelineTest, AFailedVariantDoesNotHideWhatWasPublished) {
  WriteRecipe("good", kMake, kCondaOnly);
  WriteRecipe("bad", "exit 3", kCondaOnly);
  env_->jobs = 1;
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Build(env_, Request({"good", "bad"})));
  ASSERT_TRUE(summary.failure.has_value());
  EXPECT_EQ(summary.failure->code(), ErrorCode::kCommandFailed);
  EXPECT_THAT(FormatError(*summary.failure), HasSubstr("in 'build/bad-1.0-0'"));
  EXPECT_THAT(summary.artifacts, SizeIs(1)) << "what was done all the same is told";
  EXPECT_THAT(Ran(summary), Contains("publish good-1.0-0"));
  EXPECT_THAT(Artifacts(), ElementsAre("good-1.0-0.conda"));
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(env_->fs, output_ / "conda/linux-64/repodata.json"));
  EXPECT_THAT(text, HasSubstr("good-1.0-0.conda")) << "what is published is indexed";
}

TEST_F(BuildPipelineTest, ADamagedPackageOfTheFolderIsNamed) {
  Put("dist/conda/linux-64/stray-1.0-0.conda", "no package");
  WriteRecipe("toy", kMake, kCondaOnly);
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Run(Request({"toy"})));
  EXPECT_THAT(summary.left_out, ElementsAre(HasSubstr("stray-1.0-0.conda")));
  EXPECT_THAT(Artifacts(), ElementsAre("stray-1.0-0.conda", "toy-1.0-0.conda"));
}

TEST_F(BuildPipelineTest, LinesOfAPlanAreNotTasksToo) {
  WriteRecipe("toy", kMake, kCondaOnly);
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env_, Request({"toy"})));
  const std::size_t before = env_.reporter.tasks().size();
  EXPECT_THAT(DescribePlan(env_, planned.plan, output_), IsOkAndHolds(SizeIs(5)));
  EXPECT_EQ(env_.reporter.tasks().size(), before);
}

TEST_F(BuildPipelineTest, OneRecipeBuildsWithThePackageOfAnother) {
  WriteRecipe("lib", "mkdir -p $PREFIX/include && echo 42 > $PREFIX/include/answer.h",
              "requirements: {run_exports: [\"lib >=1.0\"]}\n" + std::string(kCondaOnly));
  WriteRecipe("app", "mkdir -p $PREFIX/share && cp $PREFIX/include/answer.h $PREFIX/share/app",
              "requirements: {host: [lib]}\n" + std::string(kCondaOnly));
  ASSERT_THAT(Run(Request({"app", "lib"})), IsOk());
  EXPECT_THAT(Artifacts(), ElementsAre("app-1.0-0.conda", "lib-1.0-0.conda"));
  ASSERT_OK_AND_ASSIGN(const conda::PackageInfo info,
                       conda::ReadPackageInfo(env_, output_ / "conda/linux-64/app-1.0-0.conda"));
  EXPECT_THAT(info.index["depends"].dump(), HasSubstr("lib >=1.0"));
  ASSERT_OK_AND_ASSIGN(const BuildSummary again, Run(Request({"app", "lib"})));
  EXPECT_THAT(Ran(again), IsEmpty());
  // From the channel, when the other recipe is not part of the run.
  ASSERT_OK_AND_ASSIGN(const BuildSummary alone, Run(Request({"app"})));
  EXPECT_THAT(alone.artifacts, SizeIs(1));
}

TEST_F(BuildPipelineTest, ADryRunWritesNothingAtAll) {
  WriteRecipe("toy", kMake, kCondaOnly);
  BuildRequest request = Request({"toy"});
  request.dry_run = true;
  const auto before = test::ListTree(env_->fs, env_.dir().path());
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Run(request));
  EXPECT_EQ(test::ListTree(env_->fs, env_.dir().path()), before);
  EXPECT_THAT(Ran(summary), IsEmpty());
  EXPECT_EQ(summary.stages.front().reason, "would run: first run");
}

TEST_F(BuildPipelineTest, MissingToolsAreNamedWhileThePlanIsMade) {
  WriteRecipe("toy", kMake, "requirements: {build: [no-such-tool-at-all]}\n" + std::string(kCondaOnly));
  BuildRequest request = Request({"toy"});
  request.dry_run = true;
  EXPECT_THAT(Run(request), FailsWith(ErrorCode::kNotFound, HasSubstr("no-such-tool-at-all")));
}

TEST_F(BuildPipelineTest, AFormatThatTheRecipeDoesNotOfferIsAnError) {
  WriteRecipe("toy", kMake, kCondaOnly);
  BuildRequest request = Request({"toy"});
  request.formats = {ArtifactFormat::kWheel};
  EXPECT_THAT(Run(request), FailsWith(ErrorCode::kUsage, HasSubstr("'toy' does not make wheel")));
}

TEST_F(BuildPipelineTest, WithoutFormatsACLibraryMakesNoWheel) {
  WriteRecipe("toy", kMake, "about: {license: MIT}\n");
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  EXPECT_THAT(Artifacts(), ElementsAre("toy-1.0-0.conda", "toy-1.0-0.tar.bz2"));
  ASSERT_OK_AND_ASSIGN(const BuildSummary again, Run(Request({"toy"})));
  EXPECT_THAT(Ran(again), IsEmpty());
}

TEST_F(BuildPipelineTest, AnotherExecutorCanRunThePlanNodeByNode) {
  WriteRecipe("toy", kMake, kCondaOnly);
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env_, Request({"toy"})));
  const AbsPath file = env_.dir().path() / "plan.json";
  ASSERT_THAT(WriteFile(env_->fs, file, DumpJson(graph::PlanToJson(planned.plan))), IsOk());
  EXPECT_THAT(RunNode(env_, file, "conda/toy-1.0-0"),
              FailsWith(ErrorCode::kNotFound, HasSubstr("build/toy-1.0-0")));
  for (const graph::Node& node : planned.plan.nodes) {
    ASSERT_THAT(RunNode(env_, file, node.id), IsOk()) << node.id;
  }
  EXPECT_THAT(Artifacts(), ElementsAre("toy-1.0-0.conda"));
  ASSERT_OK_AND_ASSIGN(const BuildSummary after, Run(Request({"toy"})));
  EXPECT_THAT(Ran(after), IsEmpty());
}

TEST_F(BuildPipelineTest, WhatAKilledRunLeftGoesThoughEveryResultIsThere) {
  WriteRecipe("toy", kMake, kCondaOnly);
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  const AbsPath stages = env_->cache_dir / "stages";
  const std::vector<AbsPath> left = {
      stages / "records/toy-1.0-0" / NewScratchFileName("publish.json"),
      stages / "results/build" / NewScratchFolderName("attempt") / "file",
      PendingRoot(env_, output_) / "results/conda" / NewScratchFolderName("attempt") / "file",
      env_->cache_dir / "work" / NewScratchFolderName("node") / "file",
      env_->cache_dir / NewScratchFolderName("check") / "file",
  };
  for (const AbsPath& path : left) {
    ASSERT_THAT(env_->fs.MakeDirs(path.Parent()), IsOk());
    ASSERT_THAT(WriteFile(env_->fs, path, "of a dead run"), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(const BuildSummary again, Run(Request({"toy"})));
  EXPECT_THAT(Ran(again), IsEmpty());
  for (const AbsPath& path : left) EXPECT_THAT(Exists(env_->fs, path), IsOkAndHolds(false)) << path.str();
}

TEST_F(BuildPipelineTest, ANodeRefusesToRunWhenItsFilesAreNotThoseOfThePlan) {
  WriteRecipe("toy", "cp $RECIPE_DIR/data.txt $PREFIX/", "source: {path: src}\n" + std::string(kCondaOnly));
  Put("toy/data.txt", "one");
  Put("toy/src/a.c", "int a;");
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env_, Request({"toy"})));
  const AbsPath file = env_.dir().path() / "plan.json";
  ASSERT_THAT(WriteFile(env_->fs, file, DumpJson(graph::PlanToJson(planned.plan))), IsOk());
  Put("toy/data.txt", "two");
  EXPECT_THAT(RunNode(env_, file, "build/toy-1.0-0"), FailsWith(ErrorCode::kRefused, HasSubstr("data.txt")));
  Put("toy/data.txt", "one");
  Put("toy/src/a.c", "int b;");
  EXPECT_THAT(RunNode(env_, file, "build/toy-1.0-0"),
              FailsWith(ErrorCode::kRefused, HasSubstr("sources of 'toy'")));
}

TEST_F(BuildPipelineTest, ThePlanIsTheSameInEveryFolder) {
  WriteRecipe("toy", kMake, kCondaOnly);
  ASSERT_OK_AND_ASSIGN(const BuildPlan one, PlanBuild(env_, Request({"toy"})));
  test::TestEnv other;
  ASSERT_THAT(other->fs.MakeDirs(other.dir().path() / "deep/er/toy"), IsOk());
  ASSERT_THAT(env_->fs.CopyFile(env_.dir().path() / "toy/recipe.yaml",
                                other.dir().path() / "deep/er/toy/recipe.yaml"),
              IsOk());
  BuildRequest request{.recipes = {other.dir().path() / "deep/er/toy"},
                       .output = other.dir().path() / "out",
                       .host_env = builder::HostEnv::kAuto};
  ASSERT_OK_AND_ASSIGN(const BuildPlan two, PlanBuild(other, request));
  const auto keys = graph::KeysOf(one.plan);
  const auto others = graph::KeysOf(two.plan);
  ASSERT_EQ(keys.size(), others.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(keys[i].digests, others[i].digests) << one.plan.nodes[i].id;
  }
}

constexpr const char* kZipOnly =
    "about: {license: MIT}\nextra: {ptpkg: {formats: [zip], zip: {name: \"toy-${{ v }}\", root: share}}}\n";

TEST_F(BuildPipelineTest, AZipIsPublishedAndNotMadeAgain) {
  Put("toy/variants.yaml", "v: [\"1\"]\n");
  WriteRecipe("toy", kMake, kZipOnly);
  ASSERT_OK_AND_ASSIGN(const BuildSummary first, Run(Request({"toy"})));
  EXPECT_THAT(Ran(first), ElementsAre("build toy-1.0-0", "zip toy-1.0-0", "check toy-1.0-0",
                                      "publish toy-1.0-0", "index dist"));
  ASSERT_THAT(first.artifacts, SizeIs(1));
  EXPECT_EQ(first.artifacts[0].path, "zip/toy-1.zip");
  EXPECT_EQ(first.artifacts[0].format, "zip");
  ASSERT_OK_AND_ASSIGN(const BuildSummary second, Run(Request({"toy"})));
  EXPECT_THAT(Ran(second), IsEmpty());
  EXPECT_THAT(second.artifacts, SizeIs(1));
  ASSERT_OK(env_->fs.Remove(output_ / "zip/toy-1.zip"));
  ASSERT_OK_AND_ASSIGN(const BuildSummary third, Run(Request({"toy"})));
  EXPECT_THAT(Ran(third), ElementsAre("zip toy-1.0-0", "publish toy-1.0-0"));
}

/// Two variants that would both make toy.zip, with other content.
constexpr const char* kOneZipForTwo =
    "package: {name: toy, version: \"1.0\"}\n"
    "build:\n"
    "  number: ${{ number }}\n"
    "  string: v${{ v }}_${{ number }}\n"
    "  script: \"mkdir -p $PREFIX/share && echo ${{ v }} ${{ number }} > $PREFIX/share/toy\"\n"
    "about: {license: MIT}\n"
    "extra: {ptpkg: {formats: [conda, zip], zip: {name: toy}}}\n";

TEST_F(BuildPipelineTest, TwoVariantsWithOneZipAreRefusedBeforeTheyAreBuilt) {
  Put("toy/variants.yaml", "v: [\"1\", \"2\"]\nnumber: [\"0\"]\n");
  Put("toy/recipe.yaml", kOneZipForTwo);
  EXPECT_THAT(PlanBuild(env_, Request({"toy"})),
              FailsWith(ErrorCode::kInvalidInput,
                        HasSubstr("'toy-1.0-v1_0' and 'toy-1.0-v2_0' would both write 'toy.zip'")));
}

TEST_F(BuildPipelineTest, TwoVariantsWithOneZipAreRefusedOneAfterTheOtherToo) {
  Put("toy/variants.yaml", "v: [\"1\", \"2\"]\nnumber: [\"0\"]\n");
  Put("toy/recipe.yaml", kOneZipForTwo);
  BuildRequest one = Request({"toy"});
  one.select = {{"v", {"1"}}};
  BuildRequest two = Request({"toy"});
  two.select = {{"v", {"2"}}};
  ASSERT_OK(Run(one));
  EXPECT_THAT(Run(two),
              AllOf(FailsWith(ErrorCode::kAlreadyExists,
                              HasSubstr("'toy-1.0-v2_0' would replace the zip published by 'toy-1.0-v1_0'")),
                    HasHint(HasSubstr("another output directory"))));
  EXPECT_THAT(Artifacts(), ElementsAre("toy-1.0-v1_0.conda", "toy.zip")) << "nothing was built";
  two.formats = {ArtifactFormat::kConda};
  ASSERT_OK(Run(two)) << "it makes no zip now";
  two.formats.clear();
  two.force = true;
  ASSERT_OK(Run(two));
  // Of one variant the next build replaces the last.
  Put("toy/variants.yaml", "v: [\"1\", \"2\"]\nnumber: [\"1\"]\n");
  two.force = false;
  ASSERT_OK_AND_ASSIGN(const BuildSummary next, Run(two));
  EXPECT_THAT(Ran(next), Contains("publish toy-1.0-v2_1"));
}

TEST_F(BuildPipelineTest, AVariantWithoutTheFormatAskedForIsLeftOut) {
  Put("toy/variants.yaml", "v: [\"1\", \"2\"]\n");
  Put("toy/recipe.yaml",
      "package: {name: toy, version: \"1.0\"}\nbuild: {string: \"v${{ v }}\", script: \"true\"}\n"
      "about: {license: MIT}\n"
      "extra: {ptpkg: {formats: [conda, \"${{ 'zip' if v == '1' else '' }}\"], zip: {name: toy}}}\n");
  BuildRequest request = Request({"toy"});
  request.formats = {ArtifactFormat::kZip};
  ASSERT_OK_AND_ASSIGN(const BuildPlan plan, PlanBuild(env_, request));
  EXPECT_NE(plan.plan.Find("zip/toy-1.0-v1"), nullptr);
  EXPECT_EQ(plan.plan.Find("build/toy-1.0-v2"), nullptr);
  request.select = {{"v", {"2"}}};
  EXPECT_THAT(
      PlanBuild(env_, request),
      FailsWith(ErrorCode::kUsage, HasSubstr("'toy' does not make zip: its recipe lists the formats conda")));
}

TEST_F(BuildPipelineTest, AZipWithABuildPathIsNotPublished) {
  Put("toy/variants.yaml", "v: [\"1\"]\n");
  WriteRecipe("toy", "mkdir -p $PREFIX/share && echo $PREFIX > $PREFIX/share/toy", kZipOnly);
  EXPECT_THAT(Run(Request({"toy"})), FailsWith(ErrorCode::kCheckFailed, HasSubstr("artifact-build-path")));
  EXPECT_THAT(Artifacts(), IsEmpty());
}

}  // namespace
}  // namespace ptpkg::pipeline
