// Tags that the files of a wheel contradict.

#include "verify/wheel_tag_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::verify {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

class WheelTagChecksTest : public testing::Test {
 protected:
  /// Of a wheel "toy-1.0-<tag>.whl" with these files.
  std::vector<Finding> Check(const std::string& tag, const std::vector<std::string>& files,
                             const std::string& requires_python = "", std::set<MachineCode> code = {}) {
    std::vector<std::string> paths = files;
    paths.emplace_back("toy-1.0.dist-info/METADATA");
    std::sort(paths.begin(), paths.end());
    StagedTree tree{.root = AbsPath::Literal("/tree")};
    for (const std::string& path : paths) tree.entries.push_back({.path = RelPath::Literal(path)});
    std::string metadata = "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n";
    if (!requires_python.empty()) metadata += "Requires-Python: " + requires_python + "\n";
    test::MemFs fs;
    fs.AddFile("/tree/toy-1.0.dist-info/METADATA", metadata);
    test::TestEnv env({.fs = &fs});
    const auto name = wheel::FileName::Parse("toy-1.0-" + tag + ".whl");
    EXPECT_THAT(name, test::IsOk());
    std::vector<Finding> findings;
    EXPECT_THAT(CheckWheelTags(env, {*name, code}, tree, findings), test::IsOk());
    return findings;
  }
};

TEST_F(WheelTagChecksTest, AModuleForOnePythonIsNotForAnother) {
  const std::string file = "toy/x.cpython-311-x86_64-linux-gnu.so";
  EXPECT_THAT(Check("cp311-cp311-linux_x86_64", {file}), IsEmpty());
  EXPECT_THAT(Check("cp311-none-linux_x86_64", {file}), IsEmpty());
  for (const char* tag : {"cp312-cp312", "py3-none", "py311-none", "cp311-abi3", "cp310.cp311-none",
                          "cp311-cp311t", "pp311-pypy311_pp73", "py2.py3-none"}) {
    EXPECT_THAT(Check(std::string(tag) + "-linux_x86_64", {file}),
                ElementsAre(AllOf(Field(&Finding::id, "wheel-extension-tag"), Field(&Finding::file, file),
                                  Field(&Finding::severity, Severity::kError),
                                  Field(&Finding::message, HasSubstr("is for cp311 alone")))))
        << tag;
  }
}

TEST_F(WheelTagChecksTest, OtherNamesFitWhatTheySay) {
  const std::vector<std::pair<const char*, const char*>> fit = {
      {"cp313-cp313t", "x.cpython-313t-x86_64-linux-gnu.so"},
      {"cp313-none", "x.cpython-313t-x86_64-linux-gnu.so"},
      {"cp36-cp36m", "x.cpython-36m-x86_64-linux-gnu.so"},
      {"cp311-cp311", "x.cp311-win_amd64.pyd"},
      {"cp311-cp311", "x.cpython-311-darwin.so"},
      {"pp39-pypy39_pp73", "toy-1.0.data/platlib/x.pypy39-pp73-x86_64-linux-gnu.so"},
      {"cp39-abi3", "x.abi3.so"},
      {"cp312-cp312", "x.so"},
      {"py3-none", "libx.1.2.so"},
      {"py3-none", "toy-1.0.data/data/x.cpython-311-x86_64-linux-gnu.so"},
      {"graalpy311-graalpy242_311_native", "x.graalpy242-311-native-x86_64-linux.so"},
      {"cp310.cp311-cp310.cp311", "x.so"},
  };
  for (const auto& [tag, file] : fit)
    EXPECT_THAT(Check(std::string(tag) + "-linux_x86_64", {file}), IsEmpty()) << tag << " " << file;
  EXPECT_THAT(Check("cp313-cp313-linux_x86_64", {"x.cpython-313t-x86_64-linux-gnu.so"}), testing::SizeIs(1));
}

TEST_F(WheelTagChecksTest, WhatElseCanBeImportedCounts) {
  const std::string of_11 = "toy/x.cpython-311-x86_64-linux-gnu.so";
  const std::string of_12 = "toy/x.cpython-312-x86_64-linux-gnu.so";
  EXPECT_THAT(Check("cp312-cp312-linux_x86_64", {of_11, of_12}), IsEmpty());
  EXPECT_THAT(Check("cp311.cp312-cp311.cp312-linux_x86_64", {of_11, of_12}), IsEmpty());
  EXPECT_THAT(Check("py3-none-linux_x86_64", {of_11, of_12}), IsEmpty()) << "its maker knows which";
  EXPECT_THAT(Check("py3-none-linux_x86_64", {of_11, "toy/x.py"}), IsEmpty()) << "Python without the library";
  EXPECT_THAT(Check("py3-none-linux_x86_64", {of_11, "toy/x/__init__.py"}), IsEmpty());
  EXPECT_THAT(Check("py3-none-linux_x86_64", {of_11, "toy/x.abi3.so"}), IsEmpty());
  EXPECT_THAT(Check("cp313-cp313-linux_x86_64", {of_11, of_12}), testing::SizeIs(1));
}

TEST_F(WheelTagChecksTest, RequiresPythonMayKeepOthersAway) {
  const std::string file = "x.cpython-311-x86_64-linux-gnu.so";
  for (const char* bounded : {"==3.11.*", ">=3.11,<3.12", "~=3.11.0"})
    EXPECT_THAT(Check("py3-none-linux_x86_64", {file}, bounded), IsEmpty()) << bounded;
  for (const char* open : {">=3.11", ">=3.11,<4", ">=3.8,!=3.9.1"})
    EXPECT_THAT(Check("py3-none-linux_x86_64", {file}, open), testing::SizeIs(1)) << open;
  EXPECT_THAT(Check("cp312-cp312-linux_x86_64", {file}, "==3.11.*"), testing::SizeIs(1));
}

TEST_F(WheelTagChecksTest, LibrariesOfAnotherSystemContradictThePlatform) {
  EXPECT_THAT(Check("py3-none-win_amd64", {"x.so"}, "", {MachineCode::kElf}),
              ElementsAre(AllOf(Field(&Finding::id, "wheel-platform-code"),
                                Field(&Finding::message, HasSubstr("'win_amd64'")))));
  EXPECT_THAT(Check("py3-none-win_amd64", {"x.so"}, "", {MachineCode::kElf, MachineCode::kPe}), IsEmpty());
  EXPECT_THAT(Check("py3-none-macosx_11_0_arm64", {"x"}, "", {MachineCode::kPe}), IsEmpty());
  EXPECT_THAT(Check("py3-none-win_amd64", {"x.txt"}, "", {}), IsEmpty());
}

}  // namespace
}  // namespace ptpkg::verify
