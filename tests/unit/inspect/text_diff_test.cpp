// Line diffs: shortest scripts, hunks, bounds.

#include "inspect/text_diff.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace ptpkg::inspect {
namespace {

std::optional<TextDiff> Compared(std::string_view before, std::string_view after,
                                 std::uint64_t steps = kMostLineSteps) {
  return CompareTexts(before, after, steps);
}

using testing::ElementsAre;

constexpr const char* kNoNewline = "\\ No newline at end of file";

/// "@old,new" of each hunk and "-text" of each line.
std::vector<std::string> Shown(const TextDiff& diff) {
  std::vector<std::string> shown;
  for (const TextHunk& hunk : diff.hunks) {
    shown.push_back("@" + std::to_string(hunk.old_line) + "," + std::to_string(hunk.new_line));
    for (const TextLine& line : hunk.lines) shown.push_back(line.mark + line.text);
  }
  return shown;
}

std::vector<std::string> Shown(std::string_view before, std::string_view after) {
  const auto diff = Compared(before, after);
  EXPECT_TRUE(diff.has_value());
  return diff ? Shown(*diff) : std::vector<std::string>();
}

TEST(TextDiff, AChangeHasOneLineOfContext) {
  EXPECT_THAT(Shown("a\nb\nc\nd\ne\n", "a\nb\nC\nd\ne\n"), ElementsAre("@2,2", " b", "-c", "+C", " d"));
  EXPECT_THAT(Shown("a\n", "a\nb"), ElementsAre("@1,1", " a", "+b", kNoNewline));
  EXPECT_THAT(Shown("a\nb", "b"), ElementsAre("@1,1", "-a", " b", kNoNewline));
  EXPECT_THAT(Shown("", "a\nb\n"), ElementsAre("@1,1", "+a", "+b"));
}

TEST(TextDiff, ChangesFarApartAreTwoHunks) {
  EXPECT_THAT(Shown("1\n2\n3\n4\n5\n", "0\n1\n2\n3\n4\n"),
              ElementsAre("@1,1", "+0", " 1", "@4,5", " 4", "-5"));
  EXPECT_THAT(Shown("1\n2\n3\n4\n", "x\n2\n3\ny\n"), ElementsAre("@1,1", "-1", "+x", " 2", " 3", "-4", "+y"));
}

TEST(TextDiff, ABlockThatMovesKeepsTheLongerPart) {
  const auto diff = Compared("a\nb\nc\nx\n", "x\na\nb\nc\n");
  ASSERT_TRUE(diff);
  EXPECT_EQ(diff->removed, 1U);
  EXPECT_EQ(diff->added, 1U);
}

TEST(TextDiff, EndsOfLines) {
  EXPECT_THAT(Shown("a\nb\n", "a\nb"), ElementsAre("@1,1", " a", "-b", "+b", kNoNewline));
  EXPECT_THAT(Shown("a", "a\nb\n"), ElementsAre("@1,1", "-a", kNoNewline, "+a", "+b"));
  EXPECT_THAT(Shown("\n", ""), ElementsAre("@1,1", "-"));
  EXPECT_THAT(Shown("a\r\n", "a\n"), ElementsAre("@1,1", "-a\r", "+a"));
}

TEST(TextDiff, BinaryFilesHaveNone) {
  EXPECT_FALSE(Compared(std::string_view("a\0", 2), "a"));
  EXPECT_FALSE(Compared("a", "\xff"));
}

/// The length of the longest common subsequence, by the quadratic table.
std::size_t CommonLines(const std::string& before, const std::string& after) {
  std::vector<std::size_t> row(after.size() + 1);
  for (const char one : before) {
    std::size_t diagonal = 0;
    for (std::size_t i = 1; i <= after.size(); ++i) {
      const std::size_t above = row[i];
      row[i] = one == after[i - 1] ? diagonal + 1 : std::max(above, row[i - 1]);
      diagonal = above;
    }
  }
  return row.back();
}

TEST(TextDiff, RandomTextsHaveShortestScripts) {
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same texts in each run
  for (int round = 0; round < 300; ++round) {
    const auto text = [&] {
      std::string letters;
      for (std::size_t i = random() % 20; i > 0; --i) letters += static_cast<char>('a' + random() % 3);
      return letters;
    };
    const auto lines = [](const std::string& letters) {
      std::string joined;
      for (const char letter : letters) joined += std::string(1, letter) + "\n";
      return joined;
    };
    const std::string before = text();
    const std::string after = text();
    const auto diff = Compared(lines(before), lines(after));
    ASSERT_TRUE(diff);
    const std::size_t common = CommonLines(before, after);
    EXPECT_EQ(diff->removed, before.size() - common) << before << " " << after;
    EXPECT_EQ(diff->added, after.size() - common) << before << " " << after;
    for (const TextHunk& hunk : diff->hunks) {
      std::string old_part;
      std::string new_part;
      for (const TextLine& line : hunk.lines) {
        if (line.mark != '+') old_part += line.text;
        if (line.mark != '-') new_part += line.text;
      }
      EXPECT_EQ(before.substr(hunk.old_line - 1, old_part.size()), old_part);
      EXPECT_EQ(after.substr(hunk.new_line - 1, new_part.size()), new_part);
    }
  }
}

TEST(TextDiff, TextsThatDifferEverywhereAreBounded) {
  std::string before = "same\n";
  std::string after = "same\n";
  for (int i = 0; i < 20000; ++i) {
    before += "old " + std::to_string(i) + "\n";
    after += "new " + std::to_string(i) + "\n";
  }
  const auto diff = Compared(before, after + "end\n");
  ASSERT_TRUE(diff);
  EXPECT_EQ(diff->removed, 20000U);
  EXPECT_EQ(diff->added, 20001U);
  ASSERT_EQ(diff->hunks.size(), 1U);
  EXPECT_EQ(diff->hunks[0].lines.size(), 1000U);
  EXPECT_EQ(diff->more_lines, 39002U);
}

TEST(TextDiff, LongLinesAreBounded) {
  const std::string line(40U << 10U, 'x');
  const auto diff = Compared("a\n" + line + "\n", "a\n" + line + "1\n" + line + "2\n");
  ASSERT_TRUE(diff);
  ASSERT_EQ(diff->hunks.size(), 1U);
  EXPECT_EQ(diff->hunks[0].lines.size(), 2U);
  EXPECT_EQ(diff->more_lines, 2U);
}

TEST(TextDiff, BeyondTheStepsAllLinesBetweenChangesAreChanged) {
  const std::string before = "a\nb\nc\nd\n";
  const std::string after = "x\nb\nc\ny\n";
  EXPECT_EQ(Compared(before, after)->removed, 2U);
  EXPECT_EQ(Compared(before, after, 3)->removed, 4U);
  // Files share them.
  std::uint64_t left = 1000;
  for (int file = 0; file < 100; ++file) CompareTexts(before, after, left);
  EXPECT_LT(left, 30U);
}

}  // namespace
}  // namespace ptpkg::inspect
