// The real client against a stub server on the loopback interface.

#include "support/net/http.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <optional>
#include <thread>

#include "support/files/fs.h"
#include "support/http_stub.h"
#include "support/matchers.h"
#include "support/net/curl_request.h"
#include "support/temp_dir.h"

namespace ptpkg::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

class HttpTest : public ::testing::Test {
 protected:
  Result<HttpResponse> Get(const std::string& url) { return http_->Get({.url = url}, sink_); }
  Result<HttpResponse> GetPath(const std::string& path) { return Get(stub_.Url(path)); }

  HttpStub stub_;
  StringSink sink_;
  std::unique_ptr<Http> http_ = MakeCurlHttp(
      {.connect_timeout = milliseconds(2000), .stall_timeout = seconds(1), .retry_pause = milliseconds(1)});
};

TEST(SystemAuthorities, AreTheFirstFileThatSystemsHave) {
  const TempDir root;
  EXPECT_THAT(SystemAuthorities(root.path().str()), IsEmpty());
  for (const std::string_view file :
       {"etc/ssl/ca-bundle.pem", "etc/pki/tls/certs/ca-bundle.crt",
        "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "etc/ssl/certs/ca-certificates.crt"}) {
    const AbsPath written = root.WriteFile(file, "");
    EXPECT_THAT(SystemAuthorities(root.path().str()), Eq(written.str()));
  }
}

TEST_F(HttpTest, GetsBodyStatusAndHeaders) {
  stub_.Serve("/f", {.headers = {{"X-Kind", " spaced "}, {"ETag", "\"abc\""}}, .body = "content"});
  ASSERT_OK_AND_ASSIGN(const HttpResponse response, GetPath("/f"));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(sink_.str(), "content");
  EXPECT_THAT(response.headers, ::testing::IsSupersetOf({Pair("x-kind", "spaced"), Pair("etag", "\"abc\""),
                                                         Pair("content-length", "7")}));
}

TEST_F(HttpTest, SendsTheGivenHeaders) {
  stub_.Serve("/f", {.body = "x"});
  ASSERT_OK(http_->Get({.url = stub_.Url("/f?q=1"), .headers = {{"Authorization", "token abc"}}}, sink_));
  ASSERT_THAT(stub_.requests(), SizeIs(1));
  const StubRequest request = stub_.requests()[0];
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.target, "/f?q=1");
  EXPECT_EQ(request.headers.at("authorization"), "token abc");
}

TEST_F(HttpTest, LargeBodyArrivesWholeWithProgress) {
  std::string body(5'000'000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7 % 256);
  stub_.Serve("/big", {.body = body});
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  HttpRequest request{.url = stub_.Url("/big")};
  request.on_progress = [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_GE(done, last);
    last = done;
    total = all;
  };
  ASSERT_OK(http_->Get(request, sink_));
  EXPECT_TRUE(sink_.str() == body);
  EXPECT_EQ(last, body.size());
  EXPECT_EQ(total, body.size());
}

TEST_F(HttpTest, EmptyBodyIsFine) {
  stub_.Serve("/empty", StubReply{});
  EXPECT_OK(GetPath("/empty"));
  EXPECT_EQ(sink_.str(), "");
}

TEST_F(HttpTest, MissingPagesAreNotFoundAtOnce) {
  stub_.Serve("/gone", {.status = 410, .body = "gone for good"});
  EXPECT_THAT(GetPath("/none"), FailsWith(ErrorCode::kNotFound, AllOf(HasSubstr("404"), HasSubstr("/none"))));
  EXPECT_THAT(GetPath("/gone"), FailsWith(ErrorCode::kNotFound, HasSubstr("410")));
  EXPECT_EQ(sink_.str(), "");  // error pages do not reach the sink
  EXPECT_THAT(stub_.requests(), SizeIs(2));
}

TEST_F(HttpTest, RefusalsAreNotRetried) {
  stub_.Serve("/secret", {.status = 403});
  stub_.Serve("/teapot", {.status = 418});
  const Result<HttpResponse> forbidden = GetPath("/secret");
  EXPECT_THAT(forbidden, FailsWith(ErrorCode::kRefused, HasSubstr("403")));
  EXPECT_THAT(forbidden, HasHint(HasSubstr("credentials")));
  EXPECT_THAT(GetPath("/teapot"), FailsWith(ErrorCode::kRefused, HasSubstr("418")));
  EXPECT_THAT(stub_.requests(), SizeIs(2));
}

TEST_F(HttpTest, ServerErrorsAreTriedThreeTimes) {
  stub_.ServeInTurn("/recovers", {{.status = 500, .body = "oops"}, {.status = 503}, {.body = "fine"}});
  EXPECT_OK(GetPath("/recovers"));
  EXPECT_EQ(sink_.str(), "fine");
  EXPECT_THAT(stub_.requests(), SizeIs(3));

  stub_.Serve("/down", {.status = 502});
  const Result<HttpResponse> down = GetPath("/down");
  EXPECT_THAT(down, FailsWith(ErrorCode::kNetwork, HasSubstr("502")));
  EXPECT_THAT(stub_.requests(), SizeIs(6));
}

TEST_F(HttpTest, BusyServerIsTriedAgain) {
  stub_.ServeInTurn("/busy", {{.status = 429}, {.body = "fine"}});
  EXPECT_OK(GetPath("/busy"));
  stub_.Serve("/always-busy", {.status = 429});
  const Result<HttpResponse> busy = GetPath("/always-busy");
  EXPECT_THAT(busy, FailsWith(ErrorCode::kRefused, HasSubstr("429")));
  EXPECT_THAT(stub_.requests(), SizeIs(5));
}

TEST_F(HttpTest, DroppedConnectionIsTriedAgain) {
  stub_.ServeInTurn("/drop", {{.close_at_once = true}, {.body = "fine"}});
  EXPECT_OK(GetPath("/drop"));
  stub_.Serve("/drops", {.close_at_once = true});
  const Result<HttpResponse> drops = GetPath("/drops");
  EXPECT_THAT(drops, FailsWith(ErrorCode::kNetwork, HasSubstr("/drops")));
  EXPECT_THAT(stub_.requests(), SizeIs(5));
  stub_.ServeInTurn("/head", {{.cuts_head = true}, {.body = "fine"}});
  EXPECT_OK(GetPath("/head"));
  EXPECT_THAT(stub_.requests(), SizeIs(7));
}

std::string Numbers(std::size_t count) {
  std::string body;
  for (std::size_t i = 0; body.size() < count; ++i) body += std::to_string(i) + ",";
  return body.substr(0, count);
}

StubReply Rest(const std::string& body, std::size_t from, std::optional<std::size_t> truncate_after = {}) {
  return {
      .status = 206,
      .headers = {{"Content-Range", "bytes " + std::to_string(from) + "-" + std::to_string(body.size() - 1) +
                                        "/" + std::to_string(body.size())}},
      .body = body.substr(from),
      .truncate_after = truncate_after};
}

TEST_F(HttpTest, ACutBodyGoesOnWhereItEnded) {
  const std::string body = Numbers(1000);
  const std::map<std::string, std::string> tag = {{"ETag", "\"v1\""}};
  stub_.ServeInTurn(
      "/cut", {{.headers = tag, .body = body, .truncate_after = 400}, Rest(body, 400, 100), Rest(body, 500)});
  std::vector<std::pair<std::uint64_t, std::uint64_t>> progress;
  HttpRequest request{.url = stub_.Url("/cut")};
  request.on_progress = [&](std::uint64_t done, std::uint64_t all) { progress.emplace_back(done, all); };
  ASSERT_OK(http_->Get(request, sink_));
  EXPECT_EQ(sink_.str(), body);
  const auto requests = stub_.requests();
  ASSERT_THAT(requests, SizeIs(3));
  EXPECT_FALSE(requests[0].headers.contains("range"));
  EXPECT_EQ(requests[1].headers.at("range"), "bytes=400-");
  EXPECT_EQ(requests[1].headers.at("if-range"), "\"v1\"");
  EXPECT_EQ(requests[2].headers.at("range"), "bytes=500-");
  ASSERT_FALSE(progress.empty());
  EXPECT_EQ(progress.back(), std::pair(std::uint64_t{1000}, std::uint64_t{1000}));
  EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
}

TEST_F(HttpTest, WithoutRangesWhatIsThereIsComparedAndPassedOver) {
  const std::string body = Numbers(1000);
  // Weak tags and no tags promise nothing about the bytes.
  stub_.ServeInTurn("/cut", {{.headers = {{"ETag", "W/\"v1\""}}, .body = body, .truncate_after = 400},
                             {.body = body, .truncate_after = 300},
                             {.body = body, .truncate_after = 700},
                             {.body = body}});
  ASSERT_OK(GetPath("/cut"));
  EXPECT_EQ(sink_.str(), body);
  for (const StubRequest& request : stub_.requests()) EXPECT_FALSE(request.headers.contains("range"));
}

TEST_F(HttpTest, AServerMayAnswerARangeWithTheWhole) {
  const std::string body = Numbers(1000);
  stub_.ServeInTurn(
      "/cut",
      {{.headers = {{"Last-Modified", "Sat, 21 Nov 2026 10:00:00 GMT"}}, .body = body, .truncate_after = 400},
       {.body = body}});
  ASSERT_OK(GetPath("/cut"));
  EXPECT_EQ(sink_.str(), body);
  EXPECT_EQ(stub_.requests().back().headers.at("if-range"), "Sat, 21 Nov 2026 10:00:00 GMT");
}

TEST_F(HttpTest, AFileThatChangesBetweenTwoAttemptsIsRefused) {
  const std::string body = Numbers(1000);
  std::string other = body;
  other[399] = 'x';
  const auto refusal =
      FailsWith(ErrorCode::kNetwork, HasSubstr("changed on the server while it was fetched"));
  stub_.ServeInTurn("/other", {{.body = body, .truncate_after = 400}, {.body = other}});
  EXPECT_THAT(GetPath("/other"), refusal);
  stub_.ServeInTurn("/shorter", {{.body = body, .truncate_after = 400}, {.body = body.substr(0, 300)}});
  EXPECT_THAT(GetPath("/shorter"), refusal);
  // A server that sends a part though the whole is asked for.
  stub_.ServeInTurn("/elsewhere", {{.headers = {{"ETag", "\"v1\""}}, .body = body, .truncate_after = 400},
                                   Rest(body, 399)});
  EXPECT_THAT(GetPath("/elsewhere"), FailsWith(ErrorCode::kNetwork, HasSubstr("sent only a part")));
}

TEST_F(HttpTest, AttemptsThatBringNothingNewAreCounted) {
  const std::string body = Numbers(1000);
  stub_.Serve("/cut", {.body = body, .truncate_after = 400});
  const Result<HttpResponse> cut = GetPath("/cut");
  EXPECT_THAT(cut, FailsWith(ErrorCode::kNetwork, HasSubstr("/cut")));
  EXPECT_EQ(sink_.str(), body.substr(0, 400));
  EXPECT_THAT(stub_.requests(), SizeIs(3));
  // A server that gives little at a time is asked for long, but not for ever.
  std::vector<StubReply> replies;
  for (std::size_t i = 1; i < 40; ++i) replies.push_back({.body = body, .truncate_after = i});
  stub_.ServeInTurn("/slow", replies);
  EXPECT_THAT(GetPath("/slow"), FailsWith(ErrorCode::kNetwork, HasSubstr("/slow")));
  EXPECT_THAT(stub_.requests(), SizeIs(23));
}

/// Asks for the rest of a body whose first four bytes an earlier request brought. "offset" of each begin that
/// the sink heard of.
std::string BeginsOfRest(Http& http, const std::string& url, StringSink& sink) {
  std::string begins;
  HttpRequest request{.url = url, .resume_at = 4, .resume_version = "\"1\""};
  request.on_begin = [&](const HttpBegin& begin) {
    begins += std::to_string(begin.offset) + begin.version + " ";
    return Ok();
  };
  const auto response = http.Get(request, sink);
  return response ? begins : begins + FormatError(response.error());
}

TEST_F(HttpTest, GoesOnWithWhatAnEarlierRequestBrought) {
  stub_.Serve(
      "/f", {.status = 206, .headers = {{"Content-Range", "bytes 4-6/7"}, {"ETag", "\"1\""}}, .body = "ent"});
  EXPECT_EQ(BeginsOfRest(*http_, stub_.Url("/f"), sink_), "4\"1\" ");
  EXPECT_EQ(sink_.str(), "ent");
  EXPECT_EQ(stub_.requests()[0].headers.at("range"), "bytes=4-");
  EXPECT_EQ(stub_.requests()[0].headers.at("if-range"), "\"1\"");
}

TEST_F(HttpTest, TellsThatABodyBeginsAnew) {
  stub_.Serve("/f", {.headers = {{"ETag", "\"2\""}}, .body = "content"});
  EXPECT_EQ(BeginsOfRest(*http_, stub_.Url("/f"), sink_), "0\"2\" ");
  stub_.ServeInTurn("/g", {{.status = 416}, {.body = "content"}});
  EXPECT_EQ(BeginsOfRest(*http_, stub_.Url("/g"), sink_), "0 ");
  stub_.Serve("/empty", StubReply{});
  EXPECT_EQ(BeginsOfRest(*http_, stub_.Url("/empty"), sink_), "0 ");
  EXPECT_EQ(sink_.str(), "contentcontent");
}

TEST_F(HttpTest, TellsOnceMoreWhenTheServerForgetsTheRange) {
  stub_.ServeInTurn("/f", {{.status = 206,
                            .headers = {{"Content-Range", "bytes 4-6/7"}, {"ETag", "\"1\""}},
                            .body = "ent",
                            .truncate_after = 1},
                           {.headers = {{"ETag", "\"1\""}}, .body = "content"}});
  EXPECT_EQ(BeginsOfRest(*http_, stub_.Url("/f"), sink_), "4\"1\" 0\"1\" ");
  EXPECT_EQ(sink_.str(), "econtent");
}

/// Answers to a range that are of no use.
std::vector<StubReply> UselessReplies(const std::string& body) {
  const std::string size = std::to_string(body.size());
  const std::string last = std::to_string(body.size() - 1);
  std::vector<StubReply> replies;
  for (const int status : {204, 304, 400, 401, 403, 404, 405, 412, 416, 501, 505})
    replies.push_back({.status = status});
  for (const std::string& range :
       {std::string(), "bytes 3-" + last + "/" + size, "bytes 0-" + last + "/" + size, "bytes */" + size,
        "items 400-" + last + "/" + size, std::string("bytes x")}) {
    StubReply reply{.status = 206, .body = body.substr(400)};
    if (!range.empty()) reply.headers["Content-Range"] = range;
    replies.push_back(std::move(reply));
  }
  replies.push_back({.status = 206,
                     .headers = {{"Content-Range", "bytes 400-" + last + "/" + size}, {"ETag", "\"2\""}},
                     .body = std::string(body.size() - 400, 'x')});
  replies.push_back({.status = 206,
                     .headers = {{"Content-Type", "multipart/byteranges; boundary=b"}},
                     .body = "--b\r\nContent-Range: bytes 400-" + last + "/" + size + "\r\n\r\n--b--\r\n"});
  return replies;
}

TEST_F(HttpTest, AServerThatCannotDoRangesIsAskedForTheWhole) {
  const std::string body = Numbers(1000);
  const std::map<std::string, std::string> tag = {{"ETag", "\"1\""}, {"Content-Encoding", "identity"}};
  std::vector<StubReply> replies = UselessReplies(body);
  // These are told from what came first.
  replies.push_back({.status = 206,
                     .headers = {{"Content-Range", "bytes 400-998/999"}, {"Content-Encoding", "identity"}},
                     .body = body.substr(400, 599)});
  replies.push_back({.status = 206,
                     .headers = {{"Content-Range", "bytes 400-999/1000"}, {"Content-Encoding", "gzip"}},
                     .body = body.substr(400)});
  for (const StubReply& useless : replies) {
    stub_.ServeInTurn(
        "/f",
        {{.headers = tag, .body = body, .truncate_after = 400}, useless, {.headers = tag, .body = body}});
    StringSink sink;
    EXPECT_OK(http_->Get({.url = stub_.Url("/f")}, sink));
    EXPECT_EQ(sink.str(), body) << useless.status;
  }
}

TEST_F(HttpTest, WhatAnEarlierRequestBroughtIsDroppedWithSuchAServer) {
  for (const StubReply& useless : UselessReplies(Numbers(1000))) {
    stub_.ServeInTurn("/f", {useless, {.headers = {{"ETag", "\"2\""}}, .body = "content"}});
    StringSink sink;
    EXPECT_EQ(BeginsOfRest(*http_, stub_.Url("/f"), sink), "0\"2\" ") << useless.status;
    EXPECT_EQ(sink.str(), "content");
  }
}

TEST_F(HttpTest, ThePartsThatAServerGivesAreTakenOneByOne) {
  const std::string body = Numbers(1000);
  const auto part = [&](std::size_t from, std::size_t count) {
    return StubReply{.status = 206,
                     .headers = {{"Content-Range", "bytes " + std::to_string(from) + "-" +
                                                       std::to_string(from + count - 1) + "/1000"}},
                     .body = body.substr(from, count)};
  };
  stub_.ServeInTurn("/f", {{.headers = {{"ETag", "\"1\""}}, .body = body, .truncate_after = 400},
                           part(400, 300),
                           part(700, 300)});
  ASSERT_OK(GetPath("/f"));
  EXPECT_EQ(sink_.str(), body);
}

TEST_F(HttpTest, ARangeThatIsNeverAnsweredIsGivenUp) {
  stub_.ServeInTurn("/f", {{.close_at_once = true}, {.close_at_once = true}, {.body = "content"}});
  EXPECT_EQ(BeginsOfRest(*http_, stub_.Url("/f"), sink_), "0 ");
  EXPECT_FALSE(stub_.requests().back().headers.contains("range"));
}

TEST_F(HttpTest, AFileThatChangesBeginsAnewForWhoCanDropIt) {
  const std::string body = Numbers(1000);
  std::string other = body;
  other[10] = 'x';
  stub_.ServeInTurn("/f", {{.body = body, .truncate_after = 400}, {.body = other}, {.body = other}});
  StringSink sink;
  std::string begins;
  std::size_t begun = 0;
  HttpRequest request{.url = stub_.Url("/f")};
  request.on_begin = [&](const HttpBegin& begin) {
    begins += std::to_string(begin.offset) + " ";
    begun = sink.str().size();
    return Ok();
  };
  ASSERT_OK(http_->Get(request, sink));
  EXPECT_EQ(begins, "0 0 ");
  EXPECT_EQ(sink.str().substr(begun), other);
}

TEST_F(HttpTest, BytesOfAFileAreAskedForAsTheyAre) {
  stub_.Serve("/f", {.body = "fine"});
  ASSERT_OK(GetPath("/f"));
  EXPECT_EQ(stub_.requests().back().headers.at("accept-encoding"), "identity");
}

TEST_F(HttpTest, TruncationBeforeTheFirstByteIsTriedAgain) {
  stub_.ServeInTurn("/cut", {{.body = "lost", .truncate_after = 0}, {.body = "fine"}});
  EXPECT_OK(GetPath("/cut"));
  EXPECT_EQ(sink_.str(), "fine");
}

TEST_F(HttpTest, FollowsRedirectsAndKeepsOnlyTheLastAnswer) {
  stub_.Serve("/a", {.status = 302, .headers = {{"Location", "/b"}, {"X-First", "1"}}, .body = "moved"});
  stub_.Serve("/b", {.status = 307, .headers = {{"Location", stub_.Url("/c")}}, .body = "moved"});
  stub_.Serve("/c", {.body = "here"});
  ASSERT_OK_AND_ASSIGN(const HttpResponse response, GetPath("/a"));
  EXPECT_EQ(sink_.str(), "here");
  EXPECT_FALSE(response.headers.contains("x-first"));
  EXPECT_FALSE(response.headers.contains("location"));
}

TEST_F(HttpTest, RedirectLoopEndsAfterTen) {
  stub_.Serve("/loop", {.status = 302, .headers = {{"Location", "/loop"}}});
  EXPECT_THAT(GetPath("/loop"), FailsWith(ErrorCode::kNetwork, HasSubstr("redirects")));
  EXPECT_THAT(stub_.requests(), SizeIs(11));  // the request and ten redirects; no retry
}

TEST_F(HttpTest, RedirectToAFileIsRefused) {
  const TempDir dir;
  stub_.Serve("/evil",
              {.status = 302, .headers = {{"Location", "file://" + dir.WriteFile("secret", "s").str()}}});
  EXPECT_THAT(GetPath("/evil"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("/evil")));
  EXPECT_EQ(sink_.str(), "");
}

TEST_F(HttpTest, CredentialsDoNotFollowToAnotherServer) {
  HttpStub other;
  other.Serve("/f", {.body = "x"});
  stub_.Serve("/away", {.status = 302, .headers = {{"Location", other.Url("/f")}}});
  ASSERT_OK(http_->Get({.url = stub_.Url("/away"), .headers = {{"Authorization", "token abc"}}}, sink_));
  ASSERT_THAT(other.requests(), SizeIs(1));
  EXPECT_FALSE(other.requests()[0].headers.contains("authorization"));
}

TEST_F(HttpTest, StalledTransferEndsAndIsTriedAgain) {
  const std::string body(1000, 'x');
  stub_.ServeInTurn("/stall", {{.body = body, .stall_after = 10}, {.body = body}});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_OK(GetPath("/stall"));
  EXPECT_EQ(sink_.str(), body);
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(20));
}

TEST_F(HttpTest, SlowAnswerIsWaitedFor) {
  stub_.Serve("/slow", {.body = "late", .delay = milliseconds(400)});
  EXPECT_OK(GetPath("/slow"));
  EXPECT_EQ(sink_.str(), "late");
}

TEST_F(HttpTest, NobodyListeningIsANetworkError) {
  const BoundSocket silent;
  const Result<HttpResponse> response = Get("http://127.0.0.1:" + std::to_string(silent.port()) + "/f");
  EXPECT_THAT(response, FailsWith(ErrorCode::kNetwork, HasSubstr("127.0.0.1")));
  EXPECT_THAT(response, HasHint(HasSubstr("network connection")));
}

TEST_F(HttpTest, CancellationEndsATransfer) {
  stub_.Serve("/stall", {.body = std::string(1000, 'x'), .stall_after = 10});
  const auto patient = MakeCurlHttp({.stall_timeout = seconds(60)});
  CancelToken cancel;
  std::thread canceller([&] {
    while (stub_.requests().empty()) std::this_thread::sleep_for(milliseconds(5));
    cancel.Cancel();
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(patient->Get({.url = stub_.Url("/stall"), .cancel = &cancel}, sink_),
              FailsWith(ErrorCode::kCancelled, "interrupted"));
  canceller.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(20));
}

TEST_F(HttpTest, CancellationEndsTheWaitBeforeARetry) {
  stub_.Serve("/down", {.status = 500});
  const auto patient = MakeCurlHttp({.retry_pause = seconds(60)});
  CancelToken cancel;
  std::thread canceller([&] {
    while (stub_.requests().empty()) std::this_thread::sleep_for(milliseconds(5));
    cancel.Cancel();
  });
  EXPECT_THAT(patient->Get({.url = stub_.Url("/down"), .cancel = &cancel}, sink_),
              FailsWith(ErrorCode::kCancelled, "interrupted"));
  canceller.join();
  EXPECT_THAT(stub_.requests(), SizeIs(1));
}

TEST_F(HttpTest, ErrorOfTheSinkIsReturned) {
  class Full final : public ByteSink {
    Result<void> Write(Bytes) override { return Error(ErrorCode::kIo, "no room left"); }
  } full;
  stub_.Serve("/f", {.body = "x"});
  EXPECT_THAT(http_->Get({.url = stub_.Url("/f")}, full), FailsWith(ErrorCode::kIo, "no room left"));
  EXPECT_THAT(stub_.requests(), SizeIs(1));
}

TEST_F(HttpTest, FilesCanBeFetched) {
  const TempDir dir;
  const std::string url = "file://" + dir.WriteFile("f", "local").str();
  ASSERT_OK_AND_ASSIGN(const HttpResponse response, Get(url));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(sink_.str(), "local");
  EXPECT_THAT(Get("file://" + (dir / "none").str()), FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
}

TEST_F(HttpTest, OtherSchemesAndNonsenseAreRefused) {
  for (const char* url :
       {"ftp://127.0.0.1/f", "gopher://127.0.0.1/", "scp://127.0.0.1/f", "http://", "", "http://[bad/"}) {
    EXPECT_THAT(Get(url), FailsWith(ErrorCode::kInvalidInput, HasSubstr("not a URL"))) << url;
  }
}

TEST_F(HttpTest, HeadersCannotBeInjected) {
  const std::string bad = "x\r\nEvil: 1";
  const Result<HttpResponse> response =
      http_->Get({.url = stub_.Url("/f"), .headers = {{"X-Token", bad}}}, sink_);
  EXPECT_THAT(response,
              FailsWith(ErrorCode::kInvalidInput, AllOf(HasSubstr("X-Token"), Not(HasSubstr("Evil")))));
  EXPECT_THAT(stub_.requests(), IsEmpty());
}

TEST_F(HttpTest, MessagesHideCredentialsAndQueries) {
  const std::string url =
      "http://user:pa%40ss@127.0.0.1:" + std::to_string(stub_.port()) + "/f?sig=s3cret#part";
  const Result<HttpResponse> response = Get(url);
  EXPECT_THAT(response, FailsWith(ErrorCode::kNotFound,
                                  HasSubstr("'http://127.0.0.1:" + std::to_string(stub_.port()) + "/f'")));
}

TEST_F(HttpTest, ACallCanSkipTheProxy) {
  const BoundSocket no_proxy_here;  // nobody listens
  const std::map<std::string, std::string> variables = {
      {"http_proxy", "http://127.0.0.1:" + std::to_string(no_proxy_here.port())},
      {"no_proxy", ""},
      {"NO_PROXY", ""}};
  std::map<std::string, std::optional<std::string>> before;
  for (const auto& [name, value] : variables) {
    const char* const had = ::getenv(name.c_str());
    before[name] = had == nullptr ? std::nullopt : std::optional<std::string>(had);
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  stub_.Serve("/f", {.body = "direct"});
  const Result<HttpAnswer> by_proxy = http_->Call({.url = stub_.Url("/f")});
  const Result<HttpAnswer> direct = http_->Call({.url = stub_.Url("/f"), .skips_proxy = true});
  for (const auto& [name, value] : before) {
    if (value) {
      ::setenv(name.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name.c_str());
    }
  }
  EXPECT_THAT(by_proxy, FailsWith(ErrorCode::kNetwork, ::testing::_));
  EXPECT_THAT(direct, IsOkAndHolds(::testing::Field(&HttpAnswer::body, "direct")));
}

TEST_F(HttpTest, AnAnswerThatNobodyReadsNeedNotBeReadable) {
  stub_.Serve("/f", {.headers = {{"Content-Encoding", "br"}}, .body = "packed"});
  EXPECT_THAT(http_->Call({.url = stub_.Url("/f")}), FailsWith(ErrorCode::kUnsupported, HasSubstr("'br'")));
  EXPECT_THAT(http_->Call({.url = stub_.Url("/f"), .needs_answer_body = false}),
              IsOkAndHolds(::testing::Field(&HttpAnswer::body, "")));
}

TEST_F(HttpTest, ManyThreadsShareOneClient) {
  stub_.Serve("/f", {.body = std::string(100'000, 'x')});
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      StringSink sink;
      if (http_->Get({.url = stub_.Url("/f")}, sink) && sink.str().size() == 100'000) ++good;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 8);
}

}  // namespace
}  // namespace ptpkg::test
