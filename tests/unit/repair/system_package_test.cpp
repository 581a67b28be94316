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

using ptpkg::test::FailsWith;
using ptpkg::test::Must;
using testing::ElementsAre;
using testing::HasSubstr;
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

TEST_F(SystemPackageTest, OfDpkgWithoutItsStatusNobodyKnowsTheVersion) {
  AddDebian(kLibrary.str());
  ASSERT_OK(fs_.Remove(AbsPath::Literal("/var/lib/dpkg/status")));
  EXPECT_THAT(Must(FindOwners(env_, {kLibrary})), IsEmpty());
}

// What rpm 4.16 of Rocky Linux 9 and 4.18 of Fedora print.
TEST_F(SystemPackageTest, OfRpm) {
  env_.dir().WriteFile("bin/rpm", "", 0755);
  env_->variables["PATH"] = (env_.dir() / "bin").str();
  fs_.AddFile("/etc/os-release", "NAME=\"Fedora Linux\"\nID=fedora\n");
  const auto owner = [&](int code, const std::string& output) {
    process_.Answer("rpm", code, output);
    const auto owners = Must(FindOwners(env_, {kLibrary}));
    return owners.empty() ? SystemPackage{} : owners.at(kLibrary);
  };
  EXPECT_EQ(owner(0, "libgfortran 0 12.2.1-4.fc37 x86_64\n"),
            (SystemPackage{.name = "libgfortran",
                           .version = "12.2.1-4.fc37",
                           .url = "pkg:rpm/fedora/libgfortran@12.2.1-4.fc37?arch=x86_64"}));
  EXPECT_EQ(process_.commands().back().argv.back(), kLibrary.str());
  // The epoch is no part of the version of a URL.
  EXPECT_EQ(owner(0, "openssl-libs 1 3.0.7-27.el9 x86_64\n"),
            (SystemPackage{.name = "openssl-libs",
                           .version = "1:3.0.7-27.el9",
                           .url = "pkg:rpm/fedora/openssl-libs@3.0.7-27.el9?arch=x86_64&epoch=1"}));
  EXPECT_EQ(
      owner(0,
            "warning: Found bdb_ro Packages database while attempting sqlite backend: using bdb_ro backend.\n"
            "glibc 0 2.34-60.el9 x86_64\nglibc 0 2.34-60.el9 i686\n")
          .url,
      "pkg:rpm/fedora/glibc@2.34-60.el9?arch=x86_64");
  EXPECT_EQ(owner(1, "file " + kLibrary.str() + " is not owned by any package\n"), SystemPackage{});
  EXPECT_EQ(owner(0, "(none)\n"), SystemPackage{});
}

// The lines of Alpine 3.18 about one package, others before and behind it.
constexpr const char* kApkList =
    "C:Q1aaaaaaaaaaaaaaaaaaaaaaaaaaaa=\nP:musl\nV:1.2.4-r2\nA:x86_64\nF:lib\nR:ld-musl-x86_64.so.1\n"
    "a:0:0:755\nZ:Q1bbbbbbbbbbbbbbbbbbbbbbbbbbbb=\nR:libc.musl-x86_64.so.1\na:0:0:777\n\n"
    "C:Q1cccccccccccccccccccccccccccc=\nP:libstdc++\nV:12.2.1_git20220924-r10\nA:x86_64\nS:693186\n"
    "T:GNU C++ standard runtime library\nD:so:libc.musl-x86_64.so.1\np:so:libstdc++.so.6=6.0.30\nF:usr\n"
    "F:usr/lib\nR:libstdc++.so.6\na:0:0:777\nR:libstdc++.so.6.0.30\nF:usr/share\n\n"
    "P:other\nV:1-r0\nA:x86_64\nF:usr/lib\nR:libother.so\n\n";

TEST_F(SystemPackageTest, OfApkOnThisMachineOrInAnUnpackedSystem) {
  const std::string library = "/usr/lib/libstdc++.so.6.0.30";
  for (const char* root : {"", "/srv/alpine"}) {
    const std::string at = root;
    fs_.AddFile(at + "/lib/apk/db/installed", kApkList);
    fs_.AddFile(at + "/etc/os-release", "NAME=\"Alpine Linux\"\nID=alpine\n");
    const AbsPath file = AbsPath::Literal(at + library);
    EXPECT_THAT(Must(FindOwners(env_, {file, AbsPath::Literal(at + "/usr/lib/libmine.so")})),
                ElementsAre(Pair(
                    file, SystemPackage{.name = "libstdc++",
                                        .version = "12.2.1_git20220924-r10",
                                        .url = "pkg:apk/alpine/libstdc%2B%2B@12.2.1_git20220924-r10?arch="
                                               "x86_64"})))
        << root;
  }
  // The directories of a system whose /usr is merged.
  const AbsPath merged = AbsPath::Literal("/usr/lib/libc.musl-x86_64.so.1");
  EXPECT_EQ(Must(FindOwners(env_, {merged})).at(merged).version, "1.2.4-r2");
  fs_.AddFile("/wolfi/usr/lib/apk/db/installed", kApkList);
  const AbsPath newer = AbsPath::Literal("/wolfi" + library);
  EXPECT_THAT(Must(FindOwners(env_, {newer})).at(newer).url, testing::StartsWith("pkg:apk/alpine/libstdc"));
}

TEST_F(SystemPackageTest, ListsThatAreTooLongAreRefused) {
  fs_.AddFile("/lib/apk/db/installed", std::string((64U << 20U) + 1, '\n'));
  EXPECT_THAT(FindOwners(env_, {kLibrary}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'/lib/apk/db/installed' is larger")));
}

TEST_F(SystemPackageTest, NobodyOwnsWhatIsInNoList) {
  AddDebian("/usr/lib/x86_64-linux-gnu/libtoy.so.1");
  EXPECT_THAT(Must(FindOwners(env_, {kLibrary})), IsEmpty());
  EXPECT_THAT(Must(FindOwners(ptpkg::test::TestEnv({.fs = &fs_, .process = &process_}), {})), IsEmpty());
}

}  // namespace
}  // namespace ptpkg::repair
