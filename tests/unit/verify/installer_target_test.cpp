// Targets: whose rules decide about a wheel.

#include "verify/installer_target.h"

#include <algorithm>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <regex>
#include <set>

#include "support/matchers.h"
#include "unit/archive/fixtures/builders.h"
#include "unit/wheel/wheel_fixture.h"
#include "verify/check_artifact.h"

namespace ptpkg::verify {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using wheel::MinimalMembers;

constexpr const char* kWheelName = "toy-1.0-py3-none-any.whl";

TEST(Target, ListsAreParsed) {
  EXPECT_THAT(ParseTargets("uv,pip,uv"), IsOkAndHolds(ElementsAre(Target::kUv, Target::kPip)));
  EXPECT_THAT(ParseTargets("pypi,channel,installer"),
              IsOkAndHolds(ElementsAre(Target::kPypi, Target::kChannel, Target::kInstaller)));
  const auto misspelt = ParseTargets("uv,pypy");
  EXPECT_THAT(misspelt, FailsWith(ErrorCode::kUsage, HasSubstr("'pypy'")));
  EXPECT_THAT(misspelt.error().hint(), HasSubstr("'pypi'"));
  EXPECT_THAT(ParseTargets(" pypi, uv "), IsOkAndHolds(ElementsAre(Target::kPypi, Target::kUv)));
  for (const char* const list : {"", " ", "uv,", ",uv"}) {  // "$TARGETS" of an unset variable
    EXPECT_THAT(ParseTargets(list), FailsWith(ErrorCode::kUsage, HasSubstr("empty target"))) << list;
  }
}

TEST(Target, AChannelIsForAllInstallers) {
  const std::vector<Target> channel = {Target::kChannel};
  EXPECT_EQ(ConsumersOf(channel), (Consumers{.uv = true, .pip = true, .installer = true}));
  const std::vector<Target> both = {Target::kPypi, Target::kPip};
  EXPECT_EQ(ConsumersOf(both), (Consumers{.pypi = true, .pip = true}));
}

TEST(Target, DecidesTheProfile) {
  const auto beside = [](std::vector<Target> targets, std::optional<Profile> asked = {},
                         std::string_view name = kWheelName) { return ProfileBeside(targets, asked, name); };
  EXPECT_THAT(beside({}, {}, "a-1-0.conda"), IsOkAndHolds(Profile::kConda));
  EXPECT_THAT(beside({}, Profile::kTree), IsOkAndHolds(Profile::kTree));
  EXPECT_THAT(beside({Target::kPypi}, {}, "a-1+cpu-py3-none-any.whl"), IsOkAndHolds(Profile::kWheel));
  EXPECT_THAT(beside({Target::kChannel}), IsOkAndHolds(Profile::kPytorchIndex));
  EXPECT_THAT(beside({Target::kPypi, Target::kChannel}), IsOkAndHolds(Profile::kWheel));
  EXPECT_THAT(beside({Target::kUv}), IsOkAndHolds(Profile::kWheel));
  EXPECT_THAT(beside({Target::kUv}, Profile::kPytorchIndex), IsOkAndHolds(Profile::kPytorchIndex));
  EXPECT_THAT(beside({Target::kPypi}, Profile::kPytorchIndex),
              FailsWith(ErrorCode::kUsage, HasSubstr("--target pypi and --profile pytorch-index")));
  EXPECT_THAT(beside({Target::kUv}, Profile::kZip), FailsWith(ErrorCode::kUsage, HasSubstr("--profile zip")));
  EXPECT_THAT(beside({Target::kUv}, {}, "a-1-0.conda"),
              FailsWith(ErrorCode::kUsage, HasSubstr("'a-1-0.conda' is not a wheel")));
}

TEST(Target, RulesAreSortedAndNarrowOnesComeFirst) {
  const auto rules = RefusalRules();
  EXPECT_TRUE(
      std::is_sorted(rules.begin(), rules.end(), [](const RefusalRule& left, const RefusalRule& right) {
        const auto key = [](const RefusalRule& rule) {
          return std::tuple(rule.id, rule.file_end.empty(), -static_cast<int>(rule.least));
        };
        return key(left) < key(right);
      }));
}

TEST(Target, RaisesWhatItRefusesAndLowersTheRest) {
  std::vector<Finding> findings = {{"wheel-summary", Severity::kWarning, "", "m", "f"},
                                   {"wheel-record-digest", Severity::kError, "", "m", "f"},
                                   {"wheel-script-target", Severity::kWarning, "", "m", "f"},
                                   {"wheel-script-target", Severity::kError, "", "m", "f"},
                                   {"wheel-upload-size", Severity::kInfo, "", "m", "f"},
                                   {"wheel-variant-name", Severity::kInfo, "", "m", "f"},
                                   {"wheel-file-name-form", Severity::kWarning, "", "m", "f"},
                                   {"wheel-file-name-spelling", Severity::kWarning, "", "m", "f"},
                                   {"wheel-file-name-spelling", Severity::kError, "", "m", "f"},
                                   {"wheel-dist-info-name", Severity::kWarning, "", "m", "f"},
                                   {"wheel-matrix-requirements", Severity::kWarning, "", "m", "f"},
                                   {"wheel-encoding", Severity::kError, "a/METADATA", "m", "f"},
                                   {"wheel-zip", Severity::kError, "", "m", "f"},
                                   {"elf-damaged", Severity::kError, "a", "m", "f"}};
  const auto under = [&](Consumers targets) {
    std::vector<Finding> judged = findings;
    ApplyTargets(targets, judged);
    std::string severities;
    for (const Finding& finding : judged) severities += SeverityName(finding.severity).front();
    return severities;
  };
  EXPECT_EQ(under({.pypi = true}),
            "ewwwieweeewe"
            "ee");
  EXPECT_EQ(under({.uv = true}),
            "wwweiewwwwww"
            "ee");
  EXPECT_EQ(under({.pip = true}),
            "wwweiewwewwe"
            "ee");
  EXPECT_EQ(under({.installer = true}),
            "wewei"
            "iwwwwww"
            "ee");
}

Result<Examination> Examine(test::TestEnv& env, const AbsPath& wheel, std::vector<Target> targets) {
  CheckOptions options;
  options.targets = std::move(targets);
  return ExamineArtifact(env, wheel, options);
}

TEST(Target, JudgesTheContainer) {
  test::TestEnv env;
  archive::test::ZipText zip;
  for (const auto& [name, text] : MinimalMembers()) zip.members.push_back({.name = name, .content = text});
  zip.members.front().comment = "only the index minds";
  const AbsPath path = env.dir().WriteFile(kWheelName, archive::test::ToText(zip));
  ASSERT_OK_AND_ASSIGN(const Examination upload, Examine(env, path, {Target::kPypi}));
  EXPECT_TRUE(upload.report.HasErrors());
  ASSERT_OK_AND_ASSIGN(const Examination install, Examine(env, path, {Target::kUv, Target::kPip}));
  EXPECT_FALSE(install.report.HasErrors());
  EXPECT_THAT(install.report.findings, testing::SizeIs(1));
}

/// METADATA, a directory and a file name that uv refuses, and an .egg-info that pip alone refuses.
TEST(Target, NothingIsSaidOfOthers) {
  test::TestEnv env;
  archive::test::ZipText zip;
  for (const auto& [name, text] : MinimalMembers()) zip.members.push_back({.name = name, .content = text});
  for (auto& member : zip.members) {
    if (member.name.ends_with("/METADATA"))
      member.content +=
          "Requires-Dist: a @ hg+https://b/c\nRequires-Dist: a===x\nRequires-Dist: a()\n"
          "Requires-Dist: a; python_version === '3'\nRequires-Dist: a===x; os_name ~= 'x'\n"
          "Requires-Python: <18446744073709551616\n";
  }
  zip.members.push_back({.name = "toy-1.0.data/scripts/more/", .content = ""});
  zip.members.push_back({.name = "toy-1.0.data/more/", .content = ""});
  zip.members.push_back({.name = "toy.egg-info/PKG-INFO", .content = "Name: toy\n"});
  const AbsPath path = env.dir().WriteFile("toy-1.0-PY3-none-any.whl", archive::test::ToText(zip));
  const std::regex uv("\\buv\\b");
  const std::regex pip("\\bpip\\b");
  const auto said = [&](Target target, const std::regex& program) {
    const Result<Examination> examined = Examine(env, path, {target});
    EXPECT_THAT(examined, test::IsOk());
    std::string texts;
    if (!examined) return texts;
    for (const Finding& finding : examined->report.findings) {
      const std::string text = finding.id + ": " + finding.message + "\n";
      if (std::regex_search(text, program)) texts += text;
    }
    return texts;
  };
  for (const Target target : {Target::kPip, Target::kInstaller, Target::kPypi})
    EXPECT_EQ(said(target, uv), "") << static_cast<int>(target);
  for (const Target target : {Target::kUv, Target::kInstaller, Target::kPypi})
    EXPECT_EQ(said(target, pip), "") << static_cast<int>(target);
  EXPECT_THAT(said(Target::kUv, uv), HasSubstr("uv cannot fetch 'hg+https://b/c'"));
  EXPECT_THAT(said(Target::kPip, pip), HasSubstr("wheel-egg-info"));
}

/// pip cannot evaluate these markers, and puts scripts where no shell finds them.
TEST(Target, FindingsThatMatterToPipStayWithoutUv) {
  test::TestEnv env;
  const auto found = [&](const std::string& requirement) {
    archive::test::ZipText zip;
    for (const auto& [name, text] : MinimalMembers()) zip.members.push_back({.name = name, .content = text});
    for (auto& member : zip.members) {
      if (member.name.ends_with("/METADATA")) member.content += "Requires-Dist: " + requirement + "\n";
    }
    zip.members.push_back({.name = "toy-1.0.data/scripts/more/run", .content = "#!python\n"});
    const AbsPath path = env.dir().WriteFile(kWheelName, archive::test::ToText(zip));
    const Result<Examination> examined = Examine(env, path, {Target::kPip});
    EXPECT_THAT(examined, test::IsOk());
    std::set<std::string> severities;
    if (!examined) return severities;
    for (const Finding& finding : examined->report.findings)
      severities.insert(fmt::format("{} {}", finding.id, SeverityName(finding.severity)));
    return severities;
  };
  for (const char* requirement : {"a; os_name === 'x'", "a===x; os_name ~= 'x'"})
    EXPECT_THAT(found(requirement),
                IsSupersetOf({"wheel-requirement-form error", "wheel-data-scripts warning"}))
        << requirement;
  EXPECT_THAT(found("a===x"), Not(Contains(HasSubstr("wheel-requirement-form"))));
}

TEST(Target, IsForWheels) {
  test::TestEnv env;
  EXPECT_THAT(Examine(env, env.dir().WriteFile("a.zip", "x"), {Target::kUv}),
              FailsWith(ErrorCode::kUsage, HasSubstr("--target works on wheels")));
}

}  // namespace
}  // namespace ptpkg::verify
