// IndexConda and IndexFolder: records, incremental runs, failure paths.
#include <fmt/core.h>
#include <sys/stat.h>

#include "archive/codec/decoder.h"
#include "index/conda_channel/channeldata.h"
#include "index/conda_channel/conda_documents.h"
#include "index/conda_channel/conda_record.h"
#include "index/conda_channel/skipped_packages.h"
#include "index/index.h"
#include "index/index_files.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/text/json.h"
#include "unit/conda/package_builder.h"

namespace ptpkg::index {
namespace {

using test::DemoMetadata;
using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;
using test::RawMember;
using test::TestEnv;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CondaIndexTest : public ::testing::Test {
 protected:
  std::vector<Artifact> Write(const conda::PackageMetadata& metadata,
                              const conda::WriteOptions& options = {}) {
    env_.dir().MakeDir("channel/" + metadata.subdir);
    auto artifacts =
        conda::WritePackages(env_, {.metadata = metadata, .tree = tree_, .prefix_placeholder = "/prefix"},
                             root_ / metadata.subdir, options);
    EXPECT_THAT(artifacts, IsOk());
    return artifacts ? *artifacts : std::vector<Artifact>();
  }
  Json Read(std::string_view path) {
    const auto text = ReadFile(env_->fs, root_ / path);
    EXPECT_THAT(text, IsOk()) << path;
    auto json = ParseJson(text ? *text : "{}", path);
    EXPECT_THAT(json, IsOk()) << path;
    return json ? *json : Json();
  }

  TestEnv env_;
  AbsPath root_ = env_.dir().MakeDir("channel");
  StagedTree tree_ = test::MakeTree(env_, {{.name = "etc/conda/activate.d/x.sh", .content = "cd /prefix\n"},
                                           {.name = "bin/.demo-post-link.sh", .content = "true\n"}});
};

TEST_F(CondaIndexTest, MakesAnEmptyFolderAChannel) {
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexConda(env_, root_));
  EXPECT_EQ(summary.packages, 0U);
  EXPECT_THAT(test::ListTree(env_->fs, root_),
              ElementsAre(".ptpkg-lock", "channeldata.json", "noarch/", "noarch/repodata.json",
                          "noarch/repodata.json.zst", "noarch/run_exports.json"));
  const Json expected = {{"info", {{"subdir", "noarch"}}},
                         {"packages", Json::object()},
                         {"packages.conda", Json::object()},
                         {"removed", Json::array()},
                         {"repodata_version", 1}};
  EXPECT_EQ(Read("noarch/repodata.json"), expected);
}

TEST_F(CondaIndexTest, PutsEachFormatIntoItsMap) {
  conda::PackageMetadata metadata = DemoMetadata();
  metadata.run_exports = {{"weak", {"demo >=1.0"}}};
  const auto artifacts = Write(metadata);
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexConda(env_, root_));
  EXPECT_EQ(summary.packages, 2U);
  const Json repodata = Read("linux-64/repodata.json");
  ASSERT_THAT(repodata["packages"], SizeIs(1));
  ASSERT_THAT(repodata["packages.conda"], SizeIs(1));
  const Json expected = {{"name", "demo"},
                         {"version", "1.0"},
                         {"build", "0"},
                         {"build_number", 0},
                         {"depends", {"python >=3.11"}},
                         {"license", "BSD-3-Clause"},
                         {"subdir", "linux-64"},
                         {"timestamp", env_->source_date_epoch * 1000},
                         {"size", artifacts[0].digests.size_bytes},
                         {"sha256", artifacts[0].digests.sha256.Hex()},
                         {"md5", artifacts[0].digests.md5.Hex()}};
  EXPECT_EQ(repodata["packages.conda"]["demo-1.0-0.conda"], expected);
  EXPECT_EQ(repodata["packages"]["demo-1.0-0.tar.bz2"]["sha256"], artifacts[1].digests.sha256.Hex());
  EXPECT_FALSE(repodata["packages"]["demo-1.0-0.tar.bz2"].contains("arch"));
  const Json run_exports = Read("linux-64/run_exports.json");
  EXPECT_EQ(run_exports["info"], (Json{{"subdir", "linux-64"}, {"version", 1}}));
  EXPECT_EQ(run_exports["packages.conda"]["demo-1.0-0.conda"]["run_exports"],
            (Json{{"weak", {"demo >=1.0"}}}));
}

TEST_F(CondaIndexTest, CompressesExactlyTheSameText) {
  Write(DemoMetadata());
  ASSERT_THAT(IndexConda(env_, root_), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::string packed, ReadFile(env_->fs, root_ / "linux-64/repodata.json.zst"));
  StringSource source(packed);
  const auto decoder = archive::MakeZstdSource(source);
  StringSink sink;
  ASSERT_THAT(Pump(*decoder, sink), IsOk());
  EXPECT_THAT(ReadFile(env_->fs, root_ / "linux-64/repodata.json"), IsOkAndHolds(sink.str()));
}

TEST_F(CondaIndexTest, ChanneldataDescribesTheNewestBuild) {
  Write(DemoMetadata());
  conda::PackageMetadata newer = DemoMetadata();
  newer.version = "1.10";
  newer.subdir = "noarch";
  newer.about = {{"summary", "newer"}, {"description", "\nfirst\n  second\n"}};
  newer.run_exports = {{"strong", {"demo"}}};
  Write(newer);
  ASSERT_THAT(IndexConda(env_, root_), IsOk());
  const Json channeldata = Read("channeldata.json");
  EXPECT_EQ(channeldata["channeldata_version"], 1);
  EXPECT_EQ(channeldata["subdirs"], Json({"linux-64", "noarch"}));
  const Json& demo = channeldata["packages"]["demo"];
  EXPECT_EQ(demo["version"], "1.10");
  EXPECT_EQ(demo["summary"], "newer");
  EXPECT_EQ(demo["description"], "first   second");
  EXPECT_EQ(demo["home"], "https://example.org");  // only the older one has it
  EXPECT_EQ(demo["subdirs"], Json({"linux-64", "noarch"}));
  EXPECT_EQ(demo["run_exports"], (Json{{"1.10", {{"strong", {"demo"}}}}}));
  EXPECT_EQ(demo["text_prefix"], true);
  EXPECT_EQ(demo["binary_prefix"], false);
  EXPECT_EQ(demo["activate.d"], true);
  EXPECT_EQ(demo["post_link"], true);
  EXPECT_EQ(demo["pre_link"], false);
  EXPECT_EQ(demo["timestamp"], env_->source_date_epoch);  // in seconds
}

TEST_F(CondaIndexTest, WritesNothingWhenNothingChanged) {
  Write(DemoMetadata());
  ASSERT_OK_AND_ASSIGN(const IndexSummary first, IndexConda(env_, root_));
  EXPECT_THAT(first.written, SizeIs(7));
  ASSERT_OK_AND_ASSIGN(const IndexSummary second, IndexConda(env_, root_));
  EXPECT_THAT(second.written, IsEmpty());
}

TEST_F(CondaIndexTest, ReadsNoUnchangedPackageAgain) {
  Write(DemoMetadata(), {.tar_bz2 = false});
  ASSERT_THAT(IndexConda(env_, root_), IsOk());
  const AbsPath package = root_ / "linux-64/demo-1.0-0.conda";
  // Same size and time, other bytes: only the cache can still know the package.
  ASSERT_OK_AND_ASSIGN(const FileStat stat, env_->fs.Stat(package));
  ASSERT_OK_AND_ASSIGN(const auto file, env_->fs.Open(package, OpenMode::kReadWrite));
  ASSERT_OK(file->WriteAt(0, AsBytes(std::string(stat.size_bytes, 'x'))));
  ASSERT_OK(file->Close());
  ASSERT_OK(env_->fs.SetMtime(package, stat.mtime_ns));
  ASSERT_OK_AND_ASSIGN(const IndexSummary known, IndexConda(env_, root_));
  EXPECT_THAT(known.left_out, IsEmpty());
  ASSERT_OK(env_->fs.SetMtime(package, stat.mtime_ns + 1));
  ASSERT_OK_AND_ASSIGN(const IndexSummary read, IndexConda(env_, root_));
  EXPECT_THAT(read.left_out, ::testing::SizeIs(1));
}

TEST_F(CondaIndexTest, SurvivesADamagedCache) {
  Write(DemoMetadata());
  ASSERT_THAT(IndexConda(env_, root_), IsOk());
  const Json before = Read("linux-64/repodata.json");
  for (const char* text :
       {"{", "[]", "{\"version\": 0}", "{\"version\": 2, \"packages\": {\"demo-1.0-0.conda\": 5}}"}) {
    ASSERT_OK(WriteFile(env_->fs, root_ / "linux-64/.cache/ptpkg-index.json", text));
    ASSERT_THAT(IndexConda(env_, root_), IsOk()) << text;
    EXPECT_EQ(Read("linux-64/repodata.json"), before) << text;
  }
}

TEST_F(CondaIndexTest, TakesTheDigestsOfWhatWasJustWritten) {
  auto artifacts = Write(DemoMetadata(), {.tar_bz2 = false});
  artifacts[0].digests.sha256 = HashText("as told");
  ASSERT_THAT(IndexConda(env_, root_, {.known = artifacts}), IsOk());
  EXPECT_EQ(Read("linux-64/repodata.json")["packages.conda"]["demo-1.0-0.conda"]["sha256"],
            HashText("as told").Hex());
}

TEST_F(CondaIndexTest, DoesNotBelieveDigestsOfAnotherSize) {
  auto artifacts = Write(DemoMetadata(), {.tar_bz2 = false});
  const Sha256 right = artifacts[0].digests.sha256;
  artifacts[0].digests.sha256 = HashText("as told");
  ++artifacts[0].digests.size_bytes;
  ASSERT_THAT(IndexConda(env_, root_, {.known = artifacts}), IsOk());
  EXPECT_EQ(Read("linux-64/repodata.json")["packages.conda"]["demo-1.0-0.conda"]["sha256"], right.Hex());
}

TEST_F(CondaIndexTest, ForgetsRemovedPackages) {
  Write(DemoMetadata());
  ASSERT_THAT(IndexConda(env_, root_), IsOk());
  ASSERT_OK(env_->fs.Remove(root_ / "linux-64/demo-1.0-0.conda"));
  ASSERT_OK(env_->fs.Remove(root_ / "linux-64/demo-1.0-0.tar.bz2"));
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexConda(env_, root_));
  EXPECT_EQ(summary.packages, 0U);
  EXPECT_THAT(Read("linux-64/repodata.json")["packages.conda"], IsEmpty());
}

TEST_F(CondaIndexTest, LeavesOutPackagesThatLieWrong) {
  Write(DemoMetadata(), {.tar_bz2 = false});
  env_.dir().MakeDir("channel/osx-64");
  ASSERT_OK(env_->fs.CopyFile(root_ / "linux-64/demo-1.0-0.conda", root_ / "osx-64/demo-1.0-0.conda"));
  ASSERT_OK(env_->fs.CopyFile(root_ / "linux-64/demo-1.0-0.conda", root_ / "linux-64/demo-1.1-0.conda"));
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexConda(env_, root_));
  EXPECT_EQ(summary.packages, 1U);
  ASSERT_THAT(summary.left_out, SizeIs(2));
  EXPECT_EQ(summary.left_out[0].package, root_ / "linux-64/demo-1.1-0.conda");
  EXPECT_THAT(summary.left_out[0].reason.message(), HasSubstr("has the version '1.0'"));
  EXPECT_THAT(summary.left_out[1].reason.message(), HasSubstr("for 'linux-64' but is in 'osx-64'"));
  EXPECT_THAT(env_.reporter.warnings(),
              Contains(::testing::AllOf(HasSubstr("skipped '"), HasSubstr("osx-64/demo-1.0-0.conda'"))));
  EXPECT_TRUE(Read("linux-64/repodata.json")["packages.conda"].contains("demo-1.0-0.conda"));
  EXPECT_THAT(Read("osx-64/repodata.json")["packages.conda"], IsEmpty());
}

TEST_F(CondaIndexTest, LeavesOutDamagedPackages) {
  Write(DemoMetadata(), {.tar_bz2 = false});
  env_.dir().WriteFile("channel/linux-64/cut-1.0-0.conda", "PK\x03\x04");
  env_.dir().WriteFile("channel/linux-64/junk-1.0-0.tar.bz2", "junk");
  std::vector<RawMember> deep = test::DemoInfo({});
  deep.push_back({.name = "info/about.json", .content = std::string(100'000, '[')});
  env_.dir().WriteFile("channel/linux-64/demo-1.0-0.tar.bz2", test::MakeTarBz2(deep));
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexConda(env_, root_));
  EXPECT_EQ(summary.packages, 1U);
  ASSERT_THAT(summary.left_out, SizeIs(3));
  EXPECT_THAT(summary.left_out[1].reason.message(), HasSubstr("nested deeper than 64 levels"));
  // The next run says so again: a damaged package is not remembered as read.
  ASSERT_OK_AND_ASSIGN(const IndexSummary again, IndexConda(env_, root_));
  EXPECT_THAT(again.left_out, SizeIs(3));
}

TEST_F(CondaIndexTest, LeavesOutEntriesThatOnlyLookLikePackages) {
  Write(DemoMetadata(), {.tar_bz2 = false});
  env_.dir().MakeSymlink("nowhere", "channel/linux-64/a-1-0.conda");
  env_.dir().MakeSymlink("a-2-0.conda", "channel/linux-64/a-2-0.conda");
  env_.dir().MakeSymlink(std::string(300, 'x'), "channel/linux-64/a-3-0.conda");
  ASSERT_EQ(::mkfifo((root_ / "linux-64/b-1-0.conda").c_str(), 0600), 0);
  env_.dir().MakeDir("channel/linux-64/c-1-0.tar.bz2");
  env_.dir().WriteFile("channel/linux-64/d-1-0.CONDA", "");
  env_.dir().WriteFile("channel/linux-64/e-1.tar.bz2", "");
  env_.dir().WriteFile("channel/linux-64/.f-1-0.conda", "");
  env_.dir().WriteFile("channel/linux-64/repodata.json.bz2", "");
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexConda(env_, root_));
  EXPECT_EQ(summary.packages, 1U);
  std::vector<std::string> names;
  for (const SkippedPackage& one : summary.left_out) names.emplace_back(one.package.Name());
  EXPECT_THAT(names, ElementsAre("a-1-0.conda", "a-2-0.conda", "a-3-0.conda", "b-1-0.conda", "c-1-0.tar.bz2",
                                 "d-1-0.CONDA", "e-1.tar.bz2"));
  EXPECT_THAT(env_.reporter.warnings(), SizeIs(7));
}

TEST_F(CondaIndexTest, APackageThatVanishesMeanwhileIsNone) {
  const auto judge = [&](std::string_view name) {
    return ClassifyReadError(env_, root_ / name, Result<int>(Error(ErrorCode::kNotFound, "cannot open")));
  };
  ASSERT_OK_AND_ASSIGN(const Reading<int> gone, judge("gone.conda"));
  EXPECT_FALSE(gone.record || gone.reason);
  env_.dir().WriteFile("channel/there.conda", "");
  ASSERT_OK_AND_ASSIGN(const Reading<int> there, judge("there.conda"));
  EXPECT_TRUE(there.reason.has_value());
  EXPECT_THAT(
      ClassifyReadError(env_, root_ / "there.conda", Result<int>(Error(ErrorCode::kIo, "disk on fire"))),
      FailsWith(ErrorCode::kIo, "disk on fire"));
}

TEST_F(CondaIndexTest, TakesRunExportsThatAreAList) {
  std::vector<RawMember> info = test::DemoInfo({});
  info.push_back({.name = "info/run_exports.json", .content = "[\"demo >=1\"]"});
  env_.dir().WriteFile("channel/linux-64/demo-1.0-0.tar.bz2", test::MakeTarBz2(info));
  ASSERT_THAT(IndexConda(env_, root_), IsOk());
  EXPECT_EQ(Read("linux-64/run_exports.json")["packages"]["demo-1.0-0.tar.bz2"]["run_exports"],
            (Json{{"weak", {"demo >=1"}}}));
}

TEST_F(CondaIndexTest, RemovesWhatAKilledRunLeft) {
  Write(DemoMetadata());
  ASSERT_OK(IndexConda(env_, root_));
  const std::string temp = ".repodata.json.0123456789ab.ptpkg-tmp";
  for (const char* folder :
       {"channel/", "channel/noarch/", "channel/linux-64/", "channel/linux-64/.cache/"}) {
    env_.dir().WriteFile(folder + temp, "half");
  }
  ASSERT_OK(IndexConda(env_, root_));
  EXPECT_THAT(test::ListTree(env_->fs, root_), Not(Contains(HasSubstr("ptpkg-tmp"))));
}

TEST_F(CondaIndexTest, NeedsAFolder) {
  EXPECT_THAT(IndexConda(env_, root_ / "none"), FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
}

TEST_F(CondaIndexTest, FailsWithoutWritingWhenTheDiskIsFull) {
  test::MemFs fs;
  fs.AddDir("/channel");
  fs.LimitBytes(10);
  TestEnv env({.fs = &fs});
  EXPECT_THAT(IndexConda(env, AbsPath::Literal("/channel")), FailsWith(ErrorCode::kIo, testing::_));
  EXPECT_THAT(fs.List("/channel"), ElementsAre(".ptpkg-lock", "noarch/"));
}

TEST_F(CondaIndexTest, SeesWhatAnotherPublishedWhileItWaited) {
  ASSERT_THAT(IndexConda(env_, root_), IsOk());
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<File> other, LockIndex(env_, root_));
  env_.clock.OnSleep([&] {
    Write(DemoMetadata());
    other.reset();
  });
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexConda(env_, root_));
  EXPECT_EQ(summary.packages, 2U) << "one of each format";
}

class IndexFolderTest : public CondaIndexTest {};

TEST_F(IndexFolderTest, IndexesAChannel) {
  Write(DemoMetadata());
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexFolder(env_, root_));
  EXPECT_EQ(summary.packages, 2U);
  EXPECT_THAT(Exists(env_->fs, root_ / "noarch/repodata.json"), IsOkAndHolds(true));
}

TEST_F(IndexFolderTest, NamesPackagesThatLieWhereNoClientLooks) {
  Write(DemoMetadata());
  for (const char* path : {"a-1-0.conda", "b-1-0.TAR.BZ2", "c-1-py3-none-any.WHL", "LINUX-64/d-1-0.conda",
                           "LINUX-64/e-1-py3-none-any.whl", "linux-64/f-1-py3-none-any.whl", ".g-1-0.conda",
                           ".cache/h-1-0.conda", "docs/readme.txt"})
    env_.dir().WriteFile(std::string("channel/") + path, "");
  env_.dir().MakeSymlink("nowhere", "channel/osx-64");
  env_.dir().MakeSymlink("win-64", "channel/win-64");
  env_.dir().MakeSymlink("nowhere", "channel/latest");
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexFolder(env_, root_));
  EXPECT_EQ(summary.packages, 2U);
  std::vector<std::string> paths;
  for (const SkippedPackage& one : summary.left_out)
    paths.push_back(one.package.str().substr(root_.str().size() + 1));
  EXPECT_THAT(paths,
              ElementsAre("LINUX-64/d-1-0.conda", "a-1-0.conda", "b-1-0.TAR.BZ2", "c-1-py3-none-any.WHL",
                          "linux-64/f-1-py3-none-any.whl", "osx-64", "win-64"));
  EXPECT_THAT(env_.reporter.warnings(), Contains(HasSubstr("osx-64': the link leads nowhere")));
}

TEST_F(IndexFolderTest, NamesTheFileForWhichThereIsNothingToIndex) {
  for (const auto& [path, reason] : std::initializer_list<std::pair<const char*, const char*>>{
           {"toy-1.0-py3-none-any.WHL", "does not end in '.whl'"},
           {"linux-64/toy-1.0-0.CONDA", "toy-1.0-0.CONDA"},
           {"LINUX-64/toy-1.0-0.conda", "is not in a subdir"},
           {"toy-1.0-0.CONDA", "is not in a subdir"}}) {
    env_.dir().WriteFile(fmt::format("channel/{}", path), "");
    EXPECT_THAT(IndexFolder(env_, root_),
                FailsWith(ErrorCode::kInvalidInput, testing::AllOf(HasSubstr(path), HasSubstr(reason))));
    ASSERT_OK(env_->fs.Remove(root_ / path));
  }
  env_.dir().MakeSymlink("nowhere", "channel/osx-64");
  EXPECT_THAT(IndexFolder(env_, root_),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("osx-64' is not used: the link leads nowhere")));
}

TEST_F(IndexFolderTest, SaysWhatItExpects) {
  const auto nothing = IndexFolder(env_, root_);
  ASSERT_THAT(nothing, FailsWith(ErrorCode::kInvalidInput, HasSubstr("no wheels or conda packages")));
  EXPECT_THAT(nothing.error().hint(), HasSubstr(".whl"));
  env_.dir().WriteFile("channel/demo-1.0-0.conda", "");
  const auto loose = IndexFolder(env_, root_);
  ASSERT_THAT(loose, FailsWith(ErrorCode::kInvalidInput, HasSubstr("has no wheels or conda packages")));
  EXPECT_THAT(loose.error().hint(), HasSubstr("into a subdir"));
  env_.dir().WriteFile("channel/demo-1.0-py3-none-any.whl", "");
  env_.dir().WriteFile("channel/linux-64/demo-1.0-0.conda", "");
  EXPECT_THAT(IndexFolder(env_, root_),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("both wheels and conda")));
  EXPECT_THAT(IndexFolder(env_, root_ / "none"), FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
}

TEST(RecordCache, ReadsWhatItWrites) {
  CondaRecords records;
  records["a-1-0.conda"] = {.size_bytes = 5,
                            .mtime_ns = -7,
                            .repodata = {{"name", "a"}},
                            .run_exports = {{"weak", {"b"}}},
                            .about = {{"home", "h"}}};
  const CondaRecords read = ParseRecordCache(FormatRecordCache(records));
  ASSERT_THAT(read, SizeIs(1));
  const CondaRecord& record = read.at("a-1-0.conda");
  EXPECT_EQ(record.size_bytes, 5U);
  EXPECT_EQ(record.mtime_ns, -7);
  EXPECT_EQ(record.repodata, records["a-1-0.conda"].repodata);
  EXPECT_EQ(record.run_exports, records["a-1-0.conda"].run_exports);
  EXPECT_EQ(record.about, records["a-1-0.conda"].about);
}

TEST(CondaDocuments, ARowWithAnotherKindOfDigestIsRemovedByName) {
  Json document = Json::parse(
      R"({"packages": {"a-1-0.tar.bz2": {"sha256": 7}, "b-1-0.tar.bz2": []}, "packages.conda": {}})");
  ASSERT_OK(RemoveRows(document, {{"a-1-0.tar.bz2", "00"}, {"b-1-0.tar.bz2", "00"}}));
  EXPECT_THAT(document["packages"], IsEmpty());
}

}  // namespace
}  // namespace ptpkg::index
