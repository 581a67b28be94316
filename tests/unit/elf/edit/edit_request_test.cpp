// The edits that options mean for a file, by the path that it has.

#include "elf/edit/edit_request.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"

namespace ptpkg::elf::test {
namespace {

/// The path that `request` gives a library with `path`.
std::optional<SearchPath> PathAfter(const EditRequest& request, const std::optional<SearchPath>& path) {
  ptpkg::test::MemFs fs;
  Image image;
  image.dynamic.emplace();
  LinkFacts facts;
  if (path) (path->tag == PathTag::kRpath ? facts.rpath : facts.runpath) = path;
  const auto edits = ResolveEdits(fs, request, image, facts);
  EXPECT_OK(edits);
  return edits->search_path;
}

constexpr PathTag kOld = PathTag::kRpath;
constexpr PathTag kNew = PathTag::kRunpath;

TEST(ResolveEdits, EmptyPathIsNotAddedToAFileWithoutOne) {
  for (const PathAction action : {PathAction::kSet, PathAction::kAdd, PathAction::kShrink}) {
    EXPECT_EQ(PathAfter({.path_action = action}, std::nullopt), std::nullopt) << static_cast<int>(action);
  }
}

TEST(ResolveEdits, NothingAddedLeavesNoEmptyPart) {
  const EditRequest add{.path_action = PathAction::kAdd};
  EXPECT_EQ(PathAfter(add, SearchPath{.tag = kNew, .text = "/a"}), (SearchPath{.tag = kNew, .text = "/a"}));
  EXPECT_EQ(PathAfter(add, SearchPath{.tag = kOld, .text = "/a"}), (SearchPath{.tag = kNew, .text = "/a"}));
}

TEST(ResolveEdits, PathThatBecomesEmptyKeepsItsTag) {
  const SearchPath empty{.tag = kOld, .text = ""};
  for (const PathAction action : {PathAction::kSet, PathAction::kShrink}) {
    EditRequest request{.path_action = action};
    EXPECT_EQ(PathAfter(request, SearchPath{.tag = kOld, .text = "/nonexistent"}), empty);
    EXPECT_EQ(PathAfter(request, SearchPath{.tag = kNew, .text = "/nonexistent"}),
              (SearchPath{.tag = kNew, .text = ""}));
    request.rpath_tag = true;
    EXPECT_EQ(PathAfter(request, SearchPath{.tag = kNew, .text = "/nonexistent"}), empty);
  }
  EXPECT_EQ(PathAfter({.path_action = PathAction::kAdd}, empty), empty);
}

}  // namespace
}  // namespace ptpkg::elf::test
