#include "index/simple_index/simple_index_pages.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "archive/zip/zip_format.h"
#include "index/index.h"
#include "support/matchers.h"
#include "support/text/json.h"
#include "support/text/text.h"
#include "unit/index/wheel_folder_fixture.h"

namespace ptpkg::index {
namespace {

using test::FailsWith;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class IndexWheelsTest : public WheelFolderTest {
 protected:
  /// A digest in the cache that is not the file's shows whether it is taken from there.
  std::string PlantDigest(const AbsPath& wheel) {
    const Result<Digests> digests = HashFile(env_->fs, wheel);
    EXPECT_THAT(digests, test::IsOk());
    const std::string planted(64, 'a');
    const std::string cache = Text(kCache);
    EXPECT_THAT(cache, HasSubstr(digests->sha256.Hex()));
    env_.dir().WriteFile(std::string("root/") + kCache, ReplaceAll(cache, digests->sha256.Hex(), planted));
    return planted;
  }
  std::string Listed(const std::string& project) {
    return Page(project).at("files").at(0).at("hashes").at("sha256").get<std::string>();
  }
  std::string DigestOf(const AbsPath& wheel) {
    const Result<Digests> digests = HashFile(env_->fs, wheel);
    EXPECT_THAT(digests, test::IsOk());
    return digests ? digests->sha256.Hex() : "";
  }

  static constexpr const char* kCache = ".cache/ptpkg-wheels.json";
};

TEST_F(IndexWheelsTest, WritesPagesAndMetadata) {
  const AbsPath wheel = AddWheel("Foo.Bar", "1.0+cu130", "Requires-Python: >=3.10,<4\n");
  ASSERT_OK_AND_ASSIGN(const Digests digests, HashFile(env_->fs, wheel));
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexWheels(env_, root_));
  EXPECT_EQ(summary.packages, 1U);
  EXPECT_THAT(Written(summary),
              ElementsAre("foo_bar-1.0+cu130-py3-none-any.whl.metadata", "simple/foo-bar/index.html",
                          "simple/foo-bar/index.json", "simple/index.html", "simple/index.json"));
  const std::string metadata = Text("foo_bar-1.0+cu130-py3-none-any.whl.metadata");
  EXPECT_EQ(metadata,
            "Metadata-Version: 2.1\nName: Foo.Bar\nVersion: 1.0+cu130\nRequires-Python: >=3.10,<4\n");
  const std::string metadata_hex = HashText(metadata).Hex();
  EXPECT_THAT(
      Text("simple/foo-bar/index.html"),
      HasSubstr("<a href=\"../../foo_bar-1.0%2Bcu130-py3-none-any.whl#sha256=" + digests.sha256.Hex() +
                "\" data-requires-python=\"&gt;=3.10,&lt;4\" data-core-metadata=\"sha256=" + metadata_hex +
                "\" data-dist-info-metadata=\"sha256=" + metadata_hex +
                "\">foo_bar-1.0+cu130-py3-none-any.whl</a>"));
  EXPECT_THAT(Text("simple/index.html"), HasSubstr("<a href=\"foo-bar/\">foo-bar</a>"));
  const Json page = Page("foo-bar");
  EXPECT_EQ(page.at("meta").at("api-version"), "1.4");
  EXPECT_EQ(page.at("name"), "foo-bar");
  EXPECT_EQ(page.at("versions"), Json::array({"1.0+cu130"}));
  const Json& file = page.at("files").at(0);
  EXPECT_EQ(file.at("filename"), "foo_bar-1.0+cu130-py3-none-any.whl");
  EXPECT_EQ(file.at("url"), "../../foo_bar-1.0%2Bcu130-py3-none-any.whl");
  EXPECT_EQ(file.at("hashes").at("sha256"), digests.sha256.Hex());
  EXPECT_EQ(file.at("size"), digests.size_bytes);
  EXPECT_EQ(file.at("requires-python"), ">=3.10,<4");
  EXPECT_EQ(file.at("core-metadata").at("sha256"), metadata_hex);
  EXPECT_FALSE(file.contains("upload-time")) << "a page must not depend on the clock";
}

TEST_F(IndexWheelsTest, SortsByVersionNotByText) {
  for (const char* const version : {"1.10", "1.9", "1.10rc1", "1.9.post1"}) AddWheel("a", version);
  ASSERT_OK(IndexWheels(env_, root_));
  EXPECT_EQ(Page("a").at("versions"), Json::array({"1.9", "1.9.post1", "1.10rc1", "1.10"}));
}

TEST_F(IndexWheelsTest, ASecondRunWritesNothingAndHashesNothing) {
  const AbsPath wheel = AddWheel("a", "1");
  ASSERT_OK(IndexWheels(env_, root_));
  ASSERT_OK_AND_ASSIGN(const IndexSummary again, IndexWheels(env_, root_));
  EXPECT_THAT(again.written, IsEmpty());
  const std::string planted = PlantDigest(wheel);
  ASSERT_OK(IndexWheels(env_, root_));
  EXPECT_EQ(Listed("a"), planted);
}

TEST_F(IndexWheelsTest, AFileOfAnotherTimeIsHashedAgain) {
  const AbsPath wheel = AddWheel("a", "1");
  ASSERT_OK(IndexWheels(env_, root_));
  PlantDigest(wheel);
  // As after a byte of the payload was flipped: neither size nor zip directory show it.
  ASSERT_OK_AND_ASSIGN(const FileStat stat, env_->fs.Stat(wheel));
  ASSERT_OK(env_->fs.SetMtime(wheel, stat.mtime_ns + 1));
  ASSERT_OK(IndexWheels(env_, root_));
  EXPECT_EQ(Listed("a"), DigestOf(wheel));
}

TEST_F(IndexWheelsTest, ARebuildAtAnotherTimeIsHashedAgainAndNotYanked) {
  const AbsPath wheel = AddWheel("a", "1");
  ASSERT_OK_AND_ASSIGN(const FileStat stat, env_->fs.Stat(wheel));
  ASSERT_OK(IndexWheels(env_, root_));
  const Yank yank{.file_name = "a-1-py3-none-any.whl", .project = "a", .reason = ""};
  ASSERT_OK(YankWheels(env_, root_, {yank}));
  const std::string before = Listed("a");
  env_->source_date_epoch += 3600;
  AddWheel("a", "1");
  ASSERT_OK(env_->fs.SetMtime(wheel, stat.mtime_ns));
  ASSERT_OK_AND_ASSIGN(const FileStat rebuilt, env_->fs.Stat(wheel));
  ASSERT_EQ(rebuilt.size_bytes, stat.size_bytes) << "the stamps of its members alone differ";
  ASSERT_OK(IndexWheels(env_, root_));
  EXPECT_NE(Listed("a"), before);
  EXPECT_EQ(Listed("a"), DigestOf(wheel));
  EXPECT_FALSE(IsYanked(Page("a"), yank));
}

TEST_F(IndexWheelsTest, PagesDoNotDependOnTheTimeOfAFile) {
  const AbsPath wheel = AddWheel("a", "1");
  ASSERT_OK(IndexWheels(env_, root_));
  ASSERT_OK(env_->fs.SetMtime(wheel, 0));
  ASSERT_OK_AND_ASSIGN(const IndexSummary again, IndexWheels(env_, root_));
  EXPECT_THAT(again.written, IsEmpty());
}

TEST_F(IndexWheelsTest, ADamagedCacheIsNotUsed) {
  const AbsPath wheel = AddWheel("a", "1");
  const std::string name = "a-1-py3-none-any.whl";
  for (const std::string& text :
       {std::string(), std::string("nonsense"), std::string("[]"), std::string(R"({"version": 0})"),
        std::string(R"({"version": 1, "wheels": []})"), R"({"version": 1, "wheels": {")" + name + R"(": 1}})",
        R"({"version": 1, "wheels": {")" + name + R"(": {"size": -1, "mtime_ns": 1, "sha256": "a"}}})"}) {
    env_.dir().WriteFile(std::string("root/") + kCache, text);
    ASSERT_OK(IndexWheels(env_, root_)) << text;
    EXPECT_EQ(Listed("a"), DigestOf(wheel)) << text;
  }
}

TEST_F(IndexWheelsTest, TheDigestOfWhatWasJustWrittenIsTakenOver) {
  const AbsPath wheel = AddWheel("a", "1");
  ASSERT_OK_AND_ASSIGN(const FileStat stat, env_->fs.Stat(wheel));
  Artifact written{.format = ArtifactFormat::kWheel, .path = wheel, .digests = {}};
  // A digest that is not the file's shows whether it was taken.
  ASSERT_OK_AND_ASSIGN(written.digests.sha256, Sha256::FromHex(std::string(64, 'b')));
  written.digests.size_bytes = stat.size_bytes;
  const auto listed = [&]() -> std::string {
    EXPECT_OK(IndexWheels(env_, root_, {.known = std::span(&written, 1)}));
    return Page("a").at("files").at(0).at("hashes").at("sha256");
  };
  EXPECT_EQ(listed(), std::string(64, 'b'));
  ++written.digests.size_bytes;
  ASSERT_OK(env_->fs.SetMtime(wheel, 0));
  EXPECT_EQ(listed(), DigestOf(wheel)) << "another file by now";
}

TEST_F(IndexWheelsTest, OtherContentUnderTheSameNameIsHashedAgain) {
  const AbsPath wheel = AddWheel("a", "1", "Summary: one\n");
  ASSERT_OK_AND_ASSIGN(const FileStat stat, env_->fs.Stat(wheel));
  ASSERT_OK(IndexWheels(env_, root_));
  AddWheel("a", "1", "Summary: two\n");
  // The time alone says nothing: copies keep it, and reproducible builds set it.
  ASSERT_OK(env_->fs.SetMtime(wheel, stat.mtime_ns));
  ASSERT_OK(IndexWheels(env_, root_));
  EXPECT_EQ(Listed("a"), DigestOf(wheel));
}

TEST_F(IndexWheelsTest, ADamagedPageOfTheLastRunIsReplaced) {
  const AbsPath wheel = AddWheel("a", "1");
  ASSERT_OK_AND_ASSIGN(const Digests digests, HashFile(env_->fs, wheel));
  for (const char* const text :
       {"", "nonsense", "[]", "{\"files\": 1}", "{\"files\": [1, {\"filename\": 2}]}",
        "{\"files\": [{\"filename\": \"a-1-py3-none-any.whl\", \"size\": -1}]}",
        "{\"files\": [{\"filename\": \"a-1-py3-none-any.whl\", \"hashes\": []}]}"}) {
    ASSERT_OK(env_->fs.MakeDirs(root_ / "simple/a"));
    ASSERT_OK(WriteFile(env_->fs, root_ / "simple/a/index.json", text));
    ASSERT_OK(IndexWheels(env_, root_)) << text;
    EXPECT_EQ(Page("a").at("files").at(0).at("hashes").at("sha256"), digests.sha256.Hex()) << text;
  }
}

TEST_F(IndexWheelsTest, AYankStaysWhileTheFileIsTheSame) {
  AddWheel("toy", "1.0");
  AddWheel("toy", "2.0");
  ASSERT_THAT(IndexWheels(env_, root_), test::IsOk());
  const Yank yank{.file_name = "toy-2.0-py3-none-any.whl", .project = "toy", .reason = "a < b"};
  ASSERT_THAT(YankWheels(env_, root_, {yank}), test::IsOk());
  EXPECT_TRUE(IsYanked(Page("toy"), yank));
  EXPECT_THAT(Text("simple/toy/index.html"), HasSubstr("data-yanked=\"a &lt; b\">toy-2.0"));
  ASSERT_OK_AND_ASSIGN(const IndexSummary again, IndexWheels(env_, root_));
  EXPECT_THAT(again.written, IsEmpty());
  AddWheel("toy", "2.0", "Summary: other\n");
  ASSERT_THAT(IndexWheels(env_, root_), test::IsOk());
  EXPECT_FALSE(IsYanked(Page("toy"), yank));
}

TEST_F(IndexWheelsTest, AYankOfAWheelThatIsNotListedIsAnError) {
  AddWheel("toy", "1.0");
  ASSERT_THAT(IndexWheels(env_, root_), test::IsOk());
  EXPECT_THAT(
      YankWheels(env_, root_, {{.file_name = "toy-2.0-py3-none-any.whl", .project = "toy", .reason = ""}}),
      test::FailsWith(ErrorCode::kNotFound, HasSubstr("toy-2.0")));
}

TEST_F(IndexWheelsTest, WhatIsToGoIsNotListed) {
  AddWheel("toy", "1.0");
  AddWheel("toy", "2.0");
  ASSERT_THAT(IndexWheels(env_, root_, {.without = {"toy-2.0-py3-none-any.whl"}}), test::IsOk());
  EXPECT_EQ(Page("toy")["files"].size(), 1U);
  EXPECT_EQ(Page("toy")["versions"], Json::array({"1.0"}));
}

TEST(ProjectPage, ARemovedFileTakesItsVersionWithItIfItWasTheLast) {
  Json page = EmptyProjectPage("toy");
  page["versions"] = {"1.0", "2.0"};
  for (const char* name :
       {"toy-1.0-py2-none-any.whl", "toy-1.0-py3-none-any.whl", "toy-2.0-py3-none-any.whl"})
    page["files"].push_back({{"filename", name}});
  ASSERT_THAT(RemoveFromProjectPage(
                  page, {{"toy-1.0-py3-none-any.whl", ""}, {"toy-2.0-py3-none-any.whl", ""}, {"other", ""}}),
              test::IsOk());
  EXPECT_EQ(page["versions"], Json::array({"1.0"}));
  EXPECT_EQ(page["files"].size(), 1U);
}

TEST(ProjectPage, EntriesOfOtherShapesAreNoDigests) {
  for (const char* text : {R"([])", R"({"files": {}})", R"({"files": [7, {"filename": 7}]})",
                           R"({"files": [{"filename": "a-1-py3-none-any.whl", "hashes": []}]})",
                           R"({"files": [{"filename": "a-1-py3-none-any.whl", "hashes": {"sha256": 7}}]})"}) {
    EXPECT_EQ(DigestInPage(Json::parse(text), "a-1-py3-none-any.whl"), "") << text;
  }
}

TEST(ProjectPage, EntriesOfOtherShapesStay) {
  Json page =
      Json::parse(R"({"files": [7, {"filename": "a-1-py3-none-any.whl", "hashes": []}], "versions": []})");
  ASSERT_OK(RemoveFromProjectPage(page, {{"a-1-py3-none-any.whl", "00"}}));
  EXPECT_EQ(page["files"], Json::array({7}));
}

TEST_F(IndexWheelsTest, RemovesPagesOfWheelsThatAreGone) {
  const AbsPath gone = AddWheel("gone", "1");
  AddWheel("stays", "1");
  ASSERT_OK(IndexWheels(env_, root_));
  ASSERT_OK(env_->fs.Remove(gone));
  ASSERT_OK(IndexWheels(env_, root_));
  const std::vector<std::string> left = env_.dir().List();
  EXPECT_THAT(left, Not(Contains(HasSubstr("gone"))));
  EXPECT_THAT(left, Contains("root/simple/stays/index.html"));
  EXPECT_THAT(Text("simple/index.html"), Not(HasSubstr("gone")));
}

TEST_F(IndexWheelsTest, LeavesForeignFilesAlone) {
  AddWheel("a", "1");
  env_.dir().WriteFile("root/notes.txt", "mine");
  env_.dir().WriteFile("root/.b-1-py3-none-any.whl.1-1.ptpkg-tmp", "half");
  env_.dir().WriteFile("root/simple/old/notes.txt", "mine");
  ASSERT_OK(IndexWheels(env_, root_));
  EXPECT_EQ(Text("notes.txt"), "mine");
  EXPECT_EQ(Text("simple/old/notes.txt"), "mine");
}

TEST_F(IndexWheelsTest, RemovesWhatAKilledRunLeft) {
  AddWheel("a", "1");
  ASSERT_OK(IndexWheels(env_, root_));
  const std::string temp = ".index.json.0123456789ab.ptpkg-tmp";
  for (const char* folder : {"root/", "root/simple/", "root/simple/a/", "root/simple/gone/"}) {
    env_.dir().WriteFile(folder + temp, "half");
  }
  ASSERT_OK(IndexWheels(env_, root_));
  EXPECT_THAT(env_.dir().List(), Not(Contains(HasSubstr("ptpkg-tmp"))));
  EXPECT_THAT(env_.dir().List(), Not(Contains(HasSubstr("gone"))));
}

TEST_F(IndexWheelsTest, AnEmptyFolderGivesAnEmptyIndex) {
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexWheels(env_, root_));
  EXPECT_EQ(summary.packages, 0U);
  EXPECT_THAT(Text("simple/index.json"), HasSubstr("\"projects\": []"));
}

TEST_F(IndexWheelsTest, LeavesOutWheelsThatAreWrong) {
  AddWheel("a", "1");
  env_.dir().WriteFile("root/b-1-py3-none-any.whl", "junk");
  env_.dir().WriteFile("root/b.whl", "junk");
  env_.dir().MakeSymlink("nowhere.whl", "root/c-1-py3-none-any.whl");
  ASSERT_EQ(::mkfifo((root_ / "d-1-py3-none-any.whl").c_str(), 0600), 0);
  env_.dir().MakeDir("root/e-1-py3-none-any.whl");
  env_.dir().WriteFile("root/f-1-py3-none-any.WHL", "junk");
  env_.dir().WriteFile("root/.g-1-py3-none-any.whl", "junk");
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexWheels(env_, root_));
  EXPECT_EQ(summary.packages, 1U);
  ASSERT_THAT(summary.left_out, testing::SizeIs(6));
  EXPECT_EQ(summary.left_out[0].package, root_ / "b-1-py3-none-any.whl");
  EXPECT_EQ(summary.left_out[0].reason.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(summary.left_out[1].reason.message(), HasSubstr("'b.whl'"));
  EXPECT_EQ(summary.left_out[2].reason.code(), ErrorCode::kNotFound);
  EXPECT_THAT(summary.left_out[3].reason.message(), HasSubstr("is not a regular file"));
  EXPECT_THAT(summary.left_out[4].reason.message(), HasSubstr("is not a regular file"));
  EXPECT_THAT(summary.left_out[5].reason.message(), HasSubstr("does not end in '.whl'"));
  EXPECT_THAT(env_.reporter.warnings(), testing::SizeIs(6));
  EXPECT_THAT(Text("simple/index.json"), HasSubstr("\"name\": \"a\""));
  EXPECT_THAT(Text("simple/index.json"), Not(HasSubstr("\"name\": \"b\"")));
}

TEST_F(IndexWheelsTest, LeavesOutALinkInACircleAndCondaPackages) {
  AddWheel("a", "1");
  env_.dir().MakeSymlink("b-1-py3-none-any.whl", "root/b-1-py3-none-any.whl");
  env_.dir().WriteFile("root/Toy-1-0.CONDA", "");
  env_.dir().WriteFile("root/toy-1-0.tar.bz2", "");
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexFolder(env_, root_));
  EXPECT_EQ(summary.packages, 1U);
  ASSERT_THAT(summary.left_out, testing::SizeIs(3));
  EXPECT_EQ(summary.left_out[0].package, root_ / "Toy-1-0.CONDA");
  EXPECT_THAT(summary.left_out[1].reason.message(), HasSubstr("Too many levels"));
  EXPECT_THAT(summary.left_out[2].reason.message(), HasSubstr("does not list conda packages"));
  EXPECT_THAT(Text("simple/index.json"), HasSubstr("\"name\": \"a\""));
}

TEST_F(IndexWheelsTest, LeavesOutAWheelWithAMemberThatOnlySomeReadersSee) {
  const AbsPath wheel = AddWheel("a", "1");
  AddWheel("b", "1");
  const std::string zip = Text("a-1-py3-none-any.whl");
  const std::size_t offset_at = zip.size() - 6;
  const auto directory = static_cast<std::size_t>(archive::zip::Get32(zip, offset_at));
  const std::string name = "a.py";
  const std::string hidden = archive::zip::Fields()
                                 .U32(archive::zip::kLocalSignature)
                                 .U16(20)
                                 .U16(0)
                                 .U16(0)
                                 .U32(0)
                                 .U32(0)
                                 .U32(0)
                                 .U32(0)
                                 .U16(name.size())
                                 .U16(0)
                                 .Text(name)
                                 .str();
  const std::string offset = archive::zip::Fields().U32(directory + hidden.size()).str();
  env_.dir().WriteFile("root/a-1-py3-none-any.whl", zip.substr(0, directory) + hidden +
                                                        zip.substr(directory, offset_at - directory) +
                                                        offset + zip.substr(offset_at + 4));
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexWheels(env_, root_));
  ASSERT_THAT(summary.left_out, testing::SizeIs(1));
  EXPECT_EQ(summary.left_out[0].package, wheel);
  EXPECT_THAT(summary.left_out[0].reason.message(), HasSubstr("'a.py' is not in the central directory"));
  EXPECT_THAT(Text("simple/index.json"), Not(HasSubstr("\"name\": \"a\"")));
  EXPECT_THAT(Text("simple/index.json"), HasSubstr("\"name\": \"b\""));
}

TEST_F(IndexWheelsTest, IndexFolderFollowsWhenTheLastWheelIsGone) {
  const AbsPath gone = AddWheel("gone", "1");
  ASSERT_OK(IndexFolder(env_, root_));
  ASSERT_OK(env_->fs.Remove(gone));
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexFolder(env_, root_));
  EXPECT_EQ(summary.packages, 0U);
  EXPECT_THAT(env_.dir().List(), Not(Contains(HasSubstr("gone"))));
  EXPECT_THAT(Text("simple/index.json"), Not(HasSubstr("gone")));
  ASSERT_OK_AND_ASSIGN(const IndexSummary again, IndexFolder(env_, root_));
  EXPECT_THAT(again.written, IsEmpty());
}

TEST_F(IndexWheelsTest, IndexFolderTakesNoForeignSimpleFolderForItsOwn) {
  env_.dir().WriteFile("root/simple/index.json",
                       R"({"meta": {"api-version": "1.4"}, "projects": [{"name": "numpy"}]})");
  EXPECT_THAT(IndexFolder(env_, root_), FailsWith(ErrorCode::kInvalidInput, HasSubstr("no wheels")));
}

TEST_F(IndexWheelsTest, ErrorsThatAreNoWheelsFaultEndTheRun) {
  AddWheel("a", "1");
  EXPECT_THAT(IndexWheels(env_, root_ / "none"), FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
  env_.cancel.Cancel();
  EXPECT_THAT(IndexWheels(env_, root_), FailsWith(ErrorCode::kCancelled, HasSubstr("interrupted")));
}

}  // namespace
}  // namespace ptpkg::index
