#include "archive/entry_set.h"

#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::archive {
namespace {

using ::ptpkg::test::FailsWith;
using ::testing::HasSubstr;

std::vector<std::string> NamesOf(const EntrySet& entries) {
  std::vector<std::string> names;
  for (const Entry* entry : entries.Sorted()) names.push_back(entry->name.str());
  return names;
}

TEST(EntrySet, SortsByteWise) {
  EntrySet entries;
  for (const char* name : {"b", "a-b", "a/b", "B", "a.b"})
    ASSERT_OK(entries.AddText(RelPath::Literal(name), "xy"));
  EXPECT_EQ(NamesOf(entries), (std::vector<std::string>{"B", "a-b", "a.b", "a/b", "b"}));
  EXPECT_EQ(entries.TotalBytes(), 10U);
  EXPECT_EQ(entries.size(), 5U);
}

TEST(EntrySet, TakesBothFormsOfAnAccent) {
  EntrySet entries;
  ASSERT_OK(entries.AddText(RelPath::Literal("e\xcc\x81"), ""));
  ASSERT_OK(entries.AddText(RelPath::Literal("\xc3\xa9"), ""));
  EXPECT_EQ(NamesOf(entries), (std::vector<std::string>{"e\xcc\x81", "\xc3\xa9"}));
}

TEST(EntrySet, RefusesWhatCannotBothBeUnpacked) {
  EntrySet entries;
  ASSERT_OK(entries.AddText(RelPath::Literal("lib/x"), ""));
  EXPECT_THAT(entries.AddText(RelPath::Literal("lib/x"), ""),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'lib/x' was already added")));
  EXPECT_THAT(entries.AddText(RelPath::Literal("lib"), ""),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'lib' is a file, but 'lib/x' lies below it")));
  EXPECT_THAT(entries.AddText(RelPath::Literal("lib/x/y/z"), ""),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is below 'lib/x', which is a file")));
  // "lib-x" stands between "lib" and "lib/" in byte order.
  ASSERT_OK(entries.AddText(RelPath::Literal("lib-x"), ""));
  EXPECT_THAT(entries.AddText(RelPath::Literal("lib"), ""),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("lib/x")));
}

TEST(EntrySet, RefusesNamesThatReadersRefuse) {
  EntrySet entries;
  EXPECT_THAT(entries.AddText(RelPath::Literal("a\nb"), ""),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'a\\x0ab' has a control character")));
  EXPECT_THAT(entries.AddText(RelPath::Literal("a\x7f"), ""),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("control character")));
  EXPECT_THAT(entries.AddText(RelPath::Literal("a\xff"), ""),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'a\\xff' has a name that is not UTF-8")));
  EXPECT_THAT(entries.AddText(RelPath::Literal("d/" + std::string(256, 'x')), ""),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("has a component of 256 bytes in its name")));
  EXPECT_OK(entries.AddText(RelPath::Literal("gr\xc3\xbc\xc3\x9f"), ""));
}

TEST(EntrySet, TakesTreeEntriesWithNormalModes) {
  const StagedTree tree{.root = AbsPath::Literal("/stage"), .entries = {}};
  EntrySet entries;
  TreeEntry file{
      .path = RelPath::Literal("bin/x"), .mode = 0775, .size_bytes = 3, .sha256 = {}, .link_target = {}};
  ASSERT_OK(entries.AddTreeEntry(tree, file));
  TreeEntry link{
      .path = RelPath::Literal("bin/y"), .kind = FileKind::kSymlink, .sha256 = {}, .link_target = "x"};
  ASSERT_OK(entries.AddTreeEntry(tree, link));
  const std::vector<const Entry*> sorted = entries.Sorted();
  EXPECT_EQ(sorted[0]->mode, 0755U);
  EXPECT_EQ(sorted[0]->file, AbsPath::Literal("/stage/bin/x"));
  EXPECT_TRUE(sorted[1]->is_symlink);
  EXPECT_EQ(sorted[1]->link_target, "x");
  EXPECT_EQ(sorted[1]->size_bytes, 0U);

  link.path = RelPath::Literal("bin/z");
  link.link_target = "";
  EXPECT_THAT(entries.AddTreeEntry(tree, link),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("without a target")));
  link.link_target = "a\x01";
  EXPECT_THAT(entries.AddTreeEntry(tree, link),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("link target")));
  link.kind = FileKind::kDirectory;
  EXPECT_THAT(entries.AddTreeEntry(tree, link),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("neither a regular file nor a symlink")));
}

}  // namespace
}  // namespace ptpkg::archive
