// The table of policies, as data and as answers.

#include "verify/wheel/platform_policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::verify {
namespace {

using ptpkg::test::FailsWith;
using testing::HasSubstr;
using testing::Optional;

constexpr GlibcVersion V(unsigned minor) { return {2, minor}; }

class Policies : public testing::Test {
 protected:
  void SetUp() override {
    auto built_in = PlatformPolicies::BuiltIn();
    ASSERT_OK(built_in);
    policies_ = *std::move(built_in);
  }
  std::optional<GlibcVersion> PolicyOf(std::string_view version, std::string_view machine = "x86_64") {
    const auto verdict = policies_.Judge(machine, version);
    EXPECT_TRUE(verdict.judged) << version;
    return verdict.policy;
  }
  PlatformPolicies policies_;
};

TEST_F(Policies, LowestThatListsAVersion) {
  // The maxima of research on the policies: 2_17, 2_28, 2_34, 2_35, 2_39 with their newest versions.
  EXPECT_THAT(PolicyOf("GLIBC_2.2.5"), Optional(V(5)));
  EXPECT_THAT(PolicyOf("GLIBC_2.17"), Optional(V(17)));
  EXPECT_THAT(PolicyOf("GLIBCXX_3.4.19"), Optional(V(17)));
  EXPECT_THAT(PolicyOf("CXXABI_TM_1"), Optional(V(17)));
  EXPECT_THAT(PolicyOf("GCC_4.8.0"), Optional(V(17)));
  EXPECT_THAT(PolicyOf("ZLIB_1.2.5.2"), Optional(V(17)));
  EXPECT_THAT(PolicyOf("GLIBC_2.28"), Optional(V(28)));
  EXPECT_THAT(PolicyOf("GLIBCXX_3.4.24"), Optional(V(27)));
  EXPECT_THAT(PolicyOf("CXXABI_FLOAT128"), Optional(V(24)));
  EXPECT_THAT(PolicyOf("GLIBCXX_3.4.25"), Optional(V(31)));
  EXPECT_THAT(PolicyOf("GLIBCXX_3.4.29"), Optional(V(34)));
  EXPECT_THAT(PolicyOf("GCC_12.0.0"), Optional(V(35)));
  EXPECT_THAT(PolicyOf("GLIBC_ABI_DT_RELR"), Optional(V(36)));
  for (const char* abi : {"GLIBC_ABI_GNU2_TLS", "GLIBC_ABI_DT_X86_64_PLT"})
    EXPECT_THAT(PolicyOf(abi), Optional(V(43))) << abi;
  EXPECT_THAT(PolicyOf("GLIBC_ABI_GNU_TLS", "i686"), Optional(V(43)));
  EXPECT_THAT(PolicyOf("GLIBCXX_3.4.33"), Optional(V(39)));
  EXPECT_THAT(PolicyOf("LIBATOMIC_1.2"), Optional(V(24)));
}

TEST_F(Policies, MachinesDiffer) {
  EXPECT_THAT(PolicyOf("GLIBC_2.17", "aarch64"), Optional(V(17)));
  EXPECT_THAT(PolicyOf("GLIBCXX_3.4", "aarch64"), Optional(V(17)));
  EXPECT_THAT(PolicyOf("GLIBC_2.27", "riscv64"), Optional(V(31)));
  EXPECT_THAT(policies_.Lowest("x86_64"), Optional(V(5)));
  EXPECT_THAT(policies_.Lowest("s390x"), Optional(V(17)));
  EXPECT_EQ(policies_.Lowest("vax"), std::nullopt);
  EXPECT_FALSE(policies_.Judge("vax", "GLIBC_2.17").judged);
}

TEST_F(Policies, WhatNoPolicyAdmitsAndWhatNoneJudges) {
  EXPECT_EQ(PolicyOf("GLIBC_PRIVATE"), std::nullopt);
  EXPECT_EQ(PolicyOf("GLIBC_ABI_UNKNOWN"), std::nullopt);
  EXPECT_EQ(PolicyOf("GLIBC_2.19"), std::nullopt);  // x86_64 has no such version
  EXPECT_EQ(PolicyOf("GLIBCXX_3.4.99"), std::nullopt);
  EXPECT_THAT(PolicyOf("GLIBC_2.77"), Optional(V(77)));  // PEP 600: the version is the policy
  EXPECT_FALSE(policies_.Judge("x86_64", "GFORTRAN_8").judged);
  EXPECT_FALSE(policies_.Judge("x86_64", "GOMP_4.0").judged);
  EXPECT_FALSE(policies_.Judge("x86_64", "").judged);
}

TEST_F(Policies, Tags) {
  EXPECT_THAT(policies_.PolicyOfTag("manylinux_2_28_x86_64"), Optional(V(28)));
  EXPECT_THAT(policies_.PolicyOfTag("manylinux2014_aarch64"), Optional(V(17)));
  EXPECT_THAT(policies_.PolicyOfTag("manylinux1_i686"), Optional(V(5)));
  for (const char* const other :
       {"linux_x86_64", "musllinux_1_2_x86_64", "any", "win_amd64", "manylinux_x86_64", "manylinux_2_x86_64",
        "manylinux_2_28_vax", "manylinux_a_b_x86_64"}) {
    EXPECT_EQ(policies_.PolicyOfTag(other), std::nullopt) << other;
  }
  EXPECT_EQ(policies_.conda_baseline(), V(17));
}

TEST(PolicyTable, MachineNames) {
  EXPECT_EQ(MachineName(62, elf::ByteOrder::kLittle), "x86_64");
  EXPECT_EQ(MachineName(21, elf::ByteOrder::kLittle), "ppc64le");
  EXPECT_EQ(MachineName(21, elf::ByteOrder::kBig), "ppc64");
  EXPECT_EQ(MachineName(224, elf::ByteOrder::kLittle), "");  // AMDGPU code objects
  EXPECT_EQ(MachineOfTag("manylinux_2_17_ppc64le"), "ppc64le");
  EXPECT_EQ(MachineOfTag("linux_x86_64"), "x86_64");
  EXPECT_EQ(MachineOfTag("musllinux_1_2_i686"), "i686");
  EXPECT_EQ(MachineOfTag("any"), "");
  EXPECT_EQ(MachineOfTag("macosx_11_0_x86_64"), "");
}

TEST(PolicyTable, TagsThatThePublicIndexTakes) {
  for (const char* const taken : {"any",
                                  "manylinux1_x86_64",
                                  "manylinux2014_aarch64",
                                  "manylinux_2_28_x86_64",
                                  "manylinux_2_17_ppc64",
                                  "musllinux_1_2_riscv64",
                                  "linux_armv7l",
                                  "win_amd64",
                                  "win32",
                                  "macosx_11_0_arm64",
                                  "ios_13_0_arm64_iphoneos",
                                  "android_21_x86_64",
                                  "macosx_10_9_universal2",
                                  "macosx_26_0_arm64",
                                  "win_arm64",
                                  "win_ia64",
                                  "manylinux2010_i686",
                                  "manylinux2014_ppc64",
                                  "manylinux_2_99_riscv64",
                                  "android_21_armeabi_v7a",
                                  "ios_13_0_x86_64_iphonesimulator",
                                  "pyemscripten_2025_0_wasm32"}) {
    EXPECT_TRUE(PyPiAcceptsPlatform(taken)) << taken;
  }
  for (const char* const refused : {"linux_x86_64",
                                    "linux_aarch64",
                                    "musllinux_1_2_ppc64",
                                    "manylinux_2_36_loongarch64",
                                    "manylinux_2_28_vax",
                                    "freebsd_14_amd64",
                                    "",
                                    "macosx_11_1_arm64",
                                    "macosx_12_3_x86_64",
                                    "macosx_27_0_arm64",
                                    "macosx_16_0_arm64",
                                    "macosx_11_0_vax",
                                    "macosx_11_arm64",
                                    "win_vax",
                                    "manylinux1_aarch64",
                                    "manylinux2010_aarch64",
                                    "manylinux2014_riscv64",
                                    "manylinux2015_x86_64",
                                    "manylinux_2_x86_64",
                                    "ios_13_0_arm64",
                                    "android_x86_64",
                                    "android_21_mips",
                                    "pyodide_2025_0_wasm32",
                                    "emscripten_3_1_58_wasm32",
                                    "pyemscripten_2025_0_x86_64"}) {
    EXPECT_FALSE(PyPiAcceptsPlatform(refused)) << refused;
  }
}

TEST(PolicyTable, PlatformsThatSomeSystemHas) {
  for (const char* const possible : {"any",
                                     "linux_x86_64",
                                     "linux_armv6l",
                                     "linux_mips64",
                                     "manylinux1_i686",
                                     "manylinux2010_x86_64",
                                     "manylinux2014_loongarch64",
                                     "manylinux_2_5_i686",
                                     "manylinux_2_17_armv8l",
                                     "manylinux_2_99_riscv64",
                                     "musllinux_1_0_x86_64",
                                     "musllinux_1_2_sparc64",
                                     "macosx_10_6_ppc",
                                     "macosx_10_4_x86_64",
                                     "macosx_11_0_i386",
                                     "macosx_10_16_universal2",
                                     "macosx_11_0_arm64",
                                     "win32",
                                     "win_amd64",
                                     "WIN_AMD64",
                                     "android_16_x86",
                                     "ios_13_0_arm64_iphoneos",
                                     "ios_13_9_x86_64_iphonesimulator",
                                     "freebsd_14_amd64",
                                     "pyodide_2024_0_wasm32",
                                     "emscripten_3_1_58_wasm32"}) {
    EXPECT_TRUE(IsPossiblePlatform(possible)) << possible;
  }
  for (const char* const impossible : {"linux",
                                       "linux_",
                                       "linux_amd64",
                                       "linux_x64",
                                       "linux_arm64",
                                       "manylinux",
                                       "manylinux2014",
                                       "manylinux2014_",
                                       "manylinux2014_amd64",
                                       "manylinux2015_x86_64",
                                       "manylinux1_aarch64",
                                       "manylinux2010_aarch64",
                                       "manylinux_2_17",
                                       "manylinux_2_x86_64",
                                       "manylinux_2_017_x86_64",
                                       "manylinux_02_17_x86_64",
                                       "manylinux_2_4_x86_64",
                                       "manylinux_2_16_s390x",
                                       "manylinux_3_0_x86_64",
                                       "manylinux_2_17_amd64",
                                       "manylinux_2_17_armv6l",
                                       "manylinux_2_17_i386",
                                       "musllinux_1_02_x86_64",
                                       "musllinux_2_0_x86_64",
                                       "musllinux_1_2",
                                       "musllinux_1_2_arm64",
                                       "macosx",
                                       "macosx_10_17_x86_64",
                                       "macosx_11_1_arm64",
                                       "macosx_011_0_arm64",
                                       "macosx_9_0_ppc",
                                       "macosx_10_9_foo",
                                       "macosx_10_7_ppc",
                                       "macosx_10_6_ppc64",
                                       "macosx_10_3_intel",
                                       "win64",
                                       "win_x86_64",
                                       "windows_amd64",
                                       "android_15_x86",
                                       "android_021_x86",
                                       "android_21_arm64",
                                       "ios_11_0_arm64_iphoneos",
                                       "ios_13_0_x86_64_iphoneos",
                                       "ios_13_12_arm64_iphoneos",
                                       "ios_13_0_arm64"}) {
    EXPECT_FALSE(IsPossiblePlatform(impossible)) << impossible;
  }
}

TEST(PolicyTable, GlibcNumbers) {
  EXPECT_THAT(GlibcOf("GLIBC_2.34"), Optional(V(34)));
  EXPECT_THAT(GlibcOf("GLIBC_2.3.4"), Optional(V(3)));
  EXPECT_THAT(GlibcOf("GLIBC_ABI_DT_RELR"), Optional(V(36)));
  for (const char* const other :
       {"GLIBC_PRIVATE", "GLIBCXX_3.4", "GLIBC_2", "GLIBC_2.x", "GLIBC_2.12345", ""}) {
    EXPECT_EQ(GlibcOf(other), std::nullopt) << other;
  }
}

TEST(PolicyTable, WrongTablesAreRefusedWithTheirPlace) {
  const auto parse = [](const std::string& text) { return PlatformPolicies::Parse(text, "t.yaml"); };
  const std::string head = "conda_baseline: '2.17'\naliases: {}\n";
  EXPECT_OK(parse(head + "machines: {x86_64: {'2.5': {GLIBC: '2.5'}}}"));
  EXPECT_THAT(parse("[]"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'conda_baseline'")));
  EXPECT_THAT(parse(head), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'machines'")));
  EXPECT_THAT(parse(head + "machines: {x86_64: {}}"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("without policies")));
  EXPECT_THAT(parse(head + "machines: {x86_64: {five: {GLIBC: '2.5'}}}"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'five' is not a glibc version")));
  EXPECT_THAT(parse(head + "machines: {x86_64: {'2.9': {GLIBC: '2.9'}, '2.5': {GLIBC: '2.5'}}}"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'2.5' is out of order")));
}

}  // namespace
}  // namespace ptpkg::verify
