#include "convert/tree/zip_tree.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/package_note.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::convert {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ZipTreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(env_->fs.MakeDirs(to_));
    for (const char* path : {"include/c.h", "conda-meta/toy.json", "lib/libc.so.1", "lib/python3.11/os.py"})
      Put(path);
    for (const char* path :
         {"toy/__init__.py", "toy/lib/liba.so.1", "toy/lib/a.py", "toy-1.0.dist-info/RECORD"})
      Put(std::string("lib/python3.11/site-packages/") + path);
  }
  void Put(const std::string& path, const std::string& text = "x") {
    ASSERT_OK(env_->fs.MakeDirs((from_ / path).Parent()));
    ASSERT_OK(WriteFile(env_->fs, from_ / path, text));
  }
  void Link(const std::string& target, const std::string& path) {
    ASSERT_OK(env_->fs.CreateSymlink(target, from_ / path));
  }
  Result<ZipTree> Make(recipe::ZipPart part) {
    output_.zip = std::move(part);
    output_.zip.name = "toy";
    PTPKG_TRY(const StagedTree prefix, ScanTree(env_, from_));
    return MakeZipTree(env_, prefix, output_, to_);
  }
  static std::vector<std::string> Paths(const Result<ZipTree>& made) {
    EXPECT_OK(made);
    std::vector<std::string> paths;
    if (!made) return paths;
    for (const TreeEntry& entry : made->tree.entries) paths.push_back(entry.path.str());
    return paths;
  }

  test::TestEnv env_;
  recipe::ZipOutput output_;
  AbsPath from_ = env_.dir().path() / "from";
  AbsPath to_ = env_.dir().path() / "to";
};

TEST_F(ZipTreeTest, HoldsThePrefixWithoutConda) {
  const auto made = Make({});
  EXPECT_THAT(Paths(made),
              AllOf(Contains("include/c.h"), Contains("lib/python3.11/site-packages/toy/lib/a.py"),
                    ::testing::Not(Contains("conda-meta/toy.json"))));
  EXPECT_EQ(made->root, "");
  EXPECT_EQ(ScanTree(env_, to_)->entries, made->tree.entries);
}

TEST_F(ZipTreeTest, ARootMayBeInTheSitePackagesOfWhicheverPython) {
  const auto made = Make({.root = "site-packages/toy"});
  EXPECT_THAT(Paths(made), ElementsAre("__init__.py", "lib/a.py", "lib/liba.so.1"));
  EXPECT_EQ(made->root, "lib/python3.11/site-packages/toy");
}

TEST_F(ZipTreeTest, ARootIsAFolderAsItLiesInThePrefix) {
  const auto made = Make({.root = "lib", .exclude = {"python3.11/site-packages/**"}});
  EXPECT_THAT(Paths(made), ElementsAre("libc.so.1", "python3.11/os.py"));
  EXPECT_EQ(made->root, "lib");
}

TEST_F(ZipTreeTest, GlobsMatchBelowTheRoot) {
  EXPECT_THAT(Paths(Make({.root = "site-packages/toy", .files = {"lib/**"}, .exclude = {"**/*.py"}})),
              ElementsAre("lib/liba.so.1"));
}

TEST_F(ZipTreeTest, AGlobThatMatchesNothingIsWarnedOf) {
  ASSERT_OK(Make({.root = "site-packages/toy", .files = {"lib/**", "bin/**"}}));
  EXPECT_THAT(env_.reporter.warnings(),
              ElementsAre(AllOf(HasSubstr("'bin/**'"), HasSubstr("'site-packages/toy'"))));
}

TEST_F(ZipTreeTest, LinksBecomeTheFilesThatTheyLeadTo) {
  const std::string site = "lib/python3.11/site-packages/";
  Link("liba.so.1", site + "toy/lib/liba.so");
  Link("../../../../libc.so.1", site + "toy/lib/libc.so");  // out of the zip
  const auto made = Make({.root = "site-packages/toy", .files = {"lib/*.so"}});
  EXPECT_THAT(Paths(made), ElementsAre("lib/liba.so", "lib/libc.so"));
  for (const TreeEntry& entry : made->tree.entries)
    EXPECT_EQ(entry.kind, FileKind::kRegular) << entry.path.str();
  EXPECT_THAT(ReadFile(env_->fs, to_ / "lib/libc.so"), IsOkAndHolds(std::string("x")));
}

TEST_F(ZipTreeTest, ALinkThatLeadsToNoFileIsRefusedByName) {
  Link("include", "headers");
  Link("nothing", "lib/gone");
  for (const auto& [link, target] : {std::pair("headers", "include"), std::pair("lib/gone", "nothing")}) {
    EXPECT_THAT(Make({.files = {link}}),
                FailsWith(ErrorCode::kInvalidInput,
                          HasSubstr(fmt::format("'{}' is a link to '{}', which is not", link, target))));
  }
}

TEST_F(ZipTreeTest, ALinkThatStaysOutIsNoError) {
  Link("include", "headers");
  EXPECT_THAT(Paths(Make({.files = {"include/**", "headers"}, .exclude = {"headers"}})),
              ElementsAre("include/c.h"));
}

TEST_F(ZipTreeTest, AddsTextsAndWhatTheCheckHasToKnow) {
  output_.allow_unresolved = {"libgomp.so.1"};
  const auto made = Make({.root = "include", .texts = {{"build-version", "1.0+cpu\n"}}});
  EXPECT_THAT(Paths(made), ElementsAre("build-version", "c.h", "ptpkg.json"));
  EXPECT_THAT(ReadFile(env_->fs, to_ / "build-version"), IsOkAndHolds(std::string("1.0+cpu\n")));
  ASSERT_OK_AND_ASSIGN(const std::string note, ReadFile(env_->fs, to_ / "ptpkg.json"));
  ASSERT_OK_AND_ASSIGN(const PackageNote parsed, ParsePackageNote(note, "ptpkg.json"));
  EXPECT_THAT(parsed.allow_unresolved, ElementsAre("libgomp.so.1"));
}

TEST_F(ZipTreeTest, ATextReplacesNoFile) {
  EXPECT_THAT(Make({.root = "include", .texts = {{"c.h", "y"}}}),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("'c.h'")));
}

TEST_F(ZipTreeTest, ATextIsNoFolderAndLiesBelowNoFile) {
  for (const auto& [text, message] :
       {std::pair("include", "'include' would be both a file and the directory of 'include/c.h'"),
        std::pair("include/c.h/x",
                  "'include/c.h' would be both a file and the directory of 'include/c.h/x'")}) {
    EXPECT_THAT(Make({.texts = {{text, "y"}}}), FailsWith(ErrorCode::kAlreadyExists, HasSubstr(message)));
    ASSERT_OK(RemoveTree(env_->fs, to_));
    ASSERT_OK(env_->fs.MakeDirs(to_));
  }
}

TEST_F(ZipTreeTest, SaysWhatItWouldTakeWithoutTheFiles) {
  const recipe::ZipPart part = {.root = "site-packages/toy", .files = {"lib/*"}, .exclude = {"**/*.py"}};
  const auto place = [&](const char* path) { return PlaceInZip(part, RelPath::Literal(path)); };
  EXPECT_EQ(place("lib/python3.11/site-packages/toy/lib/liba.so.1"), "lib/liba.so.1");
  EXPECT_EQ(place("lib/python3.11/site-packages/toy/lib/a.py"), std::nullopt);
  EXPECT_EQ(place("lib/python3.11/site-packages/toy/__init__.py"), std::nullopt);
  EXPECT_EQ(place("lib/liba.so.1"), std::nullopt);
  EXPECT_EQ(PlaceInZip({}, RelPath::Literal("conda-meta/toy.json")), std::nullopt);
}

TEST_F(ZipTreeTest, AnEmptyZipIsAnError) {
  for (const recipe::ZipPart& part : {recipe::ZipPart{.root = "site-packages/tyo"},
                                      recipe::ZipPart{.files = {"nothing"}, .texts = {{"a", "b"}}},
                                      recipe::ZipPart{.root = "conda-meta"}}) {
    EXPECT_THAT(Make(part), FailsWith(ErrorCode::kNotFound, HasSubstr("'toy' would have no file")));
  }
}

TEST_F(ZipTreeTest, TwoPythonsHaveNoCommonRoot) {
  Put("lib/python3.12/site-packages/toy/b.py");
  EXPECT_THAT(Make({.root = "site-packages/toy"}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("lib/python3.12/site-packages/toy")));
}

}  // namespace
}  // namespace ptpkg::convert
