#include "convert/tree/conda_tree.h"
#include "convert/tree/wheel_tree.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::convert {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kSite = "lib/python3.11/site-packages/";

std::vector<std::string> Paths(const StagedTree& tree) {
  std::vector<std::string> paths;
  for (const TreeEntry& entry : tree.entries) paths.push_back(entry.path.str());
  return paths;
}

class TreesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_THAT(env_->fs.MakeDirs(to_), test::IsOk()); }

  void Put(const std::string& path, const std::string& text, std::uint32_t mode = 0644) {
    ASSERT_THAT(env_->fs.MakeDirs((from_ / path).Parent()), test::IsOk());
    ASSERT_THAT(WriteFile(env_->fs, from_ / path, text), test::IsOk());
    ASSERT_THAT(env_->fs.SetMode(from_ / path, mode), test::IsOk());
  }
  StagedTree Scan() { return *ScanTree(env_, from_); }

  /// A staged prefix with one distribution, one entry point, one other script and a C header.
  void PutPrefix() {
    const std::string info = std::string(kSite) + "toy-1.0.dist-info/";
    Put(std::string(kSite) + "toy/__init__.py", "");
    Put(info + "METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n");
    Put(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n");
    Put(info + "entry_points.txt", "[console_scripts]\ntoy-run = toy:main\n");
    Put(info + "INSTALLER", "pip\n");
    Put(info + "direct_url.json", "{\"url\": \"file:///build/toy\"}");
    Put(info + "RECORD", "toy/__init__.py,,\n../../../bin/toy-run,,\n");
    Put(info + "licenses/LICENSE", "free");
    Put("bin/toy-run", "#!/usr/bin/python3\n", 0755);
    Put("bin/helper", "#!/pre/fix/bin/python\nprint()\n", 0755);
    Put("include/toy.h", "");
  }

  test::TestEnv env_;
  AbsPath from_ = env_.dir().path() / "from";
  AbsPath to_ = env_.dir().path() / "to";
};

TEST_F(TreesTest, CondaTreeIsInstalledByConda) {
  PutPrefix();
  const StagedTree staged = Scan();
  auto tree = MakeCondaTree(env_, staged, "/pre/fix", to_);
  ASSERT_THAT(tree, test::IsOk());
  const std::string info = std::string(kSite) + "toy-1.0.dist-info/";
  EXPECT_THAT(Paths(*tree), Not(Contains(info + "direct_url.json")));
  EXPECT_THAT(ReadFile(env_->fs, to_ / (info + "INSTALLER")), IsOkAndHolds(Eq("conda\n")));
  EXPECT_THAT(ReadFile(env_->fs, to_ / "bin/toy-run"), IsOkAndHolds(StartsWith("#!/pre/fix/bin/python\n")));
  EXPECT_EQ(tree->Find("bin/toy-run")->mode, 0755U);

  ASSERT_THAT(AddInstalledRecords(env_, staged, *tree), test::IsOk());
  const auto record = ReadFile(env_->fs, to_ / (info + "RECORD"));
  EXPECT_THAT(record, IsOkAndHolds(HasSubstr("../../../bin/toy-run,sha256=")));
  EXPECT_THAT(record, IsOkAndHolds(HasSubstr("toy-1.0.dist-info/INSTALLER,sha256=")));
  EXPECT_EQ(ScanTree(env_, to_)->entries, tree->entries);
}

TEST_F(TreesTest, WheelTreeTurnsThePrefixInsideOut) {
  PutPrefix();
  const StagedTree staged = Scan();
  const auto distribution = FindDistribution(env_, staged, "");
  ASSERT_THAT(distribution, test::IsOk());
  const auto tree = MakeWheelTree(env_, staged, *distribution,
                                  {.exclude = {"include/**"}, .prefix_placeholder = "/pre/fix"}, to_);
  ASSERT_THAT(tree, test::IsOk());
  EXPECT_THAT(Paths(tree->payload), ElementsAre("toy-1.0.data/scripts/helper", "toy/__init__.py"));
  EXPECT_THAT(ReadFile(env_->fs, to_ / "toy-1.0.data/scripts/helper"),
              IsOkAndHolds(Eq("#!python\nprint()\n")));
  EXPECT_THAT(tree->dist_info, ElementsAre(::testing::Pair("licenses/LICENSE", "free")));
}

TEST_F(TreesTest, ALinkInBinBecomesACopyBesideItsTarget) {
  PutPrefix();
  ASSERT_THAT(env_->fs.CreateSymlink("helper", from_ / "bin/alias"), test::IsOk());
  ASSERT_THAT(env_->fs.CreateSymlink("alias", from_ / "bin/again"), test::IsOk());
  ASSERT_THAT(env_->fs.CreateSymlink("toy-run", from_ / "bin/run"), test::IsOk());
  ASSERT_THAT(env_->fs.CreateSymlink("../include/toy.h", from_ / "bin/header"), test::IsOk());
  const StagedTree staged = Scan();
  const auto tree = MakeWheelTree(env_, staged, *FindDistribution(env_, staged, ""),
                                  {.prefix_placeholder = "/pre/fix"}, to_);
  ASSERT_THAT(tree, test::IsOk());
  const std::string scripts = "toy-1.0.data/scripts/";
  EXPECT_THAT(Paths(tree->payload),
              ElementsAre("toy-1.0.data/data/include/toy.h", scripts + "again", scripts + "alias",
                          scripts + "header", scripts + "helper", scripts + "run", "toy/__init__.py"));
  for (const char* name : {"again", "alias", "helper"}) {
    EXPECT_THAT(ReadFile(env_->fs, to_ / (scripts + name)), IsOkAndHolds(Eq("#!python\nprint()\n"))) << name;
  }
  EXPECT_EQ(ScanTree(env_, to_)->entries, tree->payload.entries);
}

TEST_F(TreesTest, ALinkInBinThatLeadsNowhereIsLeftOut) {
  PutPrefix();
  ASSERT_THAT(env_->fs.CreateSymlink("absent", from_ / "bin/alias"), test::IsOk());
  const StagedTree staged = Scan();
  const auto tree = MakeWheelTree(env_, staged, *FindDistribution(env_, staged, ""), {}, to_);
  ASSERT_THAT(tree, test::IsOk());
  EXPECT_THAT(Paths(tree->payload), Not(Contains(HasSubstr("alias"))));
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("bin/alias")));
}

TEST_F(TreesTest, ScriptsOfANoarchPackageAreScripts) {
  Put("site-packages/toy-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n");
  Put("site-packages/toy-1.0.dist-info/entry_points.txt", "[console_scripts]\ntoy-run = toy:main\n");
  Put("site-packages/toy.py", "");
  Put("python-scripts/toy-run", "#!/pre/fix/bin/python\n", 0755);
  Put("python-scripts/helper", "#!/pre/fix/bin/python\nprint()\n", 0755);
  const StagedTree staged = Scan();
  const auto tree = MakeWheelTree(env_, staged, *FindDistribution(env_, staged, ""),
                                  {.prefix_placeholder = "/pre/fix"}, to_);
  ASSERT_THAT(tree, test::IsOk());
  EXPECT_THAT(Paths(tree->payload), ElementsAre("toy-1.0.data/scripts/helper", "toy.py"));
}

TEST_F(TreesTest, FilesOfAnotherDistributionStayOut) {
  PutPrefix();
  const std::string info = std::string(kSite) + "other-2.0.dist-info/";
  Put(info + "METADATA", "Metadata-Version: 2.1\nName: other\nVersion: 2.0\n");
  Put(info + "RECORD", "other.py,,\n../../../bin/other,,\ntoy/__init__.py,,\nother-2.0.dist-info/RECORD,,\n");
  Put(std::string(kSite) + "other.py", "");
  Put("bin/other", "", 0755);
  const StagedTree staged = Scan();
  const auto tree =
      MakeWheelTree(env_, staged, *FindDistribution(env_, staged, "toy"), {.exclude = {"include/**"}}, to_);
  ASSERT_THAT(tree, test::IsOk());
  // What both claim stays with the one that is packed.
  EXPECT_THAT(Paths(tree->payload), ElementsAre("toy-1.0.data/scripts/helper", "toy/__init__.py"));
}

TEST_F(TreesTest, WhatHasNoPlaceInAWheelGoesToData) {
  PutPrefix();
  const StagedTree staged = Scan();
  const auto tree = MakeWheelTree(env_, staged, *FindDistribution(env_, staged, ""), {}, to_);
  ASSERT_THAT(tree, test::IsOk());
  EXPECT_THAT(Paths(tree->payload), Contains("toy-1.0.data/data/include/toy.h"));
}

class WheelToCondaTreeTest : public TreesTest {
 protected:
  Result<StagedTree> Convert() {
    wheel::WheelInfo info;
    info.file_name.name = "toy";
    info.dist_info_dir = "toy-1.0.dist-info";
    info.entry_points = "[console_scripts]\ntoy-run = toy:main\n";
    return MakeCondaTreeOfWheel(
        env_, Scan(), info,
        {.site_packages = "lib/python3.11/site-packages", .prefix_placeholder = "/pre/fix"}, to_);
  }
};

TEST_F(WheelToCondaTreeTest, SpreadsDataOverThePrefix) {
  Put("toy/__init__.py", "");
  Put("toy-1.0.dist-info/METADATA", "x");
  Put("toy-1.0.dist-info/RECORD", "x");
  Put("toy-1.0.data/scripts/helper", "#!python -E\nprint()\n");
  Put("toy-1.0.data/data/share/toy/a", "");
  Put("toy-1.0.data/headers/toy.h", "");
  Put("toy-1.0.data/platlib/toy/b.py", "");
  const auto tree = Convert();
  ASSERT_THAT(tree, test::IsOk());
  EXPECT_THAT(Paths(*tree), ElementsAre("bin/helper", "bin/toy-run", "include/python3.11/toy/toy.h",
                                        std::string(kSite) + "toy-1.0.dist-info/INSTALLER",
                                        std::string(kSite) + "toy-1.0.dist-info/METADATA",
                                        std::string(kSite) + "toy/__init__.py",
                                        std::string(kSite) + "toy/b.py", "share/toy/a"));
}

TEST_F(WheelToCondaTreeTest, ScriptsRunUnderTheInterpreterOfThePrefix) {
  Put("toy-1.0.data/scripts/tool", "#!python -E\r\nprint()\n");
  Put("toy-1.0.data/scripts/window", "#!pythonw\nprint()\n", 0755);
  Put("toy-1.0.data/scripts/shell", "#!/bin/sh\necho\n");
  Put("toy-1.0.data/scripts/program",
      std::string("\x7f"
                  "ELF\0",
                  5),
      0755);
  Put("toy-1.0.data/scripts/empty", "");
  Put("toy-1.0.data/data/share/toy/example", "#!python\n");
  const auto tree = Convert();
  ASSERT_THAT(tree, test::IsOk());
  EXPECT_THAT(ReadFile(env_->fs, to_ / "bin/tool"), IsOkAndHolds(Eq("#!/pre/fix/bin/python\nprint()\n")));
  EXPECT_THAT(ReadFile(env_->fs, to_ / "bin/window"), IsOkAndHolds(Eq("#!/pre/fix/bin/python\nprint()\n")));
  EXPECT_THAT(ReadFile(env_->fs, to_ / "bin/shell"), IsOkAndHolds(Eq("#!/bin/sh\necho\n")));
  EXPECT_THAT(ReadFile(env_->fs, to_ / "share/toy/example"), IsOkAndHolds(Eq("#!python\n")));
  for (const char* name : {"tool", "window", "shell", "program", "empty"}) {
    EXPECT_EQ(tree->Find(std::string("bin/") + name)->mode, 0755U) << name;
  }
  EXPECT_EQ(ScanTree(env_, to_)->entries, tree->entries);
}

TEST_F(WheelToCondaTreeTest, ALinkThatCannotBeMadeIsAnError) {
  Put("toy-1.0.data/scripts/tool", "#!python\n");
  const StagedTree unpacked = Scan();
  ASSERT_THAT(env_->fs.Remove(from_ / "toy-1.0.data/scripts/tool"), test::IsOk());
  wheel::WheelInfo info;
  info.dist_info_dir = "toy-1.0.dist-info";
  EXPECT_THAT(MakeCondaTreeOfWheel(env_, unpacked, info,
                                   {.site_packages = "site-packages", .prefix_placeholder = ""}, to_),
              FailsWith(ErrorCode::kNotFound, HasSubstr("scripts/tool")));
}

TEST_F(WheelToCondaTreeTest, RefusesAnUnknownScheme) {
  Put("toy-1.0.data/secrets/x", "");
  EXPECT_THAT(Convert(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("secrets")));
}

TEST_F(WheelToCondaTreeTest, RefusesTwoFilesForOnePlace) {
  Put("toy/a.py", "");
  Put("toy-1.0.data/purelib/toy/a.py", "");
  EXPECT_THAT(Convert(), FailsWith(ErrorCode::kAlreadyExists, HasSubstr("toy/a.py")));
}

TEST_F(WheelToCondaTreeTest, RefusesAScriptThatIsAlsoAnEntryPoint) {
  Put("toy-1.0.data/scripts/toy-run", "");
  EXPECT_THAT(Convert(), FailsWith(ErrorCode::kAlreadyExists, HasSubstr("bin/toy-run")));
}

}  // namespace
}  // namespace ptpkg::convert
