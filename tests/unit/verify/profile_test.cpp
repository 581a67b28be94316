// Severities by destination, and which destination a name suggests.

#include "verify/profile.h"

#include <algorithm>

#include "support/files/fs.h"
#include "support/paths.h"
#include "unit/verify/fixtures/memory_tree.h"

namespace ptpkg::verify {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::IsOkAndHolds;
using testing::HasSubstr;

TEST(Profile, NamesRoundTrip) {
  for (const std::string& name : ProfileNames()) {
    ASSERT_OK_AND_ASSIGN(const Profile profile, ParseProfile(name));
    EXPECT_EQ(ProfileName(profile), name);
  }
  EXPECT_THAT(ProfileNames(), testing::ElementsAre("conda", "wheel", "pytorch-index", "zip", "tree"));
  const auto misspelt = ParseProfile("whee");
  EXPECT_THAT(misspelt, FailsWith(ErrorCode::kUsage, HasSubstr("'whee'")));
  EXPECT_THAT(misspelt.error().hint(), HasSubstr("'wheel'"));
}

TEST(Profile, DefaultsByName) {
  EXPECT_EQ(DefaultProfile("a-1-0.conda"), Profile::kConda);
  EXPECT_EQ(DefaultProfile("a-1-0.tar.bz2"), Profile::kConda);
  EXPECT_EQ(DefaultProfile("a-1-py3-none-any.whl"), Profile::kWheel);
  EXPECT_EQ(DefaultProfile("torch-2.9.0+cu128-cp311-cp311-linux_x86_64.whl"), Profile::kPytorchIndex);
  EXPECT_EQ(DefaultProfile("libtorch-shared-with-deps-2.6.0+cpu.zip"), Profile::kZip);
  EXPECT_EQ(DefaultProfile("site-packages"), Profile::kTree);
}

TEST(Profile, RulesAreSortedAndEachIsThereOnce) {
  const auto rules = SeverityRules();
  EXPECT_TRUE(
      std::is_sorted(rules.begin(), rules.end(), [](const SeverityRule& left, const SeverityRule& right) {
        return std::pair(left.id, left.profile) < std::pair(right.id, right.profile);
      }));
  const auto same = std::adjacent_find(rules.begin(), rules.end(), [](const auto& left, const auto& right) {
    return left.id == right.id && left.profile == right.profile;
  });
  EXPECT_EQ(same, rules.end());
}

TEST(Profile, PagesNameTheirRules) {
  const std::unique_ptr<Fs> fs = MakeOsFs();
  const AbsPath repository = ptpkg::test::Repository();
  const std::map<Severity, std::string> words = {
      {Severity::kInfo, "information"}, {Severity::kWarning, "warning"}, {Severity::kError, "error"}};
  for (const SeverityRule& rule : SeverityRules()) {
    ASSERT_OK_AND_ASSIGN(std::string page,
                         ReadFile(*fs, repository / fmt::format("docs/findings/{}.md", rule.id)));
    std::replace(page.begin(), page.end(), '\n', ' ');
    EXPECT_THAT(page, HasSubstr(fmt::format("`{}`: {}", ProfileName(rule.profile), words.at(rule.severity))));
  }
}

TEST(Profile, ChangesWhatItHasRulesFor) {
  std::vector<Finding> findings = {{"elf-duplicate-openmp", Severity::kWarning, "a", "m", "f"},
                                   {"elf-damaged", Severity::kError, "b", "m", "f"},
                                   {"elf-soname-mismatch", Severity::kInfo, "c", "m", "f"}};
  const std::vector<Finding> before = findings;
  ApplyProfile(Profile::kTree, {}, findings);
  EXPECT_EQ(findings, before);
  ApplyProfile(Profile::kPytorchIndex, {}, findings);
  EXPECT_EQ(findings[0].severity, Severity::kError);
  EXPECT_EQ(findings[1].severity, Severity::kError);
  EXPECT_EQ(findings[2].severity, Severity::kInfo);
  ApplyProfile(Profile::kPytorchIndex, {"elf-duplicate-openmp", "elf-soname-mismatch"}, findings);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_EQ(findings[1].severity, Severity::kError);
  EXPECT_EQ(findings[2].severity, Severity::kInfo);
}

TEST(Profile, OfAFolderIsTreeUnlessNamed) {
  test::MemoryTree tree;
  tree.Add("a/libgomp.so.1", test::Library({}));
  tree.Add("b/libiomp5.so", test::Library({}));
  Examination examination = tree.Examine();
  EXPECT_EQ(examination.profile, Profile::kTree);
  EXPECT_FALSE(examination.report.HasErrors());
  examination = tree.Examine({.profile = Profile::kPytorchIndex});
  EXPECT_EQ(examination.profile, Profile::kPytorchIndex);
  EXPECT_TRUE(examination.report.HasErrors());
}

}  // namespace
}  // namespace ptpkg::verify
