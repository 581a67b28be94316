#include "model/finding.h"

#include <gtest/gtest.h>

#include "support/limits.h"

namespace ptpkg {
namespace {

Finding Make(const std::string& id, Severity severity, std::size_t number) {
  return {.id = id, .severity = severity, .file = std::to_string(number), .message = "m", .fix = "f"};
}

TEST(LimitFindings, ListsTheFirstAndCountsTheRest) {
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < 1000; ++i) {
    findings.push_back(Make("many", Severity::kError, i));
    if (i < 3) findings.push_back(Make("few", Severity::kWarning, i));
    if (i < limits::kFindingsOfAKind) findings.push_back(Make("many", Severity::kWarning, i));
  }
  LimitFindings(findings);
  ASSERT_EQ(findings.size(), 2 * limits::kFindingsOfAKind + 4);
  EXPECT_EQ(findings.front().file, "0");
  EXPECT_EQ(findings.back().id, "many");
  EXPECT_EQ(findings.back().severity, Severity::kError);
  EXPECT_EQ(findings.back().more, 1000 - limits::kFindingsOfAKind);
  EXPECT_EQ(findings.back().message, "and 800 more of this kind");
  EXPECT_EQ(CountFindings(findings, Severity::kError), 1000U);
  EXPECT_EQ(CountFindings(findings, Severity::kWarning), limits::kFindingsOfAKind + 3);
  const std::vector<Finding> once = findings;
  LimitFindings(findings);
  EXPECT_EQ(findings, once);
}

TEST(LimitFindings, ListsOfSeveralChecksAreAddedUp) {
  std::vector<Finding> findings;
  for (int check = 0; check < 3; ++check) {
    LimitedFindings list(findings);
    for (std::size_t i = 0; i < 300; ++i) list.Add(Make("many", Severity::kError, i));
  }
  EXPECT_EQ(findings.size(), 3 * (limits::kFindingsOfAKind + 1));
  LimitFindings(findings);
  EXPECT_EQ(findings.size(), limits::kFindingsOfAKind + 1);
  EXPECT_EQ(findings.back().more, 700U);
  EXPECT_EQ(CountFindings(findings, Severity::kError), 900U);
}

}  // namespace
}  // namespace ptpkg
