// Files that must not be touched: static programs, loaders, debug companions, files with a payload.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf/edit/edit.h"
#include "elf/edit/relink_tree.h"
#include "support/matchers.h"
#include "unit/elf/fixtures/edits_of.h"
#include "unit/elf/fixtures/linked_toys.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::HasHint;
using ::testing::AllOf;
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

TEST(Loader, IsRefusedUnderAnyNameAndPassedOverInATree) {
  LinkedToys toys("bfd");
  const AbsPath installed = AbsPath::Literal(*FactsOf(toys.fs(), toys.Path("app")).interpreter);
  toys.Output({"cp", installed.str(), "renamed.so"});
  const AbsPath loader = toys.Path("renamed.so");
  const std::string before = toys.Bytes("renamed.so");
  Edits soname;
  soname.soname = "libother.so";
  for (const Edits& edits : {LongPath(), SetPath("/x"), soname}) {
    for (const Writer writer : {Writer::kOwn, Writer::kLief}) {
      EXPECT_THAT(EditFile(toys.fs(), loader, edits, {.writer = writer}),
                  FailsWith(ErrorCode::kUnsupported, HasSubstr("the file is a dynamic loader")));
    }
  }
  ASSERT_OK_AND_ASSIGN(RelPath name, RelPath::Parse("renamed.so"));
  StagedTree tree{.root = toys.root()};
  tree.entries.push_back({.path = std::move(name), .size_bytes = before.size()});
  RelinkOptions options;
  options.rules = {{.files = "**", .search_path = {"$ORIGIN"}}};
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanRelink(toys.env(), tree, options));
  EXPECT_THAT(plan, IsEmpty());
  options.passes_over = false;
  EXPECT_THAT(PlanRelink(toys.env(), tree, options),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("dynamic loader")));
  EXPECT_EQ(toys.Bytes("renamed.so"), before);
}

TEST(Payload, StaysAtTheEndUnlessAllowed) {
  LinkedToys toys("with-pad");
  const AbsPath library = toys.Path("libanswer.so");
  ASSERT_OK(EditFile(toys.fs(), library, SetPath("$ORIGIN/deps")));
  toys.Output({"sh", "-c", "printf 'a payload' >> libanswer.so"});
  ASSERT_OK(EditFile(toys.fs(), library, SetPath("$ORIGIN:$ORIGIN/deps")));
  EXPECT_TRUE(toys.Bytes("libanswer.so").ends_with("a payload")) << "an edit in place leaves it alone";
  const std::string before = toys.Bytes("libanswer.so");
  Edits grown = SetPath("$ORIGIN/deps:/" + std::string(9000, 'x'));
  EXPECT_THAT(EditFile(toys.fs(), library, grown),
              AllOf(FailsWith(ErrorCode::kUnsupported, HasSubstr("9 bytes follow the ELF file")),
                    HasHint(HasSubstr("--allow-payload"))));
  EXPECT_EQ(toys.Bytes("libanswer.so"), before);
  grown.allow_payload = true;
  ASSERT_OK(EditFile(toys.fs(), library, grown));
  EXPECT_EQ(toys.Load(library), 42);
}

TEST(Payload, IsRefusedWithoutSectionHeadersToo) {
  LinkedToys toys("bfd");
  toys.Output({"sh", "-c",
               "printf 'a payload' >> libanswer.so; "
               "head -c 8 /dev/zero | dd of=libanswer.so bs=1 seek=40 conv=notrunc 2>/dev/null; "
               "head -c 4 /dev/zero | dd of=libanswer.so bs=1 seek=60 conv=notrunc 2>/dev/null"});
  const std::string before = toys.Bytes("libanswer.so");
  EXPECT_THAT(EditFile(toys.fs(), toys.Path("libanswer.so"), LongPath()),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("bytes follow the ELF file")));
  EXPECT_EQ(toys.Bytes("libanswer.so"), before);
}

TEST(Payload, PaddingIsNone) {
  LinkedToys toys("bfd");
  toys.Output({"sh", "-c", "head -c 5000 /dev/zero >> libanswer.so"});
  ASSERT_OK(EditFile(toys.fs(), toys.Path("libanswer.so"), LongPath()));
  EXPECT_EQ(toys.Load(toys.Path("libanswer.so")), 42);
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
