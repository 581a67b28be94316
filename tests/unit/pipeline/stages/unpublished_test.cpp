// What a plan makes and does not publish: packages that only another recipe, or a test, needs.

#include "graph/plan.h"
#include "pipeline/plan/build_plan.h"
#include "pipeline/plan/run_plan.h"
#include "publish/output/output_folder.h"
#include "unit/pipeline/fixtures/build_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kLib = "mkdir -p $PREFIX/include && echo 42 > $PREFIX/include/answer.h";

class UnpublishedTest : public BuildFixture {
 protected:
  /// A wheel of a Python distribution `name` that is only there when liba's header was.
  void WriteApp(const std::string& name, const std::string& rest = "requirements: {host: [liba]}\n") {
    const std::string site = "$PREFIX/lib/python3.11/site-packages";
    const std::string dist = site + "/" + name + "-1.0.dist-info";
    WriteRecipe(name,
                "mkdir -p " + dist + " && printf 'Metadata-Version: 2.1\\nName: " + name +
                    "\\nVersion: 1.0\\n' > " + dist +
                    "/METADATA && printf 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: "
                    "py3-none-any\\n' > " +
                    dist + "/WHEEL && cp $PREFIX/include/answer.h " + site + "/" + name +
                    ".txt || echo 0 > " + site + "/" + name + ".txt",
                rest + "about: {license: MIT}\nextra: {ptpkg: {formats: [conda, wheel]}}\n");
  }
  BuildRequest Wheels(const std::vector<std::string>& recipes) {
    BuildRequest request = Request(recipes);
    request.formats = {ArtifactFormat::kWheel};
    return request;
  }
};

TEST_F(UnpublishedTest, APackageThatOnlyAnotherNeedsIsCheckedTestedAndNotPublished) {
  WriteRecipe("liba", kLib,
              "tests: [{script: [\"test -e $PREFIX/include/answer.h\"]}]\n" + std::string(kCondaOnly));
  WriteApp("appb");
  ASSERT_OK_AND_ASSIGN(const BuildSummary first, Run(Wheels({"liba", "appb"})));
  EXPECT_THAT(Ran(first), Contains("check liba-1.0-0"));
  EXPECT_THAT(Ran(first), Contains("test liba-1.0-0"));
  EXPECT_THAT(Artifacts(), ElementsAre("appb-1.0-py3-none-any.whl"));
  ASSERT_OK_AND_ASSIGN(const BuildSummary second, Run(Wheels({"liba", "appb"})));
  EXPECT_THAT(Ran(second), IsEmpty());
}

TEST_F(UnpublishedTest, NothingIsBuiltWithAPackageThatItsTestOrItsCheckRefuses) {
  WriteRecipe("liba", kLib, "tests: [{script: [\"exit 3\"]}]\n" + std::string(kCondaOnly));
  WriteApp("appb");
  EXPECT_THAT(Run(Wheels({"liba", "appb"})), FailsWith(ErrorCode::kCheckFailed, HasSubstr("exit 3")));
  EXPECT_THAT(Exists(env_->fs, publish::OutputFolder::LogFileOf(output_, "liba-1.0-0", "build")),
              IsOkAndHolds(true));
  EXPECT_THAT(Exists(env_->fs, publish::OutputFolder::LogFileOf(output_, "appb-1.0-0", "build")),
              IsOkAndHolds(false));
  // A path of the work directory in a file of the package is what the check refuses.
  WriteRecipe("liba", std::string(kLib) + " && pwd > $PREFIX/include/where.txt", kCondaOnly);
  EXPECT_THAT(Run(Wheels({"liba", "appb"})), FailsWith(ErrorCode::kCheckFailed, HasSubstr("liba")));
  EXPECT_THAT(Artifacts(), IsEmpty());
}

TEST_F(UnpublishedTest, APackageTwoStepsAwayHasToPassToo) {
  WriteRecipe("liba", kLib, "tests: [{script: [\"exit 3\"]}]\n" + std::string(kCondaOnly));
  WriteRecipe("libb", "mkdir -p $PREFIX/share && echo b > $PREFIX/share/b",
              "requirements: {host: [liba]}\n" + std::string(kCondaOnly));
  WriteApp("appc", "requirements: {host: [libb]}\n");
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env_, Wheels({"liba", "libb", "appc"})));
  const graph::Node* publish = planned.plan.Find("publish/appc-1.0-0");
  ASSERT_NE(publish, nullptr);
  std::vector<std::string> needed;
  for (const auto& [role, id] : publish->needs) needed.push_back(id);
  EXPECT_THAT(needed, Contains("check/conda/libb-1.0-0"));
  EXPECT_THAT(needed, Contains("check/conda/liba-1.0-0"));
  EXPECT_THAT(needed, Contains("test/liba-1.0-0"));
  EXPECT_THAT(Run(Wheels({"liba", "libb", "appc"})), FailsWith(ErrorCode::kCheckFailed, HasSubstr("liba")));
}

TEST_F(UnpublishedTest, ARecipeThatOffersBothServesAnotherThoughOnlyWheelsAreAskedFor) {
  WriteApp("liba", "");
  WriteApp("appb");
  ASSERT_THAT(Run(Wheels({"liba", "appb"})), IsOk());
  EXPECT_THAT(Artifacts(), ElementsAre("appb-1.0-py3-none-any.whl", "liba-1.0-py3-none-any.whl"));
}

TEST_F(UnpublishedTest, OnlyPublicationsAndTheIndexAreAims) {
  WriteRecipe("liba", kLib, "tests: [{script: [\"true\"]}]\n" + std::string(kCondaOnly));
  WriteApp("appb", "requirements: {host: [liba]}\ntests: [{script: [\"true\"]}]\n");
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env_, Wheels({"liba", "appb"})));
  std::set<std::string> needed;
  for (const graph::Node& node : planned.plan.nodes) {
    for (const auto& [role, id] : node.needs) needed.insert(id);
  }
  for (const graph::Node& node : planned.plan.nodes) {
    EXPECT_TRUE(node.stage == "index" || needed.contains(node.id)) << node.id;
  }
}

TEST_F(UnpublishedTest, TestsRunThoughNoCondaPackageIsPublished) {
  WriteApp("appb", "tests: [{script: [\"exit 3\"]}]\n");
  EXPECT_THAT(Run(Wheels({"appb"})), FailsWith(ErrorCode::kCheckFailed, HasSubstr("exit 3")));
  EXPECT_THAT(Artifacts(), IsEmpty());
  WriteApp("appb", "tests: [{script: [\"true\"]}]\n");
  ASSERT_OK_AND_ASSIGN(const BuildSummary first, Run(Wheels({"appb"})));
  EXPECT_THAT(Ran(first), Contains("test appb-1.0-0"));
  EXPECT_THAT(Artifacts(), ElementsAre("appb-1.0-py3-none-any.whl"));
  ASSERT_OK_AND_ASSIGN(const BuildSummary second, Run(Wheels({"appb"})));
  EXPECT_THAT(Ran(second), IsEmpty());
  BuildRequest skipped = Wheels({"appb"});
  skipped.test = false;
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env_, skipped));
  EXPECT_EQ(planned.plan.Find("conda/appb-1.0-0"), nullptr) << "only the tests need it";
}

}  // namespace
}  // namespace ptpkg::pipeline
