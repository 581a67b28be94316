// Lists of GPU architectures in the three forms that people know, and lists for some files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "versions/cuda_archs.h"

namespace ptpkg::versions {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::IsOkAndHolds;
using testing::HasSubstr;

using Names = ArchitectureNames;

TEST(DeviceArchitectures, InEveryForm) {
  struct Row {
    const char* text;
    Names sass;
    Names ptx;
  };
  const std::vector<Row> rows = {
      {"8.0;9.0a+PTX", {"sm_80", "sm_90a"}, {"compute_90a"}},
      {"7.5 8.0,10.0f 12.1+PTX", {"sm_75", "sm_80", "sm_100f", "sm_121"}, {"compute_121"}},
      {"80-real;90-virtual", {"sm_80"}, {"compute_90"}},
      {"90", {"sm_90"}, {"compute_90"}},
      {"100a", {"sm_100a"}, {"compute_100a"}},
      {"sm_90;compute_90", {"sm_90"}, {"compute_90"}},
      {";8.0;;8.0\n", {"sm_80"}, {}},
      {"compute_90a", {}, {"compute_90a"}},
      {"gfx90a;gfx1100,gfx9-4-generic", {"gfx9-4-generic", "gfx90a", "gfx1100"}, {}},
      {"gfx942:xnack+:sramecc- amdgcnspirv", {"gfx942:sramecc-:xnack+"}, {"amdgcnspirv"}},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(ParseDeviceArchitectures(row.text),
                IsOkAndHolds(DeviceArchitectures{.sass = row.sass, .ptx = row.ptx}))
        << row.text;
  }
}

TEST(DeviceArchitectures, AreInTheOrderOfTheirNumbers) {
  ASSERT_OK_AND_ASSIGN(const auto list, ParseDeviceArchitectures("12.0 9.0a 10.0 8.0 9.0 10.0f"));
  EXPECT_THAT(list.sass, testing::ElementsAre("sm_80", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_120"));
}

TEST(DeviceArchitectures, OtherWordsAreRefused) {
  for (const char* text : {"native",
                           "all",
                           "all-major",
                           "Hopper",
                           "9",
                           "9.",
                           "9.00",
                           ".9",
                           "90b",
                           "9.0+ptx",
                           "90+PTX",
                           "sm90",
                           "sm_",
                           "sm_9.0",
                           "compute_90-real",
                           "1000",
                           "0.9",
                           "90-real-virtual",
                           "-real",
                           "a",
                           "9.0a+PTX+PTX",
                           "8.0:9.0",
                           "9..0",
                           "\xc3\xa9",
                           "gfx",
                           "gfx90a:xnack",
                           "gfx90a:xnack+:xnack-",
                           "gfx9-",
                           "GFX90A",
                           "gfx90a:",
                           "gfxa"}) {
    EXPECT_THAT(ParseDeviceArchitectures(text),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("unknown GPU architecture")))
        << text;
  }
  for (const char* text : {"", " ; ", ",", "more"}) {
    EXPECT_THAT(ParseDeviceArchitectures(text),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("lists no GPU")));
  }
  EXPECT_THAT(ParseDeviceArchitectures("x").error().hint(), HasSubstr("TORCH_CUDA_ARCH_LIST"));
}

TEST(DeviceCodeRequest, ListsForAllFilesAreOne) {
  ASSERT_OK_AND_ASSIGN(const DeviceCodeRequest request, DeviceCodeRequest::Parse({"8.0", "9.0+PTX"}));
  EXPECT_TRUE(request.RequestsCode());
  ASSERT_NE(request.Of("lib/liba.so"), nullptr);
  EXPECT_EQ(*request.Of("lib/liba.so"),
            (DeviceArchitectures{.sass = {"sm_80", "sm_90"}, .ptx = {"compute_90"}}));
}

TEST(DeviceCodeRequest, TheFirstGlobDecides) {
  ASSERT_OK_AND_ASSIGN(
      const DeviceCodeRequest request,
      DeviceCodeRequest::Parse({"8.0", "torch/lib/libb*.so = 9.0", "libb1.so=7.5", "libv*=any"}));
  const auto sass = [&](const char* file) {
    const DeviceArchitectures* asked = request.Of(file);
    return asked == nullptr ? Names{"nothing"} : asked->sass;
  };
  EXPECT_EQ(sass("torch/lib/liba.so"), Names{"sm_80"});
  EXPECT_EQ(sass("torch/lib/libb1.so"), Names{"sm_90"});
  EXPECT_EQ(sass("lib/python3.11/site-packages/torch/lib/libb1.so"), Names{"sm_90"});
  EXPECT_EQ(sass("xtorch/lib/libb1.so"), Names{"sm_75"});
  EXPECT_EQ(sass("libb1.so"), Names{"sm_75"});
  EXPECT_EQ(sass("lib/libvendor.so.3"), Names{"nothing"});
}

TEST(DeviceCodeRequest, AnyAsksForNothing) {
  for (const std::vector<std::string>& texts :
       {std::vector<std::string>{}, {"any"}, {" any "}, {"*.so=any"}}) {
    ASSERT_OK_AND_ASSIGN(const DeviceCodeRequest request, DeviceCodeRequest::Parse(texts));
    EXPECT_FALSE(request.RequestsCode());
    EXPECT_EQ(request.Of("lib/liba.so"), nullptr);
  }
  ASSERT_OK_AND_ASSIGN(const DeviceCodeRequest some, DeviceCodeRequest::Parse({"any", "liba.so=8.0"}));
  EXPECT_TRUE(some.RequestsCode());
  EXPECT_EQ(some.Of("libb.so"), nullptr);
  EXPECT_NE(some.Of("liba.so"), nullptr);
}

TEST(DeviceCodeRequest, MachineCodeOfAllLists) {
  ASSERT_OK_AND_ASSIGN(
      const DeviceCodeRequest request,
      DeviceCodeRequest::Parse({"8.0;90-virtual", "liba.so=10.0f;8.0", "libb.so=any", "12.0"}));
  EXPECT_EQ(request.Sass(), (ArchitectureNames{"sm_80", "sm_100f", "sm_120"}));
  ASSERT_OK_AND_ASSIGN(const DeviceCodeRequest none, DeviceCodeRequest::Parse({"any"}));
  EXPECT_TRUE(none.Sass().empty());
}

TEST(DeviceCodeRequest, Refusals) {
  EXPECT_THAT(DeviceCodeRequest::Parse({"any", "8.0"}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is combined with")));
  EXPECT_THAT(DeviceCodeRequest::Parse({"=8.0"}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("has no file glob")));
  EXPECT_THAT(DeviceCodeRequest::Parse({"liba.so="}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("lists no GPU")));
  EXPECT_THAT(DeviceCodeRequest::Parse({"liba.so=x"}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("unknown GPU architecture 'x'")));
  EXPECT_THAT(DeviceCodeRequest::Parse({""}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("write 'any' for none")));
}

}  // namespace
}  // namespace ptpkg::versions
