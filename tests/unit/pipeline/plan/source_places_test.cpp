// Where sources lie is in no key and in no package: two machines with one commit make the same.

#include "graph/plan.h"
#include "unit/pipeline/fixtures/build_fixture.h"
#include "unit/source/git_repository.h"

namespace ptpkg::pipeline {
namespace {

using test::IsOk;
using ::testing::HasSubstr;
using ::testing::Not;

class SourcePlacesTest : public BuildFixture {
 protected:
  SourcePlacesTest() {
    upstream_.Commit("in", "1");
    upstream_.Git({"tag", "v1"});
    for (const char* clone : {"here/clone", "there/a/deeper/clone"}) {
      env_.dir().MakeDir(std::string(clone).substr(0, std::string(clone).rfind('/')));
      upstream_.Git({"clone", "-q", upstream_.path().str(), (env_.dir() / clone).str()});
    }
  }
  void WriteToy(const std::string& source) {
    WriteRecipe("toy", "cp in $PREFIX/in",
                source + "tests: [{script: \"test -e $PREFIX/in\"}]\n" + std::string(kCondaOnly));
  }
  Result<BuildPlan> PlanWith(const std::string& source) {
    BuildRequest request = Request({"toy"});
    if (!source.empty()) PTPKG_CHECK(AddSource(env_, "toy", source, request));
    return PlanBuild(env_, request);
  }
  /// Keys of all nodes, and what is shown of the source; no input may name a place.
  std::pair<std::vector<std::string>, std::string> KeysWith(const std::string& source) {
    const Result<BuildPlan> planned = PlanWith(source);
    EXPECT_THAT(planned, IsOk());
    std::vector<std::string> keys;
    if (!planned) return {};
    for (const graph::NodeKey& key : graph::KeysOf(planned->plan)) keys.push_back(key.key);
    for (const graph::Node& node : planned->plan.nodes) {
      EXPECT_THAT(node.inputs.dump(), Not(HasSubstr(env_.dir().path().str()))) << node.id;
    }
    return {keys, planned->plan.Find("conda/toy-1.0-0")->inputs["output"]["rendered_recipe_yaml"]};
  }
  std::string BuildKeyWith(const std::string& source) {
    const Result<BuildPlan> planned = PlanWith(source);
    EXPECT_THAT(planned, IsOk());
    if (!planned) return "";
    const std::vector<graph::NodeKey> keys = graph::KeysOf(planned->plan);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (planned->plan.nodes[i].id == "build/toy-1.0-0") return keys[i].key;
    }
    return "";
  }
  [[nodiscard]] std::string Place(const std::string& name) const { return (env_.dir() / name).str(); }

  source::GitRepository upstream_{env_, "upstream"};
};

TEST_F(SourcePlacesTest, ACloneStandsForItsCommit) {
  WriteToy("");
  const std::string commit = upstream_.Git({"rev-parse", "HEAD"});
  const auto [here, shown] = KeysWith(Place("here/clone") + "@v1");
  const auto [there, same] = KeysWith("git+file://" + Place("there/a/deeper/clone") + "@v1");
  EXPECT_EQ(here, there);
  EXPECT_EQ(shown, same);
  EXPECT_THAT(shown, HasSubstr("git: \"./toy\"\n"));
  EXPECT_THAT(shown, HasSubstr(commit));

  BuildRequest request = Request({"toy"});
  ASSERT_THAT(AddSource(env_, "toy", Place("here/clone") + "@v1", request), IsOk());
  ASSERT_THAT(Run(request), IsOk());
  BuildRequest other = Request({"toy"});
  ASSERT_THAT(AddSource(env_, "toy", Place("there/a/deeper/clone") + "@v1", other), IsOk());
  ASSERT_OK_AND_ASSIGN(const BuildSummary again, Run(other));
  EXPECT_THAT(Ran(again), ::testing::IsEmpty());
}

TEST_F(SourcePlacesTest, ADeclaredRepositoryIsShownInItsPlace) {
  WriteToy("source: {git: \"https://host.example/toy.git\", tag: v1}\n");
  const auto [keys, shown] = KeysWith(Place("here/clone") + "@v1");
  EXPECT_THAT(shown, HasSubstr("git: \"https://host.example/toy.git\"\n"));
  EXPECT_THAT(shown, HasSubstr("rev: " + upstream_.Git({"rev-parse", "HEAD"})));
}

TEST_F(SourcePlacesTest, TheBuildIsThatOfTheCommitWhateverTheRecipeCallsIt) {
  WriteToy("source: {git: \"file://" + Place("here/clone") + "\", tag: v1}\n");
  const std::string by_tag = BuildKeyWith("");
  EXPECT_NE(by_tag, "");
  WriteToy("source: {git: \"file://" + Place("there/a/deeper/clone") + "\", branch: main}\n");
  EXPECT_EQ(BuildKeyWith(""), by_tag);
  upstream_.Commit("in", "2");
  EXPECT_NE(BuildKeyWith(Place("upstream") + "@main"), by_tag);
}

TEST_F(SourcePlacesTest, MirrorsOfAnArchiveAreInNoKeyAndItsNameIs) {
  const std::string digest(64, 'a');
  const auto key = [&](const std::string& url) {
    WriteToy("source: {url: \"" + url + "\", sha256: " + digest + "}\n");
    return BuildKeyWith("");
  };
  const std::string one = key("https://one.example/toy.tgz");
  EXPECT_EQ(key("https://token@two.example/mirror/toy.tgz"), one);
  EXPECT_NE(key("https://one.example/toy.bin"), one);
}

TEST_F(SourcePlacesTest, ACommitThatIsGoneIsPlacedInTheRecipe) {
  WriteToy("source:\n  git: \"file://" + Place("here/clone") + "\"\n  rev: " + std::string(40, '1') + "\n");
  const auto result = Run(Request({"toy"}));
  EXPECT_THAT(result, test::FailsWith(ErrorCode::kNotFound, HasSubstr(std::string(40, '1'))));
  ASSERT_TRUE(result.error().span().has_value());
  EXPECT_EQ(result.error().span()->file.view(), Place("toy/recipe.yaml"));
  EXPECT_EQ(result.error().span()->line, 5);
  EXPECT_THAT(result.error().span()->excerpt.str(), HasSubstr("git: "));
}

TEST_F(SourcePlacesTest, APasswordIsInNoTextOfThePlanAndIsWarnedOf) {
  WriteToy("source: {url: \"https://user:secretpw@example/toy.tgz\", sha256: " + std::string(64, 'a') +
           "}\n");
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanWith(""));
  const Json text = graph::PlanToJson(planned.plan);
  for (const Json& node : text["nodes"]) EXPECT_THAT(node["options"].dump(), Not(HasSubstr("secretpw")));
  EXPECT_THAT(env_.reporter.warnings(), ::testing::Contains(HasSubstr("'https://****@example/toy.tgz'")));
}

TEST_F(SourcePlacesTest, OfTwoSourcesOfOneNameNoneIsTaken) {
  BuildRequest request = Request({"toy"});
  ASSERT_THAT(AddSource(env_, "toy", Place("here/clone"), request), IsOk());
  for (const std::string& again : {Place("here/clone"), Place("here/clone") + "@v1"}) {
    EXPECT_THAT(AddSource(env_, "toy", again, request),
                test::FailsWith(ErrorCode::kUsage, "--source gives 'toy' twice"));
  }
}

TEST_F(SourcePlacesTest, ACacheFolderInWhichNothingBuildsIsRefusedAtOnce) {
  WriteToy("");
  env_->cache_dir = env_.dir() / "ca che";
  for (const bool dry_run : {true, false}) {
    BuildRequest request = Request({"toy"});
    request.dry_run = dry_run;
    EXPECT_THAT(Run(request), test::FailsWith(ErrorCode::kInvalidInput, HasSubstr("contains a blank")));
  }
  EXPECT_THAT(Artifacts(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace ptpkg::pipeline
