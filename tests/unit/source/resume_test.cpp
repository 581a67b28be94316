// Downloads that are cut, with a real client and a server that misbehaves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "source/download.h"
#include "source/partial_file.h"
#include "support/digest/hash.h"
#include "support/http_stub.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::source {
namespace {

using test::FailsWith;
using test::HasHint;
using test::HttpStub;
using test::IsOkAndHolds;
using test::StubReply;
using test::TestEnv;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ResumeTest : public ::testing::Test {
 protected:
  ResumeTest() {
    for (int i = 0; i < 30'000; ++i) body_ += static_cast<char>('a' + i % 23);
    source_.sha256 = HashText(body_);
    source_.urls = {stub_.Url("/toy.tar")};
  }
  /// Real HTTP, without pauses.
  Result<Downloaded> Fetch() {
    const auto http = MakeCurlHttp({.retry_pause = std::chrono::milliseconds(1)});
    Env env{.fs = env_->fs,
            .process = env_->process,
            .http = *http,
            .clock = env_->clock,
            .reporter = env_->reporter,
            .cancel = env_->cancel,
            .cache_dir = env_->cache_dir,
            .variables = env_->variables,
            .offline = env_->offline};
    return Download(env, source_);
  }
  [[nodiscard]] AbsPath Folder() const { return env_.dir() / "cache/downloads" / source_.sha256->Hex(); }
  StubReply Whole(const std::string& tag = "\"1\"") { return {.headers = {{"ETag", tag}}, .body = body_}; }
  StubReply Rest(std::size_t from) {
    return {.status = 206,
            .headers = {{"ETag", "\"1\""},
                        {"Content-Range", "bytes " + std::to_string(from) + "-" +
                                              std::to_string(body_.size() - 1) + "/" +
                                              std::to_string(body_.size())}},
            .body = body_.substr(from)};
  }
  /// As a run leaves it that is killed in the middle: `count` bytes of the body.
  void LeavePartial(std::size_t count, const std::string& version = "\"1\"", const std::string& url = "") {
    ASSERT_OK(env_->fs.MakeDirs(Folder()));
    ASSERT_OK_AND_ASSIGN(PartialFile partial,
                         PartialFile::Open(env_, Folder(), url.empty() ? source_.urls[0] : url));
    ASSERT_OK(partial.Begin({.offset = 0, .version = version}));
    ASSERT_OK(partial.Write(AsBytes(std::string_view(body_).substr(0, count))));
  }
  void ExpectWhole() {
    EXPECT_THAT(ReadFile(env_->fs, Folder() / "toy.tar"), IsOkAndHolds(body_));
    EXPECT_THAT(env_->fs.ListDir(Folder()), IsOkAndHolds(ElementsAre(kFetchLockName, ".lease", "toy.tar")));
  }

  TestEnv env_;
  HttpStub stub_;
  std::string body_;
  recipe::Source source_;
};

TEST_F(ResumeTest, GoesOnWhereAKilledRunWas) {
  LeavePartial(10'000);
  stub_.Serve("/toy.tar", Rest(10'000));
  ASSERT_OK(Fetch());
  ExpectWhole();
  ASSERT_EQ(stub_.requests().size(), 1U);
  EXPECT_EQ(stub_.requests()[0].headers["range"], "bytes=10000-");
  EXPECT_EQ(stub_.requests()[0].headers["if-range"], "\"1\"");
}

TEST_F(ResumeTest, GoesOnInALaterRunAfterACut) {
  StubReply cut = Whole();
  cut.truncate_after = 5'000;
  StubReply nothing{.close_at_once = true};
  stub_.ServeInTurn("/toy.tar", {cut, nothing, nothing, Rest(5'000)});
  EXPECT_THAT(Fetch(), FailsWith(ErrorCode::kNetwork, HasSubstr("cannot fetch")));
  EXPECT_THAT(Exists(env_->fs, Folder() / "toy.tar"), IsOkAndHolds(false));
  ASSERT_OK(Fetch());
  ExpectWhole();
}

TEST_F(ResumeTest, BeginsAnewWhereTheServerDoes) {
  LeavePartial(10'000);
  stub_.Serve("/toy.tar", Whole("\"2\""));
  ASSERT_OK(Fetch());
  ExpectWhole();
  EXPECT_EQ(stub_.requests().size(), 1U);
}

TEST_F(ResumeTest, BeginsAnewWhenTheServerSaysThatThereIsNoMore) {
  LeavePartial(10'000);
  stub_.ServeInTurn("/toy.tar", {{.status = 416}, Whole()});
  ASSERT_OK(Fetch());
  ExpectWhole();
  EXPECT_EQ(stub_.requests()[1].headers.count("range"), 0U);
}

TEST_F(ResumeTest, BeginsAnewWhenTheOldPartIsWrong) {
  const std::string right = body_;
  body_[3] = '!';
  LeavePartial(10'000);
  body_ = right;
  stub_.ServeInTurn("/toy.tar", {Rest(10'000), Whole()});
  ASSERT_OK(Fetch());
  ExpectWhole();
}

TEST_F(ResumeTest, AWholePartNeedsNoServer) {
  LeavePartial(body_.size());
  ASSERT_OK(Fetch());
  ExpectWhole();
  EXPECT_TRUE(stub_.requests().empty());
}

TEST_F(ResumeTest, WhatHasNoVersionIsNotKept) {
  StubReply cut{.body = body_, .truncate_after = 5'000};
  StubReply nothing{.close_at_once = true};
  stub_.ServeInTurn("/toy.tar", {cut, nothing, nothing, nothing, Whole()});
  ASSERT_FALSE(Fetch());
  ASSERT_OK(Fetch());
  ExpectWhole();
  for (const auto& request : stub_.requests()) EXPECT_EQ(request.headers.count("if-range"), 0U);
}

TEST_F(ResumeTest, EveryMirrorHasItsOwnPart) {
  source_.urls = {stub_.Url("/lies/toy.tar"), stub_.Url("/gone/toy.tar"), stub_.Url("/toy.tar")};
  LeavePartial(10'000, "\"1\"", source_.urls[2]);
  stub_.Serve("/lies/toy.tar", {.body = "something else"});
  stub_.Serve("/toy.tar", Rest(10'000));
  ASSERT_OK(Fetch());
  ExpectWhole();
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(AllOf(HasSubstr("/lies/toy.tar"), HasSubstr("has sha256"),
                                                          HasSubstr("next mirror")),
                                                    AllOf(HasSubstr("/gone/toy.tar"), HasSubstr("404"))));
}

TEST_F(ResumeTest, OneErrorTellsWhatEachMirrorDid) {
  source_.urls = {stub_.Url("/lies/toy.tar"), stub_.Url("/gone/toy.tar"), stub_.Url("/broken/toy.tar")};
  stub_.Serve("/lies/toy.tar", {.body = "something else"});
  stub_.Serve("/broken/toy.tar", {.status = 500});
  const auto result = Fetch();
  EXPECT_THAT(result,
              FailsWith(ErrorCode::kNetwork, AllOf(HasSubstr("cannot fetch 'toy.tar' from any of 3 mirrors"),
                                                   HasSubstr("/lies/toy.tar' has sha256"),
                                                   HasSubstr("answered 404"), HasSubstr("answered 500"))));
  EXPECT_THAT(result, HasHint(HasSubstr("correct 'url' or 'sha256'")));
  source_.urls.pop_back();
  EXPECT_THAT(Fetch(), FailsWith(ErrorCode::kHashMismatch, HasSubstr("from any of 2 mirrors")));
}

TEST_F(ResumeTest, OfflineAsksNobody) {
  env_->offline = true;
  source_.span = {.file = "recipe.yaml", .line = 4, .column = 5, .length = 1, .excerpt = ""};
  const auto result = Fetch();
  EXPECT_THAT(result,
              FailsWith(ErrorCode::kNotFound, AllOf(HasSubstr("'toy.tar' (sha256 " + source_.sha256->Hex()),
                                                    HasSubstr("offline: it is not in the cache"))));
  EXPECT_THAT(result, HasHint(HasSubstr((Folder() / "toy.tar").str())));
  EXPECT_EQ(result.error().span()->line, 4);
  EXPECT_TRUE(stub_.requests().empty());
  const AbsPath local = env_.dir().WriteFile("toy.tar", body_);
  source_.urls.push_back("file://" + local.str());
  ASSERT_OK(Fetch());
  EXPECT_TRUE(stub_.requests().empty());
}

}  // namespace
}  // namespace ptpkg::source
