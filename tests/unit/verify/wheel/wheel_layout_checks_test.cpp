// One wheel made wrong for every finding about places of files and about scripts.

#include "verify/wheel/wheel_layout_checks.h"

#include <gmock/gmock.h>

#include "unit/verify/fixtures/wheel_checks_fixture.h"
#include "verify/wheel/wheel_checks.h"
#include "verify/wheel/wheel_metadata_checks.h"

namespace ptpkg::verify {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using wheel::MinimalMembers;

class WheelLayoutChecksTest : public WheelChecksTest {};

TEST_F(WheelLayoutChecksTest, NamesThatDifferInCaseOnly) {
  EXPECT_THAT(Ids(With({{"toy/Data", "1"}, {"toy/data", "2"}})), ElementsAre("artifact-name-case toy/data"));
  EXPECT_THAT(Ids(With({{"toy/Data", "1"}, {"toy/data2", "2"}})), IsEmpty());
  EXPECT_THAT(Ids(With({{"toy/A/x.py", "1"}, {"toy/a", "2"}})), Contains("artifact-name-case toy/a"));
  EXPECT_THAT(Ids(With({{"toy/a", "1"}, {"toy/A/x.py", "2"}})), Contains("artifact-name-case toy/a"));
  EXPECT_THAT(Ids(With({{"toy/A/x.py", "1"}, {"toy/a/y.py", "2"}})), IsEmpty());
  EXPECT_THAT(Ids(With({{"toy/A.py", "1"}, {"toy-1.0.data/purelib/toy/a.py", "2"}})),
              Contains("artifact-name-case toy/A.py"));
  EXPECT_THAT(Ids(With({{"toy/\u00c9", "1"}, {"toy/\u00e9", "2"}})),
              Contains("artifact-name-case toy/\u00e9"));
  EXPECT_THAT(Ids(With({{"toy/\u00e9", "1"}, {"toy/e\u0301", "2"}})),
              Contains("artifact-name-case toy/\u00e9"));
}

TEST_F(WheelLayoutChecksTest, AFolderIsNotADocument) {
  for (const char* name : {"entry_points.txt", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"})
    EXPECT_THAT(Ids(With({{kInfo + name + "/x", "x"}})), ElementsAre("wheel-dist-info " + kInfo + name))
        << name;
  EXPECT_THAT(Ids(With({{kInfo + "licenses/LICENSE", "x"}, {kInfo + "top_level.txt/x", "x"}})), IsEmpty());
  EXPECT_THAT(Check(With({{kInfo + "INSTALLER", "pip\n"}})),
              ElementsAre(testing::AllOf(testing::Field(&Finding::id, "wheel-install-leftover"),
                                         testing::Field(&Finding::severity, Severity::kError))));
}

TEST_F(WheelLayoutChecksTest, ScriptsOfOneReader) {
  const std::string file = kInfo + "entry_points.txt";
  const auto with = [&](const std::string& line) {
    return Ids(With({{file, "[console_scripts]\n" + line + "\n"}}));
  };
  for (const char* value : {"toy: main", "toy :main", "toy\t:\tmain", "toy : main [x]"})
    EXPECT_THAT(with(std::string("run = ") + value), ElementsAre("wheel-entry-points-invalid " + file))
        << value;
  EXPECT_THAT(with("run = toy:main [x]"), IsEmpty());
  for (const char* name : {"run[x]", "run]", "run["}) {
    EXPECT_THAT(with(std::string(name) + " = toy:main"), ElementsAre("wheel-entry-points-invalid " + file));
    EXPECT_THAT(with(std::string(name) + " = toy:main [x]"), ElementsAre("wheel-script-name " + file));
  }
  EXPECT_THAT(Ids(With({{file, "[other.group]\nrun[x] = toy:main\n"}})), IsEmpty());
  EXPECT_THAT(Ids(With({{file, "[other.group]\nrun = toy : main\n"}})), IsEmpty());
  EXPECT_THAT(with(std::string(255, 'a') + " = toy:main"), IsEmpty());
  EXPECT_THAT(with(std::string(256, 'a') + " = toy:main"), ElementsAre("wheel-script-path " + file));
}

TEST_F(WheelLayoutChecksTest, EntryPoints) {
  const std::string file = kInfo + "entry_points.txt";
  const auto with = [&](const std::string& text) { return Ids(With({{file, text}})); };
  EXPECT_THAT(with("[console_scripts]\nrun = toy:main\n"), IsEmpty());
  EXPECT_THAT(with("run = toy:main\n"), ElementsAre("wheel-entry-points-invalid " + file));
  for (const auto& [name, id] : std::initializer_list<std::pair<const char*, const char*>>{
           {"python", "wheel-script-interpreter "},
           {"Python3.11", "wheel-script-interpreter "},
           {"pythonw.exe", "wheel-script-interpreter "},
           {"python3.14t", "wheel-script-interpreter "},
           {"PyPy3", "wheel-script-interpreter "},
           {"graalpy.py", "wheel-script-interpreter "},
           {"..", "wheel-script-path "},
           {"a/b", "wheel-script-path "},
           {"..\\b", "wheel-script-path "},
           {"a b", "wheel-script-name "},
           {"a\x01", "wheel-script-name "},
           {"activate", "wheel-install-collision "},
           {"Activate.ps1", "wheel-install-collision "},
           {"activate_this.py", "wheel-install-collision "},
           {"pip", "wheel-install-collision "},
           {"pip3.11", "wheel-install-collision "},
           {"PIP.exe", "wheel-install-collision "},
           {"easy_install", "wheel-install-collision "}}) {
    EXPECT_THAT(with(std::string("[console_scripts]\n") + name + " = toy:main\n"), ElementsAre(id + file))
        << name;
  }
  EXPECT_THAT(with(std::string("[console_scripts]\na\0b = toy:main\n", 30)),
              ElementsAre("wheel-script-path " + file));
  for (const char* name : {"activate-toy", "activate.py", "pipx", "pip-audit", "easy_install2"})
    EXPECT_THAT(with(std::string("[console_scripts]\n") + name + " = toy:main\n"), IsEmpty()) << name;
  EXPECT_THAT(with("[console_scripts]\npython-config = toy:main\n"), IsEmpty());
  EXPECT_THAT(with("[gui_scripts]\nrun = toy\n"), ElementsAre("wheel-script-target " + file));
  EXPECT_THAT(with("[console_scripts]\nrun = other.mod:main\n"), ElementsAre("wheel-script-target " + file));
  EXPECT_THAT(with("[plugins]\nrun = other\n"), IsEmpty());
  EXPECT_THAT(with("[console_scripts]\nrun = toy:class\n"), ElementsAre("wheel-script-target " + file));
  EXPECT_THAT(with("[console_scripts]\nrun = toy:main\n[gui_scripts]\nrun = toy:main\n"),
              ElementsAre("wheel-install-collision " + file));
}

TEST_F(WheelLayoutChecksTest, FilesOfDataThatUvRefuses) {
  EXPECT_THAT(Ids(With({{"toy-1.0.data/scripts/sub/run", "#!python\n"}})),
              ElementsAre("wheel-data-scripts toy-1.0.data/scripts/sub/run"));
  for (const std::string path : {"toy-1.0.data/scripts/python3", "toy-1.0.data/data/bin/Python"})
    EXPECT_THAT(Ids(With({{path, "x"}})), ElementsAre("wheel-script-interpreter " + path));
  EXPECT_THAT(Ids(With({{"toy-1.0.data/data/share/python", "x"}})), IsEmpty());
  EXPECT_THAT(Ids(With({{"toy-1.0.data/purelib/toy.py", "x"}})),
              ElementsAre("wheel-install-collision toy.py"));
  EXPECT_THAT(Ids(With({{"other.data", "x"}})), ElementsAre("wheel-data-layout other.data"));
}

TEST_F(WheelLayoutChecksTest, ProjectsBringTheirOwnPrograms) {
  EXPECT_TRUE(IsEnvironmentProgram("pip3", "toy"));
  EXPECT_FALSE(IsEnvironmentProgram("pip3", "pip"));
  EXPECT_FALSE(IsEnvironmentProgram("easy_install", "setuptools"));
  EXPECT_TRUE(IsEnvironmentProgram("easy_install", "pip"));
  EXPECT_TRUE(IsEnvironmentProgram("activate", "pip"));
}

TEST_F(WheelLayoutChecksTest, FilesOfDataThatAnEnvironmentHas) {
  const std::string data = "toy-1.0.data/";
  for (const char* path : {"data/pyvenv.cfg", "scripts/activate", "data/bin/activate.fish", "scripts/pip3"})
    EXPECT_THAT(Ids(With({{data + path, "x"}})), ElementsAre("wheel-install-collision " + data + path));
  for (const char* path : {"data/bin", "data/lib", "data/lib64", "data/include"})
    EXPECT_THAT(Ids(With({{data + path, "x"}})), ElementsAre("wheel-data-layout " + data + path));
  for (const char* path : {"data/share/pyvenv.cfg", "data/etc/activate", "data/share", "purelib/pyvenv.cfg",
                           "purelib/bin", "data/lib/x"})
    EXPECT_THAT(Ids(With({{data + path, "x"}})), IsEmpty()) << path;
}

TEST_F(WheelLayoutChecksTest, OnePlaceByTwoWays) {
  const std::string data = "toy-1.0.data/";
  const std::string points = kInfo + "entry_points.txt";
  const std::pair<std::string, std::string> script = {points, "[console_scripts]\nrun = toy:main\n"};
  for (const char* path : {"scripts/run", "data/bin/run"})
    EXPECT_THAT(Ids(With({script, {data + path, "x"}})), ElementsAre("wheel-install-collision " + points));
  EXPECT_THAT(Ids(With({script, {data + "data/bin/run/x", "x"}})),
              ElementsAre("wheel-data-layout " + points));
  EXPECT_THAT(Ids(With({script, {data + "data/bin/run2/x", "x"}, {data + "data/run", "x"}})), IsEmpty());
  EXPECT_THAT(Ids(With({{data + "scripts/run", "x"}, {data + "data/bin/run", "x"}})),
              ElementsAre("wheel-install-collision " + data + "scripts/run"));
  EXPECT_THAT(Ids(With({{data + "scripts/run", "x"}, {data + "data/bin/run/x", "x"}})),
              ElementsAre("wheel-data-layout " + data + "scripts/run"));
  EXPECT_THAT(Ids(With({{data + "purelib/toy.py/x", "x"}})), ElementsAre("wheel-data-layout toy.py"));
  EXPECT_THAT(Ids(With({{"a/b", "x"}, {data + "platlib/a", "x"}})),
              ElementsAre("wheel-data-layout " + data + "platlib/a"));
  for (const char* path :
       {"lib/python3.11/site-packages/", "lib64/python3.9/site-packages/", "Lib/site-packages/"})
    EXPECT_THAT(Ids(With({{data + "data/" + path + "toy.py", "x"}})),
                ElementsAre("wheel-install-collision toy.py"))
        << path;
  for (const char* path : {"share/python3.9/site-packages/", "lib/python3/site-packages/",
                           "lib/python2.7/site-packages/", "lib/python3.9/dist-packages/"})
    EXPECT_THAT(Ids(With({{data + "data/" + path + "toy.py", "x"}})), IsEmpty()) << path;
  // Each lies beside the others.
  EXPECT_THAT(Ids(With({{data + "data/lib/python3.9/site-packages/a.py", "x"},
                        {data + "data/lib/python3.10/site-packages/a.py", "x"},
                        {data + "data/Lib/site-packages/a.py", "x"}})),
              IsEmpty());
}

TEST_F(WheelLayoutChecksTest, DataInDirectoriesOfOtherSchemes) {
  const std::string data = "toy-1.0.data/";
  const auto with = [&](const std::string& in_data, const std::string& other) {
    return Ids(With({{data + "data/" + in_data, "x"}, {other, "y"}}));
  };
  const std::string header = data + "headers/a/b.h";
  for (const char* folder :
       {"include/python3.11/toy/", "include/python3.13t/Toy/", "include/site/python3.9/toy/",
        "include/pypy3.10/toy/", "include/toy/", "Include/toy/"}) {
    EXPECT_THAT(with(folder + std::string("a/b.h"), header), ElementsAre("wheel-install-collision " + header))
        << folder;
    EXPECT_THAT(with(folder + std::string("a"), header),
                ElementsAre("wheel-data-layout " + data + "data/" + folder + "a"));
    EXPECT_THAT(with(folder + std::string("a/b.h/c"), header), ElementsAre("wheel-data-layout " + header));
    EXPECT_THAT(with(folder + std::string("b.h"), header), IsEmpty());
  }
  for (const char* folder : {"include/python3.11/", "include/python3.11/other/", "include/python3/toy/",
                             "include/site/toy/", "include/python2.7/toy/", "share/python3.11/toy/"})
    EXPECT_THAT(with(folder + std::string("a/b.h"), header), IsEmpty()) << folder;
  const std::string script = data + "scripts/run";
  EXPECT_THAT(with("Scripts/run", script), ElementsAre("wheel-install-collision " + script));
  EXPECT_THAT(with("lib/python3.11/site-packages", script),
              ElementsAre("wheel-data-layout " + data + "data/lib/python3.11/site-packages"));
  EXPECT_THAT(with("lib/site-packages/toy.py", script), ElementsAre("wheel-install-collision toy.py"));
  const std::string points = kInfo + "entry_points.txt";
  const std::pair<std::string, std::string> begin = {points, "[console_scripts]\nrun = toy:main\n"};
  for (const char* path : {"scripts/run.exe", "data/Scripts/run.exe"})
    EXPECT_THAT(Ids(With({begin, {data + path, "x"}})), ElementsAre("wheel-install-collision " + points))
        << path;
}

TEST_F(WheelLayoutChecksTest, PlacesOfWindowsDoNotCountOnLinux) {
  EXPECT_TRUE(IsForWindows({"py3", "none", "any"}));
  EXPECT_TRUE(IsForWindows({"py3", "none", "linux_x86_64.win_amd64"}));
  EXPECT_FALSE(IsForWindows({"py3", "none", "manylinux2014_x86_64.macosx_11_0_arm64"}));
}

TEST_F(WheelLayoutChecksTest, AnEmptyFolderIsNotWhereAFileIs) {
  const auto check = [](const std::string& folder) {
    std::vector<archive::ZipReader::Member> members(4);
    members[0].name = folder;
    members[1].name = "toy/__init__.py";
    members[2].name = "toy-1.0.data/scripts/run";
    members[3].name = "toy-1.0.data/headers/toy.h";
    members.emplace_back().name = "toy-1.0.data/data/scripts";
    members.emplace_back().name = "toy-1.0.data/data/headers";
    members.emplace_back().name = "toy-1.0.data/data/purelib";
    std::vector<Finding> findings;
    CheckWheelFolders(members, {"begin"}, findings);
    return findings;
  };
  const std::string data = "toy-1.0.data/";
  for (const char* folder : {"purelib/toy/__init__.py/", "data/lib/python3.11/site-packages/toy/__init__.py/",
                             "data/bin/run/", "data/bin/begin/", "headers/toy.h/"})
    EXPECT_THAT(check(data + folder),
                ElementsAre(testing::AllOf(testing::Field(&Finding::id, "wheel-data-layout"),
                                           testing::Field(&Finding::file, data + folder))));
  for (const std::string& folder :
       {std::string("toy/"), data + "purelib/toy/", data + "data/bin/", data + "headers/toy/",
        data + "headers/", data + "scripts/", data + "purelib/"})
    EXPECT_THAT(check(folder), IsEmpty()) << folder;
}

TEST_F(WheelLayoutChecksTest, AScriptsModuleMayLieInSeveralPlaces) {
  const Members script = {{kInfo + "entry_points.txt", "[console_scripts]\nrun = pkg.mod:main\n"}};
  for (const char* const place : {"pkg/mod.py", "pkg/mod/__init__.py", "pkg/mod.abi3.so", "pkg/mod/inner.py",
                                  "toy-1.0.data/purelib/pkg/mod.py"}) {
    Members members = script;
    members.emplace_back(place, "INPUT(x)");
    EXPECT_THAT(Ids(With(members)), IsEmpty()) << place;
  }
}

TEST_F(WheelLayoutChecksTest, Layout) {
  EXPECT_THAT(Ids(With({{"toy-1.0.data/scripts/run", "#!python\n"}})), IsEmpty());
  EXPECT_THAT(Ids(With({{"toy-1.0.data/bin/run", "x"}})),
              ElementsAre("wheel-data-layout toy-1.0.data/bin/run"));
  EXPECT_THAT(Ids(With({{"toy-1.0.data/run", "x"}})), ElementsAre("wheel-data-layout toy-1.0.data/run"));
  EXPECT_THAT(Ids(With({{"toi-1.0.data/scripts/run", "x"}})),
              ElementsAre("wheel-data-layout toi-1.0.data/scripts/run"));
  EXPECT_THAT(Ids(With({{"__pycache__/toy.cpython-311.pyc", "x"}})),
              ElementsAre("wheel-byte-code __pycache__/toy.cpython-311.pyc"));
  EXPECT_THAT(Ids(With({{kInfo + "direct_url.json", "{}"}})),
              ElementsAre("wheel-install-leftover " + kInfo + "direct_url.json"));
  // RECORD lists it here, which installer refuses.
  EXPECT_THAT(Ids(With({{kInfo + "RECORD.jws", "{}"}})),
              ElementsAre("wheel-install-leftover " + kInfo + "RECORD.jws",
                          "wheel-record-digest " + kInfo + "RECORD.jws"));
}

TEST_F(WheelLayoutChecksTest, ASymbolicLink) {
  // No writer of ours makes one, so the tree is made directly.
  const Members members = MinimalMembers();
  for (const auto& [name, text] : members) env_.dir().WriteFile("tree/" + name, text);
  env_.dir().MakeSymlink("toy.py", "tree/link.py");
  ASSERT_OK_AND_ASSIGN(const StagedTree tree, ScanTree(env_, env_.dir() / "tree"));
  std::vector<Finding> findings;
  ASSERT_OK(CheckWheelContent(env_, AbsPath::Literal("/w") / kName, tree, findings));
  EXPECT_THAT(findings, Contains(testing::Field(&Finding::id, "wheel-symlink")));
}

}  // namespace
}  // namespace ptpkg::verify
