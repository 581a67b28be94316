#include "publish/publish_target.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/secret.h"
#include "support/test_env.h"

namespace ptpkg::publish {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TargetTest : public ::testing::Test {
 protected:
  std::string Title(const TargetOptions& options) {
    const auto target = MakeTarget(env_, options);
    EXPECT_THAT(target, IsOk());
    if (!target) return "";
    if (const auto* folder = std::get_if<AbsPath>(&*target)) return folder->str();
    return (*std::get_if<std::unique_ptr<Remote>>(&*target))->Title();
  }

  test::TestEnv env_;
};

TEST_F(TargetTest, KnowsItsForms) {
  EXPECT_EQ(Title({.to = "file:///srv/x"}), "/srv/x");
  EXPECT_EQ(Title({.to = "file:///srv/a%20b"}), "/srv/a b");
  EXPECT_EQ(Title({.to = "file://localhost/srv/x"}), "/srv/x");
  EXPECT_EQ(Title({.to = "anaconda:me"}), "channel 'me' at https://api.anaconda.org");
  EXPECT_EQ(Title({.to = "anaconda:me/dev", .server = "http://h/api/"}),
            "channel 'me', label 'dev' at http://h/api");
  EXPECT_EQ(Title({.to = "prefix:c"}), "channel 'c' of prefix.dev at https://prefix.dev");
  EXPECT_EQ(Title({.to = "quetz:c", .server = "http://h"}), "channel 'c' of quetz at http://h");
  EXPECT_EQ(Title({.to = "artifactory:a/b", .server = "http://h"}),
            "channel 'a/b' of Artifactory at http://h");
  EXPECT_EQ(Title({.to = "pypi:pypi"}), "index 'pypi' at https://upload.pypi.org/legacy/");
  EXPECT_THAT(MakeTarget(env_, {.to = "pypi:pypi", .server = "http://h/legacy/"}),
              FailsWith(ErrorCode::kUsage, HasSubstr("already uploaded")));
}

TEST_F(TargetTest, ABucketIsThatOfAwsOrOfAnEndpoint) {
  EXPECT_EQ(Title({.to = "s3://bucket"}), "s3://bucket at AWS, us-east-1");
  env_->variables["AWS_REGION"] = "eu-1";
  EXPECT_EQ(Title({.to = "s3://bucket/a/b/"}), "s3://bucket/a/b at AWS, eu-1");
  env_->variables["AWS_ENDPOINT_URL"] = "http://h:1";
  EXPECT_EQ(Title({.to = "s3://bucket"}), "s3://bucket at http://h:1");
  EXPECT_EQ(Title({.to = "s3://bucket", .server = "http://other"}), "s3://bucket at http://other");
  EXPECT_THAT(MakeTarget(env_, {.to = "s3:bucket"}), FailsWith(ErrorCode::kUsage, HasSubstr("s3://BUCKET")));
  EXPECT_THAT(MakeTarget(env_, {.to = "s3:///a"}),
              FailsWith(ErrorCode::kUsage, HasSubstr("not a bucket name")));
}

TEST_F(TargetTest, RefusesWhatIsNone) {
  EXPECT_THAT(MakeTarget(env_, {.to = "anacodna:me"}),
              FailsWith(ErrorCode::kUsage, HasSubstr("did you mean 'anaconda:'?")));
  EXPECT_THAT(MakeTarget(env_, {}), FailsWith(ErrorCode::kUsage, HasSubstr("missing")));
  EXPECT_THAT(MakeTarget(env_, {.to = "anaconda:"}), FailsWith(ErrorCode::kUsage, ::testing::_));
  EXPECT_THAT(MakeTarget(env_, {.to = "anaconda:a/b/c"}), FailsWith(ErrorCode::kUsage, ::testing::_));
  EXPECT_THAT(MakeTarget(env_, {.to = "anaconda:a/"}), FailsWith(ErrorCode::kUsage, ::testing::_));
  EXPECT_THAT(MakeTarget(env_, {.to = "file:///"}),
              FailsWith(ErrorCode::kUsage, HasSubstr("cannot go into '/'")));
  EXPECT_THAT(MakeTarget(env_, {.to = "file://localhost/"}), FailsWith(ErrorCode::kUsage, HasSubstr("'/'")));
  EXPECT_THAT(MakeTarget(env_, {.to = "file:dist"}), FailsWith(ErrorCode::kUsage, HasSubstr("file:///DIR")));
  EXPECT_THAT(MakeTarget(env_, {.to = "quetz:c"}), FailsWith(ErrorCode::kUsage, HasSubstr("--server")));
}

TEST_F(TargetTest, AWrongUrlOfAServerIsAWrongCommandLine) {
  for (const char* url :
       {"host", "127.0.0.1:9", "ftp://h/", "http:///x", "http://joe:s3cr3t@example.org/", "http://h:99999/",
        "http://h:abc/", "http://h:0/", "http://[::1", "http://h :1/", "http://h/a b"}) {
    const auto names = [&](const char* option) {
      return FailsWith(ErrorCode::kUsage, AllOf(HasSubstr(option), Not(HasSubstr("s3cr3t"))));
    };
    for (const char* to : {"pypi:ours", "anaconda:me", "s3://bucket", "quetz:c", "prefix:c", "artifactory:c"})
      EXPECT_THAT(MakeTarget(env_, {.to = to, .server = url}), names("--server")) << to << url;
    EXPECT_THAT(MakeTarget(env_, {.to = "pypi:pypi", .check_url = url}), names("--check-url")) << url;
    EXPECT_THAT(MakeStore(env_, {.from = "anaconda:me", .server = url}), names("--server")) << url;
    env_->variables = {
        {"UV_PUBLISH_CHECK_URL", url}, {"AWS_ENDPOINT_URL_S3", url}, {"ACTIONS_ID_TOKEN_REQUEST_URL", url}};
    EXPECT_THAT(MakeTarget(env_, {.to = "pypi:ours", .server = "http://h/"}), names("UV_PUBLISH_CHECK_URL"));
    EXPECT_THAT(MakeTarget(env_, {.to = "s3://bucket"}), names("AWS_ENDPOINT_URL_S3")) << url;
    EXPECT_THAT(MakeTarget(env_, {.to = "prefix:c"}), names("ACTIONS_ID_TOKEN_REQUEST_URL")) << url;
    EXPECT_THAT(MakeTarget(env_, {.to = "pypi:o", .server = "http://h/", .check_url = "http://h/"}),
                names("ACTIONS_ID_TOKEN_REQUEST_URL"));
    EXPECT_THAT(MakeTarget(env_, {.to = "quetz:c", .server = "http://h/"}), IsOk());
    const AbsPath file = env_.dir().path() / "settings";
    ASSERT_THAT(WriteFile(env_->fs, file,
                          fmt::format("[ours]\nrepository = {0}\n[default]\nendpoint_url = {0}\n", url)),
                IsOk());
    env_->variables = {{"TWINE_CONFIG_FILE", file.str()}, {"AWS_SHARED_CREDENTIALS_FILE", file.str()}};
    EXPECT_THAT(MakeTarget(env_, {.to = "pypi:ours", .check_url = "http://h/"}),
                names("section 'ours' in .pypirc"));
    EXPECT_THAT(MakeTarget(env_, {.to = "s3://bucket"}), names("'endpoint_url' of profile 'default'")) << url;
    env_->variables.clear();
  }
}

TEST_F(TargetTest, ANameThatLeadsElsewhereIsRefused) {
  const auto refused = [](const char* text) { return FailsWith(ErrorCode::kUsage, HasSubstr(text)); };
  for (const std::string name : {"../x", "a/..", "a b", "a?b", "a#b", "a%2e", "a\\b", ".", "a\nb", "a//b"}) {
    for (const char* kind : {"prefix:", "quetz:", "artifactory:", "anaconda:"}) {
      EXPECT_THAT(MakeTarget(env_, {.to = kind + name, .server = "http://h"}), refused("--to"))
          << kind << name;
      EXPECT_THAT(MakeStore(env_, {.from = kind + name, .server = "http://h"}), refused("--from"))
          << kind << name;
    }
    EXPECT_THAT(MakeStore(env_, {.from = "artifactory:a", .to = "artifactory:" + name, .server = "http://h"}),
                refused("--to"));
  }
  EXPECT_THAT(MakeTarget(env_, {.to = "prefix:a/b"}), refused("'a/b' is not the name"));
  EXPECT_THAT(MakeTarget(env_, {.to = "anaconda:me/dev-1.0_rc"}), IsOk());
  for (const char* bucket : {"A_B", "ab", "a..b", "-ab", "ab-", "10.0.0.1", "xn--ab", "a_b"})
    EXPECT_THAT(MakeTarget(env_, {.to = fmt::format("s3://{}", bucket)}), refused("that AWS accepts"))
        << bucket;
  EXPECT_EQ(Title({.to = "s3://A_B", .server = "http://h"}), "s3://A_B at http://h");
}

TEST_F(TargetTest, OptionsWithoutMeaningAreRefused) {
  EXPECT_THAT(MakeTarget(env_, {.to = "file:///x", .server = "http://h"}),
              FailsWith(ErrorCode::kUsage, ::testing::_));
  EXPECT_THAT(MakeTarget(env_, {.to = "anaconda:me", .check_url = "http://h"}),
              FailsWith(ErrorCode::kUsage, ::testing::_));
}

TEST_F(TargetTest, AQueryIsRefusedAndNotShown) {
  const auto refused = AllOf(HasSubstr("cannot have a query"), Not(HasSubstr("s3cr3t")));
  for (const char* url : {"http://h/simple/?tok=s3cr3t", "http://h/?sig=s3cr3t", "http://h/#s3cr3t"}) {
    for (const char* to : {"pypi:ours", "anaconda:me", "s3://bucket", "quetz:c"})
      EXPECT_THAT(MakeTarget(env_, {.to = to, .server = url}), FailsWith(ErrorCode::kUsage, refused)) << to;
    EXPECT_THAT(MakeTarget(env_, {.to = "pypi:pypi", .check_url = url}),
                FailsWith(ErrorCode::kUsage, refused));
    EXPECT_THAT(MakeStore(env_, {.from = "anaconda:me", .server = url}),
                FailsWith(ErrorCode::kUsage, refused));
    env_->variables["UV_PUBLISH_CHECK_URL"] = url;
    EXPECT_THAT(MakeTarget(env_, {.to = "pypi:ours", .server = "http://h/"}),
                FailsWith(ErrorCode::kUsage, refused));
    env_->variables.erase("UV_PUBLISH_CHECK_URL");
  }
}

TEST_F(TargetTest, ASecretInATargetIsMasked) {
  const std::string secret = "s3cr3tV4lue";
  for (const std::string& target :
       {"file://user:" + secret + "@host/dir", "s3://key:" + secret + "@bucket/p", "pypi:x?token=" + secret,
        "anaconda:own?token=" + secret, "/tmp/x?token=" + secret, "foo:x?token=" + secret}) {
    const auto made = MakeTarget(env_, {.to = target});
    const auto store = MakeStore(env_, {.from = target, .to = target});
    ASSERT_FALSE(made) << target;
    ASSERT_FALSE(store) << target;
    for (const Error& error : {made.error(), store.error()})
      EXPECT_THAT(MaskSecrets(FormatError(error)), Not(HasSubstr(secret))) << target;
  }
}

TEST_F(TargetTest, AnIndexIsASectionOfPypirc) {
  const AbsPath file = env_.dir().path() / "pypirc";
  ASSERT_THAT(WriteFile(env_->fs, file,
                        "[distutils]\nindex-servers =\n    ours\n\n[ours]\nrepository = http://h/upload/\n"),
              IsOk());
  env_->variables["TWINE_CONFIG_FILE"] = file.str();
  EXPECT_THAT(MakeTarget(env_, {.to = "pypi:ours"}),
              FailsWith(ErrorCode::kUsage, HasSubstr("already uploaded")));
  EXPECT_EQ(Title({.to = "pypi:ours", .check_url = "http://h/simple/"}), "index 'ours' at http://h/upload/");
  // Like every path of the user, it may be relative.
  env_->cwd = env_.dir().path();
  env_->variables["TWINE_CONFIG_FILE"] = "pypirc";
  EXPECT_EQ(Title({.to = "pypi:ours", .check_url = "http://h/simple/"}), "index 'ours' at http://h/upload/");
  EXPECT_THAT(MakeTarget(env_, {.to = "pypi:others"}), FailsWith(ErrorCode::kUsage, HasSubstr("'others'")));
  // Only the repository is needed here.
  ASSERT_THAT(
      WriteFile(env_->fs, file, "[pypi]\npassword = a\n  username = b\n[distutils]\nindex-servers =\nours\n"),
      IsOk());
  EXPECT_EQ(Title({.to = "pypi:pypi"}), "index 'pypi' at https://upload.pypi.org/legacy/");
}

}  // namespace
}  // namespace ptpkg::publish
