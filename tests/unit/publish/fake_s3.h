#pragma once
// A bucket in memory that speaks as S3 does, as far as one client needs it: conditions, parts, lists.

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "publish/s3/s3_bucket.h"
#include "support/digest/hash.h"
#include "support/matchers.h"
#include "support/net/url.h"
#include "support/test_env.h"

namespace ptpkg::publish {

/// At http://h/bucket.
class FakeS3 final : public Http {
 public:
  struct Object {
    std::string text;
    std::map<std::string, std::string> headers;
  };

  Result<HttpResponse> Get(const HttpRequest& /*request*/, ByteSink& /*sink*/) override {
    return Error(ErrorCode::kInternal, "nobody asks by this");
  }

  Result<HttpAnswer> Call(const HttpCall& call) override {
    const std::lock_guard lock(mutex_);
    const std::string url = call.url.substr(std::string("http://h/bucket/").size());
    const std::size_t mark = std::min(url.find('?'), url.size());
    const std::string key = url.substr(0, mark);
    const std::string query = mark < url.size() ? url.substr(mark + 1) : "";
    log.push_back(call.method + " " + url);
    StringSink body;
    if (call.open_body) {
      PTPKG_TRY(const auto source, call.open_body());
      PTPKG_TRY(const std::uint64_t count, Pump(*source, body));
      static_cast<void>(count);
    }
    const auto planned = instead.find(log.back());
    if (planned != instead.end() && !planned->second.empty()) {
      auto answer = planned->second.front();
      planned->second.erase(planned->second.begin());
      return answer;
    }
    if (on_call) on_call(log.back());
    return Answer(call, key, query, body.str());
  }

  static HttpAnswer ErrorAnswer(long status, const std::string& code, const std::string& more = "") {
    return {.status = status,
            .headers = {},
            .body = "<Error><Code>" + code + "</Code><Message>words</Message>" + more + "</Error>"};
  }

  static std::string Md5Of(const std::string& text) {
    HashingSink sink(nullptr, {.md5 = true});
    EXPECT_THAT(sink.Write(AsBytes(text)), test::IsOk());
    return sink.Finish().md5.Hex();
  }

  static std::string Etag(const std::string& text) { return "\"" + Md5Of(text) + "\""; }

  /// What is asked, without the queries of signatures.
  std::vector<std::string> log;
  std::map<std::string, Object> objects;
  std::map<std::string, std::vector<Result<HttpAnswer>>> instead;
  std::function<void(const std::string&)> on_call;
  bool knows_conditions = true;
  bool ignores_conditions = false;  ///< Writes whatever the condition, with status 200.
  bool keeps_metadata = true;
  std::string loses;        ///< Ending of keys that it confirms and does not keep.
  std::string etag_prefix;  ///< "W/": weak ones, which fulfil no condition.

 private:
  Result<HttpAnswer> Answer(const HttpCall& call, const std::string& key, const std::string& query,
                            const std::string& body) {
    EXPECT_TRUE(call.aws.has_value()) << call.url;
    EXPECT_TRUE(call.body_bytes == 0 || call.headers.at("x-amz-content-sha256") == HashText(body).Hex());
    if (query.starts_with("list-type")) return List(query);
    if (call.method == "PUT") return Put(call, key, body);
    const auto found = objects.find(key);
    if (found == objects.end()) return ErrorAnswer(404, "NoSuchKey");
    HttpAnswer answer{.status = 200, .headers = found->second.headers, .body = ""};
    answer.headers["etag"] = etag_prefix + Etag(found->second.text);
    if (!keeps_metadata) answer.headers.erase("x-amz-meta-sha256");
    answer.headers["content-length"] = std::to_string(found->second.text.size());
    if (call.method == "HEAD") return answer;
    if (call.answer_sink != nullptr) {
      PTPKG_CHECK(call.answer_sink->Write(AsBytes(found->second.text)));
    } else {
      answer.body = found->second.text;
    }
    return answer;
  }

  std::optional<HttpAnswer> Unfulfilled(const HttpCall& call, const std::string& key) {
    const auto wants = [&](const char* name) {
      const auto found = call.headers.find(name);
      return found == call.headers.end() ? "" : found->second;
    };
    const bool there = objects.contains(key);
    if (!knows_conditions && !(wants("If-None-Match") + wants("If-Match")).empty())
      return ErrorAnswer(501, "NotImplemented");
    if (ignores_conditions) return std::nullopt;
    if (etag_prefix == "W/" && !wants("If-Match").empty()) return ErrorAnswer(412, "PreconditionFailed");
    if (wants("If-None-Match") == "*" && there) return ErrorAnswer(412, "PreconditionFailed");
    if (!wants("If-Match").empty() && (!there || Etag(objects[key].text) != wants("If-Match")))
      return ErrorAnswer(412, "PreconditionFailed");
    return std::nullopt;
  }

  /// The first key of the prefix.
  HttpAnswer List(const std::string& query) {
    const std::string mark = "prefix=";
    std::string prefix = PercentDecode(query.substr(query.find(mark) + mark.size()));
    const auto found = objects.lower_bound(prefix);
    std::string text;
    if (found != objects.end() && found->first.starts_with(prefix))
      text =
          "<Contents><Key>" + found->first + "</Key><ETag>" + Etag(found->second.text) + "</ETag></Contents>";
    return {.status = 200, .headers = {}, .body = "<ListBucketResult>" + text + "</ListBucketResult>"};
  }

  HttpAnswer Put(const HttpCall& call, const std::string& key, const std::string& body) {
    if (auto refused = Unfulfilled(call, key)) return *refused;
    if (!loses.empty() && key.ends_with(loses)) return {.status = 200, .headers = {}, .body = ""};
    objects[key] = {.text = body, .headers = {{"x-amz-meta-sha256", call.headers.at("x-amz-meta-sha256")}}};
    return {.status = 200, .headers = {{"etag", Etag(body)}}, .body = ""};
  }

  std::mutex mutex_;
};

/// A client of that bucket, and a clock that stands still.
class S3Test : public ::testing::Test {
 protected:
  S3Test() {
    auto made = S3Bucket::Make(with_s3_, {.bucket = "bucket", .endpoint = "http://h"});
    EXPECT_THAT(made, test::IsOk());
    bucket_ = *std::move(made);
    bucket_->SetKeys({.id = Secret("I"), .key = Secret("K")});
  }

  /// The requests of a method so far.
  [[nodiscard]] std::vector<std::string> Sent(const std::string& method) const {
    std::vector<std::string> found;
    for (const std::string& line : s3_.log) {
      if (line.starts_with(method + " ")) found.push_back(line);
    }
    return found;
  }

  test::TestEnv env_;
  FakeS3 s3_;
  Env with_s3_{.fs = env_->fs,
               .process = env_->process,
               .http = s3_,
               .clock = env_->clock,
               .reporter = env_->reporter,
               .cancel = env_->cancel,
               .variables = {}};
  std::unique_ptr<S3Bucket> bucket_;
};

}  // namespace ptpkg::publish
