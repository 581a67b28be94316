// The other writer: LIEF writes the file anew, and what it wrote is verified like the rest.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf/edit/edit.h"
#include "elf/read/model.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "unit/elf/fixtures/edits_of.h"
#include "unit/elf/fixtures/linked_toys.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::FaultAfter;
using ptpkg::test::FaultFs;
using ptpkg::test::FaultScope;
using ptpkg::test::HasHint;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ApplyOptions kByLief = {.writer = Writer::kLief};

Edits AllNames() {
  Edits edits;
  edits.search_path = SearchPath{.tag = PathTag::kRpath, .text = "$ORIGIN/deps:/" + std::string(700, 'g')};
  edits.soname = "libanswer-of-another-name.so.7";
  edits.replace_needed = {{"libdeep.so.1", "libdeep-of-another-name.so.1"}};
  return edits;
}

class LiefWriter : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Linkers, LiefWriter, ::testing::ValuesIn(InstalledLinkers()),
                         [](const auto& tested) { return tested.param; });

TEST_P(LiefWriter, ChangesAllNamesOfALibrary) {
  LinkedToys toys(GetParam());
  const AbsPath library = toys.Path("libanswer.so");
  ASSERT_OK(toys.fs().CreateSymlink("libdeep.so", toys.Path("deps/libdeep-of-another-name.so.1")));
  ASSERT_OK(toys.fs().SetMode(library, 0555));
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, EditFile(toys.fs(), library, AllNames(), kByLief));
  EXPECT_EQ(FactsOf(toys.fs(), library), plan.after);
  EXPECT_EQ(toys.Load(library), 42);
  EXPECT_EQ(toys.fs().Lstat(library)->mode, 0555U);
  EXPECT_THAT(toys.Output({"sh", "-c", "ls -A | grep ptpkg || true"}), "");
  // A file that says so already is nobody's to write.
  const std::int64_t mtime = toys.fs().Lstat(library)->mtime_ns;
  ASSERT_OK(EditFile(toys.fs(), library, AllNames(), kByLief));
  EXPECT_EQ(toys.fs().Lstat(library)->mtime_ns, mtime);
}

TEST_P(LiefWriter, AddsAndRemoves) {
  LinkedToys toys(GetParam());
  const AbsPath library = toys.Path("libanswer.so");
  Edits edits;
  edits.search_path = SearchPath{.text = "$ORIGIN/deps"};
  edits.add_needed = {"libdl.so.2", "libpthread.so.0"};
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, EditFile(toys.fs(), library, edits, kByLief));
  EXPECT_EQ(FactsOf(toys.fs(), library).needed, plan.after.needed);
  EXPECT_EQ(toys.Load(library), 42);
  Edits back;
  back.remove_needed = {"libdl.so.2", "libpthread.so.0"};
  back.search_path = SearchPath{.tag = PathTag::kRpath, .text = "$ORIGIN/deps"};
  ASSERT_OK(EditFile(toys.fs(), library, back, kByLief));
  EXPECT_EQ(FactsOf(toys.fs(), library).needed, plan.before.needed);
  EXPECT_EQ(toys.Load(library), 42);
  Edits remove;
  remove.remove_search_path = true;
  ASSERT_OK(EditFile(toys.fs(), library, remove, kByLief));
  EXPECT_FALSE(FactsOf(toys.fs(), library).Effective());
}

TEST(LiefWriter, KilledAnywhereLeavesTheOldFile) {
  LinkedToys toys("bfd");
  const AbsPath library = toys.Path("libanswer.so");
  const std::string before = toys.Bytes("libanswer.so");
  bool survived = false;
  for (std::uint64_t number = 1; !survived; ++number) {
    SCOPED_TRACE(number);
    FaultFs faulty(toys.fs(), {.number = number, .scope = FaultScope::kMutating, .after = FaultAfter::kDead});
    survived = EditFile(faulty, library, AllNames(), kByLief).has_value();
    const bool is_new = FactsOf(toys.fs(), library).soname == AllNames().soname;
    ASSERT_TRUE(is_new || toys.Bytes("libanswer.so") == before);
    if (is_new) break;
  }
}

TEST(LiefWriter, RefusesWhatItDoesNotDo) {
  LinkedToys toys("bfd");
  const AbsPath library = toys.Path("libanswer.so");
  const std::string before = toys.Bytes("libanswer.so");
  Edits stack;
  stack.executable_stack = true;
  Edits requirement;
  requirement.remove_needed = {"libdeep.so.1"};
  for (const Edits& edits : {stack, requirement}) {
    EXPECT_THAT(EditFile(toys.fs(), library, edits, kByLief),
                AllOf(FailsWith(ErrorCode::kUnsupported, HasSubstr("LIEF's writer")),
                      HasHint(HasSubstr("remove --writer lief"))));
  }
  EXPECT_EQ(toys.Bytes("libanswer.so"), before);
}

TEST(CompareModels, AddressesMoveTogetherOrNotAtAll) {
  Model before;
  before.symbols = {{.name = "", .version = {}},
                    {.name = "a", .version = {}, .value = 0x1000},
                    {.name = "b", .version = {}, .value = 0x2000}};
  Model after = before;
  after.symbols[1].value += 0x1000;
  after.symbols[2].value += 0x1000;
  EXPECT_OK(CompareModels(before, after, {}, Addresses::kMayMove));
  EXPECT_THAT(CompareModels(before, after, {}),
              FailsWith(ErrorCode::kInternal, HasSubstr("the symbol 'a' changed")));
  after.symbols[2].value += 8;
  EXPECT_THAT(CompareModels(before, after, {}, Addresses::kMayMove),
              FailsWith(ErrorCode::kInternal, HasSubstr("the symbol 'b' changed")));
}

}  // namespace
}  // namespace ptpkg::elf::test
