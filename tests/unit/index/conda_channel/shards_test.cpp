// Sharded repodata: rows, incremental runs, old shards, killed runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "archive/codec/decoder.h"
#include "conda/package.h"
#include "index/index.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/text/json.h"
#include "unit/conda/package_builder.h"

namespace ptpkg::index {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using test::TestEnv;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Json Unpacked(Fs& fs, const AbsPath& path) {
  const auto packed = ReadFile(fs, path);
  EXPECT_OK(packed);
  if (!packed) return {};
  StringSource source(*packed);
  const auto decoder = archive::MakeZstdSource(source);
  StringSink content;
  EXPECT_OK(Pump(*decoder, content));
  return Json::from_msgpack(content.str(), true, false);
}

std::string HexOf(const Json& digest) {
  EXPECT_TRUE(digest.is_binary());
  std::string hex;
  for (const std::uint8_t byte : digest.get_binary()) hex += fmt::format("{:02x}", byte);
  return hex;
}

/// The shards that the index of `folder` lists, by package name, each with the digest that its name says.
std::map<std::string, Json> ReadShards(Fs& fs, const AbsPath& folder) {
  std::map<std::string, Json> shards;
  const Json index = Unpacked(fs, folder / "repodata_shards.msgpack.zst");
  EXPECT_TRUE(index.is_object() && index.contains("shards"));
  if (!index.is_object()) return shards;
  for (const auto& [name, digest] : index["shards"].items()) {
    const AbsPath path = folder / ("shards/" + HexOf(digest) + ".msgpack.zst");
    const auto bytes = ReadFile(fs, path);
    EXPECT_OK(bytes);
    if (!bytes) continue;
    EXPECT_EQ(HashText(*bytes).Hex(), HexOf(digest));
    shards[name] = Unpacked(fs, path);
  }
  return shards;
}

/// A small package, written without the packer.
void AddPackage(Fs& fs, const AbsPath& folder, const std::string& name, const std::string& version = "1.0",
                const std::string& depends = "python") {
  Json json = test::DemoIndex();
  json["name"] = name;
  json["version"] = version;
  json["depends"] = {depends};
  json["timestamp"] = 1700000000123;
  const std::string bytes = test::MakeTarBz2(
      {{.name = "info/index.json", .content = json.dump()},
       {.name = "info/run_exports.json", .content = R"({"weak": [")" + name + R"( >=1"]})"}});
  ASSERT_OK(fs.MakeDirs(folder));
  ASSERT_OK(WriteFile(fs, folder / fmt::format("{}-{}-0.tar.bz2", name, version), bytes));
}

class ShardsTest : public ::testing::Test {
 protected:
  std::vector<std::string> ShardFiles() {
    auto names = env_->fs.ListDir(folder_ / "shards");
    return names ? *names : std::vector<std::string>();
  }
  Result<IndexSummary> Index(bool shards = false) {
    return IndexConda(env_, root_, {.parts = {.shards = shards}});
  }

  TestEnv env_;
  AbsPath root_ = env_.dir().MakeDir("channel");
  AbsPath folder_ = root_ / "linux-64";
};

TEST_F(ShardsTest, HaveTheRowsOfRepodata) {
  AddPackage(env_->fs, folder_, "aa");
  AddPackage(env_->fs, folder_, "aa", "2.0");
  AddPackage(env_->fs, folder_, "bb");
  ASSERT_OK(Index(true));
  const Json index = Unpacked(env_->fs, folder_ / "repodata_shards.msgpack.zst");
  EXPECT_EQ(index["version"], 1);
  EXPECT_EQ(index["info"], (Json{{"subdir", "linux-64"},
                                 {"base_url", ""},
                                 {"shards_base_url", "./shards/"},
                                 {"created_at", "2023-11-14T22:13:20Z"}}));
  std::map<std::string, Json> shards = ReadShards(env_->fs, folder_);
  ASSERT_THAT(shards, SizeIs(2));
  Json rows = Json::object();
  for (auto& [name, shard] : shards) {
    EXPECT_EQ(shard["removed"], Json::array());
    EXPECT_EQ(shard["packages.conda"], Json::object());
    for (auto& [file_name, row] : shard["packages"].items()) {
      EXPECT_EQ(row["name"], name);
      EXPECT_EQ(row["run_exports"], (Json{{"weak", {name + " >=1"}}}));
      row.erase("run_exports");
      row["sha256"] = HexOf(row["sha256"]);
      row["md5"] = HexOf(row["md5"]);
      rows[file_name] = row;
    }
  }
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(env_->fs, folder_ / "repodata.json"));
  ASSERT_OK_AND_ASSIGN(const Json repodata, ParseJson(text, "repodata.json"));
  EXPECT_EQ(rows, repodata["packages"]);
  EXPECT_EQ(rows.size(), 3U);
  EXPECT_THAT(ReadShards(env_->fs, root_ / "noarch"), IsEmpty());
}

TEST_F(ShardsTest, AreMadeOnRequestAndThenKeptCurrent) {
  AddPackage(env_->fs, folder_, "aa");
  ASSERT_OK(Index());
  EXPECT_THAT(Exists(env_->fs, folder_ / "repodata_shards.msgpack.zst"), IsOkAndHolds(false));
  ASSERT_OK(Index(true));
  const std::vector<std::string> first = ShardFiles();
  ASSERT_THAT(first, SizeIs(1));
  ASSERT_OK_AND_ASSIGN(const FileStat before, env_->fs.Stat(folder_ / "shards" / first[0]));
  AddPackage(env_->fs, folder_, "bb");
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, Index());
  EXPECT_THAT(summary.written, Contains(folder_ / "repodata_shards.msgpack.zst"));
  EXPECT_THAT(ReadShards(env_->fs, folder_), SizeIs(2));
  EXPECT_THAT(env_->fs.Stat(folder_ / "shards" / first[0]), IsOkAndHolds(before));
  ASSERT_OK_AND_ASSIGN(const IndexSummary again, Index());
  EXPECT_THAT(again.written, IsEmpty());
}

TEST_F(ShardsTest, DependOnThePackagesAlone) {
  AddPackage(env_->fs, folder_, "aa");
  ASSERT_OK(Index(true));
  ASSERT_OK_AND_ASSIGN(const std::string index, ReadFile(env_->fs, folder_ / "repodata_shards.msgpack.zst"));
  const AbsPath cache = folder_ / ".cache/ptpkg-shards.json";
  for (const std::string& text : {std::string("no json"), std::string("[]"), std::string("{}")}) {
    ASSERT_OK(WriteFile(env_->fs, cache, text));
    ASSERT_OK(env_->fs.Remove(folder_ / "shards" / ShardFiles().at(0)));
    ASSERT_OK_AND_ASSIGN(const IndexSummary summary, Index());
    EXPECT_THAT(summary.written, IsEmpty()) << text;
    EXPECT_THAT(ReadShards(env_->fs, folder_), SizeIs(1)) << text;
  }
  // A cache that is right does not hide a lost shard.
  ASSERT_OK(env_->fs.Remove(folder_ / "shards" / ShardFiles().at(0)));
  ASSERT_OK(Index());
  EXPECT_THAT(ReadShards(env_->fs, folder_), SizeIs(1));
  EXPECT_THAT(ReadFile(env_->fs, folder_ / "repodata_shards.msgpack.zst"), IsOkAndHolds(index));
}

TEST_F(ShardsTest, AShardIsNotGoodByItsNameAlone) {
  AddPackage(env_->fs, folder_, "aa");
  ASSERT_OK(Index(true));
  const AbsPath shard = folder_ / "shards" / ShardFiles().at(0);
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(env_->fs, shard));
  const std::string half = bytes.substr(0, bytes.size() / 2);
  const std::string other(bytes.size(), 'x');
  for (const std::string& damaged : {half, other}) {
    ASSERT_OK(WriteFile(env_->fs, shard, damaged));
    ASSERT_OK(env_->fs.SetMtime(shard, 1'000'000'000));
    ASSERT_OK(Index());
    EXPECT_THAT(ReadFile(env_->fs, shard), IsOkAndHolds(bytes));
  }
  // Without a cache too.
  ASSERT_OK(WriteFile(env_->fs, shard, other));
  ASSERT_OK(env_->fs.Remove(folder_ / ".cache/ptpkg-shards.json"));
  ASSERT_OK(Index());
  EXPECT_THAT(ReadFile(env_->fs, shard), IsOkAndHolds(bytes));
}

TEST_F(ShardsTest, OldShardsStayForAWeekAfterTheIndexThatListedThem) {
  AddPackage(env_->fs, folder_, "aa");
  ASSERT_OK(Index(true));
  const std::string old = ShardFiles().at(0);
  env_.dir().WriteFile("channel/linux-64/shards/notes.txt", "of somebody else");
  // However old the file is when the next index leaves it out.
  ASSERT_OK(env_->fs.SetMtime(folder_ / "shards" / old, 0));
  AddPackage(env_->fs, folder_, "aa", "2.0");
  ASSERT_OK(Index());
  EXPECT_THAT(ShardFiles(), Contains(old));
  env_.clock.Advance(std::chrono::hours(6 * 24));
  ASSERT_OK(Index());
  EXPECT_THAT(ShardFiles(), Contains(old));
  env_.clock.Advance(std::chrono::hours(2 * 24));
  ASSERT_OK(Index());
  EXPECT_THAT(ShardFiles(), Not(Contains(old)));
  EXPECT_THAT(ShardFiles(), Contains("notes.txt"));
  EXPECT_THAT(ReadShards(env_->fs, folder_), SizeIs(1));
}

TEST_F(ShardsTest, ADamagedIndexIsWrittenAgain) {
  AddPackage(env_->fs, folder_, "aa");
  ASSERT_OK(Index(true));
  const AbsPath path = folder_ / "repodata_shards.msgpack.zst";
  ASSERT_OK_AND_ASSIGN(const std::string index, ReadFile(env_->fs, path));
  ASSERT_OK(WriteFile(env_->fs, path, "damaged"));
  ASSERT_OK(Index());
  EXPECT_THAT(ReadFile(env_->fs, path), IsOkAndHolds(index));
}

TEST_F(ShardsTest, AreForChannelsOnly) {
  env_.dir().WriteFile("wheels/x-1-py3-none-any.whl", "x");
  EXPECT_THAT(IndexFolder(env_, env_.dir() / "wheels", {.channel = {.shards = true}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("has no shards")));
  AddPackage(env_->fs, folder_, "aa");
  ASSERT_OK(IndexFolder(env_, root_, {.channel = {.shards = true}}));
  EXPECT_THAT(ReadShards(env_->fs, folder_), SizeIs(1));
}

TEST(ShardsFaults, AKilledRunLeavesAnIndexWhoseShardsExist) {
  const AbsPath root = AbsPath::Literal("/channel");
  test::FaultLoop loop;
  loop.scope = test::FaultScope::kMutating;
  loop.after = test::FaultAfter::kDead;
  loop.setup = [&](test::MemFs& fs) {
    TestEnv env({.fs = &fs, .jobs = 1});
    AddPackage(fs, root / "linux-64", "aa");
    ASSERT_OK(IndexConda(env, root, {.parts = {.shards = true}}));
    AddPackage(fs, root / "linux-64", "aa", "2.0");
    AddPackage(fs, root / "linux-64", "bb");
  };
  loop.run = [&](Fs& fs) -> Result<void> {
    TestEnv env({.fs = &fs, .jobs = 1});
    PTPKG_CHECK(IndexConda(env, root));
    return Ok();
  };
  loop.check = [&](test::MemFs& fs, const Error&) {
    const std::size_t names = ReadShards(fs, root / "linux-64").size();
    EXPECT_TRUE(names == 1 || names == 2) << names;
    TestEnv env({.fs = &fs, .jobs = 1});
    EXPECT_OK(IndexConda(env, root));
    EXPECT_THAT(ReadShards(fs, root / "linux-64"), SizeIs(2));
  };
  loop.may_swallow = true;
  EXPECT_GT(test::RunFaultLoop(loop), 10);
}

}  // namespace
}  // namespace ptpkg::index
