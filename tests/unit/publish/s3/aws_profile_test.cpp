#include "publish/s3/aws_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::publish {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::HasSubstr;
using ::testing::Not;

class AwsProfileTest : public ::testing::Test {
 protected:
  AwsProfileTest() { env_->variables["HOME"] = home_.str(); }

  void WriteAws(const std::string& name, const std::string& text) {
    ASSERT_THAT(env_->fs.MakeDirs(home_ / ".aws"), IsOk());
    ASSERT_THAT(WriteFile(env_->fs, home_ / ".aws" / name, text), IsOk());
  }
  std::string Keys() {
    const auto keys = FindAwsKeys(env_);
    if (!keys) return "none";
    return keys->id.Reveal() + " " + keys->key.Reveal() + " " + keys->session_token.Reveal();
  }
  std::string Settings() {
    const auto settings = ReadAwsSettings(env_);
    return settings ? settings->region + " " + settings->endpoint : "none";
  }

  test::TestEnv env_;
  const AbsPath home_ = env_.dir().path() / "home";
};

TEST_F(AwsProfileTest, VariablesComeBeforeFilesAndCredentialsBeforeTheConfiguration) {
  EXPECT_EQ(Keys(), "none");
  WriteAws("config", "[default]\naws_access_key_id = C\naws_secret_access_key = c\n");
  EXPECT_EQ(Keys(), "C c ");
  WriteAws("credentials",
           "[default]\naws_access_key_id=F\naws_secret_access_key=f/+=x\naws_session_token: t\n");
  EXPECT_EQ(Keys(), "F f/+=x t");
  env_->variables["AWS_ACCESS_KEY_ID"] = "E";
  env_->variables["AWS_SECRET_ACCESS_KEY"] = "e\n";
  EXPECT_EQ(Keys(), "E e ");
}

TEST_F(AwsProfileTest, AProfileHasItsSectionInEitherFile) {
  env_->variables["AWS_PROFILE"] = "ci";
  WriteAws("config",
           "[default]\nregion = d\n[profile ci]\nregion = eu-1\ns3 =\n  region = nested\n  odd\n"
           "endpoint_url = https://h\n");
  WriteAws("credentials", "[ci] # of the job\naws_access_key_id = I\naws_secret_access_key = k\n");
  EXPECT_EQ(Keys(), "I k ");
  EXPECT_EQ(Settings(), "eu-1 https://h");
  env_->variables["AWS_DEFAULT_REGION"] = "two";
  EXPECT_EQ(Settings(), "two https://h");
  env_->variables["AWS_REGION"] = "one";
  env_->variables["AWS_ENDPOINT_URL"] = "http://all";
  EXPECT_EQ(Settings(), "one http://all");
  env_->variables["AWS_ENDPOINT_URL_S3"] = "http://s3";
  EXPECT_EQ(Settings(), "one http://s3");
}

TEST_F(AwsProfileTest, TheFilesMayLieElsewhere) {
  const AbsPath file = env_.dir().path() / "keys";
  ASSERT_THAT(
      WriteFile(env_->fs, file, "[default]\naws_access_key_id=I\naws_secret_access_key=k\nregion=r\n"),
      IsOk());
  env_->variables["AWS_SHARED_CREDENTIALS_FILE"] = file.str();
  EXPECT_EQ(Keys(), "I k ");
  EXPECT_EQ(Settings(), "r ");
  env_->variables.erase("AWS_SHARED_CREDENTIALS_FILE");
  env_->variables["AWS_CONFIG_FILE"] = file.str();
  EXPECT_EQ(Keys(), "I k ");
}

TEST_F(AwsProfileTest, HalfAKeyIsToldAndNotShown) {
  WriteAws("credentials", "[default]\naws_access_key_id = F\naws_secret_access_key = f\n");
  env_->variables["AWS_ACCESS_KEY_ID"] = "hidden";
  const auto keys = FindAwsKeys(env_);
  ASSERT_THAT(keys, FailsWith(ErrorCode::kRefused, HasSubstr("half of a key")));
  EXPECT_THAT(FormatError(keys.error()), Not(HasSubstr("hidden")));
}

TEST_F(AwsProfileTest, AKeyOfSeveralLinesIsRefused) {
  WriteAws("credentials", "[default]\naws_access_key_id = F\n  aws_secret_access_key = hidden\n");
  for (const char* place : {"profile 'default' has a key", "the environment has a key"}) {
    const auto keys = FindAwsKeys(env_);
    ASSERT_THAT(keys, FailsWith(ErrorCode::kUsage, HasSubstr(place)));
    EXPECT_THAT(FormatError(keys.error()), Not(HasSubstr("hidden")));
    env_->variables["AWS_ACCESS_KEY_ID"] = "a\r\nhidden";
  }
}

TEST_F(AwsProfileTest, ASettingOfSeveralLinesIsRefusedAndNotShown) {
  for (const char* key : {"region", "endpoint_url"}) {
    WriteAws("config", std::string("[default]\n") + key + " = a\n  aws_secret_access_key = hidden\n");
    const auto settings = ReadAwsSettings(env_);
    ASSERT_THAT(settings, FailsWith(ErrorCode::kUsage, std::string("'") + key +
                                                           "' of profile 'default' has more than one line"));
    EXPECT_THAT(FormatError(settings.error()), Not(HasSubstr("hidden")));
  }
  env_->variables["AWS_ENDPOINT_URL"] = "http://h";
  env_->variables["AWS_REGION"] = "a\nhidden";
  const auto settings = ReadAwsSettings(env_);
  ASSERT_THAT(settings, FailsWith(ErrorCode::kUsage, "AWS_REGION has more than one line"));
  EXPECT_THAT(FormatError(settings.error()), Not(HasSubstr("hidden")));
}

TEST_F(AwsProfileTest, AWayThatIsNotFollowedIsNamed) {
  WriteAws("config", "[default]\nsso_session = x\n");
  const auto keys = FindAwsKeys(env_);
  ASSERT_THAT(keys, FailsWith(ErrorCode::kRefused, HasSubstr("no key")));
  EXPECT_THAT(keys.error().hint(), HasSubstr("sso_session"));
  EXPECT_THAT(keys.error().hint(), HasSubstr("export-credentials"));
}

TEST_F(AwsProfileTest, ALineThatIsNoneIsNamedWithoutItsText) {
  WriteAws("credentials", "[default]\naws_access_key_id = F\nhidden\n");
  const auto keys = FindAwsKeys(env_);
  ASSERT_THAT(keys, FailsWith(ErrorCode::kInvalidInput, HasSubstr("credentials:3")));
  EXPECT_THAT(FormatError(keys.error()), Not(HasSubstr("hidden")));
}

}  // namespace
}  // namespace ptpkg::publish
