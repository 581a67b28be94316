#include "convert/tree/python_layout.h"

#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::convert {
namespace {

using test::FailsWith;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::SizeIs;

TEST(BelowSitePackages, KnowsBothLayouts) {
  EXPECT_THAT(BelowSitePackages("lib/python3.11/site-packages/a/b.py"), Optional(std::string("a/b.py")));
  EXPECT_THAT(BelowSitePackages("site-packages/a.py"), Optional(std::string("a.py")));
  EXPECT_EQ(BelowSitePackages("lib/python3.11/os.py"), std::nullopt);
  EXPECT_EQ(BelowSitePackages("share/python3.11/site-packages/a"), std::nullopt);
}

class FindDistributionTest : public ::testing::Test {
 protected:
  void Put(const std::string& path, const std::string& text) {
    const AbsPath place = env_.dir().path() / "prefix" / path;
    ASSERT_THAT(env_->fs.MakeDirs(place.Parent()), test::IsOk());
    ASSERT_THAT(WriteFile(env_->fs, place, text), test::IsOk());
  }
  StagedTree Scan() { return *ScanTree(env_, env_.dir().path() / "prefix"); }

  test::TestEnv env_;
};

TEST_F(FindDistributionTest, ReadsTheOnlyOne) {
  Put("lib/python3.11/site-packages/toy_x-1.0.dist-info/METADATA", "Name: toy-x\n");
  Put("lib/python3.11/site-packages/toy_x-1.0.dist-info/entry_points.txt",
      "[console_scripts]\nt = toy:main\n");
  const auto found = FindDistribution(env_, Scan(), "");
  ASSERT_THAT(found, test::IsOk());
  EXPECT_EQ(found->site_packages, "lib/python3.11/site-packages");
  EXPECT_EQ(found->dist_info, "toy_x-1.0.dist-info");
  EXPECT_EQ(found->metadata, "Name: toy-x\n");
  EXPECT_THAT(found->entry_points, HasSubstr("toy:main"));
  EXPECT_EQ(found->wheel, "");
}

TEST_F(FindDistributionTest, ChoosesByNormalisedName) {
  Put("lib/python3.11/site-packages/toy_x-1.0.dist-info/METADATA", "x");
  Put("lib/python3.11/site-packages/other-1.0.dist-info/METADATA", "o");
  EXPECT_THAT(FindDistribution(env_, Scan(), ""), FailsWith(ErrorCode::kInvalidInput, HasSubstr("several")));
  EXPECT_EQ(FindDistribution(env_, Scan(), "Toy.X")->metadata, "x");
  EXPECT_THAT(FindDistribution(env_, Scan(), "absent"), FailsWith(ErrorCode::kNotFound, HasSubstr("absent")));
}

TEST_F(FindDistributionTest, APrefixWithoutAnyIsAnError) {
  Put("lib/libx.so", "");
  EXPECT_THAT(FindDistribution(env_, Scan(), ""), FailsWith(ErrorCode::kNotFound, HasSubstr("dist-info")));
}

TEST(ScriptsOf, TakesScriptsOnly) {
  const auto scripts =
      ScriptsOf("[console_scripts]\nrun = a.b:main\n[other]\nx = y:z\n[gui_scripts]\ng = a:b\n");
  ASSERT_THAT(scripts, test::IsOk());
  ASSERT_THAT(*scripts, SizeIs(2));
  EXPECT_EQ((*scripts)[0].module, "a.b");
}

TEST(ScriptsOf, RefusesANameThatLeavesTheFolder) {
  EXPECT_FALSE(ScriptsOf("[console_scripts]\n../run = a:b\n").has_value());
  EXPECT_FALSE(ScriptsOf("[console_scripts]\na/b = a:b\n").has_value());
}

TEST(InstalledRecord, ListsRelativeToSitePackagesWithItsOwnRowEmpty) {
  StagedTree tree;
  tree.entries.push_back({.path = RelPath::Literal("bin/run"), .size_bytes = 3, .sha256 = HashText("abc")});
  tree.entries.push_back({.path = RelPath::Literal("lib/python3.11/site-packages/a,b.py"),
                          .size_bytes = 3,
                          .sha256 = HashText("abc")});
  const Distribution distribution{.site_packages = "lib/python3.11/site-packages",
                                  .dist_info = "toy-1.dist-info",
                                  .metadata = "",
                                  .wheel = "",
                                  .entry_points = "",
                                  .record = ""};
  const std::string digest = "sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";
  EXPECT_EQ(InstalledRecord(tree, distribution, {"bin/run", "lib/python3.11/site-packages/a,b.py"}),
            "../../../bin/run," + digest + ",3\n\"a,b.py\"," + digest + ",3\ntoy-1.dist-info/RECORD,,\n");
}

}  // namespace
}  // namespace ptpkg::convert
