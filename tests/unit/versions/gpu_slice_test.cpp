// GPUs of slices: what a user writes, and what stands in names.

#include "versions/gpu_slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::versions {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::IsOkAndHolds;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

using Gpus = std::vector<std::uint32_t>;

TEST(GpuSliceTexts, InEveryForm) {
  const std::vector<std::pair<const char*, Gpus>> rows = {
      {"9.0", {90}}, {"12.1", {121}}, {"90", {90}}, {"sm_100", {100}}, {"sm86", {86}}, {"8.6+8.0", {80, 86}}};
  for (const auto& [text, gpus] : rows) {
    EXPECT_THAT(ParseGpuSlice(text), IsOkAndHolds(Field(&GpuSlice::gpus, gpus))) << text;
  }
}

TEST(GpuSliceTexts, WhatIsNoGpuIsRefusedByName) {
  for (const char* text :
       {"", "hopper", "9.", ".9", "9.00", "0.9", "+", "8.0+", "8.0,8.6", "-9.0", "90000"}) {
    EXPECT_THAT(ParseGpuSlice(text), FailsWith(ErrorCode::kInvalidInput, HasSubstr("unknown GPU"))) << text;
  }
  EXPECT_THAT(ParseGpuSlice("9.7"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("unknown compute capability 9.7")));
  EXPECT_THAT(ParseGpuSlice("9.0a"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is a code architecture, not a GPU")));
  EXPECT_THAT(ParseGpuSlice("8.0+80"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("lists 8.0 twice")));
  EXPECT_THAT(ParseGpuSlices({"8.0+8.6", "86+80"}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("slice for 8.0+8.6 is given twice")));
}

TEST(GpuSliceTexts, NamesAndBack) {
  const GpuSlice slice{.gpus = {80, 121}};
  EXPECT_EQ(slice.Label(), "sm80.sm121");
  EXPECT_EQ(slice.str(), "8.0+12.1");
  EXPECT_THAT(ParseGpuSlice(slice.str()), IsOkAndHolds(slice));
}

TEST(GpuSliceTexts, AnEarlierLabelGoes) {
  EXPECT_EQ(WithoutLabel("cu130.sm80.sm86", '.'), "cu130");
  EXPECT_EQ(WithoutLabel("cu130", '.'), "cu130");
  EXPECT_EQ(WithoutLabel("sm90", '.'), "");
  EXPECT_EQ(WithoutLabel("", '.'), "");
  EXPECT_EQ(WithoutLabel("h1_0_sm90", '_'), "h1_0");
  EXPECT_EQ(WithoutLabel("smart.sm", '.'), "smart.sm");
}

TEST(CudaVersions, HaveTwoNumbers) {
  for (const char* version : {"13.0", "9.2", "12.10"})
    EXPECT_THAT(ParseCudaVersion(version), IsOkAndHolds(std::string(version)));
  for (const char* wrong : {"", "13", "13.", ".0", "13.0.1", "cu130", "1300.0"}) {
    EXPECT_THAT(ParseCudaVersion(wrong),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a CUDA version")))
        << wrong;
  }
}

TEST(GpuSlice, OfAmdIsRefusedByName) {
  for (const char* text : {"gfx90a", "gfx90a:xnack-", "9.0+gfx1100"}) {
    EXPECT_THAT(ParseGpuSlice(text), FailsWith(ErrorCode::kInvalidInput,
                                               HasSubstr("is an AMD GPU: ptpkg does not slice AMD code")));
  }
}

}  // namespace
}  // namespace ptpkg::versions
