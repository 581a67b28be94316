#include "graph/plan.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::graph {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::HasSubstr;

Plan TwoNodes() {
  Node build{.id = "build/toy", .stage = "build", .subject = "toy"};
  build.inputs = {{"source", "abc"}, {"recipe", {{"script", "make"}, {"name", "toy"}}}};
  build.places.emplace("recipe", AbsPath::Literal("/home/a/recipe"));
  Node wheel{.id = "wheel/toy", .stage = "wheel", .version = 3, .subject = "toy"};
  wheel.options = {{"force", ""}};
  wheel.needs = {{"staged tree", "build/toy"}};
  return {.nodes = {build, wheel}};
}

TEST(Plan, EveryInputEntersTheKeyAndFieldsOfObjectsByName) {
  const std::vector<NodeKey> keys = KeysOf(TwoNodes());
  EXPECT_THAT(keys[0].digests, ::testing::UnorderedElementsAre(
                                   ::testing::Key("ptpkg"), ::testing::Key("source"),
                                   ::testing::Key("recipe.script"), ::testing::Key("recipe.name")));
  // Whatever leaf of the inputs changes, the key does, and that of the node that needs it.
  const Json leaves = TwoNodes().nodes[0].inputs.flatten();
  for (const auto& [pointer, leaf] : leaves.items()) {
    Plan other = TwoNodes();
    other.nodes[0].inputs[Json::json_pointer(pointer)] = "changed";
    const std::vector<NodeKey> changed = KeysOf(other);
    EXPECT_NE(changed[0].key, keys[0].key) << pointer;
    EXPECT_NE(changed[1].key, keys[1].key) << pointer;
  }
}

TEST(Plan, PlacesOptionsAndSubjectsAreNotInTheKey) {
  Plan other = TwoNodes();
  other.nodes[0].places.at("recipe") = AbsPath::Literal("/elsewhere");
  other.nodes[0].subject = "another name";
  other.nodes[0].options = {{"keep-work", ""}};
  EXPECT_EQ(KeysOf(other)[0].key, KeysOf(TwoNodes())[0].key);
}

TEST(Plan, VersionStageAndRolesAreInTheKey) {
  Plan other = TwoNodes();
  other.nodes[1].version = 4;
  EXPECT_NE(KeysOf(other)[1].key, KeysOf(TwoNodes())[1].key);
  other = TwoNodes();
  other.nodes[1].stage = "conda";
  EXPECT_NE(KeysOf(other)[1].key, KeysOf(TwoNodes())[1].key);
  other = TwoNodes();
  other.nodes[1].needs = {{"another role", "build/toy"}};
  EXPECT_NE(KeysOf(other)[1].key, KeysOf(TwoNodes())[1].key);
}

TEST(Plan, SurvivesItsText) {
  const Plan plan = TwoNodes();
  const Json text = *ParseJson(DumpJson(PlanToJson(plan)), "plan.json");
  ASSERT_OK_AND_ASSIGN(const Plan read, PlanFromJson(text, "plan.json"));
  EXPECT_EQ(PlanToJson(read), PlanToJson(plan));
  EXPECT_EQ(read.nodes[0].places.at("recipe").str(), "/home/a/recipe");
  EXPECT_EQ(read.nodes[1].options, plan.nodes[1].options);
}

TEST(Plan, ItsTextHoldsNoPasswords) {
  Plan plan = TwoNodes();
  plan.nodes[0].options = {
      {"sources", R"([{"urls": ["https://u:secretpw@example/x.tgz", "ssh://git@h/x"]}])"}};
  const std::string key = KeysOf(plan)[0].key;
  const Json text = PlanToJson(plan);
  EXPECT_EQ(text["nodes"][0]["options"]["sources"],
            R"([{"urls": ["https://example/x.tgz", "ssh://git@h/x"]}])");
  ASSERT_OK_AND_ASSIGN(const Plan read, PlanFromJson(text, "f"));
  EXPECT_EQ(KeysOf(read)[0].key, key);
}

TEST(Plan, AnEditedPlanIsRefused) {
  Json text = PlanToJson(TwoNodes());
  text["nodes"][0]["inputs"]["source"] = "other";
  EXPECT_THAT(PlanFromJson(text, "plan.json"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("the key of node 'build/toy'")));
}

TEST(Plan, BadPlansAreNamed) {
  const Json good = PlanToJson(TwoNodes());
  EXPECT_THAT(PlanFromJson(Json::array(), "plan.json"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a plan")));
  Json other = good;
  other["plan_version"] = 99;
  EXPECT_THAT(PlanFromJson(other, "plan.json"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("version 99")));
  other = good;
  other["nodes"][0]["colour"] = "blue";
  EXPECT_THAT(PlanFromJson(other, "plan.json"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'colour'")));
  other = good;
  other["nodes"][0]["places"]["recipe"] = "not/absolute";
  EXPECT_THAT(PlanFromJson(other, "plan.json"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("not/absolute")));
  for (const char* field : {"id", "stage", "version", "subject", "inputs", "places", "needs", "key"}) {
    other = good;
    other["nodes"][0].erase(field);
    EXPECT_FALSE(PlanFromJson(other, "plan.json").has_value()) << field;
  }
}

TEST(Plan, IdsStagesAndSubjectsAreNamesOfFiles) {
  for (const char* field : {"id", "stage", "subject"}) {
    for (const std::string& text :
         {std::string(), std::string("../../../escape"), std::string(".."), std::string("/etc"),
          std::string("a/"), std::string("a\0b", 3), std::string("a\nb"), std::string(300, 'x')}) {
      Json other = PlanToJson(TwoNodes());
      other["nodes"][0][field] = text;
      EXPECT_THAT(PlanFromJson(other, "plan.json"),
                  FailsWith(ErrorCode::kInvalidInput, HasSubstr(fmt::format("the {} '", field))))
          << Json(text).dump();
    }
  }
  Json other = PlanToJson(TwoNodes());
  other["nodes"][0]["version"] = std::int64_t{1} << 40U;
  EXPECT_THAT(PlanFromJson(other, "plan.json"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a version")));
}

TEST(Plan, ANeedComesBefore) {
  Plan plan = TwoNodes();
  std::swap(plan.nodes[0], plan.nodes[1]);
  EXPECT_THAT(CheckPlan(plan), FailsWith(ErrorCode::kInvalidInput, HasSubstr("does not come before it")));
  plan = TwoNodes();
  plan.nodes[1].id = "build/toy";
  plan.nodes[1].needs.clear();
  EXPECT_THAT(CheckPlan(plan), FailsWith(ErrorCode::kInvalidInput, HasSubstr("twice")));
}

}  // namespace
}  // namespace ptpkg::graph
