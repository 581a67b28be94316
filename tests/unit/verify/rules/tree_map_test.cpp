#include "verify/rules/tree_map.h"

#include "support/fault_fs.h"
#include "unit/verify/fixtures/memory_tree.h"

namespace ptpkg::verify {
namespace {

using test::kRoot;

class TreeMapTest : public testing::Test {
 protected:
  TreeMapTest() {
    tree_.AddText("lib/deep/libx.so", "x");
    tree_.AddText("lib/liby.so", "y");
    tree_.AddText("top", "t");
    tree_.fs().AddSymlink("deep/libx.so", "/tree/lib/libx.so.1");
    tree_.fs().AddSymlink("../lib/deep", "/tree/opt/deep");
    tree_.fs().AddSymlink("/tree/lib", "/tree/absolute");
    tree_.fs().AddSymlink("/usr/lib", "/tree/machine");
    tree_.fs().AddSymlink("a", "/tree/b");
    tree_.fs().AddSymlink("b", "/tree/a");
    auto map = TreeMap::Read(tree_.env(), AbsPath::Literal(kRoot));
    EXPECT_OK(map);
    map_ = *std::move(map);
  }

  std::string Found(std::string_view folder, std::string_view text) {
    const Walk walk = map_.Follow(folder, text);
    EXPECT_EQ(walk.end, WalkEnd::kFound) << text;
    return walk.path;
  }
  WalkEnd End(std::string_view folder, std::string_view text) { return map_.Follow(folder, text).end; }

  test::MemoryTree tree_;
  TreeMap map_;
};

TEST_F(TreeMapTest, FollowsLinksAndDots) {
  EXPECT_EQ(Found("lib", "libx.so.1"), "lib/deep/libx.so");
  EXPECT_EQ(Found("", "opt/deep/./libx.so"), "lib/deep/libx.so");
  // ".." behind a link is the parent of its target.
  EXPECT_EQ(Found("", "opt/deep/../liby.so"), "lib/liby.so");
  EXPECT_EQ(Found("lib", "../absolute//deep/libx.so"), "lib/deep/libx.so");
  EXPECT_EQ(Found("lib/deep", "../.."), "");
  EXPECT_EQ(map_.FollowToFolder("", "opt/deep/"), "lib/deep");
  EXPECT_EQ(map_.FollowToFolder("lib", "liby.so"), std::nullopt);
}

TEST_F(TreeMapTest, EndsWhereTheKernelEnds) {
  EXPECT_EQ(End("lib", "none/../liby.so"), WalkEnd::kMissing);
  EXPECT_EQ(End("lib", "liby.so/../liby.so"), WalkEnd::kMissing);
  EXPECT_EQ(End("lib", "liby.so/"), WalkEnd::kMissing);
  EXPECT_EQ(End("lib", "../../tree/top"), WalkEnd::kOutside);
  EXPECT_EQ(End("", "machine/libc.so.6"), WalkEnd::kOutside);
  EXPECT_EQ(End("", "a"), WalkEnd::kLoop);
}

TEST(InstalledPath, OfTheFoldersOfData) {
  EXPECT_EQ(InstalledPath("pkg/a.so"), "pkg/a.so");
  EXPECT_EQ(InstalledPath("toy-1.data/purelib/a.so"), "a.so");
  EXPECT_EQ(InstalledPath("toy-1.data/data/lib/a.so"), std::nullopt);
}

TEST(TreeMap, WalksGoAsInSitePackages) {
  test::MemoryTree tree;
  tree.AddText("toy/a.so", "a");
  tree.AddText("toy.libs/libx.so", "x");
  tree.AddText("toy-1.data/platlib/toy/b.so", "b");
  tree.AddText("toy-1.data/purelib/other/deep/c.so", "c");
  tree.AddText("toy-1.data/data/toy/d.so", "d");
  ASSERT_OK_AND_ASSIGN(const TreeMap map, TreeMap::Read(tree.env(), AbsPath::Literal(kRoot)));
  EXPECT_EQ(map.Follow("toy", "b.so").path, "toy-1.data/platlib/toy/b.so");
  EXPECT_EQ(map.Follow("toy", "../other/deep/c.so").path, "toy-1.data/purelib/other/deep/c.so");
  EXPECT_EQ(map.Follow("other/deep", "../../toy.libs/libx.so").path, "toy.libs/libx.so");
  EXPECT_EQ(map.FollowToFolder("", "other/deep"), "other/deep");
  EXPECT_EQ(map.Follow("toy", "d.so").end, WalkEnd::kMissing);
}

TEST(TreeMap, FailsWithTheFileSystem) {
  const int faults =
      ptpkg::test::RunFaultLoop({.setup =
                                     [](ptpkg::test::MemFs& fs) {
                                       fs.AddFile("/tree/lib/libx.so", "x");
                                       fs.AddSymlink("libx.so", "/tree/lib/libx.so.1");
                                     },
                                 .run = [](Fs& fs) -> Result<void> {
                                   ptpkg::test::TestEnv env({.fs = &fs});
                                   PTPKG_TRY(const TreeMap map, TreeMap::Read(env, AbsPath::Literal(kRoot)));
                                   EXPECT_EQ(map.nodes().size(), 4U);
                                   return Ok();
                                 }});
  EXPECT_GE(faults, 6);
}

}  // namespace
}  // namespace ptpkg::verify
