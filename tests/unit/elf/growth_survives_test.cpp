// What others do to a file after it grew, and files that must not be touched: strip, static programs, debug
// companions, other users' files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/edit.h"
#include "elf/relink.h"
#include "support/matchers.h"
#include "unit/elf/linked_toys.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Edits LongPath() {
  Edits edits;
  edits.search_path = SearchPath{.text = "$ORIGIN/deps:$ORIGIN:/" + std::string(700, 'g')};
  return edits;
}

class Stripped : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Linkers, Stripped, ::testing::ValuesIn(InstalledLinkers()),
                         [](const auto& tested) { return tested.param; });

TEST_P(Stripped, LibraryAndProgramsThatGrewStillRun) {
  const std::vector<std::vector<std::string>> tools = {
      {"strip"}, {"strip", "--strip-debug"}, {"objcopy", "--strip-unneeded"}, {"eu-strip"}};
  for (const std::vector<std::string>& tool : tools) {
    SCOPED_TRACE(tool.front() + " " + tool.back());
    LinkedToys toys(GetParam());
    for (const char* name : {"libanswer.so", "app", "app_fixed"}) {
      ASSERT_OK_AND_ASSIGN(const EditPlan plan, EditFile(toys.fs(), toys.Path(name), LongPath(),
                                                         {.verification = Verification::kDeep}));
      ASSERT_EQ(plan.tier, WriteTier::kAppend);
      std::vector<std::string> command = tool;
      command.emplace_back(name);
      toys.Output(command);
    }
    EXPECT_EQ(toys.Load(toys.Path("libanswer.so")), 42);
    EXPECT_EQ(toys.Run(toys.Path("app")), 42);
    EXPECT_EQ(toys.Run(toys.Path("app_fixed")), 42);
  }
}

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

TEST(OtherOwner, KeepsFileAndSetUserIdWhenSplitFromItsLinks) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  constexpr uid_t kSomebody = 12345;
  LinkedToys toys("bfd");
  const AbsPath library = toys.Path("libanswer.so");
  ASSERT_OK(toys.fs().CreateHardLink(library, toys.Path("other.so")));
  ASSERT_EQ(::chown(library.c_str(), kSomebody, kSomebody), 0);
  ASSERT_EQ(::chmod(library.c_str(), 04755), 0);
  ASSERT_OK(EditFile(toys.fs(), library, LongPath()));
  struct stat st {};
  ASSERT_EQ(::stat(library.c_str(), &st), 0);
  EXPECT_EQ(st.st_uid, kSomebody);
  EXPECT_EQ(st.st_gid, kSomebody);
  EXPECT_EQ(st.st_mode & 07777U, 04755U);
  EXPECT_EQ(st.st_nlink, 1U);
}

}  // namespace
}  // namespace ptpkg::elf::test
