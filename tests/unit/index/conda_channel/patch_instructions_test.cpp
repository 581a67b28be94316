// Patch instructions: bad ones, their effect on each index file, and later runs.
#include "index/conda_channel/patch_instructions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conda/package.h"
#include "index/conda_channel/candidates.h"
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
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Instructions with these keys, besides the version.
std::string Text(Json keys) {
  keys["patch_instructions_version"] = 1;
  return keys.dump();
}

Result<PatchInstructions> Parse(const Json& keys) { return PatchInstructions::Parse(Text(keys), "p.json"); }

std::optional<Json> Apply(const Json& keys, const std::string& file_name, const Json& row) {
  const auto patch = Parse(keys);
  EXPECT_OK(patch);
  return patch ? patch->Apply(file_name, row) : std::nullopt;
}

TEST(PatchInstructionsTest, NamesWhatItCannotRead) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"no json", "p.json is not valid JSON"},
      {"[]", "p.json: not an object"},
      {"{}", "'patch_instructions_version'"},
      {R"({"patch_instructions_version": 2})", "'patch_instructions_version' is 2, and ptpkg reads 1"},
      {Text({{"revoked", {"a-1-0.conda"}}}), "unknown key 'revoked'"},
      {Text({{"packages", Json::array()}}), "'packages' is not an object"},
      {Text({{"packages", {{"a-1-0.conda", Json::object()}}}}),
       "'a-1-0.conda' under 'packages' is not a .tar.bz2 file"},
      {Text({{"packages.conda", {{"a-1-0.tar.bz2", Json::object()}}}}),
       "'a-1-0.tar.bz2' under 'packages.conda' is not a .conda file"},
      {Text({{"packages.conda", {{"a-1-0.conda", "gone"}}}}), "'a-1-0.conda' is not an object"},
      {Text({{"packages.conda", {{"a-1-0.conda", {{"sha256", "0"}}}}}}),
       "'a-1-0.conda': 'sha256' identifies the package and cannot change"},
      {Text({{"packages.conda", {{"a-1-0.conda", {{"depends", "b"}}}}}}), "'depends' is not a list of text"},
      {Text({{"packages.conda", {{"a-1-0.conda", {{"depends", nullptr}}}}}}),
       "'depends' is not a list of text"},
      {Text({{"packages.conda", {{"a-1-0.conda", {{"revoked", "yes"}}}}}}), "'revoked' cannot be set"},
      {Text({{"remove", "a-1-0.conda"}}), "'remove'"},
      {Text({{"revoke", {"a-1-0"}}}), "'a-1-0' under 'revoke' is not a .conda or .tar.bz2 file"},
  };
  for (const auto& [text, why] : cases) {
    EXPECT_THAT(PatchInstructions::Parse(text, "p.json"),
                FailsWith(ErrorCode::kInvalidInput, AllOf(HasSubstr("p.json"), HasSubstr(why))))
        << text;
  }
}

TEST(PatchInstructionsTest, InstructionsForATarCountForItsCondaToo) {
  const Json keys = {{"packages", {{"a-1-0.tar.bz2", {{"license", "MIT"}, {"depends", {"x"}}}}}},
                     {"packages.conda", {{"a-1-0.conda", {{"depends", {"y"}}}}}}};
  const Json row = {{"depends", {"old"}}, {"license", "BSD"}, {"size", 1}};
  EXPECT_EQ(Apply(keys, "a-1-0.tar.bz2", row), (Json{{"depends", {"x"}}, {"license", "MIT"}, {"size", 1}}));
  EXPECT_EQ(Apply(keys, "a-1-0.conda", row), (Json{{"depends", {"y"}}, {"license", "MIT"}, {"size", 1}}));
  EXPECT_EQ(Apply(keys, "b-1-0.conda", row), row);
  const Json remove = {{"remove", {"a-1-0.tar.bz2", "b-1-0.conda"}}};
  EXPECT_EQ(Apply(remove, "a-1-0.tar.bz2", row), std::nullopt);
  EXPECT_EQ(Apply(remove, "a-1-0.conda", row), std::nullopt);
  EXPECT_EQ(Apply(remove, "b-1-0.conda", row), std::nullopt);
  EXPECT_EQ(Apply(remove, "b-1-0.tar.bz2", row), row);
}

TEST(PatchInstructionsTest, ObjectsAreMergedNullRemovesAndOtherValuesReplace) {
  const Json changes = {
      {"map", {{"b", 2}, {"c", nullptr}}}, {"list", {2}}, {"license", nullptr}, {"track_features", nullptr}};
  const Json keys = {{"packages.conda", {{"a-1-0.conda", changes}}}};
  const Json row = {{"map", {{"a", 1}, {"c", 3}}}, {"list", {1}}, {"license", "MIT"}};
  EXPECT_EQ(Apply(keys, "a-1-0.conda", row), (Json{{"map", {{"a", 1}, {"b", 2}}}, {"list", {2}}}));
}

/// rattler reads no package of a name if one row has such a value.
TEST(PatchInstructionsTest, APatchedRowIsOneThatClientsRead) {
  Json row = {{"name", "a"},      {"version", "1"},    {"build", "0"},
              {"depends", {"x"}}, {"build_number", 0}, {"license", "MIT"}};
  const auto patched = [&](const Json& change) -> Result<RemovedPackages> {
    CondaRecords records;
    records["a-1-0.conda"].repodata = row;
    const auto patch = Parse({{"packages.conda", {{"a-1-0.conda", change}}}});
    EXPECT_OK(patch);
    if (!patch) return patch.error();
    return PatchRecords(*patch, "'p.json'", records);
  };
  EXPECT_OK(patched({{"license", nullptr}, {"constrains", {"b"}}, {"timestamp", 1700000000000}}));
  for (const Json& change : std::vector<Json>{{{"constrains", {1}}},
                                              {{"license", 5}},
                                              {{"license_family", 3}},
                                              {{"build_number", -1}},
                                              {{"build_number", nullptr}},
                                              {{"timestamp", 9223372036854775807}},
                                              {{"noarch", 5}},
                                              {{"purls", 5}},
                                              {{"run_exports", 4}},
                                              {{"track_features", 7}},
                                              {{"extra_depends", 5}},
                                              {{"python_site_packages_path", 4}}}) {
    EXPECT_THAT(patched(change), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'p.json': 'a-1-0.conda': '" +
                                                                               change.begin().key() + "' ")))
        << change;
  }
  for (const char* key : {"depends", "constrains"}) {
    for (const char* spec : {"a b c d", "foo[version=", "foo >=1,", "foo >>1"}) {
      EXPECT_THAT(patched({{key, {spec}}}), FailsWith(ErrorCode::kInvalidInput, HasSubstr(spec))) << spec;
    }
  }
  for (const char* spec :
       {"conda-forge::foo", "foo[md5=0f]", "FOO >1", "foo 1.0 0 # why", "foo >=1,<2 *_cpu"})
    EXPECT_OK(patched({{"depends", {spec}}})) << spec;
  // A spec that the package has is not the fault of the patch.
  row["depends"] = {"foo >=>1"};
  EXPECT_OK(patched({{"depends", {"foo >=>1", "b"}}}));
}

TEST(PatchInstructionsTest, ARevokedPackageCannotBeInstalled) {
  const Json keys = {{"revoke", {"a-1-0.conda", "a-1-0.tar.bz2"}}};
  for (const char* name : {"a-1-0.conda", "a-1-0.tar.bz2"}) {
    EXPECT_EQ(Apply(keys, name, {{"depends", {"x"}}}),
              (Json{{"depends", {"x", "package_has_been_revoked"}}, {"revoked", true}}));
    EXPECT_EQ(Apply(keys, name, {{"depends", "x"}}),
              (Json{{"depends", {"package_has_been_revoked"}}, {"revoked", true}}));
  }
}

void AddDemo(Fs& fs, const AbsPath& folder, const std::string& name, const std::string& version) {
  Json index = test::DemoIndex();
  index["name"] = name;
  index["version"] = version;
  index["depends"] = {"python"};
  ASSERT_OK(fs.MakeDirs(folder));
  ASSERT_OK(WriteFile(fs, folder / fmt::format("{}-{}-0.tar.bz2", name, version),
                      test::MakeTarBz2({{.name = "info/index.json", .content = index.dump()}})));
}

Json ReadJson(Fs& fs, const AbsPath& path) {
  const auto text = ReadFile(fs, path);
  EXPECT_OK(text);
  const auto json = ParseJson(text ? *text : "{}", path.Name());
  EXPECT_OK(json);
  return json ? *json : Json();
}

class PatchedChannelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* version : {"1.0", "2.0", "3.0"}) AddDemo(env_->fs, folder_, "aa", version);
    AddDemo(env_->fs, folder_, "bb", "1.0");
  }
  Json Repodata(std::string_view file = "repodata.json") { return ReadJson(env_->fs, folder_ / file); }
  Result<IndexSummary> Index() { return IndexConda(env_, root_); }
  Result<IndexSummary> IndexWith(const AbsPath& patch) {
    return IndexConda(env_, root_, {.parts = {.shards = true, .current_repodata = true, .patch = patch}});
  }
  AbsPath Write(const std::string& path, const Json& keys) { return env_.dir().WriteFile(path, Text(keys)); }

  const Json keys_ = {{"packages", {{"aa-1.0-0.tar.bz2", {{"depends", {"python <4"}}}}}},
                      {"revoke", {"aa-2.0-0.tar.bz2"}},
                      {"remove", {"aa-3.0-0.tar.bz2", "bb-1.0-0.tar.bz2"}}};
  TestEnv env_;
  AbsPath root_ = env_.dir().MakeDir("channel");
  AbsPath folder_ = root_ / "linux-64";
};

TEST_F(PatchedChannelTest, AppliesToAllFilesAndToLaterRuns) {
  ASSERT_OK(Index());
  const Json before = Repodata();
  const Json run_exports = Repodata("run_exports.json");
  Write("patch/linux-64/patch_instructions.json", keys_);
  ASSERT_OK_AND_ASSIGN(const IndexSummary first, IndexWith(env_.dir() / "patch"));
  EXPECT_THAT(first.written, Contains(folder_ / kPatchFile));
  const Json patched = Repodata();
  const Json& rows = patched["packages"];
  EXPECT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows["aa-1.0-0.tar.bz2"]["depends"], Json{"python <4"});
  EXPECT_EQ(rows["aa-2.0-0.tar.bz2"]["depends"], (Json{"python", "package_has_been_revoked"}));
  EXPECT_EQ(patched["removed"], (Json{"aa-3.0-0.tar.bz2", "bb-1.0-0.tar.bz2"}));
  EXPECT_EQ(Repodata(kUnpatchedRepodata), before);
  EXPECT_EQ(Repodata("run_exports.json"), run_exports);
  const Json current = Repodata("current_repodata.json");
  EXPECT_EQ(current["packages"].size(), 1U);
  EXPECT_TRUE(current["packages"].contains("aa-2.0-0.tar.bz2"));
  const Json channeldata = ReadJson(env_->fs, root_ / "channeldata.json");
  EXPECT_EQ(channeldata["packages"]["aa"]["version"], "2.0");
  EXPECT_FALSE(channeldata["packages"].contains("bb"));
  // A new package does not lose the patch, and an unchanged channel writes nothing.
  ASSERT_OK_AND_ASSIGN(const IndexSummary second, Index());
  EXPECT_THAT(second.written, IsEmpty());
  AddDemo(env_->fs, folder_, "cc", "1.0");
  ASSERT_OK(Index());
  EXPECT_EQ(Repodata()["packages"].size(), 3U);
  EXPECT_EQ(Repodata()["removed"], patched["removed"]);
  EXPECT_EQ(Repodata(kUnpatchedRepodata)["packages"].size(), 5U);
  // Without instructions, the packages count again.
  ASSERT_OK(env_->fs.Remove(folder_ / kPatchFile));
  ASSERT_OK(Index());
  EXPECT_EQ(Repodata()["packages"].size(), 5U);
  EXPECT_EQ(Repodata(kUnpatchedRepodata), Repodata());
}

TEST_F(PatchedChannelTest, BuildsSeeThePatchedRows) {
  ASSERT_OK(IndexWith(Write("linux-64/patch_instructions.json", keys_)));
  for (const char* lost : {"", ".cache/ptpkg-index.json", "repodata.json"}) {
    if (*lost != '\0') {
      ASSERT_OK(env_->fs.Remove(folder_ / lost));
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<Candidate> candidates, ReadChannel(env_, root_, "linux-64"));
    ASSERT_EQ(candidates.size(), 1U) << lost;
    EXPECT_EQ(candidates[0].version, "1.0");
    EXPECT_THAT(candidates[0].depends, ElementsAre("python <4"));
  }
}

TEST_F(PatchedChannelTest, TakesAFileADirectoryOrAPackage) {
  const Json keys = {{"remove", {"bb-1.0-0.tar.bz2"}}};
  const AbsPath file = Write("patch/linux-64/patch_instructions.json", keys);
  const test::RawMember member{.name = "linux-64/patch_instructions.json", .content = Text(keys)};
  const AbsPath package = env_.dir().path() / "demo-1.0-0.conda";
  test::WriteRawConda(env_, {.info = test::DemoInfo({member}), .payload = {member}}, package);
  for (const AbsPath& source : {file, env_.dir() / "patch", package}) {
    ASSERT_OK(IndexWith(source)) << source.str();
    EXPECT_EQ(Repodata()["removed"], Json{"bb-1.0-0.tar.bz2"}) << source.str();
    ASSERT_OK(env_->fs.Remove(folder_ / kPatchFile));
    ASSERT_OK(Index());
    EXPECT_EQ(Repodata()["removed"], Json::array());
  }
}

TEST_F(PatchedChannelTest, BadSourcesLeaveTheIndex) {
  ASSERT_OK(Index());
  const Json before = Repodata();
  env_.dir().MakeDir("empty/linux-64");
  for (const AbsPath& source : {env_.dir() / "empty", Write("loose/patch.json", keys_)}) {
    EXPECT_THAT(IndexWith(source), FailsWith(ErrorCode::kInvalidInput,
                                             AllOf(HasSubstr(source.str()),
                                                   HasSubstr("has no patch instructions for a subdir"))));
  }
  EXPECT_THAT(IndexWith(env_.dir() / "none"), FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(IndexWith(Write("linux-64/patch.json", {{"delete", Json::array()}})),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("linux-64/patch.json': unknown key 'delete'")));
  EXPECT_THAT(Exists(env_->fs, folder_ / kPatchFile), IsOkAndHolds(false));
  // The channel's own instructions are read as strictly, by builds too.
  ASSERT_OK(WriteFile(env_->fs, folder_ / kPatchFile, "{}"));
  EXPECT_THAT(Index(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("patch_instructions.json")));
  EXPECT_THAT(ReadChannel(env_, root_, "linux-64"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("patch_instructions.json")));
  EXPECT_EQ(Repodata(), before);
}

TEST_F(PatchedChannelTest, WarnsOfPackagesAndSubdirsThatTheChannelLacks) {
  Write("patch/osx-64/patch_instructions.json", keys_);
  Write("patch/linux-64/patch_instructions.json",
        {{"packages", {{"aa-9-0.tar.bz2", Json::object()}}},
         {"revoke", {"bb-1.0-0.tar.bz2", "b-0.conda"}},
         {"remove", {"c-0.conda", "d-0.conda", "e-0.conda", "f-0.conda", "g-0.conda"}}});
  ASSERT_OK(IndexWith(env_.dir() / "patch"));
  EXPECT_THAT(
      env_.reporter.warnings(),
      ElementsAre(HasSubstr("patches subdirs that the channel does not have: osx-64"),
                  HasSubstr("aa-9-0.tar.bz2, b-0.conda, c-0.conda, d-0.conda, e-0.conda and 2 more")));
  ASSERT_OK(Index());
  EXPECT_EQ(env_.reporter.warnings().size(), 2U);
}

TEST(PatchFaults, AKilledRunDoesNotLoseThePatch) {
  const AbsPath root = AbsPath::Literal("/channel");
  const AbsPath folder = root / "linux-64";
  test::FaultLoop loop;
  loop.scope = test::FaultScope::kMutating;
  loop.after = test::FaultAfter::kDead;
  loop.setup = [&](test::MemFs& fs) {
    TestEnv env({.fs = &fs, .jobs = 1});
    AddDemo(fs, folder, "aa", "1.0");
    AddDemo(fs, folder, "aa", "2.0");
    ASSERT_OK(IndexConda(env, root));
    ASSERT_OK(fs.MakeDirs(AbsPath::Literal("/linux-64")));
    ASSERT_OK(WriteFile(fs, AbsPath::Literal("/linux-64/p.json"), Text({{"remove", {"aa-2.0-0.tar.bz2"}}})));
  };
  loop.run = [&](Fs& fs) -> Result<void> {
    TestEnv env({.fs = &fs, .jobs = 1});
    PTPKG_CHECK(IndexConda(env, root, {.parts = {.patch = AbsPath::Literal("/linux-64/p.json")}}));
    return Ok();
  };
  loop.check = [&](test::MemFs& fs, const Error&) {
    const bool patched = ReadJson(fs, folder / "repodata.json")["packages"].size() == 1;
    TestEnv env({.fs = &fs, .jobs = 1});
    EXPECT_OK(IndexConda(env, root));
    if (patched) {
      EXPECT_EQ(ReadJson(fs, folder / "repodata.json")["packages"].size(), 1U);
    }
  };
  loop.may_swallow = true;
  EXPECT_GT(test::RunFaultLoop(loop), 5);
}

}  // namespace
}  // namespace ptpkg::index
