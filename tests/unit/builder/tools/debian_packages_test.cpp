#include "builder/tools/debian_packages.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using test::IsOkAndHolds;
using ::testing::Eq;
using Versions = std::map<std::string, std::string>;

TEST(InstalledDebianPackages, ReadsTheStatusFile) {
  test::MemFs fs;
  test::TestEnv env({.fs = &fs});
  EXPECT_THAT(InstalledDebianPackages(env, {"a"}), IsOkAndHolds(Eq(std::nullopt)));
  ASSERT_OK(fs.MakeDirs(AbsPath::Literal("/var/lib/dpkg")));
  ASSERT_OK(WriteFile(
      fs, AbsPath::Literal("/var/lib/dpkg/status"),
      "Package: g++\nStatus: install ok installed\nVersion: 4:12.2.0-3\nDescription: x\n Package: no\n\n"
      "Package: libfoo\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n\n"
      "Package: libfoo\nStatus: install ok installed\nArchitecture: arm64\nVersion: 1\n\n"
      "Package: gone\nStatus: deinstall ok config-files\nVersion: 2\n\n"
      "Package: last\nStatus: install ok installed\nVersion: 3"));
  EXPECT_THAT(InstalledDebianPackages(env, {"g++", "libfoo", "gone", "last", "no"}),
              IsOkAndHolds(Eq(Versions{{"g++", "4:12.2.0-3"}, {"last", "3"}, {"libfoo", "1"}})));
}

}  // namespace
}  // namespace ptpkg::builder
