#include "publish/auth/credential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "publish/auth/trusted.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::publish {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOk;
using ::testing::HasSubstr;
using ::testing::Not;

class CredentialTest : public ::testing::Test {
 protected:
  CredentialTest() {
    env_->variables["PATH"] = (env_.dir().path() / "bin").str();  // no keyring
    env_->variables["HOME"] = home_.str();
  }
  void Write(const AbsPath& file, const std::string& text) {
    ASSERT_THAT(env_->fs.MakeDirs(file.Parent()), IsOk());
    ASSERT_THAT(WriteFile(env_->fs, file, text), IsOk());
  }
  std::string Token() {
    const auto token = AnacondaToken(env_, "https://api.host");
    return token ? token->Reveal() : "none";
  }

  test::TestEnv env_;
  const AbsPath home_ = env_.dir().path() / "home";
};

TEST_F(CredentialTest, VariablesComeFirstInTheirOrder) {
  Write(home_ / ".continuum/anaconda-client/tokens/https%3A%2F%2Fapi.host.token", "of a file\n");
  EXPECT_EQ(Token(), "of a file");
  env_->variables["ANACONDA_API_KEY"] = "third";
  EXPECT_EQ(Token(), "third");
  env_->variables["ANACONDA_API_TOKEN"] = "second";
  EXPECT_EQ(Token(), "second");
  env_->variables["BINSTAR_API_TOKEN"] = "first";
  EXPECT_EQ(Token(), "first");
}

TEST_F(CredentialTest, ATokenOfSeveralLinesIsRefusedByItsPlace) {
  Write(home_ / ".continuum/anaconda-client/tokens/https%3A%2F%2Fapi.host.token", "one\ntwo\n");
  EXPECT_THAT(AnacondaToken(env_, "https://api.host"),
              FailsWith(ErrorCode::kUsage, HasSubstr(".token' has")));
  env_->variables["ANACONDA_API_TOKEN"] = "one\r\nX: 1";
  EXPECT_THAT(AnacondaToken(env_, "https://api.host"),
              FailsWith(ErrorCode::kUsage,
                        HasSubstr("the token or password in ANACONDA_API_TOKEN has more than one line")));
}

TEST_F(CredentialTest, AnEmptyTokenFileIsNone) {
  Write(home_ / ".local/share/binstar/https%3A%2F%2Fapi.host.token", "\n");
  Write(home_ / ".continuum/anaconda-client/tokens/https%3A%2F%2Fapi.host.token", "later");
  EXPECT_EQ(Token(), "later");
}

TEST_F(CredentialTest, WithoutATokenAVariableIsNamed) {
  const auto token = AnacondaToken(env_, "https://api.host");
  EXPECT_THAT(token, FailsWith(ErrorCode::kRefused, HasSubstr("https://api.host")));
  EXPECT_THAT(token.error().hint(), HasSubstr("ANACONDA_API_TOKEN"));
}

TEST_F(CredentialTest, TheKeyringIsAskedLast) {
  const AbsPath keyring = env_.dir().path() / "bin/keyring";
  Write(keyring, "#!/bin/sh\n[ \"$*\" = 'get https://api.host token' ] && echo of the keyring\n");
  ASSERT_THAT(env_->fs.SetMode(keyring, 0755), IsOk());
  EXPECT_EQ(Token(), "of the keyring");
}

TEST_F(CredentialTest, AnIndexHasUvsTwinesAndTheFilesLogin) {
  Write(home_ / ".pypirc", "[ours]\nusername: me\npassword: of = the file\n");
  const auto login = [&] {
    const auto found = IndexLogin(env_, "ours", "https://host/legacy/");
    return found ? found->user + " " + found->password.Reveal() : "none";
  };
  EXPECT_EQ(login(), "me of = the file");
  env_->variables["TWINE_PASSWORD"] = "twine";
  EXPECT_EQ(login(), "__token__ twine");
  env_->variables["TWINE_USERNAME"] = "you";
  EXPECT_EQ(login(), "you twine");
  env_->variables["UV_PUBLISH_TOKEN"] = "uv";
  EXPECT_EQ(login(), "__token__ uv");
}

TEST_F(CredentialTest, APasswordGoesToItsOwnServerAlone) {
  Write(home_ / ".pypirc", "[ours]\nrepository: https://own/legacy/\npassword: x\n[pypi]\npassword: y\n");
  EXPECT_THAT(IndexLogin(env_, "ours", "https://own/other/"), IsOk());
  EXPECT_THAT(IndexLogin(env_, "ours", "https://host/legacy/"), FailsWith(ErrorCode::kRefused, ::testing::_));
  EXPECT_THAT(IndexLogin(env_, "pypi", "https://host/legacy/"), FailsWith(ErrorCode::kRefused, ::testing::_));
  EXPECT_THAT(IndexLogin(env_, "pypi", "https://upload.pypi.org/legacy/"), IsOk());
}

TEST_F(CredentialTest, AnIdentityForPypiGoesToPypiAlone) {
  env_->variables["PYPI_ID_TOKEN"] = "identity";
  const auto audience = [&](const std::string& name) {
    env_.http.AnswerNext(
        "GET https://host/_/oidc/audience",
        HttpAnswer{.status = 200, .headers = {}, .body = R"({"audience": ")" + name + R"("})"});
  };
  audience("another index");
  EXPECT_THAT(IndexLogin(env_, "ours", "https://host/legacy/"), FailsWith(ErrorCode::kRefused, ::testing::_));
  EXPECT_THAT(IndexLogin(env_, "ours", "http://host/legacy/"), FailsWith(ErrorCode::kRefused, ::testing::_));
  for (const auto& call : env_.http.calls()) EXPECT_THAT(call.body, Not(HasSubstr("identity")));
  audience("pypi");
  env_.http.AnswerNext("POST https://host/_/oidc/mint-token",
                       HttpAnswer{.status = 200, .headers = {}, .body = R"({"token": "minted"})"});
  EXPECT_THAT(IndexLogin(env_, "ours", "https://host/legacy/"), IsOk());
}

TEST_F(CredentialTest, AWarningOfTheKeyringIsNoToken) {
  const AbsPath keyring = env_.dir().path() / "bin/keyring";
  Write(keyring, "#!/bin/sh\necho warning >&2\necho token\n");
  ASSERT_THAT(env_->fs.SetMode(keyring, 0755), IsOk());
  EXPECT_THAT(AnacondaToken(env_, "https://api.host"),
              FailsWith(ErrorCode::kRefused, HasSubstr("more than the token")));
}

TEST_F(CredentialTest, ALineThatIsNoneIsNamedWithoutItsText) {
  Write(home_ / ".pypirc", "[ours]\nusername: me\nhidden\n");
  const auto section = ReadPypirc(env_, "ours");
  ASSERT_THAT(section, FailsWith(ErrorCode::kInvalidInput, HasSubstr(".pypirc:3")));
  Write(home_ / ".pypirc", "[ours]\nusername: me\nUsername: you\n");
  EXPECT_THAT(ReadPypirc(env_, "ours"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr(".pypirc:3: 'username' is there twice")));
  Write(home_ / ".pypirc", "[ours]\nusername: me\n[other]\n[ours]\n");
  EXPECT_THAT(ReadPypirc(env_, "ours"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr(".pypirc:4: section 'ours' is there twice")));
  EXPECT_THAT(FormatError(section.error()), Not(HasSubstr("hidden")));
}

TEST_F(CredentialTest, FaultsOfOtherSectionsArePassedOver) {
  const std::string own = "[ours]\nusername: me\npassword: x\n";
  for (const std::string& text :
       {"[distutils]\nindex-servers =\nours\n" + own, "[a]\nb = 1\nB = 2\n" + own, "[a]\n[a]\n" + own,
        own + "[a]\nhidden\n", "hidden\n" + own, "\xEF\xBB\xBF[distutils]\n" + own}) {
    Write(home_ / ".pypirc", text);
    const auto login = IndexLogin(env_, "ours", "https://host/legacy/");
    ASSERT_THAT(login, IsOk()) << text;
    EXPECT_EQ(login->password.Reveal(), "x") << text;
    const auto none = ReadPypirc(env_, "others");
    ASSERT_THAT(none, IsOk()) << text;
    EXPECT_FALSE(none->has_value());
  }
  // Here the fault may hide the section.
  for (const char* text : {"\xEF\xBB\xBF[ours]\nusername: me\n", "[a]\n[ours\n", "[a]\nours]\n"}) {
    Write(home_ / ".pypirc", text);
    EXPECT_THAT(ReadPypirc(env_, "ours"), FailsWith(ErrorCode::kInvalidInput, HasSubstr(".pypirc:"))) << text;
  }
  EXPECT_THAT(ReadPypirc(env_, "pypi"), IsOk());
  Write(home_ / ".pypirc", "\xEF\xBB\xBF[ours]\n");
  EXPECT_THAT(ReadPypirc(env_, "ours"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("byte order mark")));
}

TEST_F(CredentialTest, BlanksArePythons) {
  Write(home_ / ".pypirc",
        "[ours]\nusername: me\xC2\xA0\n\xC2\xA0\n\xE3\x80\x80\n"
        "password\xC2\xA0=\xC2\x85 p\xC3\xA0\xC2\xA0q \xE2\x80\xAF\n");
  const auto login = IndexLogin(env_, "ours", "https://host/legacy/");
  ASSERT_THAT(login, IsOk());
  EXPECT_EQ(login->user, "me");
  EXPECT_EQ(login->password.Reveal(), "p\xC3\xA0\xC2\xA0q");
}

TEST_F(CredentialTest, ALoginOfSeveralLinesIsRefusedWhereItIsNeeded) {
  Write(home_ / ".pypirc", "[ours]\nrepository: https://own/legacy/\npassword: hidden\n  username: me\n");
  const auto needed = IndexLogin(env_, "ours", "https://own/legacy/");
  ASSERT_THAT(needed, FailsWith(ErrorCode::kUsage, HasSubstr("'password' of section 'ours'")));
  EXPECT_THAT(FormatError(needed.error()), Not(HasSubstr("hidden")));
  EXPECT_THAT(ReadPypirc(env_, "ours"), IsOk());
  EXPECT_THAT(IndexLogin(env_, "ours", "https://host/legacy/"),
              FailsWith(ErrorCode::kRefused, HasSubstr("no token found")));
  env_->variables["UV_PUBLISH_TOKEN"] = "uv";
  EXPECT_THAT(IndexLogin(env_, "ours", "https://own/legacy/"), IsOk());
}

TEST_F(CredentialTest, ACiJobChangesItsIdentityForAToken) {
  env_->variables["ACTIONS_ID_TOKEN_REQUEST_URL"] = "https://ci/token?v=1";
  env_->variables["ACTIONS_ID_TOKEN_REQUEST_TOKEN"] = "of the job";
  const auto answer = [](const std::string& body) {
    return HttpAnswer{.status = 200, .headers = {}, .body = body};
  };
  env_.http.AnswerNext("GET https://host/_/oidc/audience", answer(R"({"audience": "the index"})"));
  env_.http.AnswerNext("GET https://ci/token?v=1&audience=the%20index", answer(R"({"value": "identity"})"));
  env_.http.AnswerNext("POST https://host/_/oidc/mint-token", answer(R"({"token": "minted"})"));
  const auto login = IndexLogin(env_, "ours", "https://host/legacy/");
  ASSERT_THAT(login, IsOk());
  EXPECT_EQ(login->password.Reveal(), "minted");
  const auto calls = env_.http.calls();
  EXPECT_EQ(calls[1].headers.at("Authorization"), "bearer of the job");
  EXPECT_EQ(calls[2].body, R"({"token":"identity"})");
}

TEST_F(CredentialTest, AnIdentityIsRequestedByHttpsOrOnThisMachine) {
  env_->variables["ACTIONS_ID_TOKEN_REQUEST_TOKEN"] = "of the job";
  const auto answer = [](const std::string& body) {
    return HttpAnswer{.status = 200, .headers = {}, .body = body};
  };
  const auto login = [&](const std::string& origin) {
    env_->variables["ACTIONS_ID_TOKEN_REQUEST_URL"] = origin + "/token?v=1";
    env_.http.AnswerNext("GET https://host/_/oidc/audience", answer(R"({"audience": "x"})"));
    return IndexLogin(env_, "ours", "https://host/legacy/");
  };
  for (const char* origin : {"http://ci", "http://localhost.ci", "http://127.0.0.1.ci", "http://[::2]:1"})
    EXPECT_THAT(login(origin), FailsWith(ErrorCode::kRefused, HasSubstr("ACTIONS_ID_TOKEN_REQUEST_URL")))
        << origin;
  for (const auto& call : env_.http.calls()) EXPECT_FALSE(call.headers.contains("Authorization"));
  for (const std::string origin :
       {"https://ci", "http://127.0.0.1:80", "http://localhost", "http://[::1]:80", "http://[::1]"}) {
    env_.http.AnswerNext("GET " + origin + "/token?v=1&audience=x", answer(R"({"value": "identity"})"));
    env_.http.AnswerNext("POST https://host/_/oidc/mint-token", answer(R"({"token": "minted"})"));
    EXPECT_THAT(login(origin), IsOk()) << origin;
  }
  // The keyring is asked all the same.
  const AbsPath keyring = env_.dir().path() / "bin/keyring";
  Write(keyring, "#!/bin/sh\necho of the keyring\n");
  ASSERT_THAT(env_->fs.SetMode(keyring, 0755), IsOk());
  const auto kept = login("http://ci");
  ASSERT_THAT(kept, IsOk());
  EXPECT_EQ(kept->password.Reveal(), "of the keyring");
  EXPECT_THAT(TokenFrom(env_, {"PREFIX_API_KEY"}, "https://prefix.dev", &TrustedChannelToken), IsOk());
  // A user name may be a secret.
  const std::string userinfo = std::string("joe") + ":hidden@";
  const auto refused = login("https://" + userinfo + "ci");
  ASSERT_THAT(refused, FailsWith(ErrorCode::kInvalidInput, HasSubstr("user name or password")));
  EXPECT_THAT(FormatError(refused.error()), Not(HasSubstr("hidden")));
}

TEST_F(CredentialTest, AMintedTokenIsKnownAsSuchAndEnds) {
  env_.http.AnswerNext("POST https://host/_/oidc/burn-token",
                       HttpAnswer{.status = 204, .headers = {}, .body = ""});
  ASSERT_THAT(RevokeTrustedToken(env_, "https://host/legacy/", Secret("minted")), IsOk());
  EXPECT_EQ(env_.http.calls().back().body, R"({"token":"minted"})");
  EXPECT_FALSE(env_.http.calls().back().headers.contains("Authorization"));
  env_.http.AnswerNext("POST https://host/_/oidc/burn-token",
                       HttpAnswer{.status = 404, .headers = {}, .body = ""});
  EXPECT_THAT(RevokeTrustedToken(env_, "https://host/legacy/", Secret("minted")), IsOk());
  env_.http.AnswerNext("POST https://host/_/oidc/burn-token",
                       HttpAnswer{.status = 403, .headers = {}, .body = ""});
  EXPECT_THAT(RevokeTrustedToken(env_, "https://host/legacy/", Secret("minted")),
              FailsWith(ErrorCode::kRefused, HasSubstr("403")));
}

TEST_F(CredentialTest, AChannelIsGivenAnIdentityForItsHost) {
  env_->variables["PREFIX_DEV_ID_TOKEN"] = "identity";
  for (const char* origin : {"https://prefix.dev", "https://beta.prefix.dev"}) {
    env_.http.AnswerNext("POST " + std::string(origin) + "/api/oidc/mint_token",
                         HttpAnswer{.status = 200, .headers = {}, .body = "minted\n"});
    const auto token = TrustedChannelToken(env_, origin);
    ASSERT_THAT(token, IsOk());
    ASSERT_TRUE(token->has_value());
    EXPECT_EQ((*token)->Reveal(), "minted");
    EXPECT_EQ(env_.http.calls().back().body, R"({"token":"identity"})");
  }
  const std::size_t asked = env_.http.calls().size();
  // Nobody else's server, and nobody on the way, gets what is prefix.dev's.
  for (const char* origin : {"https://host", "https://evil-prefix.dev", "http://prefix.dev"}) {
    const auto token = TrustedChannelToken(env_, origin);
    ASSERT_THAT(token, IsOk());
    EXPECT_FALSE(token->has_value()) << origin;
  }
  EXPECT_EQ(env_.http.calls().size(), asked);
}

TEST_F(CredentialTest, AnAnswerThatIsNoTokenIsNotUsedAsOne) {
  env_->variables["PREFIX_DEV_ID_TOKEN"] = "identity";
  env_.http.AnswerNext("POST https://prefix.dev/api/oidc/mint_token",
                       HttpAnswer{.status = 200, .headers = {}, .body = "<html>\n</html>"});
  EXPECT_THAT(TrustedChannelToken(env_, "https://prefix.dev"),
              FailsWith(ErrorCode::kRefused, HasSubstr("is not a token")));
}

}  // namespace
}  // namespace ptpkg::publish
