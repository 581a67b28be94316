// Placeholder search and replacement.
#include "conda/info/prefix.h"

#include "conda/byte_search.h"
#include "support/matchers.h"
#include "support/mem_fs.h"

namespace ptpkg::conda {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using test::MemFs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

const std::string kPlaceholder = "/build/" + std::string(248, 'p');

std::vector<SearchHit> FeedIn(std::size_t step, std::string_view text,
                              const std::vector<std::string>& needles) {
  ByteSearch search(needles);
  std::vector<SearchHit> hits;
  for (std::size_t i = 0; i < text.size(); i += step) {
    search.Feed(AsBytes(text.substr(i, step)), [&](const SearchHit& hit) {
      hits.push_back(hit);
      return true;
    });
  }
  std::sort(hits.begin(), hits.end());
  return hits;
}

TEST(ByteSearch, FindsAcrossChunksOfAnySize) {
  const std::string text = "abcabcab__xyz_abc";
  const std::vector<SearchHit> expected{{0, 0}, {0, 3}, {0, 14}, {1, 10}};
  for (std::size_t step = 1; step <= text.size(); ++step) {
    EXPECT_EQ(FeedIn(step, text, {"abc", "xyz", ""}), expected) << step;
  }
}

TEST(ByteSearch, ReportsOverlappingOccurrences) {
  EXPECT_EQ(FeedIn(2, "aaaa", {"aa"}), (std::vector<SearchHit>{{0, 0}, {0, 1}, {0, 2}}));
}

TEST(ByteSearch, StopsWhenToldTo) {
  ByteSearch search({"a"});
  int calls = 0;
  EXPECT_FALSE(search.Feed(AsBytes("aaa"), [&](const SearchHit&) { return ++calls < 2; }));
  EXPECT_EQ(calls, 2);
}

TEST(DetectPlaceholder, TellsTextFromBinary) {
  MemFs fs;
  fs.AddFile("/text", "#!" + kPlaceholder + "/bin/python\n");
  fs.AddFile("/binary", "ELF" + kPlaceholder + "/lib" + std::string(1, '\0'));
  fs.AddFile("/neither", "nothing");
  // The NUL comes a chunk later than the placeholder.
  fs.AddFile("/late", kPlaceholder + std::string(3U << 20U, 'x') + std::string(1, '\0'));
  EXPECT_THAT(DetectPlaceholder(fs, AbsPath::Literal("/text"), kPlaceholder),
              IsOkAndHolds(Optional(FileMode::kText)));
  EXPECT_THAT(DetectPlaceholder(fs, AbsPath::Literal("/binary"), kPlaceholder),
              IsOkAndHolds(Optional(FileMode::kBinary)));
  EXPECT_THAT(DetectPlaceholder(fs, AbsPath::Literal("/neither"), kPlaceholder), IsOkAndHolds(std::nullopt));
  EXPECT_THAT(DetectPlaceholder(fs, AbsPath::Literal("/late"), kPlaceholder),
              IsOkAndHolds(Optional(FileMode::kBinary)));
  EXPECT_THAT(DetectPlaceholder(fs, AbsPath::Literal("/gone"), kPlaceholder),
              FailsWith(ErrorCode::kNotFound, HasSubstr("/gone")));
}

TEST(ReplaceInText, ReplacesEveryOccurrence) {
  EXPECT_EQ(ReplaceInText("a=/old\nb=/old/x\n", "/old", "/opt/env"), "a=/opt/env\nb=/opt/env/x\n");
}

TEST(ReplaceInText, ShortensAShebangThatLinuxWouldCut) {
  const std::string prefix = "/" + std::string(130, 'e');
  EXPECT_EQ(ReplaceInText("#!/old/bin/python -E\nimport x\n", "/old", prefix),
            "#!/usr/bin/env python -E\nimport x\n");
  EXPECT_EQ(ReplaceInText("#! /old/bin/python\n", "/old", prefix), "#!/usr/bin/env python\n");
}

TEST(ReplaceInText, KeepsAShebangOf127Characters) {
  // "#!" + prefix + "/bin/python" = 127
  const std::string prefix = "/" + std::string(113, 'e');
  const std::string kept = "#!" + prefix + "/bin/python\n";
  EXPECT_EQ(kept.size(), 128U);
  EXPECT_EQ(ReplaceInText("#!/old/bin/python\n", "/old", prefix), kept);
  EXPECT_EQ(ReplaceInText("#!/old/bin/python\n", "/old", prefix + "e"), "#!/usr/bin/env python\n");
}

TEST(ReplaceInText, TakesABlankInTheInterpreterOutOfTheShebang) {
  EXPECT_EQ(ReplaceInText("#!/old/my\\ env/python -x\n", "/old", "/opt"), "#!/usr/bin/env python -x\n");
  EXPECT_EQ(ReplaceInText("#!python\n", "/old", "/opt"), "#!python\n");
  // A blank of the prefix, which only stands in the interpreter's path: elsewhere it stays as it is.
  EXPECT_EQ(ReplaceInText("#!/old/bin/python -E /old\nx = '/old'\n", "/old", "/a b"),
            "#!/usr/bin/env python -E /a b\nx = '/a b'\n");
  EXPECT_EQ(ReplaceInText("#! /old/bin/python\n", "/old", "/a b"), "#!/usr/bin/env python\n");
  EXPECT_EQ(ReplaceInText("/old/bin/python\n", "/old", "/a b"), "/a b/bin/python\n");
}

TEST(ReplaceInCString, PadsToTheOldLength) {
  const std::string text = kPlaceholder + "/lib:" + kPlaceholder + "/lib64";
  ASSERT_OK_AND_ASSIGN(const std::string replaced, ReplaceInCString(text, kPlaceholder, "/opt"));
  EXPECT_EQ(replaced.size(), text.size());
  EXPECT_EQ(std::string(replaced.c_str()), "/opt/lib:/opt/lib64");
  EXPECT_EQ(replaced.find_first_not_of('\0', 19), std::string::npos);
}

TEST(ReplaceInCString, RefusesALongerPrefix) {
  EXPECT_THAT(ReplaceInCString("/old/lib", "/old", "/longer"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("longer")));
}

PathsEntry Entry(FileMode mode) {
  PathsEntry entry;
  entry.path = "f";
  entry.placeholder = kPlaceholder;
  entry.mode = mode;
  return entry;
}

TEST(ReplacePrefix, ChangesOnlyTheStringsThatHoldIt) {
  MemFs fs;
  const std::string nul(1, '\0');
  const std::string before = "head" + nul + kPlaceholder + "/a:" + kPlaceholder + nul + "middle" + nul + "x" +
                             kPlaceholder + "/b" + nul + "tail";
  fs.AddFile("/f", before);
  ASSERT_OK(ReplacePrefix(fs, AbsPath::Literal("/f"), Entry(FileMode::kBinary), "/p"));
  const std::string after = fs.Content("/f");
  EXPECT_EQ(after.size(), before.size());
  std::string expected = "head" + nul + "/p/a:/p";
  expected.resize(5 + 2 * kPlaceholder.size() + 3, '\0');
  expected += nul + "middle" + nul + "x/p/b";
  expected.resize(before.size() - 5, '\0');
  EXPECT_EQ(after, expected + nul + "tail");
}

TEST(ReplacePrefix, LeavesAStringWithoutEndAlone) {
  MemFs fs;
  const std::string text = std::string(1, '\0') + kPlaceholder + "/x";
  fs.AddFile("/f", text);
  ASSERT_OK(ReplacePrefix(fs, AbsPath::Literal("/f"), Entry(FileMode::kBinary), "/p"));
  EXPECT_EQ(fs.Content("/f"), text);
}

TEST(ReplacePrefix, RewritesATextFileToItsNewLength) {
  MemFs fs;
  fs.AddFile("/f", "root=" + kPlaceholder + "\nend\n");
  ASSERT_OK(ReplacePrefix(fs, AbsPath::Literal("/f"), Entry(FileMode::kText), "/p"));
  EXPECT_EQ(fs.Content("/f"), "root=/p\nend\n");
}

TEST(ReplacePrefix, SaysWhichFileCannotBeReplaced) {
  MemFs fs;
  fs.AddFile("/f", kPlaceholder + std::string(1, '\0'));
  const auto result =
      ReplacePrefix(fs, AbsPath::Literal("/f"), Entry(FileMode::kBinary), std::string(300, 'x'));
  ASSERT_THAT(result, FailsWith(ErrorCode::kInvalidInput, HasSubstr("255 characters")));
  EXPECT_THAT(result.error().context(), ElementsAre("while replacing the prefix in 'f'"));
}

}  // namespace
}  // namespace ptpkg::conda
