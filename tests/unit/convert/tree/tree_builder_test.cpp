#include "convert/tree/tree_builder.h"

#include "model/tree_json.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "support/text/json.h"

namespace ptpkg::convert {
namespace {

using test::FailsWith;
using ::testing::HasSubstr;

class TreeBuilderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(env_->fs.MakeDirs(from_ / "lib"), test::IsOk());
    ASSERT_THAT(env_->fs.MakeDirs(to_), test::IsOk());
    ASSERT_THAT(WriteFile(env_->fs, from_ / "lib/a", "content"), test::IsOk());
    ASSERT_THAT(env_->fs.CreateSymlink("a", from_ / "lib/b"), test::IsOk());
    auto tree = ScanTree(env_, from_);
    ASSERT_THAT(tree, test::IsOk());
    tree_ = *std::move(tree);
  }

  test::TestEnv env_;
  AbsPath from_ = env_.dir().path() / "from";
  AbsPath to_ = env_.dir().path() / "to";
  StagedTree tree_;
};

TEST_F(TreeBuilderTest, LinksWithoutCopyingAndKeepsDigests) {
  TreeBuilder builder(env_, to_);
  for (const TreeEntry& entry : tree_.entries) {
    ASSERT_THAT(builder.Link(tree_, entry, RelPath::Literal("moved") / entry.path), test::IsOk());
  }
  ASSERT_THAT(builder.AddText(RelPath::Literal("bin/run"), "#!x\n", 0755), test::IsOk());
  const StagedTree made = std::move(builder).Finish();
  auto scanned = ScanTree(env_, to_);
  ASSERT_THAT(scanned, test::IsOk());
  EXPECT_EQ(made.entries, scanned->entries);
  EXPECT_EQ(env_->fs.Lstat(to_ / "moved/lib/a")->inode, env_->fs.Lstat(from_ / "lib/a")->inode);
}

TEST_F(TreeBuilderTest, RefusesTwoFilesOfOneName) {
  TreeBuilder builder(env_, to_);
  ASSERT_THAT(builder.AddText(RelPath::Literal("x"), "1"), test::IsOk());
  EXPECT_THAT(builder.AddText(RelPath::Literal("x"), "2"),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("'x'")));
}

TEST_F(TreeBuilderTest, RefusesAFileThatIsAFolderToo) {
  TreeBuilder builder(env_, to_);
  ASSERT_OK(builder.AddText(RelPath::Literal("a/b/c"), "1"));
  for (const char* above : {"a", "a/b"}) {
    EXPECT_THAT(builder.AddText(RelPath::Literal(above), "2"),
                FailsWith(ErrorCode::kAlreadyExists,
                          HasSubstr(std::string("'") + above +
                                    "' would be both a file and the directory of 'a/b/c'")));
  }
  EXPECT_THAT(builder.AddText(RelPath::Literal("a/b/c/d/e"), "2"),
              FailsWith(ErrorCode::kAlreadyExists,
                        HasSubstr("'a/b/c' would be both a file and the directory of 'a/b/c/d/e'")));
  // Names that begin alike, on both sides of '/' in the order of bytes.
  for (const char* beside : {"a/b/c-d", "a/b/c0", "a/b-", "a0"})
    ASSERT_OK(builder.AddText(RelPath::Literal(beside), "1"));
}

TEST_F(TreeBuilderTest, AddsATextInItsPlace) {
  ASSERT_THAT(AddTextToTree(env_, tree_, RelPath::Literal("lib/aa"), "new"), test::IsOk());
  EXPECT_EQ(tree_.entries[1].path.str(), "lib/aa");
  EXPECT_EQ(ScanTree(env_, from_)->entries, tree_.entries);
  EXPECT_THAT(AddTextToTree(env_, tree_, RelPath::Literal("lib/aa"), "again"),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("lib/aa")));
}

TEST_F(TreeBuilderTest, ATreeSurvivesJson) {
  const auto read = TreeFromJson(TreeToJson(tree_), tree_.root, "test");
  ASSERT_THAT(read, test::IsOk());
  EXPECT_EQ(read->entries, tree_.entries);
}

TEST(TreeFromJson, RefusesWhatItDidNotWrite) {
  const AbsPath root = AbsPath::Literal("/x");
  EXPECT_THAT(TreeFromJson(Json::object(), root, "t"), FailsWith(ErrorCode::kCorrupt, HasSubstr("t")));
  EXPECT_THAT(TreeFromJson(Json::array({{{"path", "../up"}}}), root, "t"),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("..")));
  EXPECT_THAT(
      TreeFromJson(Json::array({{{"path", "a"}, {"mode", 1}, {"size", 1}, {"sha256", "zz"}}}), root, "t"),
      FailsWith(ErrorCode::kCorrupt, HasSubstr("zz")));
}

}  // namespace
}  // namespace ptpkg::convert
