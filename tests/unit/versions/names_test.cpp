#include <string>

#include "support/matchers.h"
#include "versions/package_names.h"

namespace ptpkg::versions {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::HasSubstr;

TEST(CheckPackageName, AcceptsWhatCep26Names) {
  for (const char* name : {"torch", "_libgcc_mutex", "magma-cuda110", "a.b_c-d", "7zip", "x"}) {
    EXPECT_THAT(CheckPackageName(name), IsOk()) << name;
  }
}

TEST(CheckPackageName, SaysWhichRuleIsBroken) {
  EXPECT_THAT(CheckPackageName(""), FailsWith(ErrorCode::kInvalidInput, "package name is empty"));
  EXPECT_THAT(CheckPackageName("Torch"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("may hold only a-z")));
  EXPECT_THAT(CheckPackageName("a--b"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("two separators in a row")));
  EXPECT_THAT(CheckPackageName("__cuda"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("two separators")));
  EXPECT_THAT(CheckPackageName("-a"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("must begin with")));
  EXPECT_THAT(CheckPackageName(std::string(65, 'a')),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("longer than 64 characters")));
  EXPECT_THAT(CheckPackageName(std::string(64, 'a')), IsOk());
}

TEST(CheckVersion, AcceptsEpochLocalAndTrailingUnderscore) {
  for (const char* version :
       {"2.6.0", "1!2.0", "2.1+sirius6.0.3", "1.0.1_", "0.0.0.post105+699b871", "2026a"}) {
    EXPECT_THAT(CheckVersion(version), IsOk()) << version;
  }
}

TEST(CheckVersion, RefusesWhatReadersCannotOrder) {
  EXPECT_THAT(CheckVersion("2.6-rc1"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("may hold only")));
  EXPECT_THAT(CheckVersion("2.6RC1"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("may hold only")));
  EXPECT_THAT(CheckVersion("a!1"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("epoch that is not a number")));
  EXPECT_THAT(CheckVersion("1!2!3"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("more than once")));
  EXPECT_THAT(CheckVersion("1+2+3"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("more than once")));
  EXPECT_THAT(CheckVersion("1..2"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("empty segment")));
  EXPECT_THAT(CheckVersion("1."), FailsWith(ErrorCode::kInvalidInput, HasSubstr("empty segment")));
  EXPECT_THAT(CheckVersion("1+"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("empty segment")));
  EXPECT_THAT(CheckVersion("1.2147483648"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("above 2147483647")));
  EXPECT_THAT(CheckVersion("1.2147483647"), IsOk());
}

TEST(CheckSpecName, AllowsVirtualPackages) {
  EXPECT_THAT(CheckSpecName("__cuda"), IsOk());
  EXPECT_THAT(CheckSpecName("numpy"), IsOk());
  EXPECT_THAT(CheckSpecName("____a"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("two separators")));
  EXPECT_THAT(CheckSpecName("__"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is empty")));
}

}  // namespace
}  // namespace ptpkg::versions
