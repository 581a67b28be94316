#include "convert/projects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "convert/layouts.h"
#include "support/matchers.h"

namespace ptpkg::convert {
namespace {

wheel::CoreMetadata Torch(const std::vector<std::string>& requirements) {
  wheel::CoreMetadata metadata;
  metadata.Set("Name", "torch");
  for (const std::string& requirement : requirements) metadata.Add("Requires-Dist", requirement);
  return metadata;
}

TEST(Projects, BuildStringsAreThoseOfThePytorchChannel) {
  const PackageNumbers numbers{.python = "3.11", .build_number = 2};
  EXPECT_EQ(CustomOf(Torch({"filelock"}), numbers).conda_build_string, "py3.11_cpu_2");
  EXPECT_EQ(CustomOf(Torch({"cuda-toolkit[cublas]==13.2.2", "nvidia-cudnn-cu13==9.26.0.51"}), numbers)
                .conda_build_string,
            "py3.11_cuda13.2.2_cudnn9.26.0.51_2");
  EXPECT_EQ(CustomOf(Torch({"nvidia-cuda-runtime-cu12==12.4.127"}), numbers).conda_build_string,
            "py3.11_cuda12.4.127_2");
  EXPECT_EQ(CustomOf(Torch({"cuda-toolkit>=13"}), numbers).conda_build_string, "py3.11_cpu_2") << "not a pin";
}

TEST(Projects, LayoutsFollowTheRequirements) {
  const PackageNumbers numbers{.python = "3.11"};
  EXPECT_EQ(CustomOf(Torch({}), numbers).conda_layout, "pytorch-conda");
  EXPECT_EQ(CustomOf(Torch({}), numbers).wheel_layout, "pytorch-wheel-cpu");
  EXPECT_EQ(CustomOf(Torch({"nvidia-nccl-cu12==2.21.5"}), numbers).wheel_layout, "pytorch-wheel-cuda12");
  EXPECT_EQ(CustomOf(Torch({"cuda-toolkit==13.2.2"}), numbers).wheel_layout, "pytorch-wheel-cuda13");
  EXPECT_EQ(CustomOf(Torch({"pytorch-triton-rocm==3.1"}), numbers).wheel_layout, "pytorch-wheel-rocm");
  for (const char* requirement : {"x", "a-cu12", "rocm-sdk", "cuda-toolkit"}) {
    EXPECT_THAT(BuiltInLayout(CustomOf(Torch({requirement}), numbers).wheel_layout), test::IsOk())
        << requirement;
  }
  EXPECT_THAT(BuiltInLayout(CustomOf(Torch({}), numbers).conda_layout), test::IsOk());
}

TEST(Projects, OthersHaveNoCustom) {
  wheel::CoreMetadata metadata;
  metadata.Set("Name", "numpy");
  const ProjectCustom custom = CustomOf(metadata, {.python = "3.11"});
  EXPECT_EQ(custom.conda_layout, "");
  EXPECT_EQ(custom.conda_build_string, "");
  EXPECT_EQ(custom.wheel_layout, "");
}

}  // namespace
}  // namespace ptpkg::convert
