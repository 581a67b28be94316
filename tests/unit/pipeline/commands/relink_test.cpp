// Relink: which requests go together, what single files and directories mean, and what is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf/read/image.h"
#include "pipeline/commands/relink_command.h"
#include "support/matchers.h"
#include "support/text/json.h"
#include "unit/elf/fixtures/linked_toys.h"

namespace ptpkg::pipeline {
namespace {

using elf::PathAction;
using test::FailsWith;
using test::HasHint;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RelinkRequests : public ::testing::Test {
 protected:
  elf::LinkFacts FactsOf(const AbsPath& path) {
    const auto file = toys_.fs().Open(path, OpenMode::kRead);
    const auto image = elf::ReadImage(**file);
    const auto facts = elf::ReadLinkFacts(**file, **image);
    EXPECT_THAT(facts, test::IsOk());
    return facts ? *facts : elf::LinkFacts();
  }
  RelinkRequest SetPath(std::string text) {
    elf::EditRequest edits{.path_action = PathAction::kSet, .path_text = std::move(text)};
    return {.paths = {library_}, .edits = std::move(edits)};
  }

  elf::test::LinkedToys toys_{"bfd"};
  AbsPath library_ = toys_.Path("libanswer.so");
};

TEST_F(RelinkRequests, EditsOfOneFileAreOneTransaction) {
  RelinkRequest request = SetPath("$ORIGIN/deps");
  request.edits->soname = "libanswer.so.5";
  request.edits->add_needed = {"libdl.so.2"};
  request.edits->executable_stack = false;
  ASSERT_OK_AND_ASSIGN(const auto items, Relink(toys_.env(), request));
  ASSERT_THAT(items, SizeIs(1));
  EXPECT_EQ(items[0].after, FactsOf(library_));
  EXPECT_EQ(items[0].after.soname, "libanswer.so.5");
  EXPECT_EQ(toys_.Load(library_), 42);
  EXPECT_THAT(
      DescribeChanges(items[0].before, items[0].after),
      AllOf(Contains("runpath: (none) → $ORIGIN/deps"), Contains("soname: libanswer.so → libanswer.so.5"),
            Contains(HasSubstr("needed: libdeep.so.1"))));
  const Json json = LinkFactsToJson(items[0].after);
  EXPECT_EQ(json["runpath"], "$ORIGIN/deps");
  EXPECT_EQ(json["rpath"], nullptr);
  EXPECT_EQ(json["execstack"], false);
}

TEST_F(RelinkRequests, PlanWritesNothing) {
  const std::string before = toys_.Bytes("libanswer.so");
  RelinkRequest request = SetPath("$ORIGIN/deps");
  request.plan_only = true;
  ASSERT_OK_AND_ASSIGN(const auto items, Relink(toys_.env(), request));
  EXPECT_GT(items[0].bytes_to_write, 0U);
  EXPECT_EQ(toys_.Bytes("libanswer.so"), before);
}

TEST_F(RelinkRequests, NothingIsWrittenWhereOnePathIsWrong) {
  const std::string before = toys_.Bytes("libanswer.so");
  RelinkRequest request = SetPath("$ORIGIN/deps");
  request.paths.push_back(toys_.Path("missing.so"));
  EXPECT_THAT(Relink(toys_.env(), request), FailsWith(ErrorCode::kNotFound, HasSubstr("missing.so")));
  EXPECT_EQ(toys_.Bytes("libanswer.so"), before);
}

TEST_F(RelinkRequests, KeepsTheTimeStampOnlyWhenAsked) {
  RelinkRequest request = SetPath("$ORIGIN/deps");
  ASSERT_OK(toys_.fs().SetMtime(library_, 1'000'000'000));
  request.apply.keep_mtime = true;
  ASSERT_OK(Relink(toys_.env(), request));
  EXPECT_EQ(toys_.fs().Lstat(library_)->mtime_ns, 1'000'000'000);
  request = SetPath("$ORIGIN/deps:$ORIGIN");
  ASSERT_OK(Relink(toys_.env(), request));
  EXPECT_NE(toys_.fs().Lstat(library_)->mtime_ns, 1'000'000'000);
}

TEST_F(RelinkRequests, EntriesBecomeRelativeToTheRoot) {
  const std::string root = toys_.root().str();
  ASSERT_OK(Relink(toys_.env(), SetPath(root + "/deps:" + root + "/deps/../deps:/usr/local/lib")));
  RelinkRequest relative{.paths = {library_}, .root = toys_.root()};
  ASSERT_OK_AND_ASSIGN(const auto items, Relink(toys_.env(), relative));
  ASSERT_THAT(items, SizeIs(1));
  EXPECT_EQ(items[0].after.Effective()->text, "$ORIGIN/deps");
  EXPECT_EQ(toys_.Load(library_), 42);
  // A second time there is nothing to do, and the file is still listed.
  ASSERT_OK_AND_ASSIGN(const auto again, Relink(toys_.env(), relative));
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].tier, "nothing");
}

TEST_F(RelinkRequests, FileNamedTwice) {
  const std::string before = toys_.Bytes("libanswer.so");
  RelinkRequest request = SetPath("/x");
  request.paths = {toys_.root(), library_};
  EXPECT_THAT(Relink(toys_.env(), request),
              FailsWith(ErrorCode::kUsage, HasSubstr("libanswer.so' is given twice")));
  EXPECT_EQ(toys_.Bytes("libanswer.so"), before);
}

TEST_F(RelinkRequests, FileOutsideTheRoot) {
  RelinkRequest request{.paths = {library_}, .root = toys_.Path("deps")};
  EXPECT_THAT(Relink(toys_.env(), request), FailsWith(ErrorCode::kUsage, HasSubstr("below the root")));
}

TEST_F(RelinkRequests, NamesOfOneLibraryAreNoEditForAFolder) {
  RelinkRequest request{.paths = {toys_.root()}, .edits = elf::EditRequest{.soname = "x"}};
  EXPECT_THAT(Relink(toys_.env(), request),
              AllOf(FailsWith(ErrorCode::kUsage, HasSubstr("is a directory")), HasHint("name the file")));
}

TEST_F(RelinkRequests, LayoutAndEditsExcludeEachOther) {
  RelinkRequest request = SetPath("/x");
  request.layout = "pytorch-conda";
  EXPECT_THAT(Relink(toys_.env(), request),
              FailsWith(ErrorCode::kUsage, HasSubstr("cannot be combined with")));
}

TEST_F(RelinkRequests, TextAndSymlinksAreRefusedByName) {
  ASSERT_OK(WriteFile(toys_.fs(), toys_.Path("text.so"), std::string(100, 'x')));
  RelinkRequest request = SetPath("/x");
  request.paths = {toys_.Path("text.so")};
  EXPECT_THAT(
      Relink(toys_.env(), request),
      FailsWith(ErrorCode::kInvalidInput, HasSubstr("text.so' is not a dynamically linked ELF file")));
  request.paths = {toys_.Path("deps/libdeep.so.1")};
  EXPECT_THAT(Relink(toys_.env(), request),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a regular file")));
}

class RecipeLayout : public RelinkRequests {
 protected:
  void WriteRecipe(const std::string& layouts, const std::string& variants = "flavour: [plain]\n") {
    ASSERT_OK(toys_.fs().MakeDirs(toys_.Path("recipe")));
    ASSERT_OK(WriteFile(toys_.fs(), toys_.Path("recipe/recipe.yaml"),
                        "schema_version: 1\npackage: {name: answer, version: \"1\"}\n"
                        "build: {number: 0, script: {content: \"true\"}, variant: {use_keys: [flavour]}}\n"
                        "about: {license: MIT}\nextra:\n  ptpkg:\n    layouts:\n" +
                            layouts));
    ASSERT_OK(WriteFile(toys_.fs(), toys_.Path("recipe/variants.yaml"), variants));
  }
  RelinkRequest Request(std::string layout) {
    return {.paths = {toys_.root()}, .layout = std::move(layout), .recipe = toys_.Path("recipe")};
  }
};

TEST_F(RecipeLayout, RulesComeFromTheRecipe) {
  WriteRecipe("      wheel:\n        - {files: \"libanswer.so\", rpath: [\"$ORIGIN/deps\"], tag: rpath}\n");
  ASSERT_OK_AND_ASSIGN(const auto items, Relink(toys_.env(), Request("wheel")));
  ASSERT_THAT(items, SizeIs(1));
  EXPECT_EQ(FactsOf(library_).rpath->text, "$ORIGIN/deps");
}

TEST_F(RecipeLayout, NamesTheLayoutsThatThereAre) {
  WriteRecipe("      wheel:\n        - {files: \"*.so\", rpath: [\"$ORIGIN\"]}\n");
  EXPECT_THAT(Relink(toys_.env(), Request("conda")),
              AllOf(FailsWith(ErrorCode::kUsage, HasSubstr("'answer' has no layout 'conda'")),
                    HasHint("--layout wheel")));
}

TEST_F(RecipeLayout, VariantsHaveToAgree) {
  WriteRecipe("      wheel:\n        - {files: \"libanswer.so\", rpath: [\"$ORIGIN/${{ flavour }}\"]}\n",
              "flavour: [deps, more]\n");
  EXPECT_THAT(Relink(toys_.env(), Request("wheel")),
              FailsWith(ErrorCode::kUsage, HasSubstr("differ in their layout")));
  RelinkRequest one = Request("wheel");
  one.select = {{"flavour", {"deps"}}};
  ASSERT_OK_AND_ASSIGN(const auto items, Relink(toys_.env(), one));
  ASSERT_THAT(items, SizeIs(1));
  EXPECT_EQ(items[0].after.Effective()->text, "$ORIGIN/deps");
}

TEST(DescribeChanges, NothingForEqualFacts) {
  elf::LinkFacts facts;
  facts.runpath = elf::SearchPath{.text = ""};
  EXPECT_THAT(DescribeChanges(facts, facts), IsEmpty());
  EXPECT_THAT(DescribeChanges(facts, {}), ElementsAre("runpath: (empty) → (none)"));
}

}  // namespace
}  // namespace ptpkg::pipeline
