#include "builder/license_files.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::HasHint;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LicenseFilesTest : public ::testing::Test {
 protected:
  LicenseFilesTest() {
    recipe_.recipe_dir = env_.dir().MakeDir("recipe");
    source_ = env_.dir().MakeDir("source");
  }
  Result<std::vector<std::string>> Names() {
    PTPKG_TRY(const std::vector<LicenseFile> files, FindLicenseFiles(env_, recipe_, source_));
    std::vector<std::string> names;
    for (const LicenseFile& file : files) names.push_back(file.name);
    return names;
  }

  test::TestEnv env_;
  recipe::Recipe recipe_;
  AbsPath source_ = AbsPath::Literal("/nonexistent");
};

TEST_F(LicenseFilesTest, KeepsBytesAndTheirDigest) {
  const std::string latin1 = "Gr\xfc\xdf Gott\n";
  env_.dir().WriteFile("source/LICENSE", latin1);
  recipe_.about.license_files = {"LICENSE"};
  ASSERT_OK_AND_ASSIGN(const auto files, FindLicenseFiles(env_, recipe_, source_));
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].name, "LICENSE");
  EXPECT_EQ(files[0].path, source_ / "LICENSE");
  EXPECT_EQ(files[0].sha256, HashText(latin1));
  EXPECT_EQ(files[0].size_bytes, latin1.size());
}

TEST_F(LicenseFilesTest, LooksInTheSourcesThenBesideTheRecipe) {
  env_.dir().WriteFile("source/LICENSE", "of the source");
  env_.dir().WriteFile("recipe/LICENSE", "of the recipe");
  env_.dir().WriteFile("recipe/EXTRA", "x");
  env_.dir().WriteFile("source/licenses/a/MIT", "x");
  env_.dir().WriteFile("source/licenses/b", "x");
  env_.dir().WriteFile("source/third/x/NOTICE", "x");
  recipe_.about.license_files = {"LICENSE", "EXTRA", "licenses/", "third/**/NOTICE", "LICENSE"};
  EXPECT_THAT(Names(), test::IsOkAndHolds(ElementsAre("EXTRA", "LICENSE", "licenses/a/MIT", "licenses/b",
                                                      "third/x/NOTICE")));
  EXPECT_EQ((*FindLicenseFiles(env_, recipe_, source_))[1].path, source_ / "LICENSE");
}

TEST_F(LicenseFilesTest, NamesWhatMatchesNothingAndWhatThereIs) {
  env_.dir().WriteFile("source/COPYING.txt", "x");
  env_.dir().WriteFile("source/other", "x");
  recipe_.about.license_files = {"LICENSE"};
  EXPECT_THAT(Names(),
              FailsWith(ErrorCode::kNotFound, HasSubstr("'LICENSE' matches no file in the sources")));
  EXPECT_THAT(Names(), HasHint("found: COPYING.txt"));
}

TEST_F(LicenseFilesTest, RefusesAFileThatIsNoLicence) {
  env_.dir().WriteFile("source/LICENSE", std::string((16U << 20U) + 1, 'x'));
  recipe_.about.license_files = {"*"};
  EXPECT_THAT(Names(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'LICENSE' has 16.8 MB")));
}

TEST_F(LicenseFilesTest, NoneAskedForIsNoneSearched) {
  source_ = AbsPath::Literal("/nonexistent");
  EXPECT_THAT(Names(), test::IsOkAndHolds(ElementsAre()));
}

}  // namespace
}  // namespace ptpkg::builder
