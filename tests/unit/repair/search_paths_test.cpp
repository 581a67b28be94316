#include "repair/search_paths.h"

#include "support/must.h"
#include "unit/verify/fixtures/memory_tree.h"
#include "verify/elf/dlopen_table.h"

namespace ptpkg::repair {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::Library;
using ptpkg::test::Must;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SearchPathsTest : public testing::Test {
 protected:
  /// The path that `file` should have: "RPATH a:b"; "" for none.
  std::string NewPathFor(const std::string& file, const std::set<std::string>& folders = {},
                         std::vector<elf::PathRule> layout = {}) {
    std::vector<Finding> findings;
    const auto opened = Must(verify::DlopenTable::BuiltIn());
    const auto tree =
        Must(verify::ReadElfTree(tree_.env(), AbsPath::Literal(ptpkg::test::kRoot), opened, findings));
    const auto loads =
        Must(verify::ResolvedLibraries::SimulateLoads(tree_.env(), tree, elf::IsaLevel::kBaseline));
    const SearchPaths paths(tree, loads, std::move(layout));
    const auto member = tree.FindMember(file);
    EXPECT_TRUE(member.has_value());
    auto wanted = paths.NewPathFor(tree.members[*member], folders);
    if (!wanted) {
      error_ = wanted.error();
      return "error";
    }
    dropped_ = wanted->dropped;
    differs_ = SearchPaths::Differs(*wanted, tree.members[*member].facts);
    if (!wanted->path) return "";
    return (wanted->path->tag == elf::PathTag::kRpath ? "RPATH " : "RUNPATH ") + wanted->path->text;
  }

  ptpkg::test::MemoryTree tree_;
  std::vector<DroppedEntry> dropped_;
  bool differs_ = false;
  std::optional<Error> error_;
};

TEST_F(SearchPathsTest, WhatLeadsSomewhereStays) {
  tree_.Add("pkg/a.so", Library({"libb.so"}, "$ORIGIN/lib"));
  tree_.Add("pkg/lib/libb.so", Library({}));
  EXPECT_EQ(NewPathFor("pkg/a.so"), "RUNPATH $ORIGIN/lib");
  EXPECT_FALSE(differs_);
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(SearchPathsTest, FoldersThatAreInstalledElsewhereAreRefused) {
  tree_.Add("pkg/a.so", Library({"libb.so"}));
  EXPECT_EQ(NewPathFor("pkg/a.so", {"toy-1.data/data/lib"}), "error");
  EXPECT_THAT(Result<void>(*error_), FailsWith(ErrorCode::kUnsupported,
                                               HasSubstr("'toy-1.data/data/lib', which has no fixed path")));
  EXPECT_EQ(NewPathFor("pkg/a.so", {"toy-1.data/platlib/lib"}), "RPATH $ORIGIN/../lib");
}

TEST_F(SearchPathsTest, WhatHelpsNobodyGoes) {
  tree_.Add("pkg/a.so",
            Library({"libb.so"}, "/opt/x:$ORIGIN/lib::rel:$ORIGIN/none:$ORIGIN/lib:$ORIGIN/../pkg/stubs"));
  tree_.Add("pkg/lib/libb.so", Library({}));
  EXPECT_EQ(NewPathFor("pkg/a.so"), "RUNPATH $ORIGIN/lib");
  EXPECT_TRUE(differs_);
  EXPECT_THAT(dropped_, ElementsAre(DroppedEntry{"/opt/x", "is a path of one machine"},
                                    DroppedEntry{"", "means the working directory"},
                                    DroppedEntry{"rel", "depends on the working directory"},
                                    DroppedEntry{"$ORIGIN/none", "points to no directory"},
                                    DroppedEntry{"$ORIGIN/lib", "is there twice"},
                                    DroppedEntry{"$ORIGIN/../pkg/stubs", "has stubs for linking"}));
}

TEST_F(SearchPathsTest, EntriesThatLeadOutOfSitePackagesGo) {
  tree_.Add("pkg/a.so", Library({"libb.so"}, "$ORIGIN/../../jaxlib:$ORIGIN/lib:$ORIGIN/../../../.."));
  tree_.Add("pkg/lib/libb.so", Library({}));
  EXPECT_EQ(NewPathFor("pkg/a.so"), "RUNPATH $ORIGIN/lib");
  EXPECT_THAT(dropped_, ElementsAre(DroppedEntry{"$ORIGIN/../../jaxlib", "leads out of site-packages"},
                                    DroppedEntry{"$ORIGIN/../../../..", "leads out of site-packages"}));
  // An environment of conda has libraries there.
  dropped_.clear();
  tree_.Add("pkg/c.so", Library({"libopenblas.so.0"}, "$ORIGIN/../../.."));
  EXPECT_EQ(NewPathFor("pkg/c.so"), "RUNPATH $ORIGIN/../../..");
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(SearchPathsTest, TokensHelpOnlyBelowTheFile) {
  tree_.Add("pkg/a.so", Library({}, "/usr/$LIB:$ORIGIN/$LIB:$PLATFORM/x:/opt/$PLATFORM"));
  EXPECT_EQ(NewPathFor("pkg/a.so"), "RUNPATH $ORIGIN/$LIB");
  EXPECT_THAT(dropped_, ElementsAre(DroppedEntry{"/usr/$LIB", "is a path of one machine"},
                                    DroppedEntry{"$PLATFORM/x", "depends on the working directory"},
                                    DroppedEntry{"/opt/$PLATFORM", "is a path of one machine"}));
}

TEST_F(SearchPathsTest, WhatAnotherDistributionMayFillStays) {
  tree_.Add("pkg/a.so", Library({"libcudart.so.12"}, "$ORIGIN/../nvidia/cuda_runtime/lib"));
  EXPECT_EQ(NewPathFor("pkg/a.so"), "RUNPATH $ORIGIN/../nvidia/cuda_runtime/lib");
  // DT_RPATH serves what is loaded, too.
  elf::test::SyntheticElf loader = Library({"libb.so"});
  loader.rpath = "$ORIGIN:$ORIGIN/../nvidia/cuda_runtime/lib";
  tree_.Add("pkg/loader.so", loader);
  tree_.Add("pkg/libb.so", Library({"libcudart.so.12"}));
  EXPECT_EQ(NewPathFor("pkg/loader.so"), "RPATH $ORIGIN:$ORIGIN/../nvidia/cuda_runtime/lib");
}

TEST_F(SearchPathsTest, FoldersAreReachedFromWhereInstallersPutTheFile) {
  tree_.Add("pkg/sub/a.so", Library({}));
  EXPECT_EQ(NewPathFor("pkg/sub/a.so", {"toy.libs"}), "RPATH $ORIGIN/../../toy.libs");
  EXPECT_EQ(NewPathFor("pkg/sub/a.so", {"pkg/sub"}), "RPATH $ORIGIN");
  tree_.Add("toy-1.data/platlib/pkg/b.so", Library({}, "$ORIGIN/../toy.libs"));
  EXPECT_EQ(NewPathFor("toy-1.data/platlib/pkg/b.so", {"toy.libs"}), "RUNPATH $ORIGIN/../toy.libs");
  tree_.Add("toy-1.data/scripts/prog", Library({}));
  EXPECT_EQ(NewPathFor("toy-1.data/scripts/prog"), "");
  EXPECT_EQ(NewPathFor("toy-1.data/scripts/prog", {"toy.libs"}), "error");
  EXPECT_THAT(error_->message(), HasSubstr("no fixed path"));
}

TEST_F(SearchPathsTest, ALayoutDecidesAndFoldersComeBehind) {
  tree_.Add("torch/a.so", Library({}, "/opt"));
  const std::vector<elf::PathRule> layout = {
      {.files = "torch/*.so*", .search_path = {"$ORIGIN", "$ORIGIN/lib"}, .tag = elf::PathTag::kRpath}};
  EXPECT_EQ(NewPathFor("torch/a.so", {}, layout), "RPATH $ORIGIN:$ORIGIN/lib");
  EXPECT_EQ(NewPathFor("torch/a.so", {"torch/lib", "x"}, layout), "RPATH $ORIGIN:$ORIGIN/lib:$ORIGIN/../x");
}

}  // namespace
}  // namespace ptpkg::repair
