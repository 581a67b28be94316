#include "publish/http/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/digest/hash.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::publish {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using test::HasHint;
using test::IsOkAndHolds;
using ::testing::Eq;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class ExchangeTest : public ::testing::Test {
 protected:
  void Answer(const std::string& request, long status, std::map<std::string, std::string> headers = {}) {
    env_.http.AnswerNext(request, HttpAnswer{.status = status, .headers = std::move(headers)});
  }
  void Cut(const std::string& request) {
    env_.http.AnswerNext(request, Error(ErrorCode::kNetwork, "the connection was cut"));
  }

  test::TestEnv env_;
  Exchange exchange_{env_, "https://host", {{"Authorization", "token secret"}}};
};

TEST_F(ExchangeTest, AnAnswerIsGivenWhateverItsStatus) {
  Answer("GET https://host/a", 403);
  EXPECT_THAT(exchange_.Send({.url = "https://host/a"}), IsOkAndHolds(Field(&HttpAnswer::status, 403)));
  EXPECT_THAT(env_.http.calls(), SizeIs(1));
}

TEST_F(ExchangeTest, WhatMayBeRepeatedIsTriedAgainWithLongerPauses) {
  Cut("PUT https://host/a");
  Answer("PUT https://host/a", 503);
  Answer("PUT https://host/a", 408);
  Answer("PUT https://host/a", 201);
  EXPECT_THAT(exchange_.Send({.method = "PUT", .url = "https://host/a"}),
              IsOkAndHolds(Field(&HttpAnswer::status, 201)));
  EXPECT_THAT(env_.http.calls(), SizeIs(4));
  EXPECT_GE(env_.clock.Now().time_since_epoch(), 250ms + 500ms + 1000ms);
  EXPECT_LE(env_.clock.Now().time_since_epoch(), 500ms + 1000ms + 2000ms);
}

TEST_F(ExchangeTest, AfterFourTriesTheLastAnswerIsTheAnswer) {
  for (int i = 0; i < 5; ++i) Answer("GET https://host/a", 500);
  EXPECT_THAT(exchange_.Send({.url = "https://host/a"}), IsOkAndHolds(Field(&HttpAnswer::status, 500)));
  EXPECT_THAT(env_.http.calls(), SizeIs(4));
}

TEST_F(ExchangeTest, WhatTheServerCannotDoIsNotTriedAgain) {
  Answer("GET https://host/a", 501);
  EXPECT_THAT(exchange_.Send({.url = "https://host/a"}), IsOkAndHolds(Field(&HttpAnswer::status, 501)));
}

TEST_F(ExchangeTest, WhatMayHaveBeenDoneIsNotRepeated) {
  Cut("POST https://host/a");
  EXPECT_THAT(exchange_.Send({.method = "POST", .url = "https://host/a", .repeat = Repeat::kOnce}),
              FailsWith(ErrorCode::kNetwork, ::testing::_));
  Answer("POST https://host/a", 503);
  EXPECT_THAT(exchange_.Send({.method = "POST", .url = "https://host/a", .repeat = Repeat::kOnce}),
              IsOkAndHolds(Field(&HttpAnswer::status, 503)));
  EXPECT_THAT(env_.http.calls(), SizeIs(2));
}

TEST_F(ExchangeTest, ARefusalForBeingTooFastIsTriedAgainAlways) {
  Answer("POST https://host/a", 429, {{"retry-after", "7"}});
  Answer("POST https://host/a", 200);
  EXPECT_THAT(exchange_.Send({.method = "POST", .url = "https://host/a", .repeat = Repeat::kOnce}),
              IsOkAndHolds(Field(&HttpAnswer::status, 200)));
  EXPECT_GE(env_.clock.Now().time_since_epoch(), 7s);
}

TEST_F(ExchangeTest, RetryAfterHoldsForTheNextRequestToo) {
  Answer("POST https://host/a", 503, {{"retry-after", "3"}});
  Answer("GET https://host/b", 200);
  EXPECT_THAT(exchange_.Send({.method = "POST", .url = "https://host/a", .repeat = Repeat::kOnce}),
              IsOkAndHolds(Field(&HttpAnswer::status, 503)));
  EXPECT_THAT(exchange_.Send({.url = "https://host/b"}), IsOkAndHolds(Field(&HttpAnswer::status, 200)));
  EXPECT_GE(env_.clock.Now().time_since_epoch(), 3s);
}

TEST_F(ExchangeTest, NobodyWaitsForHours) {
  Answer("GET https://host/a", 503, {{"retry-after", "7200"}});
  EXPECT_THAT(exchange_.Send({.url = "https://host/a"}),
              FailsWith(ErrorCode::kNetwork, HasSubstr("to wait 1")));
  EXPECT_LT(env_.clock.Now().time_since_epoch(), 5s);
}

TEST_F(ExchangeTest, AnInterruptEndsAPause) {
  Cut("GET https://host/a");
  env_.clock.OnSleep([&] { env_.cancel.Cancel(); });
  EXPECT_THAT(exchange_.Send({.url = "https://host/a"}), FailsWith(ErrorCode::kCancelled, ::testing::_));
}

TEST_F(ExchangeTest, CredentialsStayWithTheirServer) {
  Answer("GET https://host/a", 302, {{"location", "https://other/b"}});
  Answer("GET https://other/b", 200);
  EXPECT_THAT(exchange_.Send({.url = "https://host/a"}), IsOkAndHolds(Field(&HttpAnswer::status, 200)));
  const auto calls = env_.http.calls();
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_THAT(calls[0].headers, ::testing::Contains(::testing::Key("Authorization")));
  EXPECT_THAT(calls[1].headers, Not(::testing::Contains(::testing::Key("Authorization"))));
}

TEST_F(ExchangeTest, CredentialsForThisMachineGoPastProxies) {
  for (const std::string origin : {"http://localhost:80", "http://127.0.0.1", "https://[::1]:8443"}) {
    Exchange here(env_, origin, {{"Authorization", "token secret"}});
    EXPECT_THAT(here.Send({.url = origin + "/a"}), test::IsOk());
    EXPECT_TRUE(env_.http.calls().back().skips_proxy) << origin;
    // A server elsewhere cannot lead past the proxy.
    Answer("GET https://host/a", 302, {{"location", origin + "/a"}});
    EXPECT_THAT(exchange_.Send({.url = "https://host/a"}), test::IsOk());
    EXPECT_FALSE(env_.http.calls().back().skips_proxy) << origin;
  }
  for (const std::string origin : {"https://host", "http://localhost.host", "http://127.0.0.1.host"}) {
    Exchange there(env_, origin, {});
    EXPECT_THAT(there.Send({.url = origin + "/a"}), test::IsOk());
    EXPECT_FALSE(env_.http.calls().back().skips_proxy) << origin;
  }
}

TEST_F(ExchangeTest, ARelativeRedirectBelongsToTheServerThatGaveIt) {
  Answer("GET https://host/a", 302, {{"location", "https://other/b"}});
  Answer("GET https://other/b", 302, {{"location", "/c"}});
  Answer("GET https://other/c", 200);
  EXPECT_THAT(exchange_.Send({.url = "https://host/a"}), IsOkAndHolds(Field(&HttpAnswer::status, 200)));
}

TEST_F(ExchangeTest, ABodyFollowsNoRedirect) {
  Answer("PUT https://host/a", 307, {{"location", "https://other/b"}});
  const auto answer = exchange_.Send({.method = "PUT", .url = "https://host/a", .body = {.before = "x"}});
  EXPECT_THAT(answer, FailsWith(ErrorCode::kRefused, HasSubstr("307")));
  EXPECT_THAT(env_.http.calls(), SizeIs(1));
}

TEST_F(ExchangeTest, RedirectsInACircleEnd) {
  for (int i = 0; i < 10; ++i) Answer("GET https://host/a", 302, {{"location", "/a"}});
  EXPECT_THAT(exchange_.Send({.url = "https://host/a"}), FailsWith(ErrorCode::kRefused, ::testing::_));
}

TEST_F(ExchangeTest, ABodyIsTextFileText) {
  const AbsPath file = env_.dir().path() / "f";
  ASSERT_THAT(WriteFile(env_->fs, file, "file"), test::IsOk());
  Answer("PUT https://host/a", 200);
  const auto answer = exchange_.Send({.method = "PUT",
                                      .url = "https://host/a",
                                      .body = {.before = "<", .file = file, .file_bytes = 4, .after = ">"}});
  EXPECT_THAT(answer, test::IsOk());
  EXPECT_THAT(env_.http.calls().back().body, Eq("<file>"));
}

TEST_F(ExchangeTest, AFileThatBecameShorterIsNotSent) {
  const AbsPath file = env_.dir().path() / "f";
  ASSERT_THAT(WriteFile(env_->fs, file, "file"), test::IsOk());
  Answer("PUT https://host/a", 200);
  const auto answer =
      exchange_.Send({.method = "PUT", .url = "https://host/a", .body = {.file = file, .file_bytes = 9}});
  EXPECT_THAT(answer, FailsWith(ErrorCode::kRefused, HasSubstr("shrank")));
}

TEST(AnswerErrorTest, SaysWhatTheServerSays) {
  const HttpAnswer answer{.status = 402, .headers = {}, .body = R"({"error": "storage is full"})"};
  const Error error = AnswerError(answer, "given 'x'");
  EXPECT_EQ(error.code(), ErrorCode::kRefused);
  EXPECT_EQ(error.message(), "the server answered 402 when given 'x': storage is full");
}

TEST(AnswerErrorTest, LeavesPagesForBrowsersOut) {
  const HttpAnswer answer{.status = 500, .headers = {}, .body = "<html><body>Oops</body></html>"};
  EXPECT_EQ(AnswerError(answer, "asked").message(), "the server answered 500 when asked");
  EXPECT_EQ(AnswerError(answer, "asked").code(), ErrorCode::kNetwork);
}

TEST(AnswerErrorTest, WhatPassesByItselfIsTheNetworksFault) {
  for (const long status : {408, 425, 429, 500, 503})
    EXPECT_EQ(AnswerError({.status = status, .headers = {}, .body = ""}, "asked").code(),
              ErrorCode::kNetwork);
}

TEST_F(ExchangeTest, OddRedirects) {
  Answer("GET https://host/a", 302, {{"location", "//other/b"}});
  Answer("GET https://other/b", 200);
  EXPECT_THAT(exchange_.Send({.url = "https://host/a"}), IsOkAndHolds(Field(&HttpAnswer::status, 200)));
  Answer("GET https://host/a/b", 302, {{"location", "c?d=1"}});
  Answer("GET https://host/a/c?d=1", 200);
  EXPECT_THAT(exchange_.Send({.url = "https://host/a/b"}), IsOkAndHolds(Field(&HttpAnswer::status, 200)));
  Answer("GET https://host/a", 302, {{"location", "ftp://host/b"}});
  EXPECT_THAT(exchange_.Send({.url = "https://host/a"}),
              FailsWith(ErrorCode::kRefused, HasSubstr("an invalid URL")));
}

TEST_F(ExchangeTest, ARedirectToAnotherServerCanBeAnAnswer) {
  const Request request{.url = "https://host/a", .stays_at_server = true};
  for (const char* elsewhere : {"https://other/a", "https://host:8443/a", "//other/a"}) {
    Answer("GET https://host/a", 303, {{"location", elsewhere}});
    EXPECT_THAT(exchange_.Send(request), IsOkAndHolds(Field(&HttpAnswer::status, 303))) << elsewhere;
  }
  Answer("GET https://host/a", 301, {{"location", "/a/"}});
  Answer("GET https://host/a/", 301, {{"location", "http://host/a/"}});
  Answer("GET http://host/a/", 200);
  EXPECT_THAT(exchange_.Send(request), IsOkAndHolds(Field(&HttpAnswer::status, 200)));
}

TEST_F(ExchangeTest, WhatWasBegunCanBeTakenBackAfterAnInterrupt) {
  env_.cancel.Cancel();
  Answer("GET https://host/a", 503);
  Answer("GET https://host/a", 200);
  exchange_.IgnoreCancel();
  EXPECT_THAT(exchange_.Send({.url = "https://host/a"}), IsOkAndHolds(Field(&HttpAnswer::status, 200)));
}

TEST(OriginOfTest, IsSchemeHostAndPort) {
  EXPECT_THAT(OriginOf("HTTPS://Host:8080/a?b"), IsOkAndHolds("https://host:8080"));
  EXPECT_THAT(OriginOf("ftp://host/"), FailsWith(ErrorCode::kInvalidInput, ::testing::_));
  EXPECT_THAT(OriginOf("https:///a"), FailsWith(ErrorCode::kInvalidInput, ::testing::_));
  EXPECT_THAT(OriginOf("https://h:99999/"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("port")));
}

TEST(OriginOfTest, APasswordInAUrlIsRefusedAndNotShown) {
  const auto origin = OriginOf("https://me:hidden@example.org/");
  ASSERT_THAT(origin, FailsWith(ErrorCode::kInvalidInput, ::testing::_));
  EXPECT_THAT(FormatError(origin.error()), Not(HasSubstr("hidden")));
}

}  // namespace
}  // namespace ptpkg::publish
