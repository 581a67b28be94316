// One wheel made wrong for every finding about its documents.

#include "verify/wheel/wheel_checks.h"

#include <gmock/gmock.h>

#include "archive/extract.h"
#include "support/limits.h"
#include "unit/archive/fixtures/builders.h"
#include "unit/elf/fixtures/synthetic_elf.h"
#include "unit/verify/fixtures/wheel_checks_fixture.h"
#include "verify/input_gate.h"

namespace ptpkg::verify {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using wheel::MinimalMembers;

/// Of "x = 1\n".
const std::string kSha512OfToy =
    "e73veyKgykOKZRFOeqVV-RiHar0CPb8GFYkM-jCLUlHBkx-rU_sUNgozT0yN7lCJ48E3W_3uNVShst_MuAk21g";

TEST_F(WheelChecksTest, DocumentsAreNoLinks) {
  for (const char* name : {"METADATA", "WHEEL", "RECORD", "entry_points.txt"}) {
    const AbsPath root = env_.dir() / ("tree-" + std::string(name));
    for (const auto& [path, text] : MinimalMembers()) {
      ASSERT_OK(env_->fs.MakeDirs((root / path).Parent()));
      ASSERT_OK(WriteFile(env_->fs, root / path, text));
    }
    const AbsPath link = root / (kInfo + name);
    static_cast<void>(env_->fs.Remove(link));
    ASSERT_OK(env_->fs.CreateSymlink("absent", link));
    const auto tree = ScanTree(env_, root);
    ASSERT_OK(tree);
    std::vector<Finding> findings;
    EXPECT_OK(CheckWheelContent(env_, AbsPath::Literal("/toy-1.0-py3-none-any.whl"), *tree, findings));
    EXPECT_THAT(findings, Contains(testing::AllOf(testing::Field(&Finding::id, "wheel-missing-file"),
                                                  testing::Field(&Finding::file, kInfo + name))));
  }
}

TEST_F(WheelChecksTest, AMinimalWheelIsFine) { EXPECT_THAT(Ids(MinimalMembers()), IsEmpty()); }

TEST_F(WheelChecksTest, FileName) {
  EXPECT_THAT(Ids(MinimalMembers(), "toy.whl"), ElementsAre("wheel-file-name "));
  EXPECT_THAT(Ids(MinimalMembers(), "Toy-1.0-py3-none-any.whl"),
              ElementsAre("wheel-file-name-spelling ", "wheel-dist-info-name toy-1.0.dist-info"));
  // The index asks for the project alone in its spelling: maturin sorts tags otherwise.
  const Members tags = With({{kInfo + "WHEEL",
                              "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
                              "Tag: py2-none-any\n"}});
  EXPECT_THAT(Ids(tags, "toy-1.0-py3.py2-none-any.whl"), ElementsAre("wheel-file-name-form "));
}

TEST_F(WheelChecksTest, AProjectNameOfTheFileHasNoDoubleUnderscore) {
  for (const auto& [name, severity] :
       {std::pair("to__y", Severity::kError), std::pair("to.__y", Severity::kError),
        std::pair("to._y", Severity::kWarning), std::pair("to.y", Severity::kWarning)})
    EXPECT_THAT(Check(MinimalMembers(), std::string(name) + "-1.0-py3-none-any.whl"),
                Contains(testing::AllOf(testing::Field(&Finding::id, "wheel-file-name-spelling"),
                                        testing::Field(&Finding::severity, severity))))
        << name;
}

TEST_F(WheelChecksTest, NumbersThatUvDoesNotRead) {
  const std::string form = "wheel-file-name-form ";
  const std::string below = "18446744073709551614";  // 2^64 - 2
  const std::string most = "18446744073709551615";
  const std::string above = "18446744073709551616";
  const auto named = [&](const std::string& middle) {
    return Ids(MinimalMembers(), "toy-" + middle + "-py3-none-any.whl");
  };
  for (const std::string& version : {"1." + most, most + "!1", "1a" + most, "1.post" + above, "1.dev" + most})
    EXPECT_THAT(named(version), Contains(form)) << version;
  for (const std::string& version : {"1." + below, "1+" + above, "1rc" + below})
    EXPECT_THAT(named(version), Not(Contains(form))) << version;
  EXPECT_THAT(named("1.0-" + above), Contains(form));
  EXPECT_THAT(named("1.0-" + above + "x"), Contains(form));
  EXPECT_THAT(named("1.0-" + most + "x"), Not(Contains(form)));
  EXPECT_THAT(named("1.0-" + std::string(30, '0') + "1"), Not(Contains(form)));
  const std::string file = kInfo + "METADATA";
  const auto with = [&](const std::string& field) { return Ids(With({{file, kMetadata + field + "\n"}})); };
  for (const std::string& condition :
       {">=" + most, "!=" + above + ".*", "!=" + most + "!1", "~=1." + most, "===" + most})
    EXPECT_THAT(with("Requires-Dist: a" + condition), ElementsAre("wheel-uv-metadata " + file));
  for (const std::string& condition : {">=" + below, ">=1.000" + below, "==1+" + above})
    EXPECT_THAT(with("Requires-Dist: a" + condition), IsEmpty()) << condition;
  for (const std::string& condition : {"<" + most, "!=" + above + ".*"})
    EXPECT_THAT(with("Requires-Python: " + condition), ElementsAre("wheel-uv-metadata " + file));
  EXPECT_THAT(with("Requires-Python: <" + below), IsEmpty());
}

TEST_F(WheelChecksTest, VariantsAreNamedAsWhatToolsDoNotRead) {
  EXPECT_THAT(Ids(MinimalMembers(), "toy-1.0-py3-none-any-x86_64_v3.whl"), Contains("wheel-variant-name "));
}

TEST_F(WheelChecksTest, DistInfo) {
  EXPECT_THAT(Ids({{"toy.py", "x"}}), ElementsAre("wheel-dist-info "));
  EXPECT_THAT(Ids(With({{"other-2.dist-info/METADATA", "x"}})), ElementsAre("wheel-dist-info "));
  EXPECT_THAT(
      Ids(MinimalMembers(), "toy-1.1-py3-none-any.whl"),
      ElementsAre("wheel-dist-info-name toy-1.0.dist-info", "wheel-version-mismatch " + kInfo + "METADATA"));
  EXPECT_THAT(Ids(MinimalMembers(), "toy-1.0.0-py3-none-any.whl"),
              ElementsAre("wheel-dist-info-name toy-1.0.dist-info"));
  EXPECT_THAT(Ids(MinimalMembers(), "tob-1.0-py3-none-any.whl"),
              Contains("wheel-dist-info toy-1.0.dist-info"));
}

TEST_F(WheelChecksTest, ADistInfoNameHasNoBuild) {
  const std::string info = "toy-1.0-1.dist-info/";
  Members members = {{info + "METADATA", kMetadata},
                     {info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}};
  members.emplace_back(info + "RECORD", wheel::RecordOf(members, info + "RECORD"));
  EXPECT_THAT(Ids(members), ElementsAre("wheel-dist-info toy-1.0-1.dist-info"));
}

TEST_F(WheelChecksTest, TheIndexSeesMetadataOfAFolderInAnotherSpelling) {
  const std::string info = "Toy-1.0.dist-info/";
  Members members = {{info + "METADATA", kMetadata + "Classifier: No :: Such\n"},
                     {info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}};
  members.emplace_back(info + "RECORD", wheel::RecordOf(members, info + "RECORD"));
  EXPECT_THAT(Ids(members),
              ElementsAre("wheel-dist-info-name Toy-1.0.dist-info", "wheel-classifier " + info + "METADATA"));
}

TEST_F(WheelChecksTest, AWheelWithoutFilesLacksItsMetadata) {
  EXPECT_THAT(Ids({}), ElementsAre("wheel-dist-info "));
  const AbsPath folder = env_.dir().WriteFile(
      kName,
      archive::test::ToText(archive::test::ZipText{.members = {{.name = "toy/", .unix_mode = 0040755}}}));
  ASSERT_OK_AND_ASSIGN(const Report report, CheckArtifact(env_, folder));
  EXPECT_THAT(report.findings, Contains(testing::Field(&Finding::id, "wheel-dist-info")));
}

TEST_F(WheelChecksTest, MissingFiles) {
  EXPECT_THAT(Ids(With({{kInfo + "METADATA", ""}})), ElementsAre("wheel-missing-file " + kInfo + "METADATA"));
  EXPECT_THAT(Ids(With({{kInfo + "WHEEL", ""}})), ElementsAre("wheel-missing-file " + kInfo + "WHEEL"));
  Members no_record = MinimalMembers();
  no_record.pop_back();
  EXPECT_THAT(Ids(no_record), ElementsAre("wheel-missing-file " + kRecord));
}

TEST_F(WheelChecksTest, Metadata) {
  const std::string file = kInfo + "METADATA";
  const auto with = [&](const std::string& text) { return Ids(With({{file, text}})); };
  EXPECT_THAT(with("junk\n"), ElementsAre("wheel-metadata-invalid " + file));
  EXPECT_THAT(with("Metadata-Version: 2.6\nName: toy\nVersion: 1.0\n"),
              ElementsAre("wheel-metadata-version " + file));
  EXPECT_THAT(with("Metadata-Version: 2.1\nName: toi\nVersion: 1.0\n"),
              ElementsAre("wheel-name-mismatch " + file));
  EXPECT_THAT(with("Metadata-Version: 2.1\nName: toy\nVersion: 1.0+cpu\n"),
              ElementsAre("wheel-version-mismatch " + file));
  EXPECT_THAT(with(kMetadata + "Requires-Dist: a b\n"), ElementsAre("wheel-requirement-invalid " + file));
  EXPECT_THAT(with(kMetadata + "Requires-Dist: a @ https://b/c.whl\n"),
              ElementsAre("wheel-requirement-url " + file));
  EXPECT_THAT(with(kMetadata + "Requires-Python: 3\n"), ElementsAre("wheel-requires-python-invalid " + file));
  EXPECT_THAT(with(kMetadata + "Requires-Python: (>=3)\n"),
              ElementsAre("wheel-requires-python-invalid " + file));
  EXPECT_THAT(with(kMetadata + "Requires-Dist: a>=2.6+cpu\n"),
              ElementsAre("wheel-requirement-invalid " + file));
  // What uv mends, and others do not.
  for (const char* const list : {">=3.8.*", "<4.0.*", "<= 4.*", ">=2.7<4", "!=3.0*", ">='3.6'"}) {
    EXPECT_THAT(with(kMetadata + "Requires-Python: " + list + "\n"),
                ElementsAre("wheel-requires-python-form " + file))
        << list;
    EXPECT_THAT(with(kMetadata + "Requires-Dist: a (" + list + "); os_name == 'x'\n"),
                ElementsAre("wheel-requirement-form " + file))
        << list;
  }
  for (const char* const list : {"~=3.*", "==3.*.*", ">=3.8.dev.*", "~=3"}) {
    EXPECT_THAT(with(kMetadata + "Requires-Python: " + list + "\n"),
                ElementsAre("wheel-requires-python-invalid " + file))
        << list;
  }
  EXPECT_THAT(with(kMetadata + "Requires-Python: >=3.10,!=3.12.*\n"), IsEmpty());
  EXPECT_THAT(with(kMetadata + "Summary: " + std::string(513, 's') + "\n"),
              ElementsAre("wheel-summary " + file));
  EXPECT_THAT(with(kMetadata + "Summary: a\n        b\n"), ElementsAre("wheel-summary " + file));
}

TEST_F(WheelChecksTest, DocumentsBeyondTheLimitsAreFindings) {
  const std::string long_description = kMetadata + "\n" + std::string(limits::kMetadata, 'x');
  EXPECT_THAT(Ids(With({{kInfo + "METADATA", long_description}})),
              testing::Contains("wheel-document-size " + kInfo + "METADATA"));
  EXPECT_THAT(Ids(With({{kInfo + "entry_points.txt", std::string(limits::kMetadata + 1, '#')}})),
              testing::Contains("wheel-document-size " + kInfo + "entry_points.txt"));
}

TEST_F(WheelChecksTest, FindingsOfAKindAreCountedAboveALimit) {
  std::string metadata = kMetadata;
  for (int i = 0; i < 5000; ++i) metadata += "Requires-Dist: a b\n";
  const std::vector<Finding> findings = Check(With({{kInfo + "METADATA", metadata}}));
  ASSERT_EQ(findings.size(), limits::kFindingsOfAKind + 1);
  EXPECT_EQ(findings.back().id, "wheel-requirement-invalid");
  EXPECT_EQ(findings.back().more, 5000 - limits::kFindingsOfAKind);
}

TEST_F(WheelChecksTest, AFileInTheWayOfAFolderIsAFinding) {
  const std::vector<Finding> findings = Check(With({{"toy.py/x", "x"}}));
  const auto unreadable = std::find_if(findings.begin(), findings.end(),
                                       [](const Finding& f) { return f.id == "artifact-unreadable"; });
  ASSERT_NE(unreadable, findings.end());
  EXPECT_THAT(unreadable->message, testing::HasSubstr("is below 'toy.py', which is a file"));
}

TEST_F(WheelChecksTest, Licenses) {
  const std::string metadata = "Metadata-Version: 2.4\nName: toy\nVersion: 1.0\nLicense-File: a/LICENSE\n";
  const std::string file = kInfo + "METADATA";
  EXPECT_THAT(Ids(With({{file, metadata}})),
              ElementsAre("wheel-license-missing " + kInfo + "licenses/a/LICENSE"));
  EXPECT_THAT(Ids(With({{file, metadata}, {kInfo + "licenses/a/LICENSE", "text"}})), IsEmpty());
  EXPECT_THAT(Ids(With({{file, kMetadata + "License-File: LICENSE\n"}})),
              ElementsAre("wheel-metadata-field " + file))
      << "no meaning before 2.4";
  EXPECT_THAT(
      Ids(With(
          {{file, "Metadata-Version: 2.4\nName: toy\nVersion: 1.0\nLicense: x\nLicense-Expression: MIT\n"}})),
      ElementsAre("wheel-license-conflict " + file));
}

TEST_F(WheelChecksTest, LicenseExpressionsAreHeldAgainstTheList) {
  const std::string file = kInfo + "METADATA";
  const auto ids = [&](const std::string& expression) {
    return Ids(With({{file, "Metadata-Version: 2.4\nName: toy\nVersion: 1.0\nLicense-Expression: " +
                                expression + "\n"}}));
  };
  for (const char* right : {"MIT", "mit and (apache-2.0 with llvm-exception)", "BSD-3-Clause OR GPL-2.0+",
                            "LicenseRef-Proprietary", "licenseref-a or LICENSEREF-b",
                            "Apache-2.0 AND Apache-2.0 WITH LLVM-exception AND BSL-1.0"}) {
    EXPECT_THAT(ids(right), IsEmpty()) << right;
  }
  for (const char* wrong : {"GPL", "MIT AND", "MIT Apache-2.0", "(MIT", "MIT WITH MIT",
                            "DocumentRef-x:LicenseRef-y", "LicenseRef-a+", "licenseref-"}) {
    EXPECT_THAT(ids(wrong), ElementsAre("wheel-metadata-field " + file)) << wrong;
  }
}

TEST_F(WheelChecksTest, WheelFile) {
  const std::string file = kInfo + "WHEEL";
  const std::string head = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n";
  EXPECT_THAT(Ids(With({{file, "Wheel-Version: 1.0\n"}})), ElementsAre("wheel-wheel-field " + file));
  EXPECT_THAT(Ids(With({{file, head + "Tag: foo\n"}})), ElementsAre("wheel-wheel-field " + file));
  EXPECT_THAT(Ids(With({{file, head + head + "Tag: py3-none-any\n"}})),
              ElementsAre("wheel-wheel-field " + file));
  EXPECT_THAT(Ids(With({{file, "Wheel-Version: 2.0\nTag: foo\n"}})),
              ElementsAre("wheel-wheel-invalid " + file));
  EXPECT_THAT(Ids(With({{file, head + "Tag: py2-none-any\n"}})), ElementsAre("wheel-tag-mismatch " + file));
  EXPECT_THAT(Ids(With({{file, head + "Tag: py2-none-any\nTag: py3-none-any\n"}})),
              ElementsAre("wheel-tag-mismatch " + file));
  EXPECT_THAT(
      Ids(With({{file, head + "Tag: py2-none-any\nTag: py3-none-any\n"}}), "toy-1.0-py2.py3-none-any.whl"),
      IsEmpty());
  EXPECT_THAT(Ids(With({{file, head + "Tag: py3-none-any\nBuild: 1\n"}})),
              ElementsAre("wheel-build-mismatch " + file));
  EXPECT_THAT(Ids(With({{file, head + "Tag: py3-none-any\nBuild: 1\n"}}), "toy-1.0-1-py3-none-any.whl"),
              IsEmpty());
}

TEST_F(WheelChecksTest, CompiledFilesInAPureWheel) {
  const std::string file = kInfo + "WHEEL";
  const std::string elf("\177ELF not a real one");
  EXPECT_THAT(Ids(With({{"toy/_c.so", elf}})), Contains("wheel-pure-with-binaries " + file));
  // platlib is where the flag does not count; the tag does.
  EXPECT_THAT(Ids(With({{"toy-1.0.data/platlib/_c.so", elf}})), Contains("wheel-pure-with-binaries " + file));
  const std::string platform = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: cp311-cp311-linux_x86_64\n";
  EXPECT_THAT(Ids(With({{"toy/_c.so", elf}, {file, platform}}), "toy-1.0-cp311-cp311-linux_x86_64.whl"),
              Contains("wheel-pure-with-binaries " + file));
  EXPECT_THAT(Ids(With({{"toy-1.0.data/platlib/_c.so", elf}, {file, platform}}),
                  "toy-1.0-cp311-cp311-linux_x86_64.whl"),
              Not(Contains(HasSubstr("wheel-pure"))));
  // The flag alone is a warning: all of NVIDIA's wheels have it.
  const auto severity = [&](const Members& changes, const std::string& name) {
    for (const Finding& finding : Check(With(changes), name)) {
      if (finding.id == "wheel-pure-with-binaries") return finding.severity;
    }
    return Severity::kInfo;
  };
  EXPECT_EQ(severity({{"toy/_c.so", elf}}, kName), Severity::kError);
  EXPECT_EQ(severity({{"toy/_c.so", elf}, {file, platform}}, "toy-1.0-cp311-cp311-linux_x86_64.whl"),
            Severity::kWarning);
}

TEST_F(WheelChecksTest, PlatformTagThatPublicIndexesRefuse) {
  const auto findings = [&](const std::string& version, const CheckOptions& options) {
    const std::string info = "toy-" + version + ".dist-info/";
    Members members = {
        {"toy/__init__.py", ""},
        {info + "METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: " + version + "\n"},
        {info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n"}};
    members.emplace_back(info + "RECORD", wheel::RecordOf(members, info + "RECORD"));
    const AbsPath path =
        env_.dir() / (std::to_string(++count_) + "/toy-" + version + "-cp311-cp311-linux_x86_64.whl");
    auto report = CheckArtifact(env_, wheel::WriteRawZip(env_, path, members), options);
    EXPECT_OK(report);
    return report->findings;
  };
  const auto is = [](Severity severity) {
    return ElementsAre(testing::AllOf(
        testing::Field(&Finding::id, "wheel-platform-tag"), testing::Field(&Finding::severity, severity),
        testing::Field(&Finding::message, HasSubstr("reject the platform tag 'linux_x86_64'"))));
  };
  EXPECT_THAT(findings("1.0", {}), is(Severity::kWarning)) << "as the gate of a build says";
  EXPECT_THAT(findings("1.0+cpu", {}), is(Severity::kInfo));
  EXPECT_THAT(findings("1.0", {.profile = Profile::kTree}), is(Severity::kWarning));
}

TEST_F(WheelChecksTest, FileNamePromisesThePlatform) {
  elf::test::SyntheticElf elf;
  elf.needed = {"libc.so.6"};
  elf.soname.reset();
  elf.version = "GLIBC_2.34";
  const auto findings = [&](const std::string& platform) {
    const std::string file =
        "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-" + platform + "\n";
    return Ids(With({{"toy/_c.so", elf.Build()}, {kInfo + "WHEEL", file}}),
               "toy-1.0-cp311-cp311-" + platform + ".whl");
  };
  EXPECT_THAT(findings("linux_x86_64"), ElementsAre("wheel-platform-tag "));
  EXPECT_THAT(findings("manylinux_2_34_x86_64"), IsEmpty());
  EXPECT_THAT(findings("manylinux_2_28_x86_64"), ElementsAre("elf-glibc-floor toy/_c.so"));
  EXPECT_THAT(findings("manylinux_2_34_aarch64"), ElementsAre("elf-machine-mismatch toy/_c.so"));
  EXPECT_THAT(findings("musllinux_1_2_x86_64"), ElementsAre("elf-libc-mismatch toy/_c.so"));
}

TEST_F(WheelChecksTest, ANoteOfPtpkgLiesInDistInfo) {
  elf::test::SyntheticElf elf;
  elf.needed = {"libgone.so"};
  elf.soname.reset();
  elf.version = "";
  const std::string file =
      "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-manylinux_2_34_x86_64\n";
  const auto findings = [&](const std::string& place, const std::string& text) {
    return Ids(With({{"toy/_c.so", elf.Build()}, {kInfo + "WHEEL", file}, {place, text}}),
               "toy-1.0-cp311-cp311-manylinux_2_34_x86_64.whl");
  };
  const std::string note = R"({"allow_unresolved": ["*"]})";
  EXPECT_THAT(findings(kInfo + "ptpkg.json", note), ElementsAre("elf-allowed-needed toy/_c.so"));
  // The project's own files.
  for (const char* const place : {"ptpkg.json", "info/ptpkg.json", "toy/ptpkg.json"}) {
    for (const std::string& text : {note, std::string(R"(["my own data"])")})
      EXPECT_THAT(findings(place, text), ElementsAre("elf-unresolved-needed toy/_c.so")) << place;
  }
}

TEST_F(WheelChecksTest, RequirementsThatOneReaderRefuses) {
  const std::string file = kInfo + "METADATA";
  const auto with = [&](const std::string& requirement) {
    return Ids(With({{file, kMetadata + "Requires-Dist: " + requirement + "\n"}}));
  };
  for (const char* text :
       {"a===x", "a===1.*", "a()", "a ( )", "a; python_version === '3.9'", "a; 'x' === python_full_version",
        "a; platform_release === 'x'", "a; python_version === '3.9,x'"})
    EXPECT_THAT(with(text), ElementsAre("wheel-uv-metadata " + file)) << text;
  // Faults of two readers: none hides the other.
  for (const char* text : {"a; os_name === 'x'", "a; 'x' === sys_platform", "a; platform_version === '1'",
                           "a; extra === 'x'", "a; python_version === 'x y'", "a===x; os_name ~= 'x'",
                           "a(); extra ~= '1.0'", "a; python_version === '3.9' and os_name ~= 'x'"})
    EXPECT_THAT(with(text), ElementsAre("wheel-requirement-form " + file, "wheel-uv-metadata " + file))
        << text;
  EXPECT_THAT(with("a @ https://b/c ; os_name ~= 'x'"),
              ElementsAre("wheel-requirement-form " + file, "wheel-requirement-url " + file,
                          "wheel-uv-metadata " + file));
  for (const char* text : {"a @ https://b/c", "a @ https://b/c.whl.exe", "a @ https://b/?f=c.whl",
                           "a @ ssh://b/c.whl", "a @ hg+https://b/c", "a @ file://b/c.whl"})
    EXPECT_THAT(with(text), ElementsAre("wheel-requirement-url " + file, "wheel-uv-metadata " + file))
        << text;
  for (const char* text : {"a; 'x' in extras", "a @ ./b.whl"})
    EXPECT_THAT(with(text), ElementsAre("wheel-requirement-invalid " + file)) << text;
  for (const char* text :
       {"a; os_name ~= 'x'", "a; extra ~= '1.0'", "a; python_version ~= '3'", "a; python_version ~= '3.9,<4'",
        "a; platform_release ~= 'x'", "a; '1.0' ~= os_name",
        "a; python_version > '3' and (os_name ~= '1.0' or os_name == 'x')", "a\v>=1", "a\f>=1"})
    EXPECT_THAT(with(text), ElementsAre("wheel-requirement-form " + file)) << text;
  for (const char* text : {"a===1.0", "a===1.0+x", "a(>=1)", "a[]", "a>=1,", "a; python_version ~= '3.9'",
                           "a; '3' ~= python_version", "a; platform_release ~= '5.10'",
                           "a; extra == 'x' and os_name in 'posix'", "a>=1\v"})
    EXPECT_THAT(with(text), IsEmpty()) << text;
  for (const char* text :
       {"a @ https://b/c.tar.gz", "a @ http://b/c.zip?d=e#f", "a @ git+https://b/c", "a @ file:///b/c"})
    EXPECT_THAT(with(text), ElementsAre("wheel-requirement-url " + file)) << text;
}

TEST_F(WheelChecksTest, AVersionHoldsNoVerticalTab) {
  const std::string file = kInfo + "METADATA";
  const auto with = [&](const std::string& version) {
    return Ids(With({{file, "Metadata-Version: 2.1\nName: toy\nVersion: " + version + "\n"}}));
  };
  for (const char* version : {"1.0\v", "\v1.0"})
    EXPECT_THAT(with(version), ElementsAre("wheel-uv-metadata " + file));
  EXPECT_THAT(with("1.0\f"), IsEmpty());
}

TEST_F(WheelChecksTest, AnEggInfoHasAVersion) {
  for (const char* place : {"toy.egg-info/PKG-INFO", "other-1.egg-info/PKG-INFO", "other.egg-info",
                            "toy-1.0.data/purelib/other.egg-info/PKG-INFO", "other.egg-info/top_level.txt"}) {
    const std::string path = place;
    const std::size_t begin = path.rfind('/', path.find(".egg-info")) + 1;
    const std::string top = path.substr(begin, path.find(".egg-info") + 9 - begin);
    EXPECT_THAT(Ids(With({{path, "Name: other\nVersion: x y\n"}})), ElementsAre("wheel-egg-info " + top))
        << path;
    if (path.ends_with("top_level.txt")) continue;
    EXPECT_THAT(Ids(With({{path, "Name: other\nVersion: 1\n"}})), IsEmpty()) << path;
  }
  EXPECT_THAT(Ids(With({{"toy/other.egg-info/PKG-INFO", "x"}})), IsEmpty());
}

TEST_F(WheelChecksTest, WhatAnInstallerWroteStopsNoConversion) {
  for (const auto& [name, taken] : {std::pair("INSTALLER", true), std::pair("INSTALLER/x", false)}) {
    const AbsPath folder = env_.dir() / std::to_string(++count_);
    ASSERT_OK(env_->fs.MakeDirs(folder));
    const AbsPath path = wheel::WriteRawZip(env_, folder / kName, With({{kInfo + name, "x"}}));
    ASSERT_OK(env_->fs.MakeDirs(folder / "unpacked"));
    ASSERT_OK(archive::ExtractZip(env_, path, folder / "unpacked", {}));
    const auto tree = ScanTree(env_, folder / "unpacked");
    ASSERT_OK(tree);
    EXPECT_EQ(RequireInstallable(env_, path, *tree).has_value(), taken) << name;
  }
}

TEST_F(WheelChecksTest, SeveritiesFollowTheVersionsLocalLabel) {
  const std::string metadata =
      "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\nRequires-Dist: a @ https://b/c.whl\n";
  const auto findings = Check(With({{kInfo + "METADATA", metadata}}));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].severity, Severity::kError);
  const auto of_own_index = Check(With({{kInfo + "METADATA", metadata}}), "toy-1.0+cu128-py3-none-any.whl");
  EXPECT_THAT(of_own_index, Contains(testing::AllOf(testing::Field(&Finding::id, "wheel-requirement-url"),
                                                    testing::Field(&Finding::severity, Severity::kInfo))));
}

TEST_F(WheelChecksTest, Record) {
  Members members = MinimalMembers();
  members.back().second = "a,b\n";
  EXPECT_THAT(Ids(members), Contains("wheel-record-invalid " + kRecord));
  members.back().second = "\"a,b\n";
  EXPECT_THAT(Ids(members), ElementsAre("wheel-record-invalid " + kRecord));
  members = MinimalMembers();
  members[0].second = "x = 2\n";
  EXPECT_THAT(Ids(members), ElementsAre("wheel-record-digest toy.py"));
  members = MinimalMembers();
  members.emplace_back("extra.py", "e");
  EXPECT_THAT(Ids(members), ElementsAre("wheel-record-unlisted extra.py"));
  members = MinimalMembers();
  members.erase(members.begin());
  EXPECT_THAT(Ids(members), ElementsAre("wheel-record-missing toy.py"));
  members = MinimalMembers();
  members.back().second = wheel::RecordOf({members.begin() + 1, members.end() - 1}, kRecord) + "toy.py,,\n";
  EXPECT_THAT(Ids(members), ElementsAre("wheel-record-undigested toy.py"));
  const auto with_row = [&](const std::string& row) {
    Members changed = MinimalMembers();
    changed.back().second = wheel::RecordOf({changed.begin() + 1, changed.end() - 1}, kRecord) + row + "\n";
    return Ids(changed);
  };
  // Nobody refuses these rows; installer checks the digests, uv and installer read three fields.
  EXPECT_THAT(with_row("toy.py,md5=1B2M2Y8AsgTpgAmY7PhCfg,6"), ElementsAre("wheel-record-row " + kRecord));
  for (const char* digest : {"md5=x", "sha1=AAAA"})  // of no file
    EXPECT_THAT(with_row(std::string("toy.py,") + digest + ",6"), ElementsAre("wheel-record-digest toy.py"));
  EXPECT_THAT(with_row("toy.py,sha256=AAAA,6"), ElementsAre("wheel-record-digest toy.py"));
  EXPECT_THAT(with_row("toy.py,sha512=" + kSha512OfToy + ",6\ngone.py,sha256=AAAA,6"),
              ElementsAre("wheel-record-row " + kRecord));
  EXPECT_THAT(with_row("toy.py,sha256=AAAA,x"), ElementsAre("wheel-record-invalid " + kRecord));
  const std::string right = "sha512=" + kSha512OfToy;
  EXPECT_THAT(with_row("toy.py," + right + ",6"), IsEmpty());
  EXPECT_THAT(with_row("toy.py," + right + ",7"), ElementsAre("wheel-record-digest toy.py"));
  EXPECT_THAT(with_row("toy.py,sha512=A" + kSha512OfToy.substr(1) + ",6"),
              ElementsAre("wheel-record-digest toy.py"));
  EXPECT_THAT(with_row("toy.py," + right + ",6\n" + kRecord + "," + right + ",6"),
              ElementsAre("wheel-record-digest " + kRecord, "wheel-record-row " + kRecord));
}

TEST_F(WheelChecksTest, DocumentsAreUtf8) {
  EXPECT_THAT(Ids(With({{kInfo + "METADATA", kMetadata + "Author: J\xE4ger\n"}})),
              ElementsAre("wheel-encoding " + kInfo + "METADATA"));
}

// The reason for which the zip reader refuses the file is reported once.
TEST_F(WheelChecksTest, Container) {
  const AbsPath path = wheel::WriteRawZip(env_, env_.dir() / (std::string("z/") + kName), MinimalMembers());
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(env_->fs, path));
  ASSERT_OK(WriteFile(env_->fs, path, "prefix" + bytes));
  ASSERT_OK_AND_ASSIGN(const Report report, CheckArtifact(env_, path));
  EXPECT_THAT(report.findings, testing::ElementsAre(testing::Field(&Finding::id, "artifact-unreadable")));
}

}  // namespace
}  // namespace ptpkg::verify
