#include "versions/spdx.h"

#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::versions {
namespace {

using test::FailsWith;
using test::HasHint;
using ::testing::HasSubstr;

TEST(CheckLicense, AcceptsExpressionsOfListedLicences) {
  for (const char* text :
       {"MIT", "mit", "BSD-3-Clause", "GPL-2.0-only WITH Classpath-exception-2.0", "Apache-2.0 OR MIT",
        "(MIT AND (BSD-2-Clause OR Zlib)) OR Apache-2.0 WITH LLVM-exception", "GPL-2.0+", "LGPL-2.1",
        "LicenseRef-Proprietary", "DocumentRef-x.1:LicenseRef-NVIDIA-End-User", "0BSD AND Python-2.0"}) {
    EXPECT_OK(CheckLicense(text)) << text;
  }
}

TEST(CheckLicense, SuggestsTheNearestIdentifier) {
  const auto slip = CheckLicense("MITT");
  EXPECT_THAT(slip, FailsWith(ErrorCode::kInvalidInput, HasSubstr("'MITT' is not in the SPDX licence list")));
  EXPECT_THAT(slip, HasHint("did you mean 'MIT'?"));
  EXPECT_THAT(CheckLicense("MIT OR Apache-2"), HasHint("did you mean 'Apache-2.0'?"));
  EXPECT_THAT(CheckLicense("BSD"), HasHint("did you mean 'BSD-3-Clause'?"));
  EXPECT_THAT(CheckLicense("apache 2.0"), HasHint("did you mean 'Apache-2.0'?"));
  EXPECT_THAT(CheckLicense("Proprietary"), HasHint("did you mean 'LicenseRef-Proprietary'?"));
  EXPECT_THAT(CheckLicense("GPL-2.0-only WITH Classpath-exception"),
              HasHint("did you mean 'Classpath-exception-2.0'?"));
  EXPECT_THAT(CheckLicense("some licence of ours"), HasHint(HasSubstr("LicenseRef-NAME")));
}

TEST(CheckLicense, RefusesWhatIsNoExpression) {
  for (const char* text : {"",
                           "MIT AND",
                           "MIT WITH",
                           "(MIT",
                           "MIT)",
                           "MIT Zlib",
                           "MIT or Zlib",
                           "AND MIT",
                           "()",
                           "(MIT) WITH LLVM-exception",
                           "MIT WITH MIT",
                           "LicenseRef-",
                           "LicenseRef-a_b",
                           "DocumentRef-x",
                           "DocumentRef-:LicenseRef-x",
                           "+",
                           "MIT++",
                           "LicenseRef-a+",
                           "LicenseRef-+",
                           "DocumentRef-x:LicenseRef-a+"}) {
    EXPECT_THAT(CheckLicense(text), FailsWith(ErrorCode::kInvalidInput, ::testing::_)) << text;
  }
}

TEST(CheckLicense, APlusIsForLicencesOfTheList) {
  const auto refused = CheckLicense("MIT OR LicenseRef-Mine+");
  EXPECT_THAT(refused, FailsWith(ErrorCode::kInvalidInput, HasSubstr("cannot have a '+'")));
  EXPECT_THAT(refused, HasHint(HasSubstr("write 'LicenseRef-Mine'")));
}

}  // namespace
}  // namespace ptpkg::versions
