// Parts of a package that are not tars, and subdirs that no client has.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/text/json.h"
#include "unit/conda/package_builder.h"
#include "verify/check_artifact.h"

namespace ptpkg::verify {
namespace {

using test::DemoInfo;
using test::RawMember;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CondaPartsTest : public ::testing::Test {
 protected:
  std::vector<Finding> Check(const AbsPath& package) {
    auto report = CheckArtifact(env_, package, {});
    EXPECT_THAT(report, test::IsOk());
    EXPECT_THAT(env_->fs.Remove(package), test::IsOk());
    return report ? report->findings : std::vector<Finding>();
  }
  std::vector<Finding> CheckConda(const test::RawConda& raw) {
    const AbsPath package = env_.dir() / "demo-1.0-0.conda";
    test::WriteRawConda(env_, raw, package);
    return Check(package);
  }
  std::vector<Finding> CheckWhole(const std::string& tar) {
    return Check(env_.dir().WriteFile("demo-1.0-0.tar.bz2", test::Bzip2(tar)));
  }
  std::vector<Finding> CheckSubdir(const std::string& subdir) {
    std::vector<RawMember> info = DemoInfo({});
    Json index = test::DemoIndex();
    index["subdir"] = subdir;
    for (RawMember& member : info) {
      if (member.name == "info/index.json") member.content = DumpJson(index);
    }
    return CheckWhole(test::MakeTar(info));
  }

  test::TestEnv env_;
};

TEST_F(CondaPartsTest, APartHoldsAtLeastOneBlock) {
  const std::vector<RawMember> info = DemoInfo({});
  for (const auto& [tar, message] : {std::pair<std::string, const char*>{"", "tar is empty"},
                                     {std::string(100, '\0'), "tar ends inside a header block"},
                                     {std::string(100, 'x'), "tar ends inside a header block"}}) {
    const auto unreadable = ElementsAre(AllOf(Field(&Finding::id, "artifact-unreadable"),
                                              Field(&Finding::severity, Severity::kError),
                                              Field(&Finding::message, HasSubstr(message))));
    EXPECT_THAT(CheckConda({.info = info, .payload_tar = tar}), unreadable) << tar.size();
    EXPECT_THAT(CheckConda({.info_tar = tar}), unreadable) << tar.size();
    EXPECT_THAT(CheckWhole(tar), unreadable) << tar.size();
  }
  EXPECT_THAT(CheckConda({.info = info, .payload_tar = std::string(512, '\0')}), IsEmpty());
}

TEST_F(CondaPartsTest, SubdirsThatNoClientHas) {
  for (const char* subdir : {"foo-64", "linux-amd64"}) {
    EXPECT_THAT(CheckSubdir(subdir), ElementsAre(AllOf(Field(&Finding::id, "conda-subdir-unknown"),
                                                       Field(&Finding::severity, Severity::kWarning),
                                                       Field(&Finding::message, HasSubstr(subdir)))));
  }
  EXPECT_THAT(CheckSubdir("linux-riscv64"), IsEmpty());
  EXPECT_THAT(CheckSubdir("Linux-64"), ElementsAre(Field(&Finding::id, "conda-name-rule")));
}

}  // namespace
}  // namespace ptpkg::verify
