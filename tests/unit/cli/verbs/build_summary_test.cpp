#include "cli/verbs/build_summary.h"

#include <gmock/gmock.h>

namespace ptpkg::cli {
namespace {

using testing::ElementsAre;

TEST(SummaryLine, SaysSizesRatioFolderFindingsAndTime) {
  pipeline::BuildSummary summary;
  summary.artifacts = {{.path = "a", .size_bytes = 1'000'000, .unpacked_bytes = 3'000'000},
                       {.path = "b", .size_bytes = 500'000, .unpacked_bytes = 3'000'000}};
  summary.stages = {{.stage = "conda", .subject = "a", .ran = true}};
  summary.reports = {
      {.subject = "a",
       .findings = {{.id = "x", .severity = Severity::kWarning, .file = "", .message = "m", .fix = ""}}}};
  EXPECT_EQ(SummaryLine(summary, {.output = "/x/dist", .seconds = 12}),
            "2 artifacts in '/x/dist': 1.5 MB, 25% of 6.0 MB unpacked; 1 warning; 12 s");
  summary.artifacts.pop_back();
  summary.artifacts.front().unpacked_bytes = 6;
  EXPECT_EQ(SummaryLine(summary, {.output = "/x/dist", .seconds = 1}),
            "1 artifact in '/x/dist': 1.0 MB, 6 B unpacked; 1 warning; 1.0 s");
  summary.artifacts.front().unpacked_bytes = 0;
  summary.reports.clear();
  EXPECT_EQ(SummaryLine(summary, {.output = "/x/dist", .seconds = 1}),
            "1 artifact in '/x/dist': 1.0 MB; no findings; 1.0 s");
  summary.stages.front().ran = false;
  EXPECT_EQ(SummaryLine(summary, {.output = "/x/dist", .seconds = 1}),
            "1 artifact in '/x/dist': 1.0 MB; everything was already there; 1.0 s");
}

TEST(SummaryLine, SaysHowManyObjectsTheCompilerCacheHad) {
  pipeline::BuildSummary summary;
  summary.artifacts = {{.path = "a", .size_bytes = 1}};
  summary.stages = {
      {.stage = "build", .subject = "a", .ran = true, .counts = {{"ccache_hits", 8}, {"ccache_misses", 2}}},
      {.stage = "build", .subject = "b", .ran = true, .counts = {{"ccache_hits", 80}, {"ccache_misses", 0}}},
      {.stage = "conda", .subject = "a", .ran = true}};
  EXPECT_EQ(SummaryLine(summary, {.output = "/x", .seconds = 1}),
            "1 artifact in '/x': 1 B; no findings; ccache: 88 of 90 found; 1.0 s");
  summary.stages = {
      {.stage = "build", .subject = "a", .ran = true, .counts = {{"ccache_hits", 0}, {"ccache_misses", 0}}}};
  EXPECT_EQ(SummaryLine(summary, {.output = "/x", .seconds = 1}),
            "1 artifact in '/x': 1 B; no findings; ccache: nothing to compile; 1.0 s");
}

TEST(SummaryLine, SaysHowManyResultsTheRemoteCacheHad) {
  pipeline::BuildSummary summary;
  summary.artifacts = {{.path = "a", .size_bytes = 1}};
  summary.stages = {{.stage = "build", .subject = "a", .counts = {{"remote_cache_hits", 1}}},
                    {.stage = "build",
                     .subject = "b",
                     .ran = true,
                     .counts = {{"remote_cache_misses", 1}, {"remote_cache_uploads", 1}}}};
  EXPECT_EQ(SummaryLine(summary, {.output = "/x", .seconds = 1}),
            "1 artifact in '/x': 1 B; no findings; remote cache: 1 of 2 found, 1 uploaded; 1.0 s");
  summary.stages.pop_back();
  EXPECT_EQ(SummaryLine(summary, {.output = "/x", .seconds = 1}),
            "1 artifact in '/x': 1 B; everything was already there; remote cache: 1 of 1 found; 1.0 s");
}

TEST(SummaryLine, ADryRunCountsWhatWouldRun) {
  pipeline::BuildSummary summary;
  summary.stages = {{.stage = "build", .subject = "a", .reason = "would run: tools changed"},
                    {.stage = "build", .subject = "b", .reason = "inputs unchanged"}};
  EXPECT_EQ(SummaryLine(summary, {.output = "/x", .dry_run = true}),
            "dry run: 1 stage would run, 1 unchanged; nothing was written");
}

TEST(SummaryLine, SaysThatEveryVariantIsSkipped) {
  pipeline::BuildSummary summary;
  summary.skipped = {"toy-1.0"};
  EXPECT_EQ(SummaryLine(summary, {.output = "/x/dist", .seconds = 1}),
            "every variant is skipped; nothing was written");
}

TEST(ExplainLines, DoNotContradictThemselves) {
  pipeline::BuildSummary summary;
  summary.stages = {{.stage = "build", .subject = "a", .ran = true, .reason = "tools changed"},
                    {.stage = "unpack", .subject = "b", .ran = true},
                    {.stage = "conda", .subject = "a", .reason = "inputs unchanged"},
                    {.stage = "wheel", .subject = "a", .reason = "would run: layout changed"}};
  EXPECT_THAT(ExplainLines(summary),
              ElementsAre("   build  a: ran: tools changed", "  unpack  b: ran",
                          "   conda  a: inputs unchanged", "   wheel  a: would run: layout changed"));
  EXPECT_THAT(
      ExplainLines(summary, {.dry_run = true}),
      ElementsAre("   build  a: ran: tools changed", "  unpack  b: ran", "   conda  a: inputs unchanged"))
      << "the progress of a dry run says what would run";
}

TEST(ExplainLines, StagesOfTwoWordsShowTheFirst) {
  pipeline::BuildSummary summary;
  summary.stages = {{.stage = "repack-conda", .subject = "x.whl", .ran = true}};
  EXPECT_THAT(ExplainLines(summary), ElementsAre("  repack  x.whl: ran"));
}

}  // namespace
}  // namespace ptpkg::cli
