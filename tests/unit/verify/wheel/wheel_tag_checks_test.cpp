// Tags that the files of a wheel contradict.

#include "verify/wheel/wheel_tag_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

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
    EXPECT_THAT(CheckWheelTags(env, {*name, code, symbols_, with_foreign_needs_}, tree, findings),
                test::IsOk());
    return findings;
  }

  /// The same without what interpreters say of the tag itself.
  std::vector<Finding> CheckFiles(const std::string& tag, const std::vector<std::string>& files,
                                  const std::string& requires_python = "", std::set<MachineCode> code = {}) {
    std::vector<Finding> findings = Check(tag, files, requires_python, std::move(code));
    std::erase_if(findings, [](const Finding& finding) {
      return finding.id == "wheel-tag-nobody" || finding.id == "wheel-python-nobody";
    });
    return findings;
  }

  bool HasExtensionFinding(const std::string& tag, const std::string& file) {
    const std::vector<Finding> findings = Check(tag, {file});
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding& finding) { return finding.id == "wheel-extension-tag"; });
  }

  std::map<std::string, elf::PythonSymbols> symbols_;
  std::set<std::string> with_foreign_needs_;
};

TEST_F(WheelTagChecksTest, AModuleForOnePythonIsNotForAnother) {
  const std::string file = "toy/x.cpython-311-x86_64-linux-gnu.so";
  EXPECT_THAT(CheckFiles("cp311-cp311-linux_x86_64", {file}), IsEmpty());
  EXPECT_THAT(CheckFiles("cp311-none-linux_x86_64", {file}), IsEmpty());
  for (const char* tag : {"cp312-cp312", "py3-none", "py311-none", "cp311-abi3", "cp310.cp311-none",
                          "pp311-pypy311_pp73", "py2.py3-none"}) {
    EXPECT_THAT(
        CheckFiles(std::string(tag) + "-linux_x86_64", {file}),
        ElementsAre(AllOf(
            Field(&Finding::id, "wheel-extension-tag"), Field(&Finding::file, file),
            Field(&Finding::severity, Severity::kError),
            Field(&Finding::message, HasSubstr("has the suffix '.cpython-311-x86_64-linux-gnu.so', but ")))))
        << tag;
  }
}

TEST_F(WheelTagChecksTest, OtherNamesFitWhatTheySay) {
  const std::vector<std::pair<const char*, const char*>> fit = {
      {"cp313-cp313t", "x.cpython-313t-x86_64-linux-gnu.so"},
      {"cp313-none", "x.cpython-313t-x86_64-linux-gnu.so"},
      {"cp36-cp36m", "x.cpython-36m-x86_64-linux-gnu.so"},
      {"cp311-cp311", "x.cp311-win_amd64.pyd"},  // files for other systems beside those for Linux
      {"cp311-cp311", "x.cpython-311-darwin.so"},
      {"cp311-cp311", "x.foo.so"},
      {"pp39-pypy39_pp73", "toy-1.0.data/platlib/x.pypy39-pp73-x86_64-linux-gnu.so"},
      {"cp39-abi3", "x.abi3.so"},
      {"cp312-cp312", "x.so"},
      {"py3-none", "libx.1.2.so"},
      {"py3-none", "toy-1.0.data/data/x.cpython-311-x86_64-linux-gnu.so"},
      {"graalpy311-graalpy242_311_native", "x.graalpy242-311-native-x86_64-linux.so"},
      {"cp310.cp311-cp310.cp311", "x.so"},
  };
  for (const auto& [tag, file] : fit)
    EXPECT_THAT(CheckFiles(std::string(tag) + "-linux_x86_64", {file}), IsEmpty()) << tag << " " << file;
  EXPECT_THAT(CheckFiles("cp313-cp313-linux_x86_64", {"x.cpython-313t-x86_64-linux-gnu.so"}),
              testing::SizeIs(1));
}

TEST_F(WheelTagChecksTest, APythonLooksForItsOwnPlatform) {
  const auto has = [&](const char* tag, const std::string& file) {
    symbols_ = {{file, {.imported = {}, .defined = {"PyInit_x"}}}};
    return !HasExtensionFinding(tag, file);
  };
  const std::vector<std::pair<const char*, const char*>> right = {
      {"cp311-cp311-manylinux_2_17_x86_64", "cpython-311-x86_64-linux-gnu.so"},
      {"cp311-cp311-manylinux_2_17_i686", "cpython-311-i386-linux-gnu.so"},
      {"cp311-cp311-manylinux_2_17_ppc64le", "cpython-311-powerpc64le-linux-gnu.so"},
      {"cp311-cp311-manylinux_2_17_armv7l", "cpython-311-arm-linux-gnueabihf.so"},
      {"cp311-cp311-musllinux_1_2_x86_64", "cpython-311-x86_64-linux-musl.so"},
      {"cp311-cp311-musllinux_1_2_armv7l", "cpython-311-arm-linux-musleabihf.so"},
      {"cp310-cp310-musllinux_1_2_x86_64", "cpython-310-x86_64-linux-gnu.so"},
      {"cp311-cp311-linux_x86_64", "cpython-311-x86_64-linux-musl.so"},
      {"cp311-cp311-macosx_11_0_arm64", "cpython-311-darwin.so"},
      {"cp311-cp311-win_amd64", "cp311-win_amd64.pyd"},
      {"cp311-cp311-win_amd64", "pyd"},
      {"cp34-cp34m-manylinux_2_17_x86_64", "cpython-34m.so"},
      {"cp311-cp311-manylinux_2_17_x86_64.musllinux_1_2_x86_64", "so"},
      {"cp313-cp313-android_21_arm64_v8a", "cpython-313-aarch64-linux-android.so"},
      {"pp311-pypy311_pp73-manylinux_2_17_x86_64", "pypy311-pp73-x86_64-linux-gnu.so"},
  };
  for (const auto& [tag, end] : right) EXPECT_TRUE(has(tag, std::string("x.") + end)) << tag << " " << end;
  for (const char* end : {"cpython-311-aarch64-linux-gnu.so", "cpython-311-i386-linux-gnu.so",
                          "cpython-311-x86_64-linux-musl.so", "cpython-311-darwin.so", "cpython-311.so",
                          "cp311-win_amd64.pyd", "abi3-x86_64-linux-gnu.so"})
    EXPECT_FALSE(has("cp311-cp311-manylinux_2_17_x86_64", std::string("x.") + end)) << end;
  EXPECT_FALSE(has("cp311-cp311-musllinux_1_2_x86_64", "x.cpython-311-x86_64-linux-gnu.so"));
  EXPECT_FALSE(
      has("cp311-cp311-manylinux_2_17_x86_64.musllinux_1_2_x86_64", "x.cpython-311-x86_64-linux-gnu.so"));
  EXPECT_FALSE(has("cp311-cp311-macosx_11_0_arm64", "x.cpython-311-x86_64-linux-gnu.so"));
  EXPECT_FALSE(has("cp311-cp311-win_amd64", "x.cp311-win32.pyd"));
  EXPECT_FALSE(has("cp311-abi3-win_amd64", "x.abi3.pyd"));
  EXPECT_FALSE(has("cp315-abi3t-win_amd64", "x.abi3t.pyd"));
  EXPECT_FALSE(has("pp311-pypy311_pp73-linux_x86_64", "x.pypy311-pp73-aarch64-linux-gnu.so"));
  EXPECT_FALSE(has("cp39-abi3-manylinux_2_17_x86_64", "x.cpython-311-aarch64-linux-gnu.so"));
  EXPECT_FALSE(has("cp311-cp311-linux_x86_64", "x.graalpy242-311-native-x86_64-linux.so"));
  // Without its symbols, a file of another system is not known to be a module. One of this system is.
  symbols_ = {};
  EXPECT_THAT(CheckFiles("cp311-cp311-linux_x86_64", {"x.cpython-311-aarch64-linux-gnu.so"}),
              testing::SizeIs(1));
  EXPECT_THAT(CheckFiles("cp311-cp311-win_amd64", {"x.cp311-win32.pyd"}), testing::SizeIs(1));
  EXPECT_THAT(CheckFiles("cp311-cp311-linux_x86_64",
                         {"x.cpython-311-aarch64-linux-gnu.so", "x.cpython-311-x86_64-linux-gnu.so"}),
              IsEmpty());
}

TEST_F(WheelTagChecksTest, BuildsOfAPythonLookForDifferentSuffixes) {
  const auto has = [&](const char* tag, const std::string& file) {
    symbols_ = {{file, {.imported = {}, .defined = {"PyInit_x"}}}};
    return !HasExtensionFinding(std::string(tag) + "-linux_x86_64", file);
  };
  const std::string end = "-x86_64-linux-gnu.so";
  EXPECT_FALSE(has("cp311-cp311", "x.cpython-311d" + end));
  EXPECT_TRUE(has("cp311-cp311d", "x.cpython-311d" + end));
  EXPECT_TRUE(has("cp311-cp311d", "x.cpython-311" + end));
  EXPECT_TRUE(has("cp313-cp313td", "x.cpython-313t" + end));
  EXPECT_FALSE(has("cp37-cp37dm", "x.cpython-37m" + end));
  EXPECT_FALSE(has("cp37-cp37m", "x.cpython-37" + end));
  EXPECT_FALSE(has("cp38-cp38", "x.cpython-38m" + end));
  EXPECT_TRUE(has("cp314-cp314t", "x.abi3.so"));
  EXPECT_FALSE(has("cp315-cp315t", "x.abi3.so"));
  EXPECT_TRUE(has("cp315-cp315t", "x.abi3t.so"));
  EXPECT_TRUE(has("cp315-cp315", "x.abi3t.so"));
  EXPECT_TRUE(has("cp315-cp315", "x.abi3t" + end));
  EXPECT_TRUE(has("cp315-abi3", "x.abi3" + end));
  EXPECT_FALSE(has("cp315-abi3", "x.abi3-aarch64-linux-gnu.so"));
  EXPECT_TRUE(has("cp315-abi3.abi3t", "x.abi3t.so"));
  EXPECT_FALSE(has("cp315-abi3.abi3t", "x.abi3.so"));
  for (const char* tag : {"cp311-cp311", "cp314-cp314t", "cp39-abi3"})
    EXPECT_FALSE(has(tag, "x.abi3t.so")) << tag;
  for (const char* file : {"x.so", "x.abi3.so"}) EXPECT_FALSE(has("pp311-pypy311_pp73", file)) << file;
  // A plain library that is not a module.
  symbols_ = {};
  EXPECT_THAT(CheckFiles("pp311-pypy311_pp73-linux_x86_64", {"x.so"}), IsEmpty());
}

TEST_F(WheelTagChecksTest, WhatElseCanBeImportedCounts) {
  const std::string of_11 = "toy/x.cpython-311-x86_64-linux-gnu.so";
  const std::string of_12 = "toy/x.cpython-312-x86_64-linux-gnu.so";
  EXPECT_THAT(CheckFiles("cp312-cp312-linux_x86_64", {of_11, of_12}), IsEmpty());
  EXPECT_THAT(CheckFiles("cp311.cp312-cp311.cp312-linux_x86_64", {of_11, of_12}), IsEmpty());
  EXPECT_THAT(CheckFiles("py3-none-linux_x86_64", {of_11, of_12}), IsEmpty()) << "its maker knows which";
  EXPECT_THAT(CheckFiles("py3-none-linux_x86_64", {of_11, "toy/x.py"}), IsEmpty())
      << "Python without the library";
  EXPECT_THAT(CheckFiles("py3-none-linux_x86_64", {of_11, "toy/x/__init__.py"}), IsEmpty());
  EXPECT_THAT(CheckFiles("py3-none-linux_x86_64", {of_11, "toy/x.abi3.so"}), IsEmpty());
  EXPECT_THAT(CheckFiles("cp313-cp313-linux_x86_64", {of_11, of_12}), testing::SizeIs(1));
}

TEST_F(WheelTagChecksTest, RequiresPythonMayKeepOthersAway) {
  const std::string file = "x.cpython-311-x86_64-linux-gnu.so";
  for (const char* bounded : {"==3.11.*", ">=3.11,<3.12", "~=3.11.0"})
    EXPECT_THAT(CheckFiles("py3-none-linux_x86_64", {file}, bounded), IsEmpty()) << bounded;
  for (const char* open : {">=3.11", ">=3.11,<4", ">=3.8,!=3.9.1", ">=3.8,<3.99", ">=3.8,<3.12",
                           ">=3.11,<3.13", "~=3.11", "<=3.11.9"})
    EXPECT_THAT(CheckFiles("py3-none-linux_x86_64", {file}, open), testing::SizeIs(1)) << open;
  EXPECT_THAT(
      CheckFiles("cp38-abi3-linux_x86_64", {file}, ">=3.8,<3.99"),
      ElementsAre(Field(&Finding::message, HasSubstr("Python 3.8 of the tag 'cp38-abi3-linux_x86_64'"))));
  EXPECT_THAT(
      CheckFiles("py3-none-linux_x86_64", {file}),
      ElementsAre(Field(&Finding::message, HasSubstr("Python 3.8 of the tag 'py3-none-linux_x86_64'"))));
  EXPECT_THAT(CheckFiles("py3-none-linux_x86_64", {file}, "<3.8"),
              ElementsAre(Field(&Finding::message, HasSubstr("Python 3.0 of the tag"))));
  EXPECT_THAT(CheckFiles("cp38-abi3-linux_x86_64", {file}, ">=3.11,!=3.12.*,<3.13"), IsEmpty());
  EXPECT_THAT(CheckFiles("cp312-cp312-linux_x86_64", {file}, "==3.11.*"), testing::SizeIs(1));
}

TEST_F(WheelTagChecksTest, LibrariesOfAnotherSystemContradictThePlatform) {
  EXPECT_THAT(CheckFiles("py3-none-win_amd64", {"x.so"}, "", {MachineCode::kElf}),
              ElementsAre(AllOf(Field(&Finding::id, "wheel-platform-code"),
                                Field(&Finding::message, HasSubstr("'win_amd64'")))));
  EXPECT_THAT(CheckFiles("py3-none-win_amd64", {"x.so"}, "", {MachineCode::kElf, MachineCode::kPe}),
              IsEmpty());
  EXPECT_THAT(CheckFiles("py3-none-macosx_11_0_arm64", {"x"}, "", {MachineCode::kPe}), IsEmpty());
  EXPECT_THAT(CheckFiles("py3-none-win_amd64", {"x.txt"}, "", {}), IsEmpty());
}

TEST_F(WheelTagChecksTest, SomePythonTakesTheTag) {
  for (const char* tag :
       {"cp311-cp311-linux_x86_64", "cp311-cp311d-linux_x86_64", "cp37-cp37m-linux_x86_64",
        "cp27-cp27mu-linux_x86_64", "cp314-cp314t-linux_x86_64", "cp314-cp314td-linux_x86_64",
        "cp39-abi3-linux_x86_64", "cp315-abi3t-linux_x86_64", "cp39-abi3.abi3t-linux_x86_64",
        "cp317-cp317-linux_x86_64", "py2.py3-none-any", "py312-none-any", "cp312-none-any", "pp3-none-any",
        "pp310-pypy310_pp73-linux_x86_64", "graalpy311-graalpy242_311_native-linux_x86_64", "jy27-none-any",
        "cp310.cp311-cp310.cp311-linux_x86_64", "py3-none-linux_x86_64"}) {
    EXPECT_THAT(Check(tag, {}), IsEmpty()) << tag;
  }
  for (const char* tag : {"python311-none-win_amd64",
                          "cp315t-abi3t-linux_x86_64",
                          "cp314t-cp314t-linux_x86_64",
                          "cp313t-abi3-linux_x86_64",
                          "cp311-cp311m-linux_x86_64",
                          "cp311-cp310-linux_x86_64",
                          "py3-abi3-linux_x86_64",
                          "cp27-abi3-linux_x86_64",
                          "cp312-abi4-linux_x86_64",
                          "cp312-cp312t-linux_x86_64",
                          "cp312-cp312-any",
                          "cp39-abi3-any",
                          "cp3-none-any",
                          "py4-none-any",
                          "py-none-any",
                          "any-none-any",
                          "cp321-cp321-linux_x86_64",
                          "cp028-none-any",
                          "pp3-none-linux_x86_64",
                          "pp310-pypy39_pp73-linux_x86_64",
                          "pp310-abi3-linux_x86_64",
                          "py3-cp311-linux_x86_64",
                          "cp311-CP310-linux_x86_64"}) {
    EXPECT_THAT(Check(tag, {}), ElementsAre(AllOf(Field(&Finding::id, "wheel-tag-nobody"),
                                                  Field(&Finding::severity, Severity::kError))))
        << tag;
  }
  EXPECT_THAT(Check("cp27.cp311-abi3-linux_x86_64", {}),
              ElementsAre(AllOf(Field(&Finding::id, "wheel-tag-nobody"),
                                Field(&Finding::severity, Severity::kWarning),
                                Field(&Finding::message, HasSubstr("'cp27'")))));
}

TEST_F(WheelTagChecksTest, SomeSystemHasThePlatform) {
  for (const char* platform : {"manylinux_1_5_x86_64", "manylinux_3_5_x86_64", "manylinux_2_4_i686",
                               "manylinux_2_16_aarch64", "musllinux_2_1_x86_64", "musllinux_0_9_x86_64",
                               "manylinux_2_017_x86_64", "linux_amd64", "macosx_12_3_arm64", "win64"}) {
    EXPECT_THAT(Check(std::string("py3-none-") + platform, {}),
                ElementsAre(AllOf(Field(&Finding::id, "wheel-tag-nobody"),
                                  Field(&Finding::severity, Severity::kError),
                                  Field(&Finding::message, HasSubstr(platform)))));
  }
  for (const char* platform : {"manylinux_2_5_x86_64", "manylinux_2_17_riscv64", "manylinux_2_99_x86_64",
                               "manylinux1_x86_64", "musllinux_1_2_aarch64", "linux_x86_64", "win_amd64"})
    EXPECT_THAT(Check(std::string("py3-none-") + platform, {}), IsEmpty()) << platform;
  EXPECT_THAT(Check("py3-none-manylinux_1_5_x86_64.manylinux_2_5_x86_64", {}),
              ElementsAre(Field(&Finding::severity, Severity::kWarning)));
}

TEST_F(WheelTagChecksTest, SomePythonHasTheTagAndFulfilsRequiresPython) {
  const auto nobody = ElementsAre(Field(&Finding::id, "wheel-python-nobody"));
  const std::string linux_tag = "-linux_x86_64";
  for (const auto& [tag, python] :
       std::initializer_list<std::pair<const char*, const char*>>{{"cp311-cp311", ">=3.12"},
                                                                  {"cp311-cp311", "<3.11"},
                                                                  {"cp311-cp311", "!=3.11.*"},
                                                                  {"cp311-none", "==3.10.*"},
                                                                  {"py2-none", ">=3"},
                                                                  {"py27-none", ">=3.6"},
                                                                  {"py3-none", "<3"},
                                                                  {"cp312-abi3", "<3.12"},
                                                                  {"py312-none", "<3.12"},
                                                                  {"cp310.cp311-cp310.cp311", ">=3.12"},
                                                                  {"pp310-pypy310_pp73", ">=3.11"},
                                                                  {"cp311-cp311", "~=3.12"},
                                                                  {"cp311-cp311", "===3.12.1"}}) {
    EXPECT_THAT(Check(tag + linux_tag, {}, python), nobody) << tag << " " << python;
  }
  for (const auto& [tag, python] :
       std::initializer_list<std::pair<const char*, const char*>>{{"cp311-cp311", ">=3.8"},
                                                                  {"cp311-cp311", ">=3.11.4"},
                                                                  {"cp311-cp311", "~=3.8"},
                                                                  {"cp311-cp311", "==3.11.*"},
                                                                  {"py2.py3-none", ">=3"},
                                                                  {"cp39-abi3", ">=3.12"},
                                                                  {"cp39-abi3", "<4,>=3.8"},
                                                                  {"cp311-cp311", ">3.10"},
                                                                  {"cp311-cp311", "not a condition"}}) {
    EXPECT_THAT(Check(tag + linux_tag, {}, python), IsEmpty()) << tag << " " << python;
  }
}

TEST_F(WheelTagChecksTest, AModuleHasTheAbiOfItsTag) {
  symbols_ = {{"toy/ext.so", {.imported = {"PyList_New"}, .defined = {"PyInit_ext"}}}};
  const auto none_abi =
      ElementsAre(AllOf(Field(&Finding::id, "wheel-none-abi"), Field(&Finding::severity, Severity::kError),
                        Field(&Finding::file, "toy/ext.so")));
  for (const char* tag : {"cp314-none", "py3-none", "py2.py3-none", "cp313.cp314-none", "py312-none"})
    EXPECT_THAT(Check(std::string(tag) + "-linux_x86_64", {"toy/ext.so"}), none_abi) << tag;
  for (const char* tag : {"cp314-cp314", "cp311-none", "cp314-cp314t"})
    EXPECT_THAT(Check(std::string(tag) + "-linux_x86_64", {"toy/ext.so"}), IsEmpty()) << tag;
  symbols_ = {{"toy/t\u00f6y.so", {.imported = {}, .defined = {"PyInitU_ty_fka"}}}};
  EXPECT_THAT(Check("py3-none-linux_x86_64", {"toy/t\u00f6y.so"}),
              ElementsAre(Field(&Finding::id, "wheel-none-abi")));
  // A library that holds an interpreter defines the modules of others.
  symbols_ = {{"toy/libpython3.so", {.imported = {}, .defined = {"PyInit__io", "PyInit_sys"}}}};
  EXPECT_THAT(Check("py3-none-linux_x86_64", {"toy/libpython3.so"}), IsEmpty());
}

TEST_F(WheelTagChecksTest, APackageCanBeAModule) {
  symbols_ = {{"toy/__init__.so", {.imported = {}, .defined = {"PyInit_toy"}}}};
  EXPECT_THAT(Check("py3-none-linux_x86_64", {"toy/__init__.so"}),
              ElementsAre(Field(&Finding::id, "wheel-none-abi")));
}

TEST_F(WheelTagChecksTest, OlderPythonsDoNotKnowPyModExport) {
  const auto check = [&](const std::string& tag, const std::string& file,
                         const std::set<std::string>& defined, const std::string& requires_python = "") {
    symbols_ = {{file, {.imported = {}, .defined = defined}}};
    return Check(tag + "-linux_x86_64", {file}, requires_python);
  };
  const auto refused = ElementsAre(AllOf(
      Field(&Finding::id, "wheel-extension-tag"), Field(&Finding::severity, Severity::kError),
      Field(&Finding::message, HasSubstr("exports 'PyModExport_x' without 'PyInit_x', so Pythons before "
                                         "3.15 of the tag"))));
  EXPECT_THAT(check("cp39-abi3", "toy/x.abi3.so", {"PyModExport_x"}), refused);
  EXPECT_THAT(check("cp311-cp311", "toy/x.so", {"PyModExport_x"}), refused);
  EXPECT_THAT(check("cp39-abi3", "toy/x.abi3.so", {"PyModExport_x"}, ">=3.14"), refused);
  for (const char* required : {">=3.15", ">3.15"})
    EXPECT_THAT(check("cp39-abi3", "toy/x.abi3.so", {"PyModExport_x"}, required), IsEmpty()) << required;
  EXPECT_THAT(check("cp315-abi3", "toy/x.abi3.so", {"PyModExport_x"}), IsEmpty());
  EXPECT_THAT(check("cp315-abi3t", "toy/x.abi3t.so", {"PyModExport_x"}), IsEmpty());
  EXPECT_THAT(check("cp39-abi3", "toy/x.abi3.so", {"PyModExport_x", "PyInit_x"}), IsEmpty());
  EXPECT_THAT(check("cp39-abi3", "toy/x.abi3.so", {"PyModExport_other"}), IsEmpty());
  EXPECT_THAT(check("cp315-none", "toy/x.so", {"PyModExport_x"}),
              ElementsAre(Field(&Finding::id, "wheel-none-abi")));
}

TEST_F(WheelTagChecksTest, StableAbiIsThatOfTheOldestPython) {
  const auto check = [&](const std::string& tag, const std::set<std::string>& imported) {
    symbols_ = {{"toy/ext.abi3.so", {.imported = imported, .defined = {"PyInit_ext"}}}};
    std::vector<std::string> messages;
    for (const Finding& finding : Check(tag + "-linux_x86_64", {"toy/ext.abi3.so"}))
      messages.push_back(finding.id + ": " + finding.message);
    return messages;
  };
  EXPECT_THAT(check("cp39-abi3", {"PyList_New", "PyExc_ValueError", "_Py_Dealloc"}), IsEmpty());
  EXPECT_THAT(check("cp39-abi3", {"_PyObject_GetMethod"}), ElementsAre(HasSubstr("wheel-stable-abi: ")));
  EXPECT_THAT(check("cp39-abi3", {"PyObject_CallNoArgs"}),
              ElementsAre(HasSubstr("PyObject_CallNoArgs (from 3.10 on)")));
  EXPECT_THAT(check("cp310-abi3", {"PyObject_CallNoArgs"}), IsEmpty());
  EXPECT_THAT(check("cp39-cp39", {"_PyObject_GetMethod"}), ElementsAre(HasSubstr("wheel-abi3-possible: ")));
  // Another file of the wheel has it.
  symbols_ = {{"toy/ext.abi3.so", {.imported = {"_PyMine"}, .defined = {"PyInit_ext"}}},
              {"toy/libmine.so", {.imported = {}, .defined = {"_PyMine"}}}};
  EXPECT_THAT(Check("cp39-abi3-linux_x86_64", {"toy/ext.abi3.so", "toy/libmine.so"}), IsEmpty());
  // A library of another wheel may have it, as shiboken6 has functions for PySide6.
  symbols_ = {{"toy/ext.abi3.so", {.imported = {"PyMethod_New"}, .defined = {"PyInit_ext"}}}};
  const auto severity = [&] {
    const std::vector<Finding> findings = Check("cp39-abi3-linux_x86_64", {"toy/ext.abi3.so"});
    return findings.size() == 1 ? std::optional(findings[0].severity) : std::nullopt;
  };
  EXPECT_EQ(severity(), Severity::kError);
  with_foreign_needs_ = {"toy/ext.abi3.so"};
  EXPECT_EQ(severity(), Severity::kWarning);
}

}  // namespace
}  // namespace ptpkg::verify
