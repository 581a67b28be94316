#include "graph/scheduler.h"

#include <array>
#include <gtest/gtest.h>

namespace ptpkg::graph {
namespace {

constexpr JobUse kNone = JobUse::kNone;
constexpr JobUse kOne = JobUse::kOne;
constexpr JobUse kShare = JobUse::kShare;

TEST(JobBudget, SharesJobsEvenlyAmongParallelNodes) {
  JobBudget budget(8);
  const std::array ready = {kShare, kShare};
  const int share = budget.FairShare(ready);
  EXPECT_EQ(share, 4);
  EXPECT_EQ(budget.Grant(ready, share), 4);
  budget.Begin(kShare, 4);
  EXPECT_EQ(budget.Grant(std::span(ready).subspan(1), share), 4);
}

TEST(JobBudget, LeavesOneJobForEachReadyNodeThatTakesOne) {
  const JobBudget budget(8);
  const std::array ready = {kShare, kOne, kNone, kOne};
  EXPECT_EQ(budget.FairShare(ready), 8);
  EXPECT_EQ(budget.Grant(ready, 8), 6);
  EXPECT_EQ(budget.Grant(std::span(ready).subspan(1), 8), 1);
}

TEST(JobBudget, LetsAParallelNodeWaitForTwoThirdsOfItsShare) {
  JobBudget budget(8);
  const std::array ready = {kShare};
  budget.Begin(kOne, 1);
  budget.Begin(kOne, 1);
  EXPECT_EQ(budget.Grant(ready, budget.FairShare(ready)), 6);
  budget.Begin(kOne, 1);
  EXPECT_EQ(budget.Grant(ready, budget.FairShare(ready)), 0);
  budget.End(kOne, 1);
  EXPECT_EQ(budget.Grant(ready, budget.FairShare(ready)), 6);
}

TEST(JobBudget, CountsRunningParallelNodesInTheShare) {
  JobBudget budget(8);
  const std::array ready = {kShare};
  budget.Begin(kShare, 5);
  EXPECT_EQ(budget.FairShare(ready), 4);
  EXPECT_EQ(budget.Grant(ready, 4), 3);
  budget.End(kShare, 5);
  EXPECT_EQ(budget.FairShare(ready), 8);
}

TEST(JobBudget, LightNodesTakeNoJob) {
  JobBudget budget(1);
  budget.Begin(kNone, 0);
  EXPECT_FALSE(budget.IsIdle());
  EXPECT_EQ(budget.Grant(std::array{kOne}, 1), 1);
  budget.End(kNone, 0);
  EXPECT_TRUE(budget.IsIdle());
}

TEST(JobBudget, GrantsNothingWithoutAFreeJob) {
  JobBudget budget(1);
  budget.Begin(kOne, 1);
  EXPECT_EQ(budget.Grant(std::array{kOne}, 1), 0);
  EXPECT_EQ(budget.Grant(std::array{kShare}, 1), 0);
}

}  // namespace
}  // namespace ptpkg::graph
