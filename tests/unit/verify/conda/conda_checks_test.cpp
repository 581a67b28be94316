// One wrong package per finding, and right ones without any.
#include "conda/info/package_info.h"
#include "support/limits.h"
#include "support/matchers.h"
#include "support/text/json.h"
#include "unit/conda/package_builder.h"
#include "unit/elf/fixtures/synthetic_elf.h"
#include "verify/check_artifact.h"

namespace ptpkg::verify {
namespace {

using test::DemoIndex;
using test::DemoInfo;
using test::MakeTarBz2;
using test::RawMember;
using test::TestEnv;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

const std::string kPlaceholder = "/build/" + std::string(248, 'p');

auto HasId(const std::string& id) { return Field(&Finding::id, id); }

class CondaChecksTest : public ::testing::Test {
 protected:
  std::vector<Finding> Check(const AbsPath& package, const CheckOptions& options = {}) {
    auto report = CheckArtifact(env_, package, options);
    EXPECT_THAT(report, test::IsOk());
    return report ? report->findings : std::vector<Finding>();
  }
  /// The findings of "demo-1.0-0.tar.bz2" with these members.
  std::vector<Finding> CheckMembers(const std::vector<RawMember>& members) {
    const AbsPath package = env_.dir().WriteFile("demo-1.0-0.tar.bz2", MakeTarBz2(members));
    auto findings = Check(package);
    EXPECT_THAT(env_->fs.Remove(package), test::IsOk());
    return findings;
  }
  std::vector<Finding> CheckPayload(const std::vector<RawMember>& described,
                                    const std::vector<RawMember>& held) {
    std::vector<RawMember> members = DemoInfo(described);
    members.insert(members.end(), held.begin(), held.end());
    return CheckMembers(members);
  }
  /// With one info file changed.
  std::vector<Finding> CheckInfo(const std::string& name, const std::string& content) {
    std::vector<RawMember> members = DemoInfo({});
    std::erase_if(members, [&](const RawMember& member) { return member.name == name; });
    if (!content.empty()) members.push_back({.name = name, .content = content});
    return CheckMembers(members);
  }
  std::vector<Finding> CheckIndex(const std::string& key, const Json& value) {
    Json index = DemoIndex();
    index[key] = value;
    return CheckInfo("info/index.json", DumpJson(index));
  }
  std::vector<Finding> CheckConda(const test::RawConda& raw, const std::string& name = "demo-1.0-0.conda") {
    test::WriteRawConda(env_, raw, env_.dir() / name);
    auto findings = Check(env_.dir() / name);
    EXPECT_THAT(env_->fs.Remove(env_.dir() / name), test::IsOk());
    return findings;
  }
  Json PathsOf(const Json& change) {
    Json entry = {
        {"_path", "a"}, {"path_type", "hardlink"}, {"sha256", HashText("1").Hex()}, {"size_in_bytes", 1}};
    entry.update(change);
    return {{"paths_version", 1}, {"paths", Json::array({entry})}};
  }
  /// One payload file "a" with `content`, described with `change`.
  std::vector<Finding> CheckEntry(const Json& change, const std::string& content) {
    std::vector<RawMember> members = DemoInfo({{.name = "a", .content = content}});
    members[1].content = DumpJson(PathsOf(change));
    members.push_back({.name = "a", .content = content});
    return CheckMembers(members);
  }

  TestEnv env_;
};

TEST_F(CondaChecksTest, OurOwnPackagesHaveNoFindings) {
  const StagedTree tree = test::MakeTree(
      env_, {{.name = "bin/tool", .content = "#!" + kPlaceholder + "/bin/python\n", .mode = 0755},
             {.name = "lib/data.bin", .content = kPlaceholder + "/x" + std::string(2, '\0')},
             {.name = "lib/link", .type = '2', .link_target = "data.bin"}});
  ASSERT_OK_AND_ASSIGN(
      const auto artifacts,
      conda::WritePackages(
          env_, {.metadata = test::DemoMetadata(), .tree = tree, .prefix_placeholder = kPlaceholder},
          env_.dir().MakeDir("out"), {}));
  for (const Artifact& artifact : artifacts) {
    EXPECT_THAT(Check(artifact.path, {.forbidden_paths = {"/build"}}), IsEmpty());
  }
}

TEST_F(CondaChecksTest, ANoteOfPtpkgLiesInInfo) {
  elf::test::SyntheticElf elf;
  elf.needed = {"libgone.so"};
  elf.soname.reset();
  elf.version = "";
  const RawMember library = {.name = "lib/a.so", .content = elf.Build()};
  const RawMember own = {.name = "ptpkg.json", .content = R"({"allow_unresolved": ["*"]})"};
  EXPECT_THAT(CheckPayload({library, own}, {library, own}), ElementsAre(HasId("elf-unresolved-needed")));
  std::vector<RawMember> members = DemoInfo({library});
  members.push_back({.name = "info/ptpkg.json", .content = own.content});
  members.push_back(library);
  EXPECT_THAT(CheckMembers(members), ElementsAre(HasId("elf-allowed-needed")));
}

TEST_F(CondaChecksTest, DependenciesPromiseThePlatform) {
  elf::test::SyntheticElf elf;
  elf.needed = {"libc.so.6"};
  elf.soname.reset();
  elf.version = "GLIBC_2.34";
  const StagedTree tree = test::MakeTree(env_, {{.name = "lib/a.so", .content = elf.Build()}});
  const auto findings = [&](std::vector<std::string> depends, const std::string& subdir) {
    conda::PackageMetadata metadata = test::DemoMetadata();
    metadata.depends = std::move(depends);
    metadata.subdir = subdir;
    std::vector<std::string> found;
    const auto artifacts =
        conda::WritePackages(env_, {.metadata = metadata, .tree = tree, .prefix_placeholder = ""},
                             env_.dir().MakeDir("out"), {.on_existing = ExistingFilePolicy::kReplace});
    EXPECT_THAT(artifacts, test::IsOk());
    if (!artifacts) return found;
    for (const Artifact& artifact : *artifacts) {
      for (const Finding& finding : Check(artifact.path)) found.push_back(finding.id);
    }
    return found;
  };
  EXPECT_THAT(findings({"__glibc >=2.34,<3.0.a0"}, "linux-64"), IsEmpty());
  EXPECT_THAT(findings({"__glibc >=2.17"}, "linux-64"), ElementsAre("elf-glibc-floor", "elf-glibc-floor"));
  EXPECT_THAT(findings({}, "linux-64"), ElementsAre("elf-glibc-undeclared", "elf-glibc-undeclared"));
  EXPECT_THAT(findings({"__glibc >=2.34"}, "linux-aarch64"),
              ElementsAre("elf-machine-mismatch", "elf-machine-mismatch"));
}

TEST_F(CondaChecksTest, FindsBuildPathsOutsidePlaceholders) {
  const StagedTree tree =
      test::MakeTree(env_, {{.name = "a", .content = kPlaceholder + " and /build/work\n"}});
  ASSERT_OK_AND_ASSIGN(
      const auto artifacts,
      conda::WritePackages(
          env_, {.metadata = test::DemoMetadata(), .tree = tree, .prefix_placeholder = kPlaceholder},
          env_.dir().MakeDir("out"), {}));
  for (const Artifact& artifact : artifacts) {
    EXPECT_THAT(Check(artifact.path, {.forbidden_paths = {"/build"}}),
                ElementsAre(AllOf(HasId("artifact-build-path"), Field(&Finding::file, "a"))));
  }
}

TEST_F(CondaChecksTest, RawPackagesOfBothFormatsAreFine) {
  const std::vector<RawMember> payload{{.name = "a", .content = "1"}};
  EXPECT_THAT(CheckPayload(payload, payload), IsEmpty());
  EXPECT_THAT(CheckConda({.info = DemoInfo(payload), .payload = payload}), IsEmpty());
}

TEST_F(CondaChecksTest, AScriptNamesItsInterpreter) {
  for (const char* path : {"bin/a", "python-scripts/a"}) {
    for (const char* text : {"#!python\n", "#!pythonw -E\n", "#!/b/_h_env_placehold_placehold_/bin/python\n",
                             "#!/opt/_placehold_placehold_/bin/env python"}) {
      const std::vector<RawMember> script{{.name = path, .content = text}};
      EXPECT_THAT(CheckPayload(script, script),
                  ElementsAre(AllOf(HasId("conda-script-interpreter"), Field(&Finding::file, path))));
    }
  }
  const std::vector<RawMember> fine{{.name = "bin/a", .content = "#!/usr/bin/env python\n"},
                                    {.name = "bin/b", .content = "#!/bin/sh\n# placehold_placehold\n"},
                                    {.name = "share/a", .content = "#!python\n"}};
  EXPECT_THAT(CheckPayload(fine, fine), IsEmpty());
}

TEST_F(CondaChecksTest, PayloadAgainstPathsJson) {
  const std::vector<RawMember> one{{.name = "a", .content = "1"}};
  EXPECT_THAT(CheckPayload(one, {}),
              UnorderedElementsAre(HasId("conda-paths-absent"), HasId("conda-files-list")));
  EXPECT_THAT(CheckPayload({}, one),
              UnorderedElementsAre(HasId("conda-paths-unlisted"), HasId("conda-files-list")));
  EXPECT_THAT(CheckPayload(one, {{.name = "a", .content = "2"}}),
              ElementsAre(AllOf(HasId("conda-paths-digest"), Field(&Finding::severity, Severity::kError))));
  EXPECT_THAT(CheckPayload(one, {{.name = "a", .type = '2', .link_target = "b"}}),
              ElementsAre(HasId("conda-paths-kind")));
  EXPECT_THAT(CheckEntry({{"path_type", "directory"}}, "1"), ElementsAre(HasId("conda-paths-folder")));
  EXPECT_THAT(CheckInfo("info/paths.json", ""), ElementsAre(HasId("conda-paths-missing")));
  EXPECT_THAT(CheckInfo("info/paths.json", "{\"paths_version\": 3, \"paths\": []}"),
              ElementsAre(HasId("conda-paths-invalid")));
  EXPECT_THAT(CheckPayload({{.name = "b", .content = "1"}, {.name = "a", .content = "1"}},
                           {{.name = "a", .content = "1"}, {.name = "b", .content = "1"}}),
              ElementsAre(AllOf(HasId("conda-paths-order"), Field(&Finding::severity, Severity::kInfo))));
}

TEST_F(CondaChecksTest, EntriesWithoutDigestAreAWarning) {
  std::vector<RawMember> members = DemoInfo({{.name = "a", .content = "1"}});
  members[1].content =
      DumpJson({{"paths_version", 1}, {"paths", {{{"_path", "a"}, {"path_type", "hardlink"}}}}});
  members.push_back({.name = "a", .content = "1"});
  EXPECT_THAT(CheckMembers(members),
              ElementsAre(AllOf(HasId("conda-paths-digest"), Field(&Finding::severity, Severity::kWarning))));
}

TEST_F(CondaChecksTest, Placeholders) {
  const auto with = [&](const std::string& content, const std::string& placeholder, const char* mode) {
    return CheckEntry({{"sha256", HashText(content).Hex()},
                       {"size_in_bytes", content.size()},
                       {"prefix_placeholder", placeholder},
                       {"file_mode", mode}},
                      content);
  };
  const std::string nul(1, '\0');
  EXPECT_THAT(with(kPlaceholder + nul, kPlaceholder, "binary"), IsEmpty());
  EXPECT_THAT(with("nothing", kPlaceholder, "text"),
              ElementsAre(AllOf(HasId("conda-placeholder"), Field(&Finding::severity, Severity::kWarning))));
  EXPECT_THAT(with(kPlaceholder + nul, kPlaceholder, "text"),
              ElementsAre(AllOf(HasId("conda-placeholder"), Field(&Finding::severity, Severity::kError))));
  EXPECT_THAT(with("/x" + kPlaceholder, kPlaceholder, "binary"),
              ElementsAre(AllOf(HasId("conda-placeholder"), Field(&Finding::severity, Severity::kError),
                                Field(&Finding::message, HasSubstr("the file is text")))));
  EXPECT_THAT(with(kPlaceholder + "/x", kPlaceholder + "/", "text"),
              ElementsAre(AllOf(HasId("conda-placeholder"), Field(&Finding::severity, Severity::kError),
                                Field(&Finding::message, HasSubstr("ends with '/'")))));
  EXPECT_THAT(with(kPlaceholder + "/x", kPlaceholder, "text"), IsEmpty());
  const auto shorter = [&](std::size_t size) {
    const std::string placeholder = "/opt/" + std::string(size - 5, 'x');
    return with(placeholder + nul, placeholder, "binary");
  };
  // No environment of conda fits into less than what its first versions wrote.
  EXPECT_THAT(shorter(32), ElementsAre(AllOf(HasId("conda-placeholder-short"),
                                             Field(&Finding::severity, Severity::kWarning))));
  EXPECT_THAT(shorter(31), ElementsAre(AllOf(HasId("conda-placeholder-short"),
                                             Field(&Finding::severity, Severity::kError))));
  EXPECT_THAT(with("/o" + nul, "/o", "binary"),
              UnorderedElementsAre(HasId("conda-placeholder-short"), HasId("artifact-unreadable")));
}

TEST_F(CondaChecksTest, FindingsOfAKindAreCountedAboveALimit) {
  Json bad = Json::array();
  for (int i = 0; i < 5000; ++i) bad.push_back("Numpy " + std::to_string(i));
  const std::vector<Finding> findings = CheckIndex("depends", bad);
  ASSERT_EQ(findings.size(), limits::kFindingsOfAKind + 1);
  EXPECT_THAT(findings, ::testing::Each(HasId("conda-dependency")));
  EXPECT_EQ(findings.back().more, 5000 - limits::kFindingsOfAKind);
}

TEST_F(CondaChecksTest, DocumentsBeyondTheLimitsAreFindings) {
  EXPECT_THAT(
      CheckInfo("info/index.json", std::string(100'000, '[')),
      ElementsAre(AllOf(HasId("conda-index-invalid"), Field(&Finding::message, HasSubstr("nested deeper")))));
  EXPECT_THAT(CheckInfo("info/index.json", std::string(limits::kCondaIndex + 1, ' ')),
              ElementsAre(AllOf(HasId("artifact-unreadable"),
                                Field(&Finding::message, HasSubstr("longer than 4194304 bytes")))));
}

TEST_F(CondaChecksTest, AMissingIndexIsNamedBesideOtherFaults) {
  for (const char* name : {"about.json", "paths.json", "run_exports.json", "link.json"}) {
    std::vector<RawMember> members = DemoInfo({});
    std::erase_if(members, [&](const RawMember& member) {
      return member.name == "info/index.json" || member.name == std::string("info/") + name;
    });
    members.push_back({.name = std::string("info/") + name, .content = "{"});
    EXPECT_THAT(
        CheckMembers(members),
        UnorderedElementsAre(AllOf(HasId("conda-index-invalid"), Field(&Finding::file, "info/index.json")),
                             Field(&Finding::file, std::string("info/") + name)))
        << name;
  }
  // One finding for an index that cannot be read.
  EXPECT_THAT(CheckInfo("info/index.json", "{"), ElementsAre(HasId("conda-index-invalid")));
}

TEST_F(CondaChecksTest, BothFormsOfAnAccentAreTwoFilesOnLinux) {
  const std::vector<RawMember> payload = {{.name = "cafe\xcc\x81", .content = "1"},
                                          {.name = "caf\xc3\xa9", .content = "2"}};
  EXPECT_THAT(CheckPayload(payload, payload),
              ElementsAre(AllOf(HasId("artifact-name-case"), Field(&Finding::severity, Severity::kWarning))));
}

TEST_F(CondaChecksTest, NamesThatCannotBeUnpackedAreFindings) {
  std::string deep;
  for (int i = 0; i < 129; ++i) deep += "d/";
  const std::pair<std::vector<RawMember>, const char*> cases[] = {
      {{{.name = "a\x1b[31m", .content = "1"}}, "'a\\x1b[31m' has a control character in its name"},
      {{{.name = std::string(90, 'x'), .content = "1"},
        {.name = std::string(90, 'x') + "/y", .content = "1"}},
       "which is a file"},
      {{{.name = "a/b", .content = "1"}, {.name = "a", .content = "1"}},
       "'a' is also the directory of other members"},
      {{{.name = "a\xff", .content = "1"}}, "has a name that is not UTF-8"}};
  for (const auto& [members, message] : cases) {
    const std::vector<Finding> findings = CheckPayload({}, members);
    EXPECT_THAT(findings, ElementsAre(AllOf(HasId("artifact-unreadable"),
                                            Field(&Finding::message, HasSubstr(message)))));
  }
}

/// The offset of the last local header, that of the info part.
std::size_t LastLocalHeader(const std::string& zip) { return zip.rfind("PK\x03\x04"); }

TEST_F(CondaChecksTest, ABrokenLocalHeaderIsAnError) {
  // Python's zipfile, and so conda, cannot read the member; libzip could.
  test::WriteRawConda(env_, {.info = DemoInfo({}), .payload = {}}, env_.dir() / "whole.conda");
  std::string zip = env_.dir().ReadFile("whole.conda");
  zip[LastLocalHeader(zip) + 30] = 'X';  // of its name
  const AbsPath package = env_.dir().WriteFile("demo-1.0-0.conda", zip);
  EXPECT_THAT(Check(package),
              ElementsAre(AllOf(HasId("artifact-unreadable"), Field(&Finding::severity, Severity::kError),
                                Field(&Finding::message, HasSubstr("in its local header")))));
  EXPECT_THAT(conda::ReadPackageInfo(env_, package),
              test::FailsWith(ErrorCode::kCorrupt, HasSubstr("local header")));
}

TEST_F(CondaChecksTest, NamesAndMetadata) {
  EXPECT_THAT(
      CheckIndex("version", "1.1"),
      ElementsAre(AllOf(HasId("conda-file-name"), Field(&Finding::message, HasSubstr("demo-1.1-0")))));
  EXPECT_THAT(CheckIndex("name", "Demo"),
              UnorderedElementsAre(HasId("conda-file-name"), HasId("conda-name-rule")));
  EXPECT_THAT(CheckIndex("subdir", "linux"), ElementsAre(HasId("conda-name-rule")));
  EXPECT_THAT(CheckIndex("noarch", "generic"), ElementsAre(HasId("conda-noarch")));
  EXPECT_THAT(CheckIndex("noarch", "other"), ElementsAre(HasId("conda-index-invalid")));
  EXPECT_THAT(CheckIndex("depends", {"Numpy"}), ElementsAre(HasId("conda-dependency")));
  EXPECT_THAT(CheckIndex("constrains", {"a 1 2 3"}), ElementsAre(HasId("conda-dependency")));
  EXPECT_THAT(CheckIndex("license", nullptr), ElementsAre(HasId("conda-license-missing")));
  EXPECT_THAT(CheckIndex("build_number", "x"), ElementsAre(HasId("conda-index-invalid")));
  EXPECT_THAT(CheckInfo("info/index.json", ""), ElementsAre(HasId("conda-index-invalid")));
  EXPECT_THAT(CheckInfo("info/repodata_record.json", "{}"), ElementsAre(HasId("conda-repodata-record")));
}

TEST_F(CondaChecksTest, RequirementsOfEveryKind) {
  EXPECT_THAT(CheckIndex("extra_depends", {{"x", {"y >="}}}), ElementsAre(HasId("conda-dependency")));
  EXPECT_THAT(CheckIndex("extra_depends", {{"x", {"y >=1"}}}), IsEmpty());
  for (const char* kind : {"strong", "weak", "noarch", "strong_constrains", "weak_constrains"}) {
    const auto check = [&](const char* spec) {
      return CheckInfo("info/run_exports.json", DumpJson({{kind, {spec}}}));
    };
    EXPECT_THAT(check("a >="),
                ElementsAre(AllOf(HasId("conda-dependency"), Field(&Finding::file, "info/run_exports.json"))))
        << kind;
    EXPECT_THAT(check("a >=1"), IsEmpty()) << kind;
  }
}

TEST_F(CondaChecksTest, ANoarchPackageForPythonNeedsIt) {
  Json index = DemoIndex();
  index["noarch"] = "python";
  index["subdir"] = "noarch";
  const auto check = [&](const Json& depends) {
    index["depends"] = depends;
    return CheckInfo("info/index.json", DumpJson(index));
  };
  const auto severity = [](Severity wanted) {
    return ElementsAre(AllOf(HasId("conda-noarch"), Field(&Finding::severity, wanted)));
  };
  EXPECT_THAT(check(Json::array()), severity(Severity::kError));
  EXPECT_THAT(check({"numpy"}), severity(Severity::kWarning));
  EXPECT_THAT(check({"python_abi"}), severity(Severity::kWarning));
  for (const char* python : {"python", "python >=3.9", "python>=3.9", "python 3.11.*"})
    EXPECT_THAT(check({"numpy", python}), IsEmpty()) << python;
  index["noarch"] = "generic";
  EXPECT_THAT(check(Json::array()), IsEmpty());
}

TEST_F(CondaChecksTest, NoEntryPointReplacesTheInterpreter) {
  Json index = DemoIndex();
  index["noarch"] = "python";
  index["subdir"] = "noarch";
  index["depends"] = {"python"};
  for (const char* name : {"python", "python3", "python3.11", "run"}) {
    std::vector<RawMember> members = DemoInfo({});
    members.front().content = DumpJson(index);
    members.push_back(
        {.name = "info/link.json",
         .content = fmt::format(
             R"({{"package_metadata_version": 1, "noarch": {{"type": "python", "entry_points": ["{} = a:b"]}}}})",
             name)});
    const auto findings = CheckMembers(members);
    if (name == std::string("run")) {
      EXPECT_THAT(findings, IsEmpty());
    } else {
      EXPECT_THAT(findings, ElementsAre(HasId("conda-link-invalid"))) << name;
    }
  }
}

TEST_F(CondaChecksTest, LicenceFilesAreWantedWhereThereAreFiles) {
  EXPECT_THAT(CheckInfo("info/licenses/LICENSE", ""), IsEmpty());
  std::vector<RawMember> members = DemoInfo({{.name = "a", .content = "1"}});
  members.pop_back();
  members.push_back({.name = "a", .content = "1"});
  EXPECT_THAT(CheckMembers(members), ElementsAre(HasId("conda-license-file")));
}

TEST_F(CondaChecksTest, FileNames) {
  const AbsPath odd = env_.dir().WriteFile("demo.tar.bz2", MakeTarBz2(DemoInfo({})));
  EXPECT_THAT(Check(odd), ElementsAre(AllOf(HasId("conda-file-name"),
                                            Field(&Finding::message, HasSubstr("not of the form")))));
  const AbsPath disguised = env_.dir().WriteFile("demo-1.0-0.conda", MakeTarBz2(DemoInfo({})));
  EXPECT_THAT(Check(disguised), ElementsAre(AllOf(HasId("conda-file-name"),
                                                  Field(&Finding::message, HasSubstr("is a .tar.bz2")))));
  const AbsPath long_name =
      env_.dir().WriteFile("demo-1.0-" + std::string(220, '0') + ".tar.bz2", MakeTarBz2(DemoInfo({})));
  EXPECT_THAT(Check(long_name),
              Contains(AllOf(HasId("conda-file-name"), Field(&Finding::message, HasSubstr("211")))));
}

TEST_F(CondaChecksTest, MemberOrderNamesAndFolders) {
  std::vector<RawMember> dotted = DemoInfo({{.name = "a", .content = "1"}});
  dotted.push_back({.name = "./a", .content = "1"});
  EXPECT_THAT(CheckMembers(dotted), ElementsAre(HasId("conda-member-name")));
  std::vector<RawMember> folders = DemoInfo({});
  folders.push_back({.name = "lib/", .type = '5'});
  EXPECT_THAT(CheckMembers(folders), ElementsAre(HasId("conda-member-folder")));
  std::vector<RawMember> late{{.name = "a", .content = "1"}};
  for (const RawMember& member : DemoInfo(late)) late.push_back(member);
  EXPECT_THAT(CheckMembers(late), ElementsAre(HasId("conda-info-first")));
}

TEST_F(CondaChecksTest, SeveralBzip2Streams) {
  const std::string tar = test::MakeTar(DemoInfo({}));
  const AbsPath package = env_.dir().WriteFile(
      "demo-1.0-0.tar.bz2", test::Bzip2(tar.substr(0, 1024)) + test::Bzip2(tar.substr(1024)));
  EXPECT_THAT(Check(package), ElementsAre(HasId("conda-bzip2-streams")));
}

TEST_F(CondaChecksTest, ZipLayout) {
  const test::RawConda good{.info = DemoInfo({}), .payload = {}};
  test::RawConda raw = good;
  raw.metadata = "";
  EXPECT_THAT(CheckConda(raw),
              ElementsAre(AllOf(HasId("conda-zip-metadata"), Field(&Finding::message, HasSubstr("has no")))));
  raw.metadata = "{\"conda_pkg_format_version\": 3}";
  EXPECT_THAT(CheckConda(raw), ElementsAre(HasId("conda-zip-metadata")));
  raw = good;
  raw.info_first = true;
  EXPECT_THAT(CheckConda(raw), ElementsAre(HasId("conda-zip-order")));
  raw = good;
  raw.extra_members = {"notes.txt"};
  EXPECT_THAT(CheckConda(raw), ElementsAre(HasId("conda-zip-extra")));
  raw = good;
  raw.stem = "other-1.0-0";
  EXPECT_THAT(CheckConda(raw), ElementsAre(HasId("conda-zip-part-name"), HasId("conda-zip-part-name")));
}

TEST_F(CondaChecksTest, MembersInTheWrongPart) {
  const std::vector<RawMember> payload{{.name = "a", .content = "1"}};
  test::RawConda raw{.info = DemoInfo(payload), .payload = {}};
  raw.info.push_back(payload[0]);
  EXPECT_THAT(CheckConda(raw), ElementsAre(HasId("conda-payload-in-info")));
  raw = {.info = DemoInfo({}), .payload = {{.name = "info/extra", .content = ""}}};
  EXPECT_THAT(CheckConda(raw), ElementsAre(HasId("conda-info-in-payload")));
}

TEST_F(CondaChecksTest, HostilePackagesAreUnreadableAndLeaveNothing) {
  EXPECT_THAT(CheckMembers({{.name = "../evil", .content = ""}}), ElementsAre(HasId("artifact-unreadable")));
  EXPECT_THAT(CheckMembers({{.name = "a", .type = '2', .link_target = "/etc"}}),
              ElementsAre(HasId("artifact-unreadable")));
  EXPECT_THAT(test::ListTree(env_->fs, env_->cache_dir), IsEmpty());
}

TEST_F(CondaChecksTest, MembersOfInfoHaveTheRulesOfThePayload) {
  for (const std::string folder : {"", "info/"}) {
    for (const std::vector<RawMember>& members :
         {std::vector<RawMember>{{.name = folder + "r", .type = '2', .link_target = "/abs"}},
          {{.name = folder + "r", .type = '2', .link_target = "../../out"}},
          {{.name = folder + "r", .type = '2', .link_target = "d"},
           {.name = folder + "r/evil", .content = "x"}},
          {{.name = folder + "t", .content = "1"}, {.name = folder + "t", .content = "1"}},
          {{.name = folder + "a/../b", .content = "1"}},
          {{.name = folder + "s", .content = "1", .type = 'S'}},
          {{.name = folder + "v", .type = 'V'}},
          {{.name = folder + "p", .type = '6'}},
          {{.name = folder + "h", .type = '1', .link_target = "/etc/hostname"}}}) {
      EXPECT_THAT(CheckPayload({}, members), ElementsAre(HasId("artifact-unreadable"))) << members[0].name;
    }
    EXPECT_THAT(CheckPayload({}, {{.name = folder + "f", .content = "1", .mode = 04755}}),
                Contains(HasId("conda-special-mode")));
  }
}

TEST_F(CondaChecksTest, FilesThatMeetInAnEnvironment) {
  const RawMember meta{.name = "conda-meta/x.json", .content = "{}"};
  EXPECT_THAT(CheckPayload({meta}, {meta}), Contains(HasId("conda-meta-member")));
  Json index = DemoIndex();
  index["noarch"] = "python";
  index["depends"] = {"python"};
  const auto check = [&](const std::vector<RawMember>& payload) {
    std::vector<RawMember> members = DemoInfo(payload);
    members[0].content = DumpJson(index);
    members.push_back({.name = "info/link.json", .content = R"({"package_metadata_version": 1,
        "noarch": {"type": "python", "entry_points": ["run = a:b"]}})"});
    members.insert(members.end(), payload.begin(), payload.end());
    return CheckMembers(members);
  };
  const RawMember script{.name = "python-scripts/tool", .content = "x"};
  const RawMember module{.name = "site-packages/a.py", .content = "x"};
  EXPECT_THAT(check({script, module}), Not(Contains(HasId("conda-place-conflict"))));
  for (const std::string other :
       {"bin/tool", "bin/run", "python-scripts/run", "lib/python3.11/site-packages/a.py", "bin",
        "Scripts/tool", "Scripts/run.exe", "Lib/site-packages/a.py", "lib/python3.11/site-packages"}) {
    EXPECT_THAT(check({script, module, {.name = other, .content = "y"}}),
                Contains(HasId("conda-place-conflict")))
        << other;
  }
  for (const std::string& folder : {std::string("site-packages"), std::string("python-scripts")})
    EXPECT_THAT(check({{.name = folder, .content = "x"}}), Contains(HasId("conda-place-conflict"))) << folder;
}

TEST_F(CondaChecksTest, APackageHasAPlatform) {
  Json index = DemoIndex();
  index.erase("subdir");
  const auto check = [&] { return CheckInfo("info/index.json", DumpJson(index)); };
  EXPECT_THAT(check(), ElementsAre(HasId("conda-index-invalid")));
  index["platform"] = "linux";
  EXPECT_THAT(check(), ElementsAre(HasId("conda-index-invalid")));
  index["arch"] = nullptr;
  EXPECT_THAT(check(), ElementsAre(HasId("conda-index-invalid")));
  index["arch"] = "x86_64";
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(CondaChecksTest, ADistInfoHasTheVersionOfThePackage) {
  const auto check = [&](const std::string& version, const std::string& path) {
    Json index = DemoIndex();
    index["version"] = version;
    const RawMember file = {.name = path, .content = "x"};
    std::vector<RawMember> members = DemoInfo({file});
    members[0].content = DumpJson(index);
    members.push_back(file);
    const AbsPath package = env_.dir().WriteFile("demo-" + version + "-0.tar.bz2", MakeTarBz2(members));
    auto findings = Check(package);
    EXPECT_THAT(env_->fs.Remove(package), test::IsOk());
    return findings;
  };
  const std::string lib = "lib/python3.11/site-packages/";
  for (const std::string& path : {lib + "demo-0.0.0.dist-info/METADATA", lib + "Demo-1.1.dist-info/METADATA",
                                  std::string("site-packages/demo-1.0rc1.dist-info/METADATA")}) {
    EXPECT_THAT(check("1.0", path),
                ElementsAre(AllOf(HasId("conda-dist-info-version"), Field(&Finding::file, path),
                                  Field(&Finding::severity, Severity::kWarning))));
  }
  for (const std::string& path :
       {lib + "demo-1.dist-info/METADATA", lib + "demo-1.0+cu128.dist-info/METADATA",
        lib + "other-2.0.dist-info/METADATA", lib + "demo-2.0.dist-info/RECORD",
        lib + "demo/_vendor/demo-2.0.dist-info/METADATA"})
    EXPECT_THAT(check("1.0", path), IsEmpty()) << path;
  EXPECT_THAT(check("2024a", lib + "demo-1.dist-info/METADATA"), Contains(HasId("conda-dist-info-version")));
}

// One rule and one finding for every artifact; 'ptpkg build' warns by it as well.
TEST_F(CondaChecksTest, NamesThatDifferInCaseOnly) {
  const std::vector<RawMember> payload = {{.name = "lib/Data", .content = "1"},
                                          {.name = "lib/data", .content = "2"}};
  const auto check = [&](const Json& noarch, const std::string& subdir) {
    Json index = DemoIndex();
    if (!noarch.is_null()) index["noarch"] = noarch;
    index["depends"] = {"python >=3.9"};
    index["subdir"] = subdir;
    std::vector<RawMember> members = DemoInfo(payload);
    members[0].content = DumpJson(index);
    members.insert(members.end(), payload.begin(), payload.end());
    return CheckMembers(members);
  };
  const auto one = ElementsAre(AllOf(HasId("artifact-name-case"), Field(&Finding::file, "lib/data"),
                                     Field(&Finding::severity, Severity::kWarning)));
  EXPECT_THAT(check("generic", "noarch"), one);
  EXPECT_THAT(check(nullptr, "linux-64"), one);
}

}  // namespace
}  // namespace ptpkg::verify
