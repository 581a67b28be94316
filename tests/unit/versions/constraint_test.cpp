// What several match specs admit together.

#include "versions/constraint.h"

#include "support/matchers.h"

namespace ptpkg::versions {
namespace {

std::vector<Constraint> All(const std::vector<const char*>& specs) {
  std::vector<Constraint> constraints;
  for (const char* text : specs) {
    const Result<MatchSpec> spec = MatchSpec::Parse(text);
    EXPECT_OK(spec);
    Result<Constraint> constraint = Constraint::Of(*spec);
    EXPECT_OK(constraint);
    constraints.push_back(*std::move(constraint));
  }
  return constraints;
}

std::vector<Choice> Versions(const std::vector<const char*>& versions) {
  std::vector<Choice> choices;
  for (const char* version : versions) choices.push_back({Version::AnyText(version), "h_0"});
  return choices;
}

TEST(Constraint, JudgesVersionAndBuild) {
  const Choice choice{Version::AnyText("1.2.3"), "py311_0"};
  for (const char* text :
       {"x", "x 1.2.*", "x =1.2", "x * py*", "x 1.2.* ^py3\\d+_0$", "x=1.2.3=py311_0", "x ==1.2.*"}) {
    EXPECT_TRUE(All({text})[0].Admits(choice)) << text;
  }
  // "=1.2" beside a build is exact.
  for (const char* text :
       {"x 1.2", "x >=2", "x * py39*", "x =1.2 py311_0", "x=1.2=py311_0", "x ==1.2.* py311_0"}) {
    EXPECT_FALSE(All({text})[0].Admits(choice)) << text;
  }
  EXPECT_TRUE(All({"x =1.2.* py311_0"})[0].Admits(choice));
}

TEST(FindCollision, NamesTheTwo) {
  const auto choices = Versions({"3", "2", "1"});
  const auto collision = FindCollision(All({"x", "x >=2", "x <3", "x ==1"}), choices);
  ASSERT_TRUE(collision.has_value());
  EXPECT_EQ(collision->first, 1U);
  EXPECT_EQ(collision->second, 3U);
}

TEST(FindCollision, AConstraintCanBeImpossibleAlone) {
  const auto collision = FindCollision(All({"x", "x >=4"}), Versions({"3", "2"}));
  ASSERT_TRUE(collision.has_value());
  EXPECT_EQ(collision->first, 1U);
  EXPECT_EQ(collision->second, 1U);
}

TEST(FindCollision, ThreeCanExcludeEverythingWithoutAPair) {
  const auto choices = Versions({"3", "2", "1"});
  const auto constraints = All({"x 1|2", "x 2|3", "x 1|3"});
  EXPECT_FALSE(FindCollision(constraints, choices).has_value());
}

TEST(CanBeSatisfied, KnowsWithoutPackages) {
  for (const auto& pair : std::vector<std::vector<const char*>>{{"x 3.11.*", "x >=3.11,<3.12.0a0"},
                                                                {"x >=1", "x <=1"},
                                                                {"x >1", "x <1.0.0.1"},
                                                                {"x <1.2", "x =1.2"},
                                                                {"x <1.2a1", "x =1.2"},
                                                                {"x >1.2", "x !=1.2.*", "x <1.3"},
                                                                {"x >1.2.99", "x =1.2"},
                                                                {"x !=1.2.*", "x >=1.2"},
                                                                {"x !=1.2.*", "x >1.1post"},
                                                                {"x !=9.*", "x >=9,<11"},
                                                                {"x ~=1.4.2", "x <1.4.3"},
                                                                {"x 1.*.3", "x 2"},
                                                                {"x * py*", "x * *_0"},
                                                                {"x * py3_0", "x * py*"},
                                                                {"x"}}) {
    EXPECT_TRUE(CanBeSatisfied(All(pair))) << pair.front() << " and " << pair.back();
  }
  for (const auto& pair : std::vector<std::vector<const char*>>{{"x 3.11.*", "x >=3.12,<3.13.0a0"},
                                                                {"x 3.13.*", "x >=3.12,<3.13.0a0"},
                                                                {"x =3.13", "x <3.13.0a0"},
                                                                {"x >1", "x <=1"},
                                                                {"x >1", "x <1"},
                                                                {"x ==1.0", "x >=2"},
                                                                {"x 1.2.*", "x 1.20.*"},
                                                                {"x !=1.2.*", "x =1.2.5"},
                                                                {"x ~=1.4.2", "x >=1.5"},
                                                                {"x * py3_0", "x * py4*"},
                                                                {"x * a", "x * b"},
                                                                {"x >2,<1"}}) {
    EXPECT_FALSE(CanBeSatisfied(All(pair))) << pair.front() << " and " << pair.back();
  }
}

TEST(FindCollision, NeedsNoPackages) {
  const auto collision = FindCollision(All({"x", "x >=3", "x >2,<1"}));
  ASSERT_TRUE(collision.has_value());
  EXPECT_EQ(collision->first, 2U);
  EXPECT_EQ(collision->second, 2U);
  const auto pair = FindCollision(All({"x >=3", "x <4", "x <2"}));
  ASSERT_TRUE(pair.has_value());
  EXPECT_EQ(pair->first, 0U);
  EXPECT_EQ(pair->second, 2U);
  EXPECT_FALSE(FindCollision(All({"x >=3", "x <4"})).has_value());
}

}  // namespace
}  // namespace ptpkg::versions
