#include "publish/s3/s3_index.h"

#include "index/conda_channel/conda_documents.h"
#include "index/index.h"
#include "index/simple_index/simple_index_pages.h"
#include "publish/s3/s3_store.h"
#include "support/text/json.h"
#include "unit/conda/package_builder.h"
#include "unit/publish/fake_s3.h"
#include "wheel/wheel.h"

namespace ptpkg::publish {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOk;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class S3IndexTest : public S3Test {
 protected:
  /// Nobody replaces an upload.
  static Result<void> CompleteIndexes(S3Bucket& bucket, const std::vector<const Upload*>& uploads) {
    return publish::CompleteIndexes(bucket, uploads, [](const Upload&) { return Ok(); });
  }
  Upload PackageUpload(const std::string& name) {
    conda::PackageMetadata metadata = test::DemoMetadata();
    metadata.name = name;
    const auto artifacts =
        conda::WritePackages(env_, {.metadata = metadata, .tree = tree_, .prefix_placeholder = "/prefix"},
                             env_.dir().MakeDir("channel/" + metadata.subdir), {});
    EXPECT_THAT(artifacts, IsOk());
    // The directory that it is compared with has this one format.
    for (std::size_t i = 1; i < artifacts->size(); ++i)
      EXPECT_THAT(env_->fs.Remove((*artifacts)[i].path), IsOk());
    subdir_ = metadata.subdir;
    return Read(artifacts->front().path);
  }
  Upload WheelUpload(const std::string& name, const std::string& version) {
    const wheel::CoreMetadata metadata = *wheel::ParseCoreMetadata(
        "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\nRequires-Python: >=3.9\n",
        "METADATA");
    const wheel::WheelInput input{
        .metadata = metadata, .tag = {"py3", "none", "any"}, .root_is_purelib = true, .tree = empty_};
    const auto wheel = wheel::WriteWheel(env_, input, env_.dir().MakeDir("wheels"), {});
    EXPECT_THAT(wheel, IsOk());
    return Read(wheel->path);
  }
  Upload Read(const AbsPath& path) {
    auto upload = ReadUpload(env_, path);
    EXPECT_THAT(upload, IsOk());
    return *std::move(upload);
  }
  /// A next run would find nothing to write.
  void ExpectComplete(const std::vector<const Upload*>& uploads) {
    s3_.log.clear();
    EXPECT_THAT(CompleteIndexes(*bucket_, uploads), IsOk());
    EXPECT_THAT(Sent("PUT"), IsEmpty());
  }
  std::string File(const std::string& relative) { return env_.dir().ReadFile(relative); }
  std::string There(const std::string& key) { return s3_.objects[key].text; }
  std::string Repodata() const { return "conda/" + subdir_ + "/repodata.json"; }

  StagedTree tree_ = test::MakeTree(env_, {{.name = "share/x", .content = "x\n"}});
  StagedTree empty_;
  std::string subdir_;
};

TEST_F(S3IndexTest, ABucketHasWhatAFolderHas) {
  const Upload first = PackageUpload("one");
  const Upload second = PackageUpload("two");
  ASSERT_THAT(CompleteIndexes(*bucket_, {&first}), IsOk());
  ASSERT_THAT(CompleteIndexes(*bucket_, {&second}), IsOk());
  ASSERT_THAT(index::IndexConda(env_, env_.dir().path() / "channel"), IsOk());
  for (const std::string& subdir : {subdir_, std::string("noarch")}) {
    for (const char* name : {"repodata.json", "repodata.json.zst", "run_exports.json"}) {
      EXPECT_EQ(There("conda/" + subdir + "/" + name), File("channel/" + subdir + "/" + name))
          << subdir << name;
    }
  }
  ExpectComplete({&first, &second});
}

TEST_F(S3IndexTest, AFileThatReplacesARemovedOneStays) {
  with_s3_.variables = {{"AWS_ACCESS_KEY_ID", "I"}, {"AWS_SECRET_ACCESS_KEY", "K"}};
  const auto store = MakeS3Store(with_s3_, {.bucket = "bucket", .endpoint = "http://h"});
  ASSERT_THAT(store, IsOk());
  ASSERT_THAT((*store)->LogIn(), IsOk());
  const std::string name = "toy-1.0-py3-none-any.whl";
  const Change change{
      .action = Action::kRemove,
      .artifact = {.file_name = name, .format = ArtifactFormat::kWheel, .package = "toy", .version = "1.0"},
      .sha256 = std::string(64, 'a')};
  const auto put = [&](char digit) {
    s3_.objects["wheels/" + name] = {.text = "x", .headers = {{"x-amz-meta-sha256", std::string(64, digit)}}};
  };
  const std::string removal = "DELETE wheels/" + name;
  put('a');
  ASSERT_THAT((*store)->Make(change, {}), IsOk());
  EXPECT_EQ(Sent("DELETE").back(), removal);
  s3_.log.clear();
  // Another run puts its file there while the files beside the old one go.
  s3_.on_call = [&](const std::string& line) {
    if (line.starts_with("DELETE ")) put('b');
  };
  ASSERT_THAT((*store)->Make(change, {}), IsOk());
  EXPECT_THAT(Sent("DELETE"), Not(IsEmpty()));
  EXPECT_THAT(Sent("DELETE"), Not(Contains(removal)));
}

TEST_F(S3IndexTest, PagesAreThoseOfAFolderToo) {
  const Upload newer = WheelUpload("Foo.Bar", "1.10");
  const Upload older = WheelUpload("Foo.Bar", "1.9+cu1");
  ASSERT_THAT(CompleteIndexes(*bucket_, {&newer}), IsOk());
  ASSERT_THAT(CompleteIndexes(*bucket_, {&older}), IsOk());
  ASSERT_THAT(index::IndexWheels(env_, env_.dir().path() / "wheels"), IsOk());
  for (const char* name : {"simple/index.json", "simple/index.html", "simple/foo-bar/index.json",
                           "simple/foo-bar/index.html", "foo_bar-1.10-py3-none-any.whl.metadata"})
    EXPECT_EQ(There(std::string("wheels/") + name), File(std::string("wheels/") + name)) << name;
  EXPECT_EQ(There("wheels/simple/foo-bar/"), There("wheels/simple/foo-bar/index.html"));
  EXPECT_EQ(There("wheels/simple/"), There("wheels/simple/index.html"));
  ExpectComplete({&newer, &older});
}

TEST_F(S3IndexTest, WhatOthersHaveThereStays) {
  const Upload wheel = WheelUpload("foo", "1.0");
  s3_.objects["wheels/simple/foo/index.json"].text =
      R"({"meta": {"api-version": "1.1", "x": 1}, "name": "foo", "files": [
          {"filename": "odd<name>", "url": "https://h/a\"b", "hashes": {}, "yanked": "why & when"}]})";
  const Upload package = PackageUpload("one");
  s3_.objects[Repodata()].text =
      R"({"info": {"subdir": "x", "base_url": "u"}, "packages": {"o-1-0.tar.bz2": {"a": 1}}, "v": 3})";
  ASSERT_THAT(CompleteIndexes(*bucket_, {&wheel, &package}), IsOk());
  const Json repodata = Json::parse(There(Repodata()));
  EXPECT_EQ(repodata.at("info").at("base_url"), "u");
  EXPECT_EQ(repodata.at("packages").at("o-1-0.tar.bz2").at("a"), 1);
  EXPECT_TRUE(repodata.at("packages.conda").contains(package.Name()));
  const Json page = Json::parse(There("wheels/simple/foo/index.json"));
  EXPECT_EQ(page.at("meta").at("x"), 1);
  EXPECT_EQ(page.at("files").at(0).at("filename"), "odd<name>");
  EXPECT_EQ(page.at("files").at(1).at("filename"), wheel.Name());
  EXPECT_THAT(There("wheels/simple/foo/index.html"),
              HasSubstr("<a href=\"https://h/a&quot;b\" data-yanked=\"why &amp; when\">odd&lt;name&gt;</a>"));
}

TEST_F(S3IndexTest, AWriterBetweenReadAndWriteLosesNothing) {
  const Upload first = PackageUpload("one");
  const Upload second = PackageUpload("two");
  ASSERT_THAT(CompleteIndexes(*bucket_, {&second}), IsOk());
  const auto with_second = s3_.objects;
  s3_.objects.clear();
  int times = 0;
  s3_.on_call = [&](const std::string& line) {
    // The other run is done between our reading and our writing.
    if (line == "PUT " + Repodata() && ++times == 1) s3_.objects = with_second;
  };
  ASSERT_THAT(CompleteIndexes(*bucket_, {&first}), IsOk());
  const Json rows = Json::parse(There(Repodata())).at("packages.conda");
  EXPECT_TRUE(rows.contains(first.Name()));
  EXPECT_TRUE(rows.contains(second.Name()));
  EXPECT_EQ(times, 2);
}

TEST_F(S3IndexTest, WithoutConditionsWhatWasLostIsWrittenAgain) {
  s3_.knows_conditions = false;
  const Upload first = PackageUpload("one");
  const Upload second = PackageUpload("two");
  ASSERT_THAT(CompleteIndexes(*bucket_, {&second}), IsOk());
  const auto with_second = s3_.objects;
  s3_.objects.clear();
  bool overwritten = false;
  s3_.on_call = [&](const std::string& line) {
    if (overwritten || line != "HEAD " + Repodata() + ".zst") return;
    overwritten = true;  // the other run had read before we wrote, and writes after us
    s3_.objects[Repodata()] = with_second.at(Repodata());
  };
  ASSERT_THAT(CompleteIndexes(*bucket_, {&first}), IsOk());
  ASSERT_TRUE(overwritten);
  const Json rows = Json::parse(There(Repodata())).at("packages.conda");
  EXPECT_TRUE(rows.contains(first.Name()));
  EXPECT_TRUE(rows.contains(second.Name()));
  s3_.on_call = {};
  ExpectComplete({&first});
}

TEST_F(S3IndexTest, AStoreThatIgnoresConditionsIsFoundOut) {
  s3_.ignores_conditions = true;
  const Upload first = PackageUpload("one");
  const Upload second = PackageUpload("two");
  ASSERT_THAT(CompleteIndexes(*bucket_, {&second}), IsOk());
  const auto with_second = s3_.objects;
  s3_.objects.clear();
  bool overwritten = false;
  s3_.on_call = [&](const std::string& line) {
    if (overwritten || line != "HEAD " + Repodata() + ".zst") return;
    overwritten = true;  // the other run had read before we wrote, and writes after us
    s3_.objects[Repodata()] = with_second.at(Repodata());
  };
  auto again = S3Bucket::Make(with_s3_, {.bucket = "bucket", .endpoint = "http://h"});
  ASSERT_THAT(again, IsOk());
  (*again)->SetKeys({.id = Secret("I"), .key = Secret("K")});
  ASSERT_THAT(CompleteIndexes(**again, {&first}), IsOk());
  ASSERT_TRUE(overwritten);
  const Json rows = Json::parse(There(Repodata())).at("packages.conda");
  EXPECT_TRUE(rows.contains(first.Name()));
  EXPECT_TRUE(rows.contains(second.Name()));
  EXPECT_THAT(env_.reporter.warnings(), Each(HasSubstr("has no conditional writes")));
  EXPECT_EQ(env_.reporter.warnings().size(), 2U);  // of each bucket one
}

TEST_F(S3IndexTest, OneAnswerThatIsBehindDropsNoRows) {
  const Upload first = PackageUpload("one");
  const Upload second = PackageUpload("two");
  const Upload third = PackageUpload("three");
  for (const bool ignores : {false, true}) {
    for (const char* kind : {"404", "stale"}) {
      s3_.ignores_conditions = ignores;
      s3_.objects.clear();
      // A run asks once whether the store honours conditions.
      auto bucket = S3Bucket::Make(with_s3_, {.bucket = "bucket", .endpoint = "http://h"});
      ASSERT_THAT(bucket, IsOk());
      (*bucket)->SetKeys({.id = Secret("I"), .key = Secret("K")});
      ASSERT_THAT(CompleteIndexes(**bucket, {&first}), IsOk());
      const std::string old = There(Repodata());
      ASSERT_THAT(CompleteIndexes(**bucket, {&second}), IsOk());
      s3_.instead["GET " + Repodata()].push_back(
          std::string(kind) == "404"
              ? FakeS3::ErrorAnswer(404, "NoSuchKey")
              : HttpAnswer{.status = 200, .headers = {{"etag", FakeS3::Etag(old)}}, .body = old});
      ASSERT_THAT(CompleteIndexes(**bucket, {&third}), IsOk()) << kind << ignores;
      const Json rows = Json::parse(There(Repodata())).at("packages.conda");
      EXPECT_EQ(rows.size(), 3U) << kind << ignores;
    }
  }
}

TEST_F(S3IndexTest, AnIndexThatIsListedAndNeverFoundIsNotOverwritten) {
  const Upload first = PackageUpload("one");
  ASSERT_THAT(CompleteIndexes(*bucket_, {&first}), IsOk());
  const std::string before = There(Repodata());
  const Upload second = PackageUpload("two");
  s3_.instead["GET " + Repodata()] = {8, FakeS3::ErrorAnswer(404, "NoSuchKey")};
  EXPECT_THAT(CompleteIndexes(*bucket_, {&second}), FailsWith(ErrorCode::kNetwork, HasSubstr("answers 404")));
  EXPECT_EQ(There(Repodata()), before);
}

TEST_F(S3IndexTest, ACacheThatGivesAnOldIndexCostsNobodyARow) {
  const Upload first = PackageUpload("one");
  ASSERT_THAT(CompleteIndexes(*bucket_, {&first}), IsOk());
  const std::string old = There(Repodata());
  const Upload second = PackageUpload("two");
  ASSERT_THAT(CompleteIndexes(*bucket_, {&second}), IsOk());
  const std::string before = There(Repodata());
  const Upload third = PackageUpload("three");
  s3_.instead["GET " + Repodata()] = {
      40, HttpAnswer{.status = 200, .headers = {{"etag", FakeS3::Etag(old)}}, .body = old}};
  EXPECT_THAT(CompleteIndexes(*bucket_, {&third}),
              FailsWith(ErrorCode::kNetwork, HasSubstr("there is a cache in between")));
  EXPECT_EQ(There(Repodata()), before);
  s3_.instead.clear();
  ASSERT_THAT(CompleteIndexes(*bucket_, {&third}), IsOk());
  EXPECT_EQ(Json::parse(There(Repodata())).at("packages.conda").size(), 3U);
}

TEST_F(S3IndexTest, StoresWithoutMetadataOrWithWeakEtagsComeToAnEnd) {
  const Upload package = PackageUpload("one");
  const Upload wheel = WheelUpload("foo", "1.0");
  const Upload other = PackageUpload("two");
  for (const char* prefix : {"", "W/"}) {
    s3_.objects.clear();
    s3_.keeps_metadata = false;
    s3_.etag_prefix = prefix;
    ASSERT_THAT(CompleteIndexes(*bucket_, {&package, &wheel}), IsOk());
    ASSERT_THAT(CompleteIndexes(*bucket_, {&other}), IsOk()) << prefix;
    EXPECT_EQ(Json::parse(There(Repodata())).at("packages.conda").size(), 2U);
    ExpectComplete({&package, &wheel, &other});
  }
}

TEST_F(S3IndexTest, AnIndexThatIsNoneIsLeftAlone) {
  const Upload package = PackageUpload("one");
  for (const char* text : {"no JSON", "[]", R"({"packages.conda": []})"}) {
    s3_.objects[Repodata()].text = text;
    const auto completed = CompleteIndexes(*bucket_, {&package});
    EXPECT_THAT(completed, FailsWith(ErrorCode::kRefused, HasSubstr("is not an index")));
    EXPECT_EQ(There(Repodata()), text);
  }
}

/// Two runs with --force put different files under one name; the one whose file is there has the rows.
TEST_F(S3IndexTest, RowsAreOfTheFileThatIsThere) {
  const Upload package = PackageUpload("one");
  Upload mine = WheelUpload("foo", "1.0");
  Upload other = mine;
  other.digests.sha256.bytes[0] ^= 1U;
  other.wheel->metadata_text += "Summary: other\n";
  const std::string page = "wheels/simple/foo/index.json";
  const Upload* there = &mine;
  const auto complete = [&](const Upload& upload) {
    return publish::CompleteIndexes(*bucket_, {&package, &upload}, [&](const Upload& one) -> Result<void> {
      if (one.format != ArtifactFormat::kWheel || &one == there) return Ok();
      return Error(ErrorCode::kRefused, "another run has replaced it");
    });
  };
  // The other run replaces the file, and writes the index, just before this one writes it.
  bool is_first = true;
  s3_.on_call = [&](const std::string& line) {
    if (line != "PUT " + page || !is_first) return;
    is_first = false;
    there = &other;
    Json listed = index::EmptyProjectPage("foo");
    auto wheel = index::DescribeWheel(*other.wheel, other.Name(), other.digests.size_bytes);
    ASSERT_THAT(wheel, IsOk());
    wheel->sha256 = other.digests.sha256;
    ASSERT_THAT(index::AddToProjectPage(listed, {*wheel}), IsOk());
    s3_.objects[page].text = DumpJson(listed);
  };
  EXPECT_THAT(complete(mine), FailsWith(ErrorCode::kRefused, HasSubstr("another run has replaced it")));
  EXPECT_EQ(index::DigestInPage(Json::parse(There(page)), other.Name()), other.digests.sha256.Hex());
  // The metadata are of that file in the end, too.
  s3_.on_call = {};
  ASSERT_THAT(complete(other), IsOk());
  const std::string metadata = "wheels/" + other.Name() + ".metadata";
  EXPECT_EQ(There(metadata), other.wheel->metadata_text);
  s3_.objects[metadata].text = mine.wheel->metadata_text;
  ASSERT_THAT(complete(other), IsOk());
  EXPECT_EQ(There(metadata), other.wheel->metadata_text);
}

TEST_F(S3IndexTest, AStoreThatLosesWhatItConfirmsIsNamed) {
  const Upload package = PackageUpload("one");
  const Upload wheel = WheelUpload("foo", "1.0");
  for (const char* lost : {"repodata.json", "repodata.json.zst", "run_exports.json", "simple/foo/index.json",
                           "simple/foo/index.html", "simple/", ".whl.metadata"}) {
    s3_.objects.clear();
    s3_.loses = lost;
    EXPECT_THAT(
        CompleteIndexes(*bucket_, {&package, &wheel}),
        FailsWith(ErrorCode::kNetwork, AllOf(HasSubstr("but does not have the file"), HasSubstr(lost))))
        << lost;
  }
  s3_.loses.clear();
  ASSERT_THAT(CompleteIndexes(*bucket_, {&package, &wheel}), IsOk());
  ExpectComplete({&package, &wheel});
}

/// Another run writes the index again and again, just before what is made of it is written.
TEST_F(S3IndexTest, WhoIsOftenOutrunHasLostNothing) {
  const Upload package = PackageUpload("one");
  int others = 0;
  s3_.on_call = [&](const std::string& line) {
    if (line != "PUT " + Repodata() + ".zst" || ++others > 12) return;
    Json index = Json::parse(There(Repodata()));
    index["packages"]["other-" + std::to_string(others)] = Json::object();
    s3_.objects[Repodata()].text = index::CompactJson(index);
  };
  ASSERT_THAT(CompleteIndexes(*bucket_, {&package}), IsOk());
  EXPECT_GT(others, 12);
  s3_.on_call = {};
  ExpectComplete({&package});
}

TEST_F(S3IndexTest, WhoIsOutrunForeverGivesUp) {
  const Upload package = PackageUpload("one");
  int others = 0;
  s3_.on_call = [&](const std::string& line) {
    if (line == "PUT " + Repodata())
      s3_.objects[Repodata()].text = R"({"packages": {"o": )" + std::to_string(++others) + "}}";
  };
  EXPECT_THAT(CompleteIndexes(*bucket_, {&package}),
              FailsWith(ErrorCode::kNetwork, HasSubstr("other programs keep changing")));
}

TEST_F(S3IndexTest, ASubdirWithFilesThatAreNotUpdatedIsRefused) {
  const Upload package = PackageUpload("one");
  ASSERT_THAT(CompleteIndexes(*bucket_, {&package}), IsOk());
  const std::string before = There(Repodata());
  const Change change{.action = Action::kRemove, .artifact = package.Id()};
  for (const std::string& path : RefusedFilesOf(subdir_)) {
    s3_.objects[path].text = "{}";
    const auto refused = FailsWith(ErrorCode::kRefused, HasSubstr(path + "', which ptpkg does not update"));
    EXPECT_THAT(RequirePlainSubdir(*bucket_, subdir_), refused);
    EXPECT_THAT(EditIndexes(*bucket_, {change}), refused);
    EXPECT_THAT(RequirePlainSubdir(*bucket_, "noarch"), IsOk());
    s3_.objects.erase(path);
  }
  EXPECT_EQ(There(Repodata()), before);
  ASSERT_THAT(EditIndexes(*bucket_, {change}), IsOk());
  EXPECT_NE(There(Repodata()), before);
}

TEST_F(S3IndexTest, ADryRunNamesTheFilesThatAreWritten) {
  const Upload package = PackageUpload("one");
  const Upload wheel = WheelUpload("foo", "1.0");
  for (const Upload* upload : {&package, &wheel}) {
    s3_.objects.clear();
    ASSERT_THAT(CompleteIndexes(*bucket_, {upload}), IsOk());
    std::vector<std::string> written;
    for (const auto& [key, object] : s3_.objects) {
      if (key != kConditionsFile) written.push_back(key);
    }
    EXPECT_THAT(IndexFilesOf(upload->Id()), ::testing::UnorderedElementsAreArray(written));
  }
}

}  // namespace
}  // namespace ptpkg::publish
