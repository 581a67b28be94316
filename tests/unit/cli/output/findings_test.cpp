#include "cli/output/findings.h"

#include <gmock/gmock.h>

namespace ptpkg::cli {
namespace {

using testing::ElementsAre;

std::vector<Report> Reports() {
  const auto finding = [](const char* file, Severity severity, const char* message) {
    return Finding{.id = "an-id", .severity = severity, .file = file, .message = message, .fix = "mend it"};
  };
  return {{.subject = "x.whl",
           .findings = {finding("lib/a.so", Severity::kWarning, "dead entry"),
                        finding("lib/b.so", Severity::kWarning, "dead entry"),
                        finding("lib/c.so", Severity::kWarning, "another"),
                        finding("lib/d.so", Severity::kWarning, "dead entry"),
                        finding("", Severity::kError, "broken")}}};
}

TEST(FindingLines, EqualFindingsOfSeveralFilesAreOneLine) {
  EXPECT_THAT(FindingLines(Reports(), {}),
              ElementsAre("x.whl: error: broken [an-id]", "  fix: mend it",
                          "x.whl:lib/a.so and 2 more: warning: dead entry [an-id]", "  fix: mend it",
                          "x.whl:lib/c.so: warning: another [an-id]", "  fix: mend it"));
}

TEST(FindingLines, AllIsAll) { EXPECT_EQ(FindingLines(Reports(), {.all = true}).size(), 10U); }

TEST(FindingLines, AreBrokenBetweenWords) {
  EXPECT_THAT(FindingLines({{.subject = "x",
                             .findings = {{.id = "an-id",
                                           .severity = Severity::kInfo,
                                           .file = "",
                                           .message = "one two three",
                                           .fix = "do this and that"}}}},
                           {.width = 16}),
              ElementsAre("x: info: one two\n    three\n    [an-id]", "  fix: do this\n    and that"));
}

TEST(CountFindings, NamesEachSeverity) {
  EXPECT_EQ(CountFindings({}), "no findings");
  EXPECT_EQ(CountFindings(Reports()), "1 error, 4 warnings");
}

}  // namespace
}  // namespace ptpkg::cli
