// Lists of GPU architectures for TORCH_CUDA_ARCH_LIST, from the spellings of CMake and nvcc.

#include "versions/torch_archs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::versions {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::IsOkAndHolds;
using testing::HasSubstr;

TEST(TorchArchitectures, AnySpellingBecomesOneList) {
  const std::pair<const char*, const char*> cases[] = {
      {"8.0 9.0+PTX", "8.0;9.0+PTX"},
      {"sm_100;sm_90a", "9.0a;10.0"},
      {"80-real;90", "8.0;9.0+PTX"},
      {"gfx942;gfx90a", "gfx90a;gfx942"},
      {"-gencode arch=compute_80,code=sm_80", "8.0"},
      {"-gencode=arch=compute_90,code=[sm_90,compute_90] --generate-code arch=compute_80,code=sm_80",
       "8.0;9.0+PTX"},
      {"--generate-code=arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a",
       "9.0a+PTX"}};
  for (const auto& [text, list] : cases) EXPECT_THAT(TorchArchitectures(text), IsOkAndHolds(list)) << text;
}

TEST(TorchArchitectures, RefusesWhatTheListCannotExpress) {
  const std::pair<const char*, const char*> cases[] = {
      {"compute_90", "cannot express 'compute_90' alone"},
      {"8.0;more", "cannot express 'more' alone"},
      {"-gencode arch=compute_80,code=sm_86", "of one GPU architecture"},
      {"-gencode arch=compute_80", "of one GPU architecture"},
      {"-gencode arch=compute_80,code=[sm_80", "of one GPU architecture"},
      {"-gencode arch=x,code=sm_80", "of one GPU architecture"},
      {"-gencodes=arch=compute_80,code=sm_80", "unknown GPU architecture"},
      {"", "lists no GPU"}};
  for (const auto& [text, why] : cases)
    EXPECT_THAT(TorchArchitectures(text), FailsWith(ErrorCode::kInvalidInput, HasSubstr(why))) << text;
}

}  // namespace
}  // namespace ptpkg::versions
