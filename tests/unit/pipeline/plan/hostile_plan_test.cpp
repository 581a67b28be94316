// Plans that somebody wrote: whatever stands in a node, it runs or says in words why not.

#include "graph/plan.h"
#include "pipeline/plan/run_plan.h"
#include "pipeline/stages/stages.h"
#include "support/digest/hash.h"
#include "unit/pipeline/fixtures/build_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using ::testing::HasSubstr;

class HostilePlanTest : public BuildFixture {
 protected:
  /// A plan with keys that fit: as a program that knows the format would write it.
  Result<BuildSummary> RunIn(const graph::Plan& plan, const std::string& id) {
    const AbsPath file = env_.dir().path() / "plan.json";
    PTPKG_CHECK(WriteFile(env_->fs, file, DumpJson(graph::PlanToJson(plan))));
    return RunNode(env_, file, id);
  }
  void ExpectWords(const graph::Plan& plan, const graph::Node& node, const std::string& what) {
    // PTPKG_ASSERT and the JSON library throw; main() calls that a bug of ours.
    EXPECT_NO_THROW({
      const auto ran = RunIn(plan, node.id);
      EXPECT_TRUE(ran.has_value() || !ran.error().message().empty());
    }) << node.id
       << ": " << what;
  }
};

TEST_F(HostilePlanTest, AnyInputMayBeAnything) {
  WriteRecipe("lib", "mkdir -p $PREFIX/share && echo x > $PREFIX/share/lib", kCondaOnly);
  WriteRecipe("toy", "mkdir -p $PREFIX/share && cp $RECIPE_DIR/data.txt $PREFIX/share/toy",
              "requirements: {host: [lib]}\ntests: [{script: [\"true\"]}]\nabout: {license: MIT}\n"
              "extra: {ptpkg: {formats: [conda, zip], zip: {name: toy, root: share, texts: {a: b}}}}\n");
  Put("toy/data.txt", "data");
  ASSERT_THAT(Run(Request({"lib"})), test::IsOk());  // so that toy's plan has a package by its file
  BuildRequest request = Request({"toy"});
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env_, request));
  const std::vector<Json> junk = {nullptr,        -1,        1e300, "", "../../x", Json::array(),
                                  Json::object(), {{"a", 1}}};
  std::size_t next = 0;
  for (std::size_t i = 0; i < planned.plan.nodes.size(); ++i) {
    const graph::Node& node = planned.plan.nodes[i];
    std::set<std::string> places;
    for (const auto& [name, value] : node.inputs.items()) places.insert("/" + name);
    // Each field of a recipe has one reader, recipe_codec.cpp, with tests of its own; files are called by
    // these.
    for (const char* field : {"name", "version", "build_string", "subdir"}) {
      if (node.inputs.contains("recipe")) places.insert(std::string("/recipe/") + field);
    }
    const Json flat = node.inputs.flatten();
    for (const auto& [pointer, leaf] : flat.items()) {
      if (!pointer.empty() && !pointer.starts_with("/recipe/")) places.insert(pointer);
    }
    for (const std::string& place : places) {
      // Two kinds in turn: all of them for each would take a minute.
      for (int kind = 0; kind < 2; ++kind) {
        const Json& value = junk[next++ % junk.size()];
        graph::Plan other = planned.plan;
        other.nodes[i].inputs[Json::json_pointer(place)] = value;
        ExpectWords(other, node, place + " = " + value.dump());
      }
      graph::Plan other = planned.plan;
      Json::json_pointer pointer(place);
      Json& parent = other.nodes[i].inputs[pointer.parent_pointer()];
      if (!parent.is_object()) continue;
      parent.erase(pointer.back());
      ExpectWords(other, node, "without " + place);
    }
    ASSERT_THAT(RunIn(planned.plan, node.id), test::IsOk()) << node.id;
  }
}

TEST_F(HostilePlanTest, NeedsMayLeadToAnyNode) {
  WriteRecipe("lib", "mkdir -p $PREFIX/share && echo x > $PREFIX/share/lib", kCondaOnly);
  WriteRecipe("toy", "mkdir -p $PREFIX/share && echo x > $PREFIX/share/toy",
              "requirements: {host: [lib]}\ntests: [{script: [\"true\"]}]\n" + std::string(kCondaOnly));
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env_, Request({"lib", "toy"})));
  for (std::size_t i = 0; i < planned.plan.nodes.size(); ++i) {
    const graph::Node& node = planned.plan.nodes[i];
    for (const auto& [role, id] : node.needs) {
      for (std::size_t other = 0; other < i; ++other) {
        graph::Plan edited = planned.plan;
        edited.nodes[i].needs[role] = planned.plan.nodes[other].id;
        // What is published for good is no part of this.
        if (node.stage == "publish" || node.stage == "index") continue;
        ExpectWords(edited, node, role + " from " + planned.plan.nodes[other].id);
      }
    }
    ASSERT_THAT(RunIn(planned.plan, node.id), test::IsOk()) << node.id;
  }
}

TEST_F(HostilePlanTest, ABuildNumberIsANumberFromNought) {
  graph::Plan plan;
  graph::Node node = MakeStages().MakeNode("repack-conda", "a.whl");
  node.inputs = {{"artifact", {{"name", "a.whl"}, {"sha256", HashText("").Hex()}}},
                 {"layout", ""},
                 {"build string", ""},
                 {"python", ""},
                 {"formats", {"conda"}},
                 {"source_date_epoch", 1}};
  Put("a.whl", "");
  Put("a.whl", "");
  node.places.emplace("artifact", env_.dir().path() / "a.whl");
  for (const Json& number : {Json("5"), Json(-1), Json(1.5), Json(nullptr)}) {
    node.inputs["build number"] = number;
    plan.nodes = {node};
    EXPECT_THAT(RunIn(plan, node.id), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'build number'")));
  }
}

}  // namespace
}  // namespace ptpkg::pipeline
