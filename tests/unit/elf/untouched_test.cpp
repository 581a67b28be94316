// Files that must not be touched: static programs, debug companions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf/edit.h"
#include "elf/relink.h"
#include "support/matchers.h"
#include "unit/elf/edits_of.h"
#include "unit/elf/linked_toys.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(StaticPie, GetsNoSearchPath) {
  LinkedToys toys("bfd");
  ASSERT_OK(WriteFile(toys.fs(), toys.Path("static.c"), "int main(void) { return 42; }\n"));
  toys.Output({"gcc", "-static-pie", "static.c", "-o", "static"});
  const AbsPath program = toys.Path("static");
  EXPECT_THAT(EditFile(toys.fs(), program, LongPath()),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("static position-independent program")));
  ASSERT_OK_AND_ASSIGN(RelPath name, RelPath::Parse("static"));
  StagedTree tree{.root = toys.root()};
  tree.entries.push_back({.path = std::move(name), .size_bytes = toys.fs().Lstat(program)->size_bytes});
  RelinkOptions options;
  options.rules = {{.files = "**", .search_path = {"$ORIGIN"}}};
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanRelink(toys.env(), tree, options));
  EXPECT_THAT(plan, IsEmpty());
  EXPECT_EQ(toys.Run(program), 42);
}

TEST(DebugCompanion, OfElfutilsHasNothingToRelink) {
  LinkedToys toys("bfd");
  toys.Output({"eu-strip", "-f", "libanswer.so.debug", "libanswer.so"});
  const auto file = toys.fs().Open(toys.Path("libanswer.so.debug"), OpenMode::kRead);
  ASSERT_OK_AND_ASSIGN(const auto image, ReadImage(**file));
  ASSERT_TRUE(image);
  EXPECT_FALSE(image->dynamic);
  EXPECT_EQ(toys.Load(toys.Path("libanswer.so")), 1) << "it has no path to libdeep.so yet";
  ASSERT_OK(EditFile(toys.fs(), toys.Path("libanswer.so"), LongPath()));
  EXPECT_EQ(toys.Load(toys.Path("libanswer.so")), 42);
}

}  // namespace
}  // namespace ptpkg::elf::test
