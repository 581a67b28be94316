#include "verify/wheel/computed_platform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::verify {
namespace {

using test::FailsWith;
using test::IsOk;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A library of `machine` that needs glibc 2.`minor`.
FileNeeds Library(const std::string& file, unsigned minor, const std::string& machine = "x86_64") {
  FileNeeds needs;
  needs.file = file;
  needs.machine = machine;
  needs.glibc = needs.policy = GlibcVersion{2, minor};
  needs.uses_glibc = true;
  needs.symbols = {"f@GLIBC_2." + std::to_string(minor)};
  needs.set_by = {{.library = "libc.so.6", .version = "GLIBC_2." + std::to_string(minor)}};
  needs.needed = {{"libc.so.6", {}}};
  return needs;
}

TEST(ComputePlatform, TheHighestFileSetsTheTag) {
  ASSERT_OK_AND_ASSIGN(const auto computed, ComputePlatform({Library("a.so", 17), Library("b.so", 28)}, {}));
  EXPECT_EQ(computed.tag, "manylinux_2_28_x86_64");
  EXPECT_THAT(computed.reasons, ElementsAre(HasSubstr("'b.so' needs 'f@GLIBC_2.28'")));
}

TEST(ComputePlatform, NoLibraryFitsAny) {
  ASSERT_OK_AND_ASSIGN(const auto computed, ComputePlatform({}, {}));
  EXPECT_EQ(computed.tag, "");
}

TEST(ComputePlatform, ALibraryFromElsewhereKeepsItAtLinux) {
  FileNeeds user = Library("a.so", 17);
  user.needed["libelse.so.1"] = {};
  user.needed["libcuda.so.1"] = {};
  user.needed["libown.so"] = {"libown.so"};
  ASSERT_OK_AND_ASSIGN(const auto computed, ComputePlatform({user}, {}));
  EXPECT_EQ(computed.tag, "linux_x86_64");
  EXPECT_THAT(computed.reasons, ElementsAre(HasSubstr("'libelse.so.1'")));
}

TEST(ComputePlatform, WhatNoPolicyAdmitsIsLinux) {
  FileNeeds odd = Library("a.so", 17);
  odd.fits_policy = false;
  odd.policy = std::nullopt;
  ASSERT_OK_AND_ASSIGN(const auto computed, ComputePlatform({odd}, {}));
  EXPECT_EQ(computed.tag, "linux_x86_64");
  EXPECT_THAT(computed.reasons, ElementsAre(HasSubstr("no policy allows")));
}

TEST(ComputePlatform, WhatHasNoVersionIsNamed) {
  FileNeeds expat = Library("a.so", 5);
  expat.policy = GlibcVersion{2, 12};
  expat.symbols.clear();
  expat.set_by.clear();
  expat.set_by_names = {"libexpat.so.1"};
  ASSERT_OK_AND_ASSIGN(const auto computed, ComputePlatform({expat}, {}));
  EXPECT_EQ(computed.tag, "manylinux_2_12_x86_64");
  EXPECT_THAT(computed.reasons, ElementsAre("'a.so' needs 'libexpat.so.1'"));
  EXPECT_THAT(CheckPlatformFits({expat}, "manylinux_2_5_x86_64", {}),
              FailsWith(ErrorCode::kCheckFailed, HasSubstr("because of 'libexpat.so.1'")));
  FileNeeds musl;
  musl.file = "m.so";
  musl.machine = "x86_64";
  musl.uses_musl = true;
  musl.internal_symbols = {"zcalloc of libz.so.1"};
  ASSERT_OK_AND_ASSIGN(const auto none, ComputePlatformFromSymbols({musl}));
  EXPECT_EQ(none.tag, "linux_x86_64");
  EXPECT_THAT(none.reasons, ElementsAre("'m.so' uses 'zcalloc of libz.so.1', which no policy allows"));
  EXPECT_THAT(CheckPlatformFits({musl}, "musllinux_1_2_x86_64", {}),
              FailsWith(ErrorCode::kCheckFailed, HasSubstr("'m.so' uses 'zcalloc of libz.so.1'")));
}

TEST(ComputePlatform, MuslHasItsOwnTagAndNoGlibcBesideIt) {
  FileNeeds musl;
  musl.file = "m.so";
  musl.machine = "aarch64";
  musl.uses_musl = true;
  musl.needed = {{"libc.musl-aarch64.so.1", {}}};
  ASSERT_OK_AND_ASSIGN(const auto computed, ComputePlatform({musl}, {}));
  EXPECT_EQ(computed.tag, "musllinux_1_2_aarch64");
  EXPECT_THAT(ComputePlatform({musl, Library("g.so", 17, "aarch64")}, {}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("glibc")));
  EXPECT_THAT(ComputePlatform({musl, Library("g.so", 17)}, {}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("x86_64")));
}

TEST(CheckPlatformFits, NamesTheSymbolsThatForbidATag) {
  const std::vector<FileNeeds> files = {Library("a.so", 17), Library("b.so", 34)};
  EXPECT_THAT(CheckPlatformFits(files, "manylinux_2_34_x86_64", {}), IsOk());
  EXPECT_THAT(CheckPlatformFits(files, "linux_x86_64", {}), IsOk());
  EXPECT_THAT(CheckPlatformFits(files, "manylinux2014_x86_64.manylinux_2_34_x86_64", {}),
              FailsWith(ErrorCode::kCheckFailed,
                        HasSubstr("'b.so' needs 'manylinux_2_34_x86_64', because of 'f@GLIBC_2.34'")));
  EXPECT_THAT(CheckPlatformFits(files, "manylinux_2_39_aarch64", {}),
              FailsWith(ErrorCode::kCheckFailed, HasSubstr("is for x86_64")));
  EXPECT_THAT(CheckPlatformFits(files, "musllinux_1_2_x86_64", {}),
              FailsWith(ErrorCode::kCheckFailed, HasSubstr("needs glibc")));
  const std::vector<FileNeeds> many(20, Library("c.so", 40));
  EXPECT_THAT(CheckPlatformFits(many, "manylinux_2_17_x86_64", {}),
              FailsWith(ErrorCode::kCheckFailed, HasSubstr("and 10 more")));
}

TEST(CheckPlatformFits, ATagOfLinuxNeedsAFileForIt) {
  EXPECT_THAT(CheckPlatformFits({}, "manylinux_2_28_x86_64", {}),
              FailsWith(ErrorCode::kCheckFailed, HasSubstr("no file is for Linux")));
  EXPECT_THAT(CheckPlatformFits({}, "linux_x86_64", {}),
              FailsWith(ErrorCode::kCheckFailed, HasSubstr("linux_x86_64")));
  EXPECT_THAT(CheckPlatformFits({}, "any", {}), IsOk());
}

TEST(CheckPlatformFits, ATagOfAnotherSystemNeedsCodeOfItsKind) {
  const std::vector<std::pair<const char*, MachineCode>> kinds = {
      {"win_amd64", MachineCode::kPe},
      {"win32", MachineCode::kPe},
      {"macosx_11_0_arm64", MachineCode::kMachO},
      {"ios_13_0_arm64_iphoneos", MachineCode::kMachO},
      {"pyodide_2024_0_wasm32", MachineCode::kWasm}};
  for (const auto& [platform, code] : kinds) {
    EXPECT_TRUE(IsForOtherSystems(platform)) << platform;
    EXPECT_THAT(CheckPlatformFits({}, platform, {code, MachineCode::kElf}), IsOk()) << platform;
    EXPECT_THAT(CheckPlatformFits({}, platform, {MachineCode::kObjects}), IsOk()) << platform;
    for (const std::set<MachineCode>& none : {std::set<MachineCode>(), {MachineCode::kElf}}) {
      EXPECT_THAT(
          CheckPlatformFits({}, platform, none),
          FailsWith(ErrorCode::kCheckFailed,
                    HasSubstr(fmt::format(
                        "cannot use the platform tag '{}': no file has code for that system", platform))));
    }
  }
  EXPECT_THAT(CheckPlatformFits({}, "freebsd_14_amd64", {MachineCode::kElf}), IsOk());
  EXPECT_THAT(CheckPlatformFits({}, "freebsd_14_amd64", {}),
              FailsWith(ErrorCode::kCheckFailed, HasSubstr("freebsd")));
  EXPECT_THAT(CheckPlatformFits({}, "any.win_amd64", {}),
              FailsWith(ErrorCode::kCheckFailed, HasSubstr("win_amd64")));
  EXPECT_FALSE(IsForOtherSystems("any.manylinux_2_28_x86_64"));
  // Code of Linux is for no other system, whatever lies beside it.
  EXPECT_THAT(CheckPlatformFits({Library("a.so", 17)}, "win_amd64", {MachineCode::kElf, MachineCode::kPe}),
              FailsWith(ErrorCode::kCheckFailed, HasSubstr("'a.so' is for x86_64")));
}

TEST(ComputePlatformFromSymbols, LibrariesFromElsewhereDoNotCount) {
  FileNeeds user = Library("a.so", 17);
  user.needed["libelse.so.1"] = {};
  ASSERT_OK_AND_ASSIGN(const auto computed, ComputePlatformFromSymbols({user}));
  EXPECT_EQ(computed.tag, "manylinux_2_17_x86_64");
  ASSERT_TRUE(computed.set_by);
  EXPECT_EQ(computed.set_by->file, "a.so");
}

TEST(PlatformAfter, StaysAsItIsWrittenWhereItSaysTheSame) {
  ASSERT_OK_AND_ASSIGN(const auto policies, PlatformPolicies::BuiltIn());
  const ComputedPlatform computed{.machine = "x86_64", .tag = "manylinux_2_17_x86_64"};
  const auto after = [&](const std::string& now) { return PlatformAfter(policies, now, computed); };
  EXPECT_EQ(after("manylinux2014_x86_64.manylinux_2_17_x86_64"),
            "manylinux2014_x86_64.manylinux_2_17_x86_64");
  EXPECT_EQ(after("linux_x86_64"), "manylinux_2_17_x86_64");
  EXPECT_EQ(after("manylinux_2_28_x86_64"), "manylinux_2_17_x86_64");
  EXPECT_EQ(after("manylinux_2_5_x86_64"), "manylinux_2_17_x86_64");
  EXPECT_EQ(after("manylinux_2_17_aarch64"), "manylinux_2_17_x86_64");
  const ComputedPlatform musl{.machine = "x86_64", .musl = true, .tag = "musllinux_1_2_x86_64"};
  const auto of_musl = [&](const std::string& now) { return PlatformAfter(policies, now, musl); };
  EXPECT_EQ(of_musl("musllinux_1_1_x86_64"), "musllinux_1_1_x86_64");
  EXPECT_EQ(of_musl("musllinux_1_1_aarch64"), "musllinux_1_2_x86_64");
  EXPECT_EQ(of_musl("linux_x86_64"), "musllinux_1_2_x86_64");
  EXPECT_EQ(of_musl("manylinux_2_17_x86_64"), "musllinux_1_2_x86_64");
  EXPECT_EQ(of_musl("any"), "musllinux_1_2_x86_64");
  const ComputedPlatform none{.machine = "x86_64", .musl = true, .tag = "linux_x86_64"};
  EXPECT_EQ(PlatformAfter(policies, "musllinux_1_1_x86_64", none), "linux_x86_64");
}

}  // namespace
}  // namespace ptpkg::verify
