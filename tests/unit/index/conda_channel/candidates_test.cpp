// The packages of a channel as values: what is read, and what is taken from the index.

#include "index/conda_channel/candidates.h"

#include "index/index.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "unit/conda/package_builder.h"

namespace ptpkg::index {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class CandidatesTest : public ::testing::Test {
 protected:
  AbsPath Write(const std::string& name, const std::string& subdir = "linux-64") {
    env_.dir().MakeDir("channel/" + subdir);
    conda::PackageMetadata metadata = test::DemoMetadata();
    metadata.name = name;
    metadata.subdir = subdir;
    metadata.build_number = 7;
    metadata.depends = {"zlib >=1"};
    metadata.constrains = {"other <2"};
    metadata.run_exports = {{"weak", {name + " >=1"}}, {"strong", {"deep"}}};
    const auto written =
        conda::WritePackages(env_, {.metadata = metadata, .tree = tree_, .prefix_placeholder = ""},
                             root_ / subdir, {.conda = true, .tar_bz2 = false});
    EXPECT_THAT(written, IsOk());
    return root_ / subdir / (metadata.FileStem() + ".conda");
  }

  std::vector<Candidate> Read(const std::string& subdir = "linux-64") {
    auto read = ReadChannel(env_, root_, subdir);
    EXPECT_THAT(read, IsOk());
    return read ? *std::move(read) : std::vector<Candidate>();
  }

  /// Other bytes of the same size and time: whoever opens the file finds no package.
  void Blank(const AbsPath& path) {
    const auto stat = env_->fs.Stat(path);
    ASSERT_THAT(stat, IsOk());
    ASSERT_THAT(env_->fs.Remove(path), IsOk());
    ASSERT_THAT(WriteFile(env_->fs, path, std::string(stat->size_bytes, 'x')), IsOk());
    ASSERT_THAT(env_->fs.SetMtime(path, stat->mtime_ns), IsOk());
  }

  void ExpectDemo(const Candidate& candidate, const std::string& name) {
    EXPECT_EQ(candidate.damage, "");
    EXPECT_EQ(candidate.name, name);
    EXPECT_EQ(candidate.version, "1.0");
    EXPECT_EQ(candidate.build_number, 7U);
    EXPECT_THAT(candidate.depends, ElementsAre("zlib >=1"));
    EXPECT_THAT(candidate.constrains, ElementsAre("other <2"));
    EXPECT_THAT(candidate.run_exports,
                ElementsAre(Pair("strong", ElementsAre("deep")), Pair("weak", ElementsAre(name + " >=1"))));
    EXPECT_EQ(candidate.format, ArtifactFormat::kConda);
    EXPECT_EQ(candidate.file_name, candidate.Stem() + ".conda");
    ASSERT_TRUE(candidate.path.has_value());
    EXPECT_EQ(*candidate.path, root_ / candidate.subdir / candidate.file_name);
    EXPECT_EQ(candidate.planned_by, "");
  }

  test::TestEnv env_;
  AbsPath root_ = env_.dir().MakeDir("channel");
  StagedTree tree_ = test::MakeTree(env_, {{.name = "share/x", .content = "x\n"}});
};

TEST_F(CandidatesTest, WithoutIndexThePackagesAreRead) {
  const AbsPath path = Write("demo");
  Write("pure", "noarch");
  const auto read = Read();
  ASSERT_THAT(read, SizeIs(2));
  ExpectDemo(read[0], "demo");
  EXPECT_EQ(read[0].subdir, "linux-64");
  EXPECT_EQ(read[0].sha256, HashFile(env_->fs, path)->sha256);
  ExpectDemo(read[1], "pure");
  EXPECT_EQ(read[1].subdir, "noarch");
  EXPECT_THAT(Read("linux-aarch64"), SizeIs(1));
  EXPECT_THAT(Read("noarch"), SizeIs(1));
}

TEST_F(CandidatesTest, AChannelThatIsNotThereIsEmpty) {
  const auto read = ReadChannel(env_, root_ / "nowhere", "linux-64");
  ASSERT_THAT(read, IsOk());
  EXPECT_THAT(*read, IsEmpty());
}

TEST_F(CandidatesTest, WhatTheCacheOfTheIndexKnowsIsNotReadAgain) {
  const AbsPath path = Write("demo");
  const Sha256 digest = HashFile(env_->fs, path)->sha256;
  ASSERT_THAT(IndexConda(env_, root_), IsOk());
  Blank(path);
  const auto read = Read();
  ASSERT_THAT(read, SizeIs(1));
  ExpectDemo(read[0], "demo");
  EXPECT_EQ(read[0].sha256, digest);
}

TEST_F(CandidatesTest, WhatRepodataKnowsIsNotReadAgain) {
  const AbsPath path = Write("demo");
  const Sha256 digest = HashFile(env_->fs, path)->sha256;
  ASSERT_THAT(IndexConda(env_, root_), IsOk());
  ASSERT_THAT(env_->fs.Remove(root_ / "linux-64/.cache/ptpkg-index.json"), IsOk());
  Blank(path);
  const auto read = Read();
  ASSERT_THAT(read, SizeIs(1));
  ExpectDemo(read[0], "demo");
  EXPECT_EQ(read[0].sha256, digest);
}

TEST_F(CandidatesTest, AFileThatTheIndexDoesNotKnowIsRead) {
  Write("demo");
  ASSERT_THAT(IndexConda(env_, root_), IsOk());
  const AbsPath path = Write("added");
  const auto read = Read();
  ASSERT_THAT(read, SizeIs(2));
  ExpectDemo(read[0], "added");
  EXPECT_EQ(read[0].sha256, HashFile(env_->fs, path)->sha256);
}

TEST_F(CandidatesTest, AFileThatChangedAfterTheIndexIsReadAgain) {
  const AbsPath path = Write("demo");
  ASSERT_THAT(IndexConda(env_, root_), IsOk());
  ASSERT_THAT(env_->fs.Remove(root_ / "linux-64/.cache/ptpkg-index.json"), IsOk());
  const auto index_time = env_->fs.Stat(root_ / "linux-64/repodata.json");
  ASSERT_THAT(index_time, IsOk());
  Blank(path);
  ASSERT_THAT(env_->fs.SetMtime(path, index_time->mtime_ns + 1), IsOk());
  ASSERT_THAT(Read(), SizeIs(1));
  EXPECT_NE(Read()[0].damage, "");
  // Another size needs no clock.
  ASSERT_THAT(env_->fs.Remove(path), IsOk());
  ASSERT_THAT(WriteFile(env_->fs, path, "short"), IsOk());
  ASSERT_THAT(env_->fs.SetMtime(path, 0), IsOk());
  EXPECT_NE(Read()[0].damage, "");
}

TEST_F(CandidatesTest, ADamagedIndexIsNone) {
  Write("demo");
  ASSERT_THAT(IndexConda(env_, root_), IsOk());
  for (const char* name : {"linux-64/.cache/ptpkg-index.json", "linux-64/repodata.json"}) {
    for (const char* text : {"{", "[]", "{\"packages.conda\": {\"demo-1.0-0.conda\": {\"size\": \"x\"}}}"}) {
      ASSERT_THAT(env_->fs.Remove(root_ / name), IsOk());
      ASSERT_THAT(WriteFile(env_->fs, root_ / name, text), IsOk());
      const auto read = Read();
      ASSERT_THAT(read, SizeIs(1));
      ExpectDemo(read[0], "demo");
    }
  }
}

TEST_F(CandidatesTest, ADamagedPackageHasAReason) {
  Write("demo");
  ASSERT_THAT(WriteFile(env_->fs, root_ / "linux-64/broken-1.0-0.conda", "no zip"), IsOk());
  ASSERT_THAT(WriteFile(env_->fs, root_ / "linux-64/.hidden-1.0-0.conda", "being written"), IsOk());
  const auto read = Read();
  ASSERT_THAT(read, SizeIs(2));
  EXPECT_EQ(read[0].name, "broken");
  EXPECT_NE(read[0].damage, "");
  EXPECT_FALSE(read[0].sha256.has_value());
  ExpectDemo(read[1], "demo");
}

TEST_F(CandidatesTest, EveryFailingOperationIsAnError) {
  Write("demo");
  Write("pure", "noarch");
  ASSERT_THAT(IndexConda(env_, root_), IsOk());
  Write("added");
  Fs& real = env_->fs;
  std::uint64_t number = 1;
  for (;; ++number) {
    test::FaultFs faulty(real, {.number = number, .scope = test::FaultScope::kReading});
    test::TestEnv env({.fs = &faulty, .jobs = 1});
    const auto read = ReadChannel(env, root_, "linux-64");
    if (!faulty.fired()) {
      ASSERT_THAT(read, IsOk());
      EXPECT_THAT(*read, SizeIs(3));
      break;
    }
    EXPECT_THAT(read, FailsWith(ErrorCode::kIo, HasSubstr("")));
  }
  EXPECT_GT(number, 10U);
}

}  // namespace
}  // namespace ptpkg::index
