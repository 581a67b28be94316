// Slices that a recipe asks for, in a plan: what they wait for, what is asked of them, and what a run makes.

#include "pipeline/stages/slice_stage.h"

#include "pipeline/plan/run_plan.h"
#include "unit/elf/fixtures/device_libraries.h"
#include "unit/pipeline/fixtures/build_fixture.h"

namespace ptpkg::pipeline {
namespace {

using elf::test::Container;
using test::FailsWith;
using test::HasHint;
using test::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SliceStageTest : public BuildFixture {
 protected:
  /// A library with machine code for 8.0 and 9.0.
  static std::string Library() {
    const std::string other(8000, 'a');
    const std::string mine(8000, 'b');
    return elf::test::WrappedLibrary{
        .containers = {Container({{.number = 80, .payload = other}, {.number = 90, .payload = mine}})}}
        .Build();
  }
  void Write(const std::string& slices, const std::string& rest = "") {
    Put("toy/files/libtoy.so", Library());
    WriteRecipe("toy", "mkdir -p $PREFIX/lib && cp libtoy.so $PREFIX/lib",
                "source: {path: files}\n" + rest +
                    "about: {license: MIT}\nextra: {ptpkg: {formats: [conda, tar.bz2], device_code: "
                    "\"8.0;9.0\", slices: " +
                    slices + "}}\n");
  }
  Result<graph::Plan> Plan() {
    PTPKG_TRY(BuildPlan planned, PlanBuild(env_, Request({"toy"})));
    return std::move(planned.plan);
  }
};

TEST_F(SliceStageTest, AreMadeOfWhatHasPassed) {
  Write("[9.0, 8.0]", "tests: [{script: [\"true\"]}]\n");
  ASSERT_OK_AND_ASSIGN(const graph::Plan plan, Plan());
  const graph::Node* slices = plan.Find("slice-conda/toy-1.0-0");
  ASSERT_NE(slices, nullptr);
  EXPECT_EQ(slices->stage, "slice");
  EXPECT_EQ(slices->needs, (std::map<std::string, std::string>{{"artifacts", "conda/toy-1.0-0"}}));
  EXPECT_THAT(slices->after, ElementsAre("check/conda/toy-1.0-0", "test/toy-1.0-0"));
  EXPECT_EQ(slices->inputs["count"], 4) << "two slices of two formats";
  const graph::Node* check = plan.Find("check/slice-conda/toy-1.0-0");
  ASSERT_NE(check, nullptr);
  EXPECT_EQ(check->inputs["device code"], Json({"any"})) << "code that the recipe asks for is not in a slice";
  EXPECT_EQ(check->inputs["prefix may stay"], true);
  EXPECT_EQ(plan.Find("check/conda/toy-1.0-0")->inputs["device code"], Json({"8.0;9.0"}));
  const graph::Node* publish = plan.Find("publish/toy-1.0-0");
  ASSERT_NE(publish, nullptr);
  EXPECT_EQ(publish->needs.at("slice-conda"), slices->id);
  EXPECT_EQ(publish->needs.at("passed check slice-conda"), check->id);
}

TEST_F(SliceStageTest, WithoutAListThereAreNone) {
  Write("[]");
  ASSERT_OK_AND_ASSIGN(const graph::Plan plan, Plan());
  EXPECT_EQ(plan.Find("slice-conda/toy-1.0-0"), nullptr);
}

TEST_F(SliceStageTest, AppearWithThePackage) {
  Write("9.0");
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  EXPECT_THAT(Artifacts(), ElementsAre("toy-1.0-0.conda", "toy-1.0-0.tar.bz2", "toy-1.0-0_sm90.conda",
                                       "toy-1.0-0_sm90.tar.bz2"));
  ASSERT_OK_AND_ASSIGN(const BuildSummary again, Run(Request({"toy"})));
  EXPECT_THAT(Ran(again), IsEmpty());
  EXPECT_EQ(again.artifacts.size(), 4U);
  Write("8.0");
  ASSERT_OK_AND_ASSIGN(const BuildSummary other, Run(Request({"toy"})));
  // The recipe's file is in a conda package; its build has nothing of it.
  EXPECT_THAT(Ran(other),
              ::testing::UnorderedElementsAre("conda toy-1.0-0", "check toy-1.0-0", "slice toy-1.0-0",
                                              "check toy-1.0-0", "publish toy-1.0-0", "index dist"));
}

TEST_F(SliceStageTest, OneThatCannotBeMadeKeepsAllBack) {
  Write("[9.0, 7.5]");
  const auto failed = Run(Request({"toy"}));
  EXPECT_THAT(failed, FailsWith(ErrorCode::kRefused, HasSubstr("on a GPU of compute capability 7.5")));
  EXPECT_THAT(failed, HasHint(HasSubstr("it has sm_80, sm_90")));
  EXPECT_THAT(Artifacts(), IsEmpty());
  Write("9.0");
  Put("toy/files/libtoy.so", "no library");
  WriteRecipe(
      "toy", "mkdir -p $PREFIX/lib && cp libtoy.so $PREFIX/lib",
      "source: {path: files}\nabout: {license: MIT}\nextra: {ptpkg: {formats: [conda], slices: 9.0}}\n");
  const auto without = Run(Request({"toy"}));
  EXPECT_THAT(without, FailsWith(ErrorCode::kRefused, HasSubstr("'toy-1.0-0.conda' has no GPU code")));
  EXPECT_THAT(without, HasHint(HasSubstr("make extra.ptpkg.slices empty")));
  EXPECT_THAT(Artifacts(), IsEmpty());
}

TEST_F(SliceStageTest, AWheelThatIsNotMadeHasNone) {
  Put("toy/files/libtoy.so", Library());
  WriteRecipe("toy", "mkdir -p $PREFIX/lib && cp libtoy.so $PREFIX/lib",
              "source: {path: files}\nabout: {license: MIT}\nextra: {ptpkg: {slices: 9.0}}\n");
  BuildRequest request = Request({"toy"});
  ASSERT_THAT(Run(request), IsOk()) << "there is no Python distribution";
  EXPECT_THAT(Artifacts(), ElementsAre("toy-1.0-0.conda", "toy-1.0-0.tar.bz2", "toy-1.0-0_sm90.conda",
                                       "toy-1.0-0_sm90.tar.bz2"));
  ASSERT_OK_AND_ASSIGN(const BuildSummary again, Run(request));
  EXPECT_THAT(Ran(again), IsEmpty());
}

TEST_F(SliceStageTest, AnyInputMayBeAnything) {
  Write("9.0");
  ASSERT_OK_AND_ASSIGN(const graph::Plan planned, Plan());
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  const std::vector<Json> junk = {nullptr, -1, "", "../../x", Json::array(), Json::object(), {{"gpus", 1}}};
  const auto node = std::find_if(planned.nodes.begin(), planned.nodes.end(),
                                 [](const graph::Node& one) { return one.stage == "slice"; });
  ASSERT_NE(node, planned.nodes.end());
  for (const char* place : {"/slices", "/slices/gpus", "/slices/gpus/0", "/slices/ptx", "/slices/compact",
                            "/slices/allow", "/slices/variant", "/slices/cuda", "/count"}) {
    for (const Json& value : junk) {
      graph::Plan plan = planned;
      graph::Node& other = plan.nodes[static_cast<std::size_t>(node - planned.nodes.begin())];
      other.inputs[Json::json_pointer(place)] = value;
      const AbsPath file = env_.dir().path() / "plan.json";
      ASSERT_THAT(WriteFile(env_->fs, file, DumpJson(graph::PlanToJson(plan))), IsOk());
      EXPECT_NO_THROW({
        const auto ran = RunNode(env_, file, other.id);
        EXPECT_TRUE(ran.has_value() || !ran.error().message().empty());
      }) << place
         << " = " << value.dump();
    }
  }
}

TEST_F(SliceStageTest, APlanThatCountsOtherwiseIsRefused) {
  Write("9.0");
  ASSERT_OK_AND_ASSIGN(graph::Plan plan, Plan());
  for (graph::Node& node : plan.nodes) {
    if (node.stage == "slice") node.inputs["count"] = 5;
  }
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, RunPlan(env_, plan, output_, {}));
  ASSERT_TRUE(summary.failure.has_value());
  EXPECT_THAT(summary.failure->message(),
              AllOf(HasSubstr("the plan has 5 slices of 'toy-1.0-0'"), HasSubstr("2 were made")));
  EXPECT_THAT(Artifacts(), IsEmpty());
}

}  // namespace
}  // namespace ptpkg::pipeline
