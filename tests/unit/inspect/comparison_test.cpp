// Every kind of change between two artifacts.

#include "inspect/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"
#include "support/text/json.h"
#include "unit/archive/fixtures/builders.h"
#include "unit/conda/package_builder.h"
#include "unit/elf/fixtures/synthetic_elf.h"
#include "unit/wheel/wheel_fixture.h"

namespace ptpkg::inspect {
namespace {

using ptpkg::test::FailsWith;
using Members = std::vector<std::pair<std::string, std::string>>;

class ComparisonTest : public testing::Test {
 protected:
  AbsPath Zip(const std::string& name, const Members& members) {
    return wheel::WriteRawZip(env_, env_.dir() / name, members);
  }
  Json Compare(const AbsPath& before, const AbsPath& after) {
    auto comparison = CompareArtifacts(env_, before, after);
    EXPECT_OK(comparison);
    return comparison ? *comparison->document : Json();
  }
  /// "change path" of each file.
  static std::vector<std::string> Changes(const Json& document) {
    std::vector<std::string> changes;
    for (const Json& file : document["files"]) {
      changes.push_back(file["change"].get<std::string>() + " " + file["path"].get<std::string>());
    }
    return changes;
  }
  /// "change path old_path" of each file that has an old path.
  static std::vector<std::string> OldPaths(const Json& document) {
    std::vector<std::string> changes = Changes(document);
    for (std::size_t i = changes.size(); i-- > 0;) {
      const Json& old_path = document["files"][i]["old_path"];
      if (old_path.is_null()) {
        changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        changes[i] += " " + old_path.get<std::string>();
      }
    }
    return changes;
  }

  test::TestEnv env_;
};

TEST_F(ComparisonTest, EqualBytesAreIdentical) {
  const Json document = Compare(Zip("a.zip", {{"x", "1"}}), Zip("b.zip", {{"x", "1"}}));
  EXPECT_EQ(document["identical"], true);
  EXPECT_EQ(document["unchanged_files"], 1);
  EXPECT_TRUE(document["files"].empty());
  EXPECT_TRUE(document["packing"].empty());
  EXPECT_EQ(document["sizes"]["folders"][0], (Json{{"name", "."}, {"old_bytes", 1}, {"new_bytes", 1}}));
  EXPECT_EQ(document["sizes"]["sections"], nullptr);
  EXPECT_EQ(document["sizes"]["device_code"], nullptr);
}

TEST_F(ComparisonTest, TellsEveryKindOfChange) {
  const Json document =
      Compare(Zip("a.zip", {{"changed", "1"}, {"equal", "x"}, {"gone", "2"}, {"moved", "long"}}),
              Zip("b.zip", {{"changed", "22"}, {"equal", "x"}, {"fresh", "3"}, {"new/moved", "long"}}));
  EXPECT_THAT(Changes(document),
              testing::ElementsAre("changed changed", "added fresh", "removed gone", "renamed new/moved"));
  EXPECT_EQ(document["files"][3]["old_path"], "moved");
  EXPECT_EQ(document["unchanged_files"], 1);
  EXPECT_EQ(document["files"][0]["old_size_bytes"], 1);
  EXPECT_EQ(document["files"][0]["new_size_bytes"], 2);
  EXPECT_TRUE(document["files"][1]["old_size_bytes"].is_null());
  EXPECT_EQ(document["sizes"]["folders"][0], (Json{{"name", "."}, {"old_bytes", 7}, {"new_bytes", 8}}));
}

TEST_F(ComparisonTest, OfEqualFilesThoseWithTheLongestCommonEndAreTheSame) {
  const Json document = Compare(Zip("a.zip", {{"old/one/x.h", "same"}, {"old/two/y.h", "same"}}),
                                Zip("b.zip", {{"new/alone.h", "same"}, {"new/one/x.h", "same"}}));
  EXPECT_THAT(Changes(document), testing::ElementsAre("renamed new/alone.h", "renamed new/one/x.h"));
  EXPECT_EQ(document["files"][0]["old_path"], "old/two/y.h");
  EXPECT_EQ(document["files"][1]["old_path"], "old/one/x.h");
}

TEST_F(ComparisonTest, FoldersOfTwoVersionsAreTheSame) {
  const Json document = Compare(Zip("a.zip", {{"toy-1.0.dist-info/METADATA", "Version: 1.0"},
                                              {"toy-1.0.dist-info/WHEEL", "equal"},
                                              {"toy-1.0.data/scripts/run", "one"},
                                              {"notes.data/x", "one"}}),
                                Zip("b.zip", {{"toy-1.1+cpu.dist-info/METADATA", "Version: 1.1"},
                                              {"toy-1.1+cpu.dist-info/WHEEL", "equal"},
                                              {"toy-1.1+cpu.data/scripts/run", "two"},
                                              {"other-2.dist-info/METADATA", "Version: 2"}}));
  EXPECT_THAT(
      Changes(document),
      testing::ElementsAre("removed notes.data/x", "added other-2.dist-info/METADATA",
                           "changed toy-1.1+cpu.data/scripts/run", "changed toy-1.1+cpu.dist-info/METADATA",
                           "renamed toy-1.1+cpu.dist-info/WHEEL"));
  EXPECT_EQ(document["files"][3]["old_path"], "toy-1.0.dist-info/METADATA");
  EXPECT_EQ(document["files"][3]["old_size_bytes"], 12);
}

TEST_F(ComparisonTest, LibrariesOfOtherHashesAndVersionsAreTheSame) {
  const auto library = [](const std::string& soname, const std::string& runpath) {
    elf::test::SyntheticElf elf;
    elf.soname = soname;
    elf.runpath = runpath;
    return elf.Build();
  };
  const Json document =
      Compare(Zip("a.zip", {{"toy.libs/libgeos-3ef06f11.so.3", library("libgeos-3ef06f11.so.3", "/a")},
                            {"toy.libs/libgeos_c-00aa00aa.so.1", library("libgeos_c-00aa00aa.so.1", "/a")},
                            {"toy.libs/libf-11111111.so.3", library("libf-11111111.so.3", "/a")},
                            {"toy.libs/libf-22222222.so.5", library("libf-22222222.so.5", "/a")},
                            {"toy/_C.cpython-311-x86_64-linux-gnu.so", library("_C.so", "/a")}}),
              Zip("b.zip", {{"toy.libs/libgeos-aa00bb11.so.3.11", library("libgeos-aa00bb11.so.3.11", "/b")},
                            {"other.libs/libgeos_c.so.2", library("libgeos_c.so.2", "/b")},
                            {"toy.libs/libf-33333333.so.5", library("libf-33333333.so.5", "/b")},
                            {"toy.libs/libf-44444444.so.3", library("libf-44444444.so.3", "/b")},
                            {"toy/_C.cpython-312-x86_64-linux-gnu.so", library("_C.so", "/b")}}));
  EXPECT_THAT(OldPaths(document),
              testing::ElementsAre("changed other.libs/libgeos_c.so.2 toy.libs/libgeos_c-00aa00aa.so.1",
                                   "changed toy.libs/libf-33333333.so.5 toy.libs/libf-22222222.so.5",
                                   "changed toy.libs/libf-44444444.so.3 toy.libs/libf-11111111.so.3",
                                   "changed toy.libs/libgeos-aa00bb11.so.3.11 toy.libs/libgeos-3ef06f11.so.3",
                                   "changed toy/_C.cpython-312-x86_64-linux-gnu.so "
                                   "toy/_C.cpython-311-x86_64-linux-gnu.so"));
  EXPECT_EQ(document["files"][0]["elf"][0]["part"], "search path");
}

TEST_F(ComparisonTest, NamesWithoutTheirHashAreTheSame) {
  const Json document =
      Compare(Zip("a.zip", {{"js/main-3ef06f11.js", "1"}, {"a/__init__.py", "1"}, {"b/__init__.py", "2"}}),
              Zip("b.zip", {{"web/main-aa00bb11.js", "3"}, {"c/__init__.py", "4"}, {"d/main-page.js", "5"}}));
  EXPECT_THAT(Changes(document),
              testing::ElementsAre("removed a/__init__.py", "removed b/__init__.py", "added c/__init__.py",
                                   "added d/main-page.js", "changed web/main-aa00bb11.js"));
}

TEST_F(ComparisonTest, AWheelAndACondaPackageHaveTheSameFiles) {
  const std::vector<test::RawMember> payload = {
      {.name = "bin/toy", .content = "#!x\n"},
      {.name = "lib/python3.12/site-packages/toy-1.0.dist-info/METADATA", .content = "Version: 1.0"},
      {.name = "lib/python3.12/site-packages/toy/__init__.py", .content = "one"},
      {.name = "lib/python3.12/site-packages/toy/empty.py", .content = ""},
      {.name = "lib/python3.12/site-packages/toy/sub/__init__.py", .content = "two"}};
  std::vector<test::RawMember> members = test::DemoInfo(payload);
  members.insert(members.end(), payload.begin(), payload.end());
  const AbsPath conda = env_.dir() / "demo-1.0-0.tar.bz2";
  ASSERT_OK(WriteFile(env_->fs, conda, test::MakeTarBz2(members)));
  const Json document = Compare(Zip("a.zip", {{"toy-1.1.data/scripts/toy", "#!python\n"},
                                              {"toy-1.1.dist-info/METADATA", "Version: 1.1"},
                                              {"toy/__init__.py", "1"},
                                              {"toy/empty.py", ""},
                                              {"toy/sub/__init__.py", "2"}}),
                                conda);
  EXPECT_THAT(OldPaths(document),
              testing::IsSupersetOf(
                  {"changed bin/toy toy-1.1.data/scripts/toy",
                   "changed lib/python3.12/site-packages/toy-1.0.dist-info/METADATA "
                   "toy-1.1.dist-info/METADATA",
                   "changed lib/python3.12/site-packages/toy/__init__.py toy/__init__.py",
                   "renamed lib/python3.12/site-packages/toy/empty.py toy/empty.py",
                   "changed lib/python3.12/site-packages/toy/sub/__init__.py toy/sub/__init__.py"}));
}

TEST_F(ComparisonTest, TextFilesAreComparedLineByLine) {
  const std::string binary("\0\1", 2);
  const Json document = Compare(Zip("a.zip", {{"toy-1.0.dist-info/METADATA", "Name: toy\nVersion: 1.0\n"},
                                              {"toy-1.0.dist-info/RECORD", "x,1\n"},
                                              {"toy.py", "one\ntwo\n"},
                                              {"data.bin", binary},
                                              {"moved.py", "equal"}}),
                                Zip("b.zip", {{"toy-1.1.dist-info/METADATA", "Name: toy\nVersion: 1.1\n"},
                                              {"toy-1.1.dist-info/RECORD", "x,2\n"},
                                              {"toy.py", "one\n2\n"},
                                              {"data.bin", binary + "2"},
                                              {"new/moved.py", "equal"}}));
  std::map<std::string, Json> texts;
  for (const Json& file : document["files"]) texts[file["path"].get<std::string>()] = file["text"];
  const auto line = [](const char* mark, const char* text) { return Json{{"mark", mark}, {"text", text}}; };
  EXPECT_EQ(
      texts["toy-1.1.dist-info/METADATA"],
      (Json{{"removed", 1},
            {"added", 1},
            {"hunks",
             {{{"old_line", 1},
               {"new_line", 1},
               {"lines", {line(" ", "Name: toy"), line("-", "Version: 1.0"), line("+", "Version: 1.1")}}}}},
            {"more_lines", 0}}));
  EXPECT_EQ(texts["toy.py"]["hunks"][0]["lines"][2], line("+", "2"));
  for (const char* path : {"toy-1.1.dist-info/RECORD", "data.bin", "new/moved.py"}) {
    EXPECT_EQ(texts[path], nullptr) << path;
  }
}

TEST_F(ComparisonTest, EmptyFilesAreNotRenamed) {
  const Json document = Compare(Zip("a.zip", {{"a", ""}}), Zip("b.zip", {{"b", ""}}));
  EXPECT_THAT(Changes(document), testing::ElementsAre("removed a", "added b"));
}

TEST_F(ComparisonTest, OrderAloneIsADifference) {
  const Json document =
      Compare(Zip("a.zip", {{"a", "1"}, {"b", "2"}}), Zip("b.zip", {{"b", "2"}, {"a", "1"}}));
  EXPECT_EQ(document["identical"], false);
  EXPECT_TRUE(document["files"].empty());
  EXPECT_EQ(document["packing"], (Json{"order"}));
}

TEST_F(ComparisonTest, SaysWhatOfAnElfFileChanged) {
  elf::test::SyntheticElf one;
  one.runpath = "$ORIGIN";
  elf::test::SyntheticElf other = one;
  other.runpath = "$ORIGIN/lib";
  const Json document =
      Compare(Zip("a.zip", {{"lib/x.so", one.Build()}}), Zip("b.zip", {{"lib/x.so", other.Build()}}));
  ASSERT_EQ(document["files"].size(), 1U);
  const Json& part = document["files"][0]["elf"][0];
  EXPECT_EQ(part["part"], "search path");
  EXPECT_EQ(part["old"], (Json{"RUNPATH", "$ORIGIN"}));
  EXPECT_EQ(part["new"], (Json{"RUNPATH", "$ORIGIN/lib"}));
  EXPECT_FALSE(document["sizes"]["sections"].empty());
}

TEST_F(ComparisonTest, SectionsThatOneSideCannotReadAreNoDifferenceOfSizes) {
  elf::test::SyntheticElf elf;
  const std::string sound = elf.Build();
  std::string damaged = sound;
  elf::test::PokeWord(damaged, elf.codec(), elf.places.section_headers + elf.codec().SectionSize() + 32,
                      1ULL << 40U);
  const Json document = Compare(Zip("a.zip", {{"x.so", sound}}), Zip("b.zip", {{"x.so", damaged}}));
  EXPECT_EQ(document["files"][0]["kind"], "elf");
  EXPECT_EQ(document["files"][0]["elf"][0]["part"], "unreadable");
  EXPECT_EQ(document["sizes"]["sections"], Json::array());
}

TEST_F(ComparisonTest, MetadataFieldByField) {
  Members members = wheel::MinimalMembers();
  const AbsPath before = Zip("toy-1.0-py3-none-any.whl", members);
  for (auto& [name, text] : members) {
    if (name.ends_with("/METADATA")) text += "Requires-Dist: numpy\n";
  }
  const Json document = Compare(before, Zip("toy-1.0-1-py3-none-any.whl", members));
  EXPECT_THAT(document["metadata"],
              testing::Contains(Json{{"field", "requires"}, {"old", Json::array()}, {"new", {"numpy"}}}));
  EXPECT_THAT(document["metadata"],
              testing::Contains(Json{{"field", "build"}, {"old", nullptr}, {"new", "1"}}));
}

TEST_F(ComparisonTest, PackagesOfBothFormatsCompare) {
  const std::vector<test::RawMember> payload = {{.name = "bin/tool", .content = "#!x\n", .mode = 0755},
                                                {.name = "lib/a.txt", .content = "12345"},
                                                {.name = "lib/hard", .type = '1', .link_target = "lib/a.txt"},
                                                {.name = "lib/link", .type = '2', .link_target = "a.txt"}};
  std::vector<test::RawMember> members = test::DemoInfo(payload);
  const std::size_t info = members.size();
  members.insert(members.end(), payload.begin(), payload.end());
  const AbsPath before = env_.dir() / "demo-1.0-0.tar.bz2";
  ASSERT_OK(WriteFile(env_->fs, before, test::MakeTarBz2(members)));
  members[info].mode = 0644;
  members[info + 3].link_target = "hard";
  const AbsPath after = env_.dir() / "demo-1.0-1.tar.bz2";
  ASSERT_OK(WriteFile(env_->fs, after, test::MakeTarBz2(members)));
  const Json document = Compare(before, after);
  EXPECT_THAT(Changes(document), testing::ElementsAre("mode bin/tool", "changed lib/link"));
  EXPECT_EQ(document["files"][1]["old_target"], "a.txt");
  EXPECT_EQ(document["files"][1]["new_target"], "hard");
}

TEST_F(ComparisonTest, TextFilesOfCondaPackagesAreCompared) {
  const auto package = [&](const std::string& name, const std::string& content) {
    std::vector<test::RawMember> members = test::DemoInfo({});
    members.push_back({.name = "lib/a.txt", .content = content});
    members.push_back({.name = "lib/hard", .type = '1', .link_target = "lib/a.txt"});
    const AbsPath path = env_.dir() / name;
    EXPECT_OK(WriteFile(env_->fs, path, test::MakeTarBz2(members)));
    return path;
  };
  const Json document =
      Compare(package("demo-1.0-0.tar.bz2", "one\n"), package("demo-1.0-1.tar.bz2", "two\n"));
  ASSERT_THAT(Changes(document), testing::ElementsAre("changed lib/a.txt", "changed lib/hard"));
  EXPECT_EQ(document["files"][0]["text"]["hunks"][0]["lines"][0]["text"], "one");
  EXPECT_EQ(document["files"][1]["text"], nullptr);
}

TEST_F(ComparisonTest, ChainsOfHardLinksAreWhatTheirEndIs) {
  const auto package = [&](const std::string& name, const std::vector<test::RawMember>& payload) {
    std::vector<test::RawMember> members = test::DemoInfo({});
    members.insert(members.end(), payload.begin(), payload.end());
    const AbsPath path = env_.dir() / name;
    EXPECT_OK(WriteFile(env_->fs, path, test::MakeTarBz2(members)));
    return path;
  };
  const test::RawMember end = {.name = "lib/z", .content = "12345"};
  const test::RawMember middle = {.name = "lib/m", .type = '1', .link_target = "lib/z"};
  const Json document = Compare(
      package("demo-1.0-0.tar.bz2", {end, middle, {.name = "lib/a", .type = '1', .link_target = "lib/m"}}),
      package("demo-1.0-1.tar.bz2", {end, middle, {.name = "lib/a", .content = "12345"}}));
  EXPECT_THAT(Changes(document), testing::IsEmpty());
}

TEST_F(ComparisonTest, DamagedContentIsAnError) {
  const AbsPath whole = Zip("a.zip", {{"x", "12345"}});
  auto bytes = ReadFile(env_->fs, whole);
  ASSERT_OK(bytes);
  bytes->replace(bytes->find("12345"), 5, "12x45");
  const AbsPath damaged = env_.dir() / "b.zip";
  ASSERT_OK(WriteFile(env_->fs, damaged, *bytes));
  EXPECT_THAT(CompareArtifacts(env_, whole, damaged),
              FailsWith(ErrorCode::kCorrupt, testing::HasSubstr("x")));
  EXPECT_THAT(CompareArtifacts(env_, whole, env_.dir() / "none.zip"),
              FailsWith(ErrorCode::kNotFound, testing::HasSubstr("none.zip")));
}

}  // namespace
}  // namespace ptpkg::inspect
