// The choice of rows for current_repodata.json. tests/peers/conda/conda_index_files.py compares it with
// conda-index's on a large channel.
#include "index/conda_channel/current_repodata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conda/channel_names.h"
#include "index/conda_channel/conda_documents.h"
#include "index/index.h"
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

class CurrentRepodataTest : public ::testing::Test {
 protected:
  /// Adds the row of "name-version-build.extension"; `more`: further fields.
  void Add(const std::string& file_name, const Json& more = Json::object()) {
    const auto dist = conda::DistName::Parse(file_name);
    ASSERT_OK(dist);
    Json row = {{"name", dist->name}, {"version", dist->version}, {"build", dist->build},
                {"build_number", 0},  {"depends", Json::array()}, {"md5", "md5 of " + file_name}};
    row.update(more);
    repodata_[file_name.ends_with(".conda") ? "packages.conda" : "packages"][file_name] = row;
  }
  /// The selected file names.
  std::vector<std::string> Select() {
    current_ = MakeCurrentRepodata(repodata_);
    std::vector<std::string> names;
    for (const char* key : {"packages", "packages.conda"}) {
      for (const auto& [name, row] : current_[key].items()) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  Json repodata_ = EmptyRepodata("linux-64");
  Json current_;
};

TEST_F(CurrentRepodataTest, HasAllBuildsOfTheNewestVersion) {
  Add("a-1.9-0.conda");
  Add("a-1.10-0.conda");
  Add("a-1.10-1.conda", {{"build_number", 1}});
  Add("a-1.10rc1-0.conda");  // "=1.10" matches it
  Add("b-2.0-0.tar.bz2");
  repodata_["removed"] = {"c-1-0.conda"};
  EXPECT_THAT(Select(),
              ElementsAre("a-1.10-0.conda", "a-1.10-1.conda", "a-1.10rc1-0.conda", "b-2.0-0.tar.bz2"));
  EXPECT_EQ(current_["info"], repodata_["info"]);
  EXPECT_EQ(current_["removed"], repodata_["removed"]);
  EXPECT_EQ(current_["repodata_version"], 1);
}

TEST_F(CurrentRepodataTest, PrefersTheCondaOfTwoFormats) {
  Add("a-1-0.conda");
  Add("a-1-0.tar.bz2");
  Add("b-1-0.conda");
  EXPECT_THAT(Select(), ElementsAre("a-1-0.conda", "b-1-0.conda"));
  EXPECT_EQ(current_["packages.conda"]["a-1-0.conda"]["legacy_bz2_md5"], "md5 of a-1-0.tar.bz2");
  EXPECT_EQ(current_["packages.conda"]["b-1-0.conda"]["legacy_bz2_md5"], Json());
}

TEST_F(CurrentRepodataTest, AddsTheNewestPackagesThatDependenciesNeed) {
  Add("a-1-0.conda");
  Add("a-2.0-0.conda");
  Add("a-2.1-0.conda", {{"depends", {"old"}}});
  Add("a-2.1-1.conda");
  Add("a-3-0.conda");
  Add("old-1-0.conda", {{"depends", {"a <2"}}});
  Add("user-1-0.conda", {{"depends", {"a >=1,<3", "elsewhere 1.*", "__glibc >=2.17"}}});
  // The dependency is one of the newest packages, or it counts for older ones only.
  Add("new-1-0.conda", {{"depends", {"a >=1"}}});
  Add("new-0-0.conda", {{"depends", {"a ==2.0"}}});
  EXPECT_THAT(Select(), ElementsAre("a-1-0.conda", "a-2.1-0.conda", "a-2.1-1.conda", "a-3-0.conda",
                                    "new-1-0.conda", "old-1-0.conda", "user-1-0.conda"));
}

TEST_F(CurrentRepodataTest, AddsAPackageWithoutFeatures) {
  Add("blas-1-0.conda");
  Add("blas-2-0.conda");
  Add("blas-3-mkl.conda", {{"track_features", "mkl"}});
  Add("lapack-1-0.conda");
  Add("lapack-2-0.conda", {{"track_features", Json::array()}, {"features", ""}});
  EXPECT_THAT(Select(), ElementsAre("blas-2-0.conda", "blas-3-mkl.conda", "lapack-2-0.conda"));
}

TEST_F(CurrentRepodataTest, KeepsAllPackagesForASpecThatItCannotRead) {
  for (const char* name : {"a-1-0.conda", "a-2-0.conda", "a-3-0.conda"}) Add(name);
  Add("user-1-0.conda", {{"depends", {"a[build_number=1]"}}});
  EXPECT_THAT(Select(), ElementsAre("a-1-0.conda", "a-2-0.conda", "a-3-0.conda", "user-1-0.conda"));
}

TEST(CurrentRepodataFile, IsMadeOnRequestAndThenKeptCurrent) {
  TestEnv env;
  const AbsPath root = env.dir().MakeDir("channel");
  const AbsPath file = env.dir().MakeDir("channel/linux-64") / kCurrentRepodata;
  const auto add = [&](const std::string& version) {
    Json index = test::DemoIndex();
    index["version"] = version;
    const std::string bytes = test::MakeTarBz2({{.name = "info/index.json", .content = index.dump()}});
    ASSERT_OK(WriteFile(env->fs, file.Parent() / fmt::format("demo-{}-0.tar.bz2", version), bytes));
  };
  const auto listed = [&] {
    const auto text = ReadFile(env->fs, file);
    EXPECT_OK(text);
    const auto current = ParseJson(text ? *text : "", "current");
    EXPECT_OK(current);
    std::vector<std::string> names;
    if (!current) return names;
    for (const auto& [name, row] : current->at("packages").items()) names.push_back(name);
    return names;
  };
  add("1.0");
  ASSERT_OK(IndexConda(env, root));
  EXPECT_THAT(Exists(env->fs, file), IsOkAndHolds(false));
  ASSERT_OK(IndexConda(env, root, {.parts = {.current_repodata = true}}));
  EXPECT_THAT(listed(), ElementsAre("demo-1.0-0.tar.bz2"));
  add("2.0");
  ASSERT_OK_AND_ASSIGN(const IndexSummary summary, IndexConda(env, root));
  EXPECT_THAT(summary.written, Contains(file));
  EXPECT_THAT(listed(), ElementsAre("demo-2.0-0.tar.bz2"));
  ASSERT_OK_AND_ASSIGN(const IndexSummary again, IndexConda(env, root));
  EXPECT_THAT(again.written, IsEmpty());
}

TEST(CurrentRepodataFile, IsRefusedForWheels) {
  TestEnv env;
  const AbsPath root = env.dir().MakeDir("wheels");
  ASSERT_OK(WriteFile(env->fs, root / "a-1-py3-none-any.whl", ""));
  EXPECT_THAT(IndexFolder(env, root, {.channel = {.current_repodata = true}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("has no current_repodata.json")));
  EXPECT_THAT(IndexFolder(env, root, {.channel = {.patch = root}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("has no patch instructions")));
}

}  // namespace
}  // namespace ptpkg::index
