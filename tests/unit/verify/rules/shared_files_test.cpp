// Conda packages of one channel that install the same file.

#include "verify/rules/shared_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptpkg::verify {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

/// Of packages that each install bin/tool and a file of their own.
std::vector<std::vector<Finding>> Check(const std::vector<std::string>& packages) {
  std::vector<PackageFiles> all;
  for (const std::string& package : packages)
    all.push_back(
        {.package = AbsPath::Literal("/channel/" + package), .paths = {"bin/tool", "share/" + package}});
  return CheckSharedFiles(all);
}

TEST(SharedFiles, ArePackagesThatMeet) {
  const auto one = ElementsAre(
      AllOf(Field(&Finding::id, "conda-shared-file"), Field(&Finding::severity, Severity::kWarning),
            Field(&Finding::file, "bin/tool"), Field(&Finding::message, HasSubstr("'a-1-0.conda'"))));
  EXPECT_THAT(Check({"linux-64/a-1-0.conda", "linux-64/b-1-0.tar.bz2"}), ElementsAre(IsEmpty(), one));
  EXPECT_THAT(Check({"noarch/a-1-0.conda", "linux-64/b-1-0.conda"}), ElementsAre(IsEmpty(), one));
  EXPECT_THAT(Check({"a-1-0.conda", "b-1-0.conda"}), ElementsAre(IsEmpty(), one));
  EXPECT_THAT(Check({"linux-64/a-1-0.conda", "linux-64/a-2-0.conda", "linux-64/b-1-0.conda"}),
              ElementsAre(IsEmpty(), IsEmpty(), one));
  EXPECT_THAT(Check({"osx-64/b-1-0.conda", "linux-64/a-1-0.conda", "linux-64/b-1-0.conda"}),
              ElementsAre(IsEmpty(), IsEmpty(), one));
}

TEST(SharedFiles, ArePassedOverWhereNoEnvironmentHoldsBoth) {
  for (const auto& packages : std::vector<std::vector<std::string>>{
           {"linux-64/a-1-0.conda", "linux-64/a-2-0.conda", "linux-64/a-1-1.tar.bz2"},
           {"linux-64/a-1-0.conda", "osx-64/b-1-0.conda"},
           {"one/linux-64/a-1-0.conda", "two/linux-64/b-1-0.conda"}}) {
    for (const std::vector<Finding>& findings : Check(packages)) EXPECT_THAT(findings, IsEmpty());
  }
}

}  // namespace
}  // namespace ptpkg::verify
