// Requests with any method by the real client, against a stub server on the loopback interface.

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <thread>

#include "support/http_stub.h"
#include "support/matchers.h"
#include "support/net/http.h"
#include "support/temp_dir.h"

namespace ptpkg::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// Bytes that tell their place, without a text of that size.
class PatternSource final : public ByteSource {
 public:
  explicit PatternSource(std::uint64_t bytes) : bytes_(bytes) {}
  Result<std::size_t> Read(MutableBytes buffer) override {
    std::size_t count = 0;
    // An odd number at a time: buffers that the source fills only partly.
    for (; count < std::min<std::size_t>(buffer.size(), 99'991) && at_ < bytes_; ++count, ++at_) {
      buffer[count] = std::byte(At(at_));
    }
    return count;
  }
  static unsigned char At(std::uint64_t at) {
    return static_cast<unsigned char>((at * 7 + at / 256 * 13) % 256);
  }

 private:
  std::uint64_t bytes_;
  std::uint64_t at_ = 0;
};

std::string PatternText(std::uint64_t bytes) {
  std::string text(bytes, '\0');
  for (std::uint64_t at = 0; at < bytes; ++at) text[at] = static_cast<char>(PatternSource::At(at));
  return text;
}

class HttpCallTest : public ::testing::Test {
 protected:
  HttpCall CallOf(const std::string& method, const std::string& path) {
    return {.method = method, .url = stub_.Url(path)};
  }

  /// With a body of the pattern. `source_bytes`: what the source has, if not that.
  HttpCall CallWithBody(const std::string& method, const std::string& path, std::uint64_t bytes,
                        std::optional<std::uint64_t> source_bytes = {}) {
    HttpCall call = CallOf(method, path);
    call.body_bytes = bytes;
    call.open_body = [bytes = source_bytes.value_or(bytes)]() -> Result<std::unique_ptr<ByteSource>> {
      return std::unique_ptr<ByteSource>(std::make_unique<PatternSource>(bytes));
    };
    return call;
  }

  HttpStub stub_;
  HttpLimits limits_{
      .connect_timeout = milliseconds(2000), .stall_timeout = seconds(3), .answer_timeout = seconds(30)};
  std::unique_ptr<Http> http_ = MakeCurlHttp(limits_);
};

TEST_F(HttpCallTest, SendsEachMethodAndReturnsItsAnswer) {
  stub_.Serve("/f", {.headers = {{"X-Kind", " spaced "}}, .body = "said"});
  for (const char* method : {"GET", "PUT", "POST", "PATCH", "DELETE"}) {
    HttpCall call = CallOf(method, "/f?q=1");
    call.headers = {{"Authorization", "token abc"}};
    ASSERT_OK_AND_ASSIGN(const HttpAnswer answer, http_->Call(call));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "said");
    EXPECT_THAT(answer.headers, ::testing::Contains(Pair("x-kind", "spaced")));
    const StubRequest request = stub_.requests().back();
    EXPECT_EQ(request.method, method);
    EXPECT_EQ(request.target, "/f?q=1");
    EXPECT_EQ(request.headers.at("authorization"), "token abc");
    EXPECT_FALSE(request.headers.contains("content-type")) << method;
    EXPECT_FALSE(request.headers.contains("expect")) << method;
  }
  EXPECT_THAT(stub_.requests(), SizeIs(5));
}

TEST_F(HttpCallTest, HeadHasHeadersAndNoBody) {
  stub_.Serve("/f", {.headers = {{"ETag", "\"1\""}}, .body = "not sent"});
  ASSERT_OK_AND_ASSIGN(const HttpAnswer answer, http_->Call(CallOf("HEAD", "/f")));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("etag"), "\"1\"");
  EXPECT_EQ(answer.headers.at("content-length"), "8");
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(stub_.requests().back().method, "HEAD");
}

TEST_F(HttpCallTest, BodiesOfEachMethodArrive) {
  stub_.Serve("/f", {.status = 201});
  for (const char* method : {"PUT", "POST", "PATCH", "DELETE"}) {
    ASSERT_OK_AND_ASSIGN(const HttpAnswer answer, http_->Call(CallWithBody(method, "/f", 1000)));
    EXPECT_EQ(answer.status, 201);
    const StubRequest request = stub_.requests().back();
    EXPECT_EQ(request.headers.at("content-length"), "1000");
    EXPECT_FALSE(request.headers.contains("transfer-encoding"));
    EXPECT_FALSE(request.headers.contains("expect"));
    EXPECT_EQ(request.body, PatternText(1000));
  }
}

TEST_F(HttpCallTest, EmptyBodiesSayThatTheyAreEmpty) {
  stub_.Serve("/f", StubReply{});
  for (const char* method : {"PUT", "POST", "PATCH"}) {
    ASSERT_OK(http_->Call(CallOf(method, "/f")));
    EXPECT_EQ(stub_.requests().back().headers.at("content-length"), "0") << method;
    ASSERT_OK(http_->Call(CallWithBody(method, "/f", 0)));
    EXPECT_EQ(stub_.requests().back().headers.at("content-length"), "0") << method;
  }
  for (const char* method : {"GET", "DELETE"}) {
    ASSERT_OK(http_->Call(CallOf(method, "/f")));
    EXPECT_FALSE(stub_.requests().back().headers.contains("content-length")) << method;
  }
}

constexpr std::uint64_t kBig = 8U << 20U;

TEST_F(HttpCallTest, ABigBodyArrivesWholeWithProgress) {
  stub_.Serve("/big", {.status = 201, .body = "made"});
  HttpCall call = CallWithBody("POST", "/big", kBig);
  std::vector<std::uint64_t> sent;
  call.on_sent = [&](std::uint64_t bytes) { sent.push_back(bytes); };
  ASSERT_OK_AND_ASSIGN(const HttpAnswer answer, http_->Call(call));
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "made");
  EXPECT_FALSE(answer.headers.contains("content-range"));
  const StubRequest request = stub_.requests().back();
  EXPECT_EQ(request.headers.at("expect"), "100-continue");
  EXPECT_EQ(request.headers.at("content-length"), std::to_string(kBig));
  EXPECT_TRUE(request.body == PatternText(kBig));
  ASSERT_FALSE(sent.empty());
  EXPECT_TRUE(std::is_sorted(sent.begin(), sent.end()));
  EXPECT_EQ(sent.back(), kBig);
  EXPECT_EQ(std::adjacent_find(sent.begin(), sent.end()), sent.end());
}

TEST_F(HttpCallTest, GoesOnWithoutAContinue) {
  stub_.Serve("/f", {.knows_no_expect = true});
  const auto start = std::chrono::steady_clock::now();
  ASSERT_OK(http_->Call(CallWithBody("PUT", "/f", kBig)));
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(900));
  EXPECT_TRUE(stub_.requests().back().body == PatternText(kBig));
}

TEST_F(HttpCallTest, AServerThatRefusesExpectGetsTheBodyWithoutIt) {
  stub_.ServeInTurn("/f", {{.status = 417, .body = "what?", .answer_after = 0}, {.body = "taken"}});
  ASSERT_OK_AND_ASSIGN(const HttpAnswer answer, http_->Call(CallWithBody("PUT", "/f", kBig)));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "taken");
  ASSERT_THAT(stub_.requests(), SizeIs(2));
  EXPECT_FALSE(stub_.requests()[1].headers.contains("expect"));
  EXPECT_TRUE(stub_.requests()[1].body == PatternText(kBig));
}

TEST_F(HttpCallTest, EveryStatusIsAnAnswer) {
  for (const int status : {204, 304, 400, 401, 404, 409, 422, 500, 503}) {
    const bool has_body = status != 204 && status != 304;
    stub_.Serve("/s",
                {.status = status, .headers = {{"X-Why", "because"}}, .body = has_body ? "reason" : ""});
    ASSERT_OK_AND_ASSIGN(const HttpAnswer answer, http_->Call(CallWithBody("PUT", "/s", 10)));
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(answer.body, has_body ? "reason" : "");
    EXPECT_EQ(answer.headers.at("x-why"), "because");
  }
  EXPECT_THAT(stub_.requests(), SizeIs(9));  // none is tried again
}

TEST_F(HttpCallTest, RedirectsAreNotFollowed) {
  stub_.Serve("/from", {.status = 302, .headers = {{"Location", stub_.Url("/to")}}, .body = "moved"});
  for (const char* method : {"GET", "PUT", "POST"}) {
    ASSERT_OK_AND_ASSIGN(const HttpAnswer answer, http_->Call(CallOf(method, "/from")));
    EXPECT_EQ(answer.status, 302);
    EXPECT_EQ(answer.headers.at("location"), stub_.Url("/to"));
    EXPECT_EQ(answer.body, "moved");
  }
  for (const StubRequest& request : stub_.requests()) EXPECT_EQ(request.target, "/from");
}

TEST_F(HttpCallTest, ARefusalBeforeTheBodyIsAnAnswer) {
  stub_.Serve("/f", {.status = 413, .body = "too large", .answer_after = 0});
  ASSERT_OK_AND_ASSIGN(const HttpAnswer answer, http_->Call(CallWithBody("PUT", "/f", kBig)));
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.body, "too large");
}

TEST_F(HttpCallTest, ARefusalAmidTheBodyIsAnAnswer) {
  // More than sockets of the loopback interface hold.
  constexpr std::uint64_t kHuge = 64U << 20U;
  for (const int status : {401, 413}) {
    for (const bool reset : {false, true}) {
      for (const bool without_length : {false, true}) {
        stub_.Serve("/f", {.status = status,
                           .body = "no",
                           .answer_after = 100'000,
                           .reset = reset,
                           .leaves_length_out = without_length});
        HttpCall call = CallWithBody("PUT", "/f", kHuge);
        std::uint64_t sent = 0;
        call.on_sent = [&](std::uint64_t bytes) { sent = bytes; };
        const Result<HttpAnswer> answer = http_->Call(call);
        if (reset && !answer) {  // the reset may come before libcurl read the answer
          EXPECT_THAT(answer, FailsWith(ErrorCode::kNetwork, HasSubstr("/f' failed: ")));
          continue;
        }
        ASSERT_OK(answer) << status << reset << without_length;
        EXPECT_EQ(answer->status, status);
        // What a reset throws away is not known; an answer that the server lets be read is whole.
        if (!reset) {
          EXPECT_EQ(answer->body, "no") << status << without_length;
        }
        EXPECT_LT(sent, kHuge);
      }
    }
  }
}

TEST_F(HttpCallTest, ARefusalThatResetsASmallBodyIsAnAnswer) {
  // All of the body lies in the socket when the answer comes.
  for (const bool without_length : {false, true}) {
    stub_.Serve("/f", {.status = 413,
                       .body = "too large",
                       .answer_after = 10,
                       .reset = true,
                       .leaves_length_out = without_length});
    const Result<HttpAnswer> answer = http_->Call(CallWithBody("PUT", "/f", 200'000));
    if (!answer) {  // the reset came before libcurl read the answer
      EXPECT_THAT(answer, FailsWith(ErrorCode::kNetwork, HasSubstr("/f' failed: ")));
      continue;
    }
    EXPECT_EQ(answer->status, 413);
    EXPECT_THAT(std::string("too large"), StartsWith(answer->body));  // the reset may throw its end away
  }
}

TEST_F(HttpCallTest, NoAnswerIsANetworkError) {
  stub_.Serve("/drop", {.close_at_once = true});
  EXPECT_THAT(http_->Call(CallWithBody("PUT", "/drop", 10)),
              FailsWith(ErrorCode::kNetwork, AllOf(HasSubstr("PUT 'http://"), HasSubstr("/drop' failed: "))));
  EXPECT_THAT(http_->Call(CallOf("GET", "/drop")), FailsWith(ErrorCode::kNetwork, HasSubstr("GET")));
  stub_.Serve("/reset", {.close_at_once = true, .answer_after = 100'000, .reset = true});
  EXPECT_THAT(http_->Call(CallWithBody("PUT", "/reset", kBig)),
              FailsWith(ErrorCode::kNetwork, HasSubstr("/reset")));
  EXPECT_THAT(stub_.requests(), SizeIs(3));  // no second attempt
}

TEST_F(HttpCallTest, ACutAnswerIsANetworkError) {
  for (const int status : {200, 404}) {
    stub_.Serve("/cut", {.status = status, .body = "an answer", .truncate_after = 4});
    EXPECT_THAT(http_->Call(CallOf("GET", "/cut")), FailsWith(ErrorCode::kNetwork, HasSubstr("/cut")));
    EXPECT_THAT(http_->Call(CallWithBody("PUT", "/cut", 10)),
                FailsWith(ErrorCode::kNetwork, HasSubstr("/cut")));
  }
  stub_.Serve("/head", {.cuts_head = true});
  for (const char* method : {"GET", "HEAD", "DELETE"})
    EXPECT_THAT(http_->Call(CallOf(method, "/head")), FailsWith(ErrorCode::kNetwork, HasSubstr(method)));
}

TEST_F(HttpCallTest, ACompressedAnswerIsReadWholeOrNotAtAll) {
  using std::string_literals::operator""s;
  const std::string gzip =  // "an answer", as are the bytes of zlib
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\xcc\x53\x48\xcc\x2b\x2e\x4f\x2d\x02\x00\xda\xe1\xd2\xcc\x09\x00\x00\x00"s;
  const std::string zlib = "\x78\x9c\x4b\xcc\x53\x48\xcc\x2b\x2e\x4f\x2d\x02\x00\x10\x9b\x03\x80"s;
  const std::string long_text =  // 5000 bytes
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xed\xc1\x31\x01\x00\x00\x00\xc2\xa0\xda\x8b\x6f\x0a\x3f\xa0\x00\x00\x00\x00\x80\xb7\x01\x26\xf0\xdb\x00\x88\x13\x00\x00"s;
  const auto ask = [&](const std::string& coding, const std::string& body, int status = 200) {
    stub_.Serve("/f", {.status = status, .headers = {{"Content-Encoding", coding}}, .body = body});
    HttpCall call = CallOf("GET", "/f");
    call.answer_limit_bytes = 4999;
    return http_->Call(call);
  };
  for (const auto& [coding, body] :
       {std::pair("gzip", gzip), std::pair("X-GZip", gzip), std::pair("deflate", zlib),
        std::pair("identity", "an answer"s), std::pair("deflate", zlib.substr(2, 11)),
        std::pair("gzip,", gzip), std::pair("identity, gzip", gzip), std::pair("gzip,None", gzip)}) {
    ASSERT_OK_AND_ASSIGN(const HttpAnswer answer, ask(coding, body));
    EXPECT_EQ(answer.body, "an answer") << coding;
    EXPECT_EQ(stub_.requests().back().headers.at("accept-encoding"), "gzip");
  }
  ASSERT_OK_AND_ASSIGN(const HttpAnswer two_members, ask("gzip", gzip + gzip));
  EXPECT_EQ(two_members.body, "an answeran answer");
  const auto damaged = FailsWith(ErrorCode::kNetwork, HasSubstr("damaged or cut"));
  for (std::size_t size = 1; size < gzip.size(); ++size)
    EXPECT_THAT(ask("gzip", gzip.substr(0, size)), damaged) << size;
  for (const std::string& other : {gzip.substr(0, 12) + "x" + gzip.substr(13), "an answer"s})
    EXPECT_THAT(ask("gzip", other), damaged);
  EXPECT_THAT(ask("gzip", long_text), FailsWith(ErrorCode::kNetwork, HasSubstr("longer than 4999 bytes")));
  for (const char* coding : {"br", "zstd", "gzip, gzip"})
    EXPECT_THAT(ask(coding, gzip), FailsWith(ErrorCode::kUnsupported, HasSubstr(coding)));
  for (const auto& [coding, body] : {std::pair("br", gzip), std::pair("gzip", long_text)})
    EXPECT_THAT(ask(coding, body, 404), IsOkAndHolds(::testing::Field(&HttpAnswer::status, 404)));
}

TEST_F(HttpCallTest, AnAnswerThatStallsIsANetworkError) {
  const auto http = MakeCurlHttp({.stall_timeout = seconds(1)});
  stub_.Serve("/stall", {.body = "an answer", .stall_after = 4});
  EXPECT_THAT(http->Call(CallOf("GET", "/stall")),
              FailsWith(ErrorCode::kNetwork, HasSubstr("failed: no byte was received for 1 s")));
}

TEST_F(HttpCallTest, ABodyThatIsNotTakenIsANetworkError) {
  const auto http = MakeCurlHttp({.stall_timeout = seconds(1)});
  stub_.Serve("/full", {.delay = seconds(60), .answer_after = 1000});
  EXPECT_THAT(http->Call(CallWithBody("PUT", "/full", 64U << 20U)),
              FailsWith(ErrorCode::kNetwork, HasSubstr("failed: no byte was taken for 1 s")));
}

TEST_F(HttpCallTest, AServerThatNeverAnswersIsLeft) {
  const auto hasty = MakeCurlHttp({.answer_timeout = milliseconds(100)});
  stub_.Serve("/silent", {.delay = seconds(60)});
  const auto start = std::chrono::steady_clock::now();
  for (const HttpCall& call :
       {CallOf("GET", "/silent"), CallOf("POST", "/silent"), CallWithBody("PUT", "/silent", 10'000)}) {
    EXPECT_THAT(hasty->Call(call),
                FailsWith(ErrorCode::kNetwork, HasSubstr("failed: sent, but there was no answer for 0.1 s")));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(20));
}

TEST_F(HttpCallTest, AnAnswerMayTakeLongerThanBytesMay) {
  const auto http = MakeCurlHttp({.stall_timeout = seconds(1), .answer_timeout = seconds(60)});
  stub_.Serve("/slow", {.body = "late", .delay = milliseconds(2500)});
  ASSERT_OK_AND_ASSIGN(const HttpAnswer answer, http->Call(CallWithBody("PUT", "/slow", 10'000)));
  EXPECT_EQ(answer.body, "late");
}

TEST_F(HttpCallTest, AnAnswerOverItsLimitIsAnError) {
  stub_.Serve("/long", {.body = std::string(1001, 'x')});
  HttpCall call = CallOf("GET", "/long");
  call.answer_limit_bytes = 1000;
  EXPECT_THAT(http_->Call(call), FailsWith(ErrorCode::kNetwork, HasSubstr("is longer than 1000 bytes")));
  call.answer_limit_bytes = 1001;
  EXPECT_OK(http_->Call(call));
  stub_.Serve("/heads", {.headers = [] {
                std::map<std::string, std::string> headers;
                for (int i = 0; i < 200; ++i) headers["X-" + std::to_string(i)] = std::string(10'000, 'x');
                return headers;
              }()});
  EXPECT_THAT(http_->Call(CallOf("GET", "/heads")), FailsWith(ErrorCode::kNetwork, HasSubstr("/heads")));
}

TEST_F(HttpCallTest, ErrorsOfTheSourceAreReturned) {
  class Broken final : public ByteSource {
    Result<std::size_t> Read(MutableBytes buffer) override {
      if (++reads_ == 2) return Error(ErrorCode::kCorrupt, "the disk is full of holes");
      return std::min<std::size_t>(buffer.size(), 1000);
    }
    int reads_ = 0;
  };
  stub_.Serve("/f", StubReply{});
  HttpCall call = CallWithBody("PUT", "/f", 100'000);
  call.open_body = []() -> Result<std::unique_ptr<ByteSource>> {
    return std::unique_ptr<ByteSource>(std::make_unique<Broken>());
  };
  EXPECT_THAT(http_->Call(call), FailsWith(ErrorCode::kCorrupt, "the disk is full of holes"));
  call.open_body = []() -> Result<std::unique_ptr<ByteSource>> {
    return Error(ErrorCode::kNotFound, "gone");
  };
  EXPECT_THAT(http_->Call(call), FailsWith(ErrorCode::kNotFound, "gone"));
  EXPECT_THAT(stub_.requests(), IsEmpty());  // none that was whole
}

TEST_F(HttpCallTest, ASourceOfAnotherLengthIsAnError) {
  stub_.Serve("/f", StubReply{});
  EXPECT_THAT(http_->Call(CallWithBody("PUT", "/f", 1000, 999)),
              FailsWith(ErrorCode::kIo, HasSubstr("/f' ended after 999 of 1000 bytes")));
  EXPECT_THAT(http_->Call(CallWithBody("PUT", "/f", 1000, 1001)),
              FailsWith(ErrorCode::kIo, HasSubstr("/f' is longer than 1000 bytes")));
  EXPECT_THAT(http_->Call(CallWithBody("PUT", "/f", 0, 1)),
              FailsWith(ErrorCode::kIo, HasSubstr("is longer than 0 bytes")));
  EXPECT_THAT(http_->Call(CallWithBody("PUT", "/f", 1000, 0)),
              FailsWith(ErrorCode::kIo, HasSubstr("ended after 0 of 1000 bytes")));
  EXPECT_THAT(stub_.requests(), IsEmpty());
}

TEST_F(HttpCallTest, CancellationEndsACall) {
  stub_.Serve("/full", {.delay = seconds(60), .answer_after = 1000});
  stub_.Serve("/silent", {.delay = seconds(60)});
  for (HttpCall call : {CallWithBody("PUT", "/full", 64U << 20U), CallOf("GET", "/silent")}) {
    CancelToken cancel;
    call.cancel = &cancel;
    const std::size_t before = stub_.requests().size();
    std::thread canceller([&] {
      while (stub_.requests().size() == before) std::this_thread::sleep_for(milliseconds(5));
      cancel.Cancel();
    });
    const auto patient = MakeCurlHttp();
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THAT(patient->Call(call), FailsWith(ErrorCode::kCancelled, "interrupted"));
    canceller.join();
    EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(20));
    EXPECT_THAT(patient->Call(call), FailsWith(ErrorCode::kCancelled, "interrupted"));
    EXPECT_THAT(stub_.requests(), SizeIs(before + 1));  // the second did not begin
  }
}

TEST_F(HttpCallTest, CallHeadersCannotBeInjected) {
  for (const std::string& bad :
       {std::string("x\r\nEvil: 1"), std::string("x\nEvil: 1"), std::string("Evil\0x", 6)}) {
    HttpCall call = CallOf("PUT", "/f");
    call.headers = {{"X-Token", bad}};
    EXPECT_THAT(http_->Call(call),
                FailsWith(ErrorCode::kInvalidInput, AllOf(HasSubstr("X-Token"), Not(HasSubstr("Evil")))));
  }
  for (const char* own : {"Content-Length", "transfer-encoding", "EXPECT"}) {
    HttpCall call = CallWithBody("PUT", "/f", 5);
    call.headers = {{own, "7"}};
    EXPECT_THAT(http_->Call(call), FailsWith(ErrorCode::kInvalidInput, HasSubstr(own)));
  }
  EXPECT_THAT(stub_.requests(), IsEmpty());
}

TEST_F(HttpCallTest, MethodsAndBodiesThatDoNotFitAreRefused) {
  for (const char* method : {"", "put", "TRACE", "PUT /evil HTTP/1.1\r\nX: "}) {
    EXPECT_THAT(http_->Call(CallOf(method, "/f")), FailsWith(ErrorCode::kInvalidInput, HasSubstr("method")));
  }
  EXPECT_THAT(http_->Call(CallWithBody("GET", "/f", 5)),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("no body")));
  EXPECT_THAT(http_->Call(CallWithBody("HEAD", "/f", 5)),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("no body")));
  HttpCall call = CallOf("PUT", "/f");
  call.body_bytes = 5;
  EXPECT_THAT(http_->Call(call), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is missing")));
  EXPECT_THAT(stub_.requests(), IsEmpty());
}

constexpr const char* kDigestOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The keys, host and time of the examples in the S3 API Reference, "Signature Calculations for the
/// Authorization Header". In parts: the tree holds nothing that looks like a key.
HttpCall ExampleOfAws(HttpCall call) {
  const std::string id = std::string("AKIA") + "IOSFODNN7EXAMPLE";
  call.aws = {.keys = {.id = Secret(id), .key = Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")},
              .region = "us-east-1"};
  call.headers["Host"] = "examplebucket.s3.amazonaws.com";
  call.headers["x-amz-date"] = "20130524T000000Z";
  call.headers["x-amz-content-sha256"] = kDigestOfNothing;
  return call;
}

TEST_F(HttpCallTest, SignsAsTheExamplesOfAws) {
  stub_.Serve("/test.txt", StubReply{});
  stub_.Serve("/", StubReply{});
  HttpCall get = ExampleOfAws(CallOf("GET", "/test.txt"));
  get.headers["Range"] = "bytes=0-9";
  ASSERT_OK(http_->Call(get));
  ASSERT_OK(http_->Call(ExampleOfAws(CallOf("GET", "/?lifecycle="))));
  ASSERT_OK(http_->Call(ExampleOfAws(CallOf("GET", "/?max-keys=2&prefix=J"))));
  const auto said = [&](std::size_t number) {
    return stub_.requests().at(number).headers.at("authorization");
  };
  EXPECT_EQ(said(0), std::string("AWS4-HMAC-SHA256 Credential=AKIA") +
                         "IOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                         "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
                         "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_THAT(said(1), HasSubstr("=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
  EXPECT_THAT(said(2), HasSubstr("=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST_F(HttpCallTest, SignsASessionAndNothingThatAProxyChanges) {
  stub_.Serve("/f", StubReply{});
  for (const char* method : {"PUT", "POST", "GET", "HEAD", "DELETE"}) {
    const bool has_body = std::string_view(method).starts_with('P');
    HttpCall call = has_body ? CallWithBody(method, "/f", 1000) : CallOf(method, "/f");
    call.aws = {.keys = {.id = Secret("theid"), .key = Secret("thekey"), .session_token = Secret("thetoken")},
                .region = "eu-1"};
    call.headers = {{"x-amz-content-sha256", kDigestOfNothing}, {"Content-Type", "text/plain"}};
    ASSERT_OK(http_->Call(call));
    const StubRequest request = stub_.requests().back();
    EXPECT_EQ(request.method, method);
    EXPECT_THAT(request.headers.at("authorization"),
                AllOf(HasSubstr("Credential=theid/"), HasSubstr("/eu-1/s3/aws4_request, "),
                      HasSubstr("SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;"
                                "x-amz-security-token, ")));
    EXPECT_EQ(request.headers.at("x-amz-security-token"), "thetoken");
    EXPECT_EQ(request.headers.at("content-type"), "text/plain");
    EXPECT_FALSE(request.headers.contains("expect")) << method;
    EXPECT_EQ(request.body, has_body ? PatternText(1000) : "");
  }
}

TEST_F(HttpCallTest, ALargeSignedBodyWaitsForAContinueWhereTheServerKnowsIt) {
  stub_.ServeInTurn("/f",
                    {StubReply{}, {.status = 417, .body = "what?", .answer_after = 0}, {.body = "taken"}});
  HttpCall call = CallWithBody("PUT", "/f", kBig);
  call.aws = {.keys = {.id = Secret("theid"), .key = Secret("thekey")}, .region = "eu-1"};
  call.headers = {{"x-amz-content-sha256", kDigestOfNothing}, {"Content-Type", "text/plain"}};
  ASSERT_OK(http_->Call(call));
  EXPECT_EQ(stub_.requests().back().headers.at("expect"), "100-continue");
  EXPECT_TRUE(stub_.requests().back().body == PatternText(kBig));
  ASSERT_OK_AND_ASSIGN(const HttpAnswer answer, http_->Call(call));
  EXPECT_EQ(answer.body, "taken");
  EXPECT_FALSE(stub_.requests().back().headers.contains("expect"));
  EXPECT_TRUE(stub_.requests().back().body == PatternText(kBig));
}

TEST_F(HttpCallTest, WhatLibcurlWouldSignWronglyIsRefused) {
  const auto refused = [&](HttpCall call, const char* why) {
    EXPECT_THAT(http_->Call(call), FailsWith(ErrorCode::kInvalidInput, HasSubstr(why)));
  };
  refused(ExampleOfAws(CallOf("GET", "/?prefix=J&max-keys=2")), "is not in order");
  refused(ExampleOfAws(CallOf("GET", "/?lifecycle")), "without '='");
  refused(ExampleOfAws(CallWithBody("PUT", "/f", 5)), "Content-Type");
  HttpCall without = ExampleOfAws(CallOf("GET", "/f"));
  without.headers.erase("x-amz-content-sha256");
  refused(without, "needs x-amz-content-sha256");
  EXPECT_THAT(stub_.requests(), IsEmpty());
}

TEST_F(HttpCallTest, OnlyHttpIsCalled) {
  const TempDir dir;
  const std::string host = "127.0.0.1:" + std::to_string(stub_.port()) + "/f";
  for (const std::string& url :
       {"file://" + dir.WriteFile("f", "x").str(), "ftp://" + host, host, "//" + host, std::string("http://"),
        std::string(), std::string("http://[bad/")}) {
    EXPECT_THAT(http_->Call({.url = url}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("not a URL")))
        << url;
  }
  EXPECT_THAT(stub_.requests(), IsEmpty());
}

TEST_F(HttpCallTest, MessagesOfCallsHideSecrets) {
  const std::string host = "127.0.0.1:" + std::to_string(stub_.port());
  stub_.Serve("/drop", {.close_at_once = true});
  stub_.Serve("/long", {.body = "s3cret"});
  const auto is_discreet = [&](const HttpCall& call) {
    const Result<HttpAnswer> answer = http_->Call(call);
    EXPECT_FALSE(answer) << call.url;
    if (answer) return;
    const std::string text = FormatError(answer.error());
    EXPECT_THAT(text, Not(HasSubstr("s3cret"))) << call.url;
    EXPECT_THAT(text, Not(HasSubstr("user"))) << call.url;
  };
  const std::map<std::string, std::string> headers = {{"Authorization", "token s3cret"}};
  for (const std::string path : {"/drop", "/long"}) {
    const std::string login = "user:s3cret@";
    HttpCall call{.method = "PUT", .url = "http://" + login + host + path + "?sig=s3cret#s3cret"};
    call.headers = headers;
    call.answer_limit_bytes = 1;
    is_discreet(call);
    call.body_bytes = 10;
    call.open_body = []() -> Result<std::unique_ptr<ByteSource>> {
      return std::unique_ptr<ByteSource>(std::make_unique<PatternSource>(9));
    };
    is_discreet(call);
  }
  EXPECT_EQ(stub_.requests()[0].headers.at("authorization"), "token s3cret");  // it is sent
  for (const std::string url :
       {"user:s3cret@127.0.0.1:1/f", "//user:s3cret@127.0.0.1:1/f", "ftp://user:s3cret@127.0.0.1:1/f",
        "http:/user:s3cret@example:x/f", "http:///user:s3cret@example:x/f",
        "http://user:s3cret@example:x/f?s3cret", "http://user:s3cret@example[bad/"}) {
    is_discreet({.url = url, .headers = headers});
    StringSink sink;
    const Result<HttpResponse> response = http_->Get({.url = url, .headers = headers}, sink);
    ASSERT_FALSE(response) << url;
    EXPECT_THAT(FormatError(response.error()), Not(HasSubstr("s3cret"))) << url;
  }
}

TEST_F(HttpCallTest, AFileOfAuthoritiesThatIsMissingIsAnError) {
  const TempDir dir;
  const std::string url = "https://127.0.0.1:" + std::to_string(stub_.port()) + "/f";
  const auto names_both = AllOf(HasSubstr("'" + (dir / "none.pem").str() + "'"), HasSubstr("SSL_CERT_FILE"));
  const auto http = MakeCurlHttp({.ca_file = (dir / "none.pem").str(), .ca_variable = "SSL_CERT_FILE"});
  StringSink sink;
  EXPECT_THAT(http->Call({.url = url}), FailsWith(ErrorCode::kInvalidInput, names_both));
  EXPECT_THAT(http->Get({.url = url}, sink), FailsWith(ErrorCode::kInvalidInput, names_both));
  EXPECT_THAT(http->Call({.url = url}), HasHint(HasSubstr("SSL_CERT_FILE")));
  const auto empty = MakeCurlHttp({.ca_file = dir.WriteFile("empty.pem", "").str()});
  EXPECT_THAT(empty->Call({.url = url}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("empty.pem")));
  // Nothing of it is needed without TLS.
  stub_.Serve("/f", StubReply{});
  EXPECT_OK(http->Call(CallOf("GET", "/f")));
}

TEST_F(HttpCallTest, NobodyListeningForACallIsANetworkError) {
  const BoundSocket silent;
  const Result<HttpAnswer> answer =
      http_->Call({.url = "http://127.0.0.1:" + std::to_string(silent.port()) + "/f"});
  EXPECT_THAT(answer, FailsWith(ErrorCode::kNetwork, HasSubstr("127.0.0.1")));
  EXPECT_THAT(answer, HasHint(HasSubstr("network connection")));
}

}  // namespace
}  // namespace ptpkg::test
