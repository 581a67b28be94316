#include "builder/preflight/jobs.h"

#include <gmock/gmock.h>

namespace ptpkg::builder {
namespace {

constexpr std::uint64_t kGb = 1'000'000'000;

recipe::Recipe With(const std::string& requirement) {
  recipe::Recipe recipe;
  recipe.requirements.build = {{.name = "cmake", .version = "", .build = ""},
                               {.name = "gcc_linux-64", .version = "", .build = ""},
                               {.name = requirement, .version = "", .build = ""}};
  return recipe;
}

TEST(MemoryPerJob, IsThatOfTheDearestCompiler) {
  EXPECT_EQ(MemoryPerJob(With("cuda-nvcc_linux-64"), 0), 3 * kGb);
  EXPECT_EQ(MemoryPerJob(With("cuda_linux-64"), 0), 3 * kGb);
  EXPECT_EQ(MemoryPerJob(With("gxx_linux-64"), 0), kGb * 3 / 2);
  EXPECT_EQ(MemoryPerJob(With("gxx"), 0), kGb * 3 / 2);
  EXPECT_EQ(MemoryPerJob(With("ninja"), 0), kGb / 2);
  EXPECT_EQ(MemoryPerJob({}, 0), 0U);
  EXPECT_EQ(MemoryPerJob(With("gxx"), 5 * kGb), 5 * kGb) << "the recipe knows better";
}

TEST(ChooseJobs, CoresWhereMemoryIsPlenty) {
  const JobChoice choice = ChooseJobs({.granted = 8,
                                       .of_run = 8,
                                       .bytes_per_job = kGb * 3 / 2,
                                       .machine = {.cores = 8, .free_bytes = 30 * kGb}});
  EXPECT_EQ(choice.jobs, 8);
  EXPECT_EQ(choice.told, "8 jobs: 8 cores, memory for 20");
  EXPECT_EQ(choice.warning, "");
}

TEST(ChooseJobs, MemoryLimits) {
  const MachineLimits machine{.cores = 8, .free_bytes = 9 * kGb};
  EXPECT_EQ(ChooseJobs({.granted = 8, .of_run = 8, .bytes_per_job = kGb * 3 / 2, .machine = machine}).told,
            "6 jobs: 8 cores, memory for 6");
  EXPECT_EQ(ChooseJobs({.granted = 8, .of_run = 8, .bytes_per_job = 20 * kGb, .machine = machine}).told,
            "1 job: 8 cores, memory for 0")
      << "never none";
}

TEST(ChooseJobs, ControlGroupsLimitBoth) {
  const MachineLimits machine{.cores = 64,
                              .group_cores = 3.5,
                              .free_bytes = 200 * kGb,
                              .group_limit_bytes = 5 * kGb,
                              .group_free_bytes = 4 * kGb};
  const JobChoice choice =
      ChooseJobs({.granted = 4, .of_run = 4, .bytes_per_job = kGb * 3 / 2, .machine = machine});
  EXPECT_EQ(choice.jobs, 2);
  EXPECT_EQ(choice.told, "2 jobs: 4 of 64 cores, limited by the cgroup, memory for 2, limited by the cgroup");
  EXPECT_EQ(choice.free_bytes, 4 * kGb);
}

TEST(ChooseJobs, NodesSideBySideShareTheMemory) {
  const MachineLimits machine{.cores = 8, .free_bytes = 12 * kGb};
  const JobChoice choice =
      ChooseJobs({.granted = 4, .of_run = 8, .bytes_per_job = 2 * kGb, .machine = machine});
  EXPECT_EQ(choice.jobs, 3);
  EXPECT_EQ(choice.free_bytes, 6 * kGb);
  EXPECT_EQ(choice.told, "3 jobs: 8 cores, 4 for this build, memory for 3");
}

TEST(ChooseJobs, TheUsersNumberIsKept) {
  const MachineLimits machine{.cores = 8, .free_bytes = 9 * kGb};
  const JobChoice choice =
      ChooseJobs({.granted = 16, .of_run = 16, .given = true, .bytes_per_job = 3 * kGb, .machine = machine});
  EXPECT_EQ(choice.jobs, 16);
  EXPECT_EQ(choice.told, "16 jobs: --jobs 16");
  EXPECT_EQ(choice.warning,
            "16 jobs of 3.0 GB each can need more than the 9.0 GB of free memory: use --jobs 3");
  EXPECT_EQ(
      ChooseJobs({.granted = 2, .of_run = 2, .given = true, .bytes_per_job = 3 * kGb, .machine = machine})
          .warning,
      "");
}

TEST(ChooseJobs, WhatIsNotKnownLimitsNothing) {
  EXPECT_EQ(ChooseJobs({.granted = 8, .of_run = 8, .bytes_per_job = kGb, .machine = {.cores = 8}}).told,
            "8 jobs: 8 cores");
  EXPECT_EQ(ChooseJobs({.granted = 8, .of_run = 8, .machine = {.cores = 8, .free_bytes = 1}}).told,
            "8 jobs: 8 cores");
}

}  // namespace
}  // namespace ptpkg::builder
