// extra.ptpkg.slices: every form, and every refusal at its place.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recipe/expression/evaluate_recipe.h"
#include "support/matchers.h"
#include "unit/recipe/fake_variants.h"

namespace ptpkg::recipe {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::FakeVariants;
using ::ptpkg::test::HasHint;
using ::ptpkg::test::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SlicesTest : public ::testing::Test {
 protected:
  /// Of a recipe whose extra.ptpkg has the line `more` before that of the slices.
  Result<GpuSlices> Slices(const std::string& value, const std::string& more = "resume: true",
                           const std::string& build = "") {
    const std::string text = "package: {name: toy, version: \"1\"}\n" + build + "extra:\n  ptpkg:\n    " +
                             more + "\n    slices: " + value + "\n";
    PTPKG_TRY(const Document document, ParseDocument(text, AbsPath::Literal("/r/recipe.yaml")));
    PTPKG_TRY(const Evaluation evaluation,
              Evaluate(document, {"linux-64", variants_, environment_, "1234567", "", {}}));
    return evaluation.recipe.ptpkg.slices;
  }
  Result<std::vector<std::string>> Gpus(const std::string& value, const std::string& more = "resume: true") {
    PTPKG_TRY(const GpuSlices slices, Slices(value, more));
    return slices.gpus;
  }

  FakeVariants variants_{{{"cuda", Value("13.0")}, {"backend", Value("cpu")}}};
  std::map<std::string, std::string> environment_;
};

TEST_F(SlicesTest, AListIsTheShortForm) {
  EXPECT_THAT(Gpus("9.0"), IsOkAndHolds(ElementsAre("9.0")));
  EXPECT_THAT(Gpus("[9.0, 8.6+8.0, sm_100, \"${{ 12 }}.0\"]"),
              IsOkAndHolds(ElementsAre("9.0", "8.0+8.6", "10.0", "12.0")));
  for (const char* none : {"[]", "${{ '' }}", "[{if: backend == 'cuda', then: [9.0]}]", "{gpus: []}"})
    EXPECT_THAT(Gpus(none), IsOkAndHolds(IsEmpty())) << none;
  EXPECT_THAT(Gpus("[{if: backend == 'cuda', then: [9.0], else: [8.0, 7.5]}]"),
              IsOkAndHolds(ElementsAre("8.0", "7.5")));
}

TEST_F(SlicesTest, AMappingSaysHow) {
  ASSERT_OK_AND_ASSIGN(const GpuSlices slices, Slices("{gpus: [9.0], ptx: keep, compact: true, variant: "
                                                      "true, cuda: \"${{ cuda }}\", allow: libnccl.so*}"));
  EXPECT_THAT(slices.gpus, ElementsAre("9.0"));
  EXPECT_TRUE(slices.keep_ptx);
  EXPECT_TRUE(slices.compact);
  EXPECT_TRUE(slices.variant);
  EXPECT_EQ(slices.cuda, "13.0");
  EXPECT_THAT(slices.allow, ElementsAre("libnccl.so*"));
  ASSERT_OK_AND_ASSIGN(const GpuSlices plain,
                       Slices("{gpus: 9.0, ptx: drop, variant: false, cuda: \"${{ '' }}\"}"));
  EXPECT_FALSE(plain.keep_ptx);
  EXPECT_FALSE(plain.compact);
  EXPECT_FALSE(plain.variant);
  EXPECT_EQ(plain.cuda, "");
}

TEST_F(SlicesTest, EachIsTheGpusOfTheDeviceCode) {
  EXPECT_THAT(Gpus("each", "device_code: \"8.0;9.0;9.0a;10.0f+PTX;more\""),
              IsOkAndHolds(ElementsAre("8.0", "9.0", "10.0")));
  EXPECT_THAT(
      Gpus("{gpus: each}", "device_code: [\"86-real;90-virtual\", \"libb.so=sm_75\", \"libc.so=any\"]"),
      IsOkAndHolds(ElementsAre("7.5", "8.6")));
  EXPECT_THAT(Gpus("each", "device_code: any"), IsOkAndHolds(IsEmpty()))
      << "a variant without GPU code needs no branch";
  for (const char* unknown : {"resume: true", "device_code: 90-virtual"}) {
    EXPECT_THAT(Gpus("each", unknown), FailsWith(ErrorCode::kInvalidInput, HasSubstr("which lists none")))
        << unknown;
  }
  EXPECT_THAT(Gpus("each", "device_code: sm_97"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("unknown compute capability 9.7")));
}

TEST_F(SlicesTest, WhatIsRefusedIsNamedAtItsPlace) {
  struct Row {
    const char* value;
    const char* says;
    int column;
  };
  const std::vector<Row> rows = {
      {"hopper", "unknown GPU 'hopper'", 13},
      {"gfx90a", "'gfx90a' is an AMD GPU: ptpkg does not slice AMD code", 13},
      {"\"\"", "unknown GPU ''", 13},
      {"[9.0, 9.0a]", "'9.0a' is a code architecture, not a GPU", 19},
      {"[8.0, 9.7]", "unknown compute capability 9.7", 19},
      {"[8.0, 9.0, 80]", "the slice for 8.0 is given twice", 24},
      {"[8.0+80]", "lists 8.0 twice", 14},
      {"[9.0, each]", "'each' cannot be combined with other slices", 19},
      {"{ptx: keep}", "'extra.ptpkg.slices' has no 'gpus'", 13},
      {"{gpus: 9.0, ptx: some}", "'extra.ptpkg.slices.ptx' is 'keep' or 'drop', not 'some'", 30},
      {"{gpus: 9.0, compact: some}", "'compact' is true or false", 34},
      {"{gpus: 9.0, variant: maybe}", "'variant' is true or false", 34},
      {"{gpus: 9.0, variant: true, cuda: cu130}", "'cu130' is not a CUDA version", 46},
      {"{gpus: 9.0, cuda: 13.0}", "'extra.ptpkg.slices.cuda' applies to variant wheels only", 31},
      {"{gpus: 9.0, in_place: true}", "unknown key 'in_place' in 'extra.ptpkg.slices'", 25},
      {"[{if: \"false\", then: {gpus: 9.0}}]", "expected text as an item of 'extra.ptpkg.slices'", 34},
  };
  for (const Row& row : rows) {
    const auto refused = Slices(row.value);
    ASSERT_THAT(refused, FailsWith(ErrorCode::kInvalidInput, HasSubstr(row.says))) << row.value;
    ASSERT_TRUE(refused.error().span().has_value()) << row.value;
    EXPECT_EQ(refused.error().span()->column, row.column) << row.value;
  }
}

TEST_F(SlicesTest, OfWhatHasNoneTheyAreRefused) {
  const std::string zip = "formats: [zip]\n    zip: {name: toy}";
  EXPECT_THAT(Slices("9.0", zip),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'formats' lists only 'zip'")));
  EXPECT_THAT(Gpus("[]", zip), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(Gpus("9.0", "formats: [zip, tar.bz2]\n    zip: {name: toy}"), IsOkAndHolds(ElementsAre("9.0")));
  EXPECT_THAT(Slices("{gpus: 9.0, variant: true}", "formats: [conda]"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("which 'formats' does not list")));
  const auto noarch = Slices("9.0", "resume: true", "build: {noarch: generic}\n");
  EXPECT_THAT(noarch, FailsWith(ErrorCode::kInvalidInput, HasSubstr("a noarch package")));
  EXPECT_THAT(noarch, HasHint(HasSubstr("remove 'slices'")));
}

}  // namespace
}  // namespace ptpkg::recipe
