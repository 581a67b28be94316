// variant.json of wheels and of an index: what is read, what is refused, what two wheels may say.

#include "wheel/variant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/text/text.h"

namespace ptpkg::wheel {
namespace {

using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;
using testing::HasSubstr;

VariantDocument Hopper() {
  return {.namespaces = {"nvidia", "x86_64"},
          .variants = {
              {"sm90", {{"nvidia", {{"cuda_version_lower_bound", {"13.0"}}, {"sm_arch", {"90_real"}}}}}}}};
}

VariantDocument Null() { return {.namespaces = {"nvidia", "x86_64"}, .variants = {{"null", {}}}}; }

TEST(VariantDocument, IsTheTextOfTheDraft) {
  EXPECT_EQ(FormatVariantDocument(Hopper()), R"({
  "$schema": "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json",
  "default-priorities": {
    "namespace": [
      "nvidia",
      "x86_64"
    ]
  },
  "variants": {
    "sm90": {
      "nvidia": {
        "cuda_version_lower_bound": [
          "13.0"
        ],
        "sm_arch": [
          "90_real"
        ]
      }
    }
  }
}
)");
}

TEST(VariantDocument, IsReadAsItWasWritten) {
  EXPECT_THAT(ParseVariantDocument(FormatVariantDocument(Hopper()), "x"), IsOkAndHolds(Hopper()));
  EXPECT_THAT(ParseVariantDocument(FormatVariantDocument(Null()), "x"), IsOkAndHolds(Null()));
  EXPECT_THAT(ParseWheelVariant(FormatVariantDocument(Null()), "null", "x"), IsOkAndHolds(Null()));
}

TEST(VariantDocument, WhatIsNoneIsRefused) {
  const std::string good = FormatVariantDocument(Hopper());
  const auto with = [&](const char* from, const char* to) { return ReplaceAll(good, from, to); };
  const std::vector<std::pair<std::string, const char*>> rows = {
      {"[]", "is not an object"},
      {with("\"$schema\"", "\"schema\""), "$schema"},
      {with("\"default-priorities\"", "\"priorities\""), "the key 'priorities' is not of this format"},
      {with("\"namespace\"", "\"name\""), "has no list 'default-priorities.namespace'"},
      {with("\"x86_64\"", "\"nvidia\""), "'nvidia' in the list of namespaces"},
      {with("\"variants\"", "\"providers\""), "the key 'providers' is not of this format"},
      {with("\"namespace\": [", "\"feature\": [], \"namespace\": ["),
       "the key 'default-priorities.feature' is not of"},
      {with("\n      \"nvidia\",\n      \"x86_64\"\n    ", ""), "the list of namespaces is empty"},
      {with("\"sm90\"", "\"SM90\""), "'SM90' is not a label"},
      {with("\"sm90\"", "\"null\""), "the variant 'null' has some properties"},
      {with("\"sm_arch\"", "\"sm-arch\""), "'sm-arch' is not a feature"},
      {with("90_real", "90 real"), "'nvidia :: sm_arch' has no values, or wrong ones"},
      {with("\n          \"90_real\"\n        ", ""), "has no values, or wrong ones"},
      {with("[\n      \"nvidia\",", "["), "the namespace 'nvidia' is not in 'default-priorities'"},
      {good + "x", "toy.whl"}};
  for (const auto& [text, why] : rows) {
    EXPECT_THAT(ParseVariantDocument(text, "toy.whl"), FailsWith(ErrorCode::kInvalidInput, HasSubstr(why)))
        << text;
  }
  EXPECT_THAT(ParseVariantDocument(with("v0.1.1", "v1.0.0"), "toy.whl"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("v1.0.0.json' is not supported")));
}

TEST(WheelVariant, SaysTheLabelOfTheFileName) {
  const std::string text = FormatVariantDocument(Hopper());
  EXPECT_THAT(ParseWheelVariant(text, "sm90", "x"), IsOk());
  EXPECT_THAT(ParseWheelVariant(text, "sm80", "x"),
              FailsWith(ErrorCode::kInvalidInput,
                        HasSubstr("it lists the variants 'sm90', but the file name has 'sm80'")));
  EXPECT_THAT(ParseWheelVariant("", "sm90", "x"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("the variant 'sm90' has no variant.json")));
}

TEST(MergedVariants, HaveOneMeaningForEachLabel) {
  VariantDocument all = Hopper();
  EXPECT_THAT(MergeVariants(all, Hopper(), "b.whl"), IsOk());
  EXPECT_THAT(MergeVariants(all, Null(), "c.whl"), IsOk());
  EXPECT_EQ(all.variants.size(), 2U);

  VariantDocument other = Hopper();
  other.variants["sm90"]["nvidia"]["sm_arch"] = {"80_real"};
  EXPECT_THAT(
      MergeVariants(all, other, "d.whl"),
      FailsWith(ErrorCode::kInvalidInput, HasSubstr("d.whl: the variant 'sm90' has other properties")));
  VariantDocument twin = Hopper();
  twin.variants = {{"hopper", twin.variants["sm90"]}};
  EXPECT_THAT(MergeVariants(all, twin, "d.whl"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'hopper' and 'sm90' have the same properties")));
  VariantDocument order = Null();
  order.namespaces = {"x86_64", "nvidia"};
  EXPECT_THAT(MergeVariants(all, order, "d.whl"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("order of namespaces")));
  EXPECT_EQ(all.variants.size(), 2U);
}

TEST(MergedVariants, TheLongerListOfNamespacesStays) {
  VariantDocument all = {.namespaces = {"nvidia"}, .variants = {{"null", {}}}};
  EXPECT_THAT(MergeVariants(all, Hopper(), "b.whl"), IsOk());
  EXPECT_EQ(all.namespaces, (std::vector<std::string>{"nvidia", "x86_64"}));
  EXPECT_EQ(VariantsFileName("toy-1.0"), "toy-1.0-variants.json");
}

}  // namespace
}  // namespace ptpkg::wheel
