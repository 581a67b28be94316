#include "repair/system_package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_process.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/must.h"
#include "support/test_env.h"

namespace ptpkg::repair {
namespace {

using ptpkg::test::Must;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const AbsPath kLibrary = AbsPath::Literal("/usr/lib/x86_64-linux-gnu/libtoy.so.1.0");

class SystemPackageTest : public testing::Test {
 protected:
  void AddDebian(const std::string& list_line) {
    fs_.AddFile("/etc/os-release", "NAME=x\nID=\"debian\"\n");
    fs_.AddFile("/var/lib/dpkg/info/libtoy1:amd64.list", "/.\n/lib\n" + list_line + "\n");
    fs_.AddFile("/var/lib/dpkg/info/libtoy1:amd64.md5sums", "x");
    fs_.AddFile("/var/lib/dpkg/info/other.list", "/usr/lib/x86_64-linux-gnu/libtoy.so.1.0.old\n");
    fs_.AddFile(
        "/var/lib/dpkg/status",
        "Package: other\nArchitecture: all\nVersion: 9\n\n"
        "Package: libtoy1\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1:1.0+dfsg-2\n");
  }

  ptpkg::test::MemFs fs_;
  ptpkg::test::FakeProcess process_;
  ptpkg::test::TestEnv env_{{.fs = &fs_, .process = &process_}};
};

TEST_F(SystemPackageTest, OfDpkg) {
  AddDebian(kLibrary.str());
  EXPECT_THAT(
      Must(FindOwners(env_, {kLibrary, AbsPath::Literal("/opt/x.so")})),
      ElementsAre(Pair(kLibrary, SystemPackage{.name = "libtoy1",
                                               .version = "1:1.0+dfsg-2",
                                               .url = "pkg:deb/debian/libtoy1@1:1.0%2Bdfsg-2?arch=amd64"})));
}

TEST_F(SystemPackageTest, ByTheFolderBeforeTheMergeOfUsr) {
  AddDebian(kLibrary.str().substr(4));
  EXPECT_EQ(Must(FindOwners(env_, {kLibrary})).size(), 1U);
}

TEST_F(SystemPackageTest, NobodyOwnsWhatIsInNoList) {
  AddDebian("/usr/lib/x86_64-linux-gnu/libtoy.so.1");
  EXPECT_THAT(Must(FindOwners(env_, {kLibrary})), IsEmpty());
  EXPECT_THAT(Must(FindOwners(ptpkg::test::TestEnv({.fs = &fs_, .process = &process_}), {})), IsEmpty());
}

}  // namespace
}  // namespace ptpkg::repair
