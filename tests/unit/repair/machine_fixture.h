#pragma once
// A machine in memory with wheels on it, for tests of what is planned for whole wheels.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "archive/extract.h"
#include "repair/repair_wheel.h"
#include "support/fake_process.h"
#include "support/must.h"
#include "unit/archive/fixtures/builders.h"
#include "unit/verify/fixtures/memory_tree.h"
#include "unit/wheel/wheel_fixture.h"

namespace ptpkg::repair::test {

using elf::test::SyntheticElf;
using ptpkg::test::Library;
using ptpkg::test::Must;
using ptpkg::test::Requiring;

using Members = std::vector<std::pair<std::string, std::string>>;

inline constexpr const char* kInfo = "toy-1.0.dist-info/";

/// A machine in memory, with wheels on it.
class MachineTest : public testing::Test {
 protected:
  MachineTest() { env_->variables["PATH"] = "/nonexistent"; }

  struct WheelText {
    Members members;
    std::string platform = "linux_x86_64";
    std::string pure = "false";
    std::string metadata = {};
    std::string tags = {};  ///< Lines of WHEEL; "": the tag of the name.
  };
  /// The members of .dist-info, RECORD left out.
  static Members InfoOf(const WheelText& text) {
    return {
        {std::string(kInfo) + "METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n" + text.metadata},
        {std::string(kInfo) + "WHEEL",
         "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: " + text.pure + "\n" +
             (text.tags.empty() ? "Tag: py3-none-" + text.platform + "\n" : text.tags)}};
  }
  /// `build`: of the name, "3-".
  AbsPath Wheel(const WheelText& text, const std::string& build = "") {
    Members members = text.members;
    for (auto& member : InfoOf(text)) members.push_back(std::move(member));
    const std::string record = std::string(kInfo) + "RECORD";
    members.emplace_back(record, wheel::RecordOf(members, record));
    return Raw(members, text.platform, build);
  }
  AbsPath Raw(const Members& members, const std::string& platform = "linux_x86_64",
              const std::string& build = "") {
    const std::string name =
        "/in" + std::to_string(++count_) + "/toy-1.0-" + build + "py3-none-" + platform + ".whl";
    return wheel::WriteRawZip(env_, AbsPath::Literal(name), members);
  }
  /// A wheel of one file, which needs `needed` and glibc 2.17.
  AbsPath Module(const std::vector<std::string>& needed, const std::string& path = "toy/a.so") {
    return Wheel({.members = {{path, Glibc(needed).Build()}}});
  }
  /// A wheel in which toy/libx.so is a link, and the library beside it has `runpath`.
  AbsPath Linked(const std::optional<std::string>& runpath = {}) {
    SyntheticElf library = Glibc();
    library.runpath = runpath;
    Members members = {{"toy/libx.so.1", library.Build()}};
    for (auto& member : InfoOf({})) members.push_back(std::move(member));
    const std::string record = std::string(kInfo) + "RECORD";
    members.emplace_back(record, wheel::RecordOf(members, record));
    archive::test::ZipText zip;
    for (const auto& [name, content] : members) zip.members.push_back({.name = name, .content = content});
    zip.members.push_back({.name = "toy/libx.so", .content = "libx.so.1", .unix_mode = 0120777});
    AbsPath wheel = AbsPath::Literal("/in" + std::to_string(++count_) + "/toy-1.0-py3-none-linux_x86_64.whl");
    fs_.AddFile(wheel.str(), archive::test::ToText(zip));
    return wheel;
  }
  static SyntheticElf Glibc(const std::vector<std::string>& more = {}) {
    SyntheticElf library = Requiring("libc.so.6", "GLIBC_2.17");
    library.needed.insert(library.needed.end(), more.begin(), more.end());
    return library;
  }
  void AddHost(const std::string& path, SyntheticElf library) { fs_.AddFile(path, library.Build()); }

  /// Path → content of the wheel that the edits make.
  std::map<std::string, std::string> Written(const AbsPath& wheel, const archive::ZipEdits& edits) {
    const AbsPath to = AbsPath::Literal("/out" + std::to_string(++count_) + ".zip");
    EXPECT_OK(archive::WriteEditedZip(env_, wheel, to, ExistingFilePolicy::kRefuse, edits));
    std::map<std::string, std::string> content;
    const auto zip = Must(archive::ZipReader::Open(fs_, to));
    for (const auto& member : zip.members()) content[member.name] = Must(zip.ReadText(member.name));
    ExpectTrueRecord(content);
    return content;
  }
  static void ExpectTrueRecord(const std::map<std::string, std::string>& content) {
    const std::string record = std::string(kInfo) + "RECORD";
    std::map<std::string, std::string> due;
    for (const auto& [path, text] : content) {
      const Sha256 digest = HashText(text);
      if (path != record) due[path] = Base64UrlUnpadded(std::as_bytes(std::span(digest.bytes)));
    }
    for (const wheel::RecordRow& row : Must(wheel::ParseRecord(content.at(record), "RECORD"))) {
      if (row.path == record) continue;
      EXPECT_EQ(row.sha256, due[row.path]) << row.path;
      due.erase(row.path);
    }
    EXPECT_THAT(due, testing::IsEmpty());
  }
  static elf::LinkFacts FactsOf(const WheelRepair& repair, const std::string& path) {
    for (const ChangedFile& file : repair.files) {
      if (file.path == path) return file.after;
    }
    ADD_FAILURE() << path << " is not among the changed files";
    return {};
  }
  static std::string PathOf(const elf::LinkFacts& facts) {
    return facts.Effective() ? facts.Effective()->text : "none";
  }

  ptpkg::test::MemFs fs_;
  ptpkg::test::FakeProcess process_;
  ptpkg::test::TestEnv env_{{.fs = &fs_, .process = &process_}};
  int count_ = 0;
};

}  // namespace ptpkg::repair::test
