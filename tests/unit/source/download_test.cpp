#include "source/download.h"

#include <gtest/gtest.h>

#include "source/partial_file.h"
#include "support/digest/hash.h"
#include "support/files/lease.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::source {
namespace {

using test::FailsWith;
using test::HasHint;
using test::TestEnv;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kUrl = "https://mirror.example/files/toy-1.0.tar.gz?raw=1";
constexpr const char* kOther = "https://other.example/toy.tar.gz";

recipe::Source SourceOf(const std::string& body, std::vector<std::string> urls = {kUrl}) {
  recipe::Source source;
  source.urls = std::move(urls);
  source.sha256 = HashText(body);
  return source;
}

TEST(Download, KeepsTheFileByDigestAndFetchesItOnce) {
  TestEnv env;
  env.http.Serve(kUrl, "bytes");
  const recipe::Source source = SourceOf("bytes");

  ASSERT_OK_AND_ASSIGN(const Downloaded download, Download(env, source));
  ASSERT_OK_AND_ASSIGN(const Downloaded second, Download(env, source));
  const AbsPath& first = download.file;

  EXPECT_EQ(first, env->cache_dir / "downloads" / HashText("bytes").Hex() / "toy-1.0.tar.gz");
  EXPECT_EQ(second.file, first);
  EXPECT_THAT(ReadFile(env->fs, first), test::IsOkAndHolds(std::string("bytes")));
  EXPECT_THAT(env.http.requested(), ElementsAre(kUrl));
}

TEST(Download, TakesTheFileThatIsThereUnderAnotherName) {
  TestEnv env;
  env.http.Serve(kUrl, "bytes");
  ASSERT_OK(Download(env, SourceOf("bytes")));
  env->offline = true;
  ASSERT_OK_AND_ASSIGN(const Downloaded other, Download(env, SourceOf("bytes", {kOther})));
  EXPECT_EQ(other.file.Name(), "toy.tar.gz");
  EXPECT_THAT(ReadFile(env->fs, other.file), test::IsOkAndHolds(std::string("bytes")));
  ASSERT_OK(WriteFile(env->fs, other.file.Parent() / "toy-1.0.tar.gz", "damaged"));
  ASSERT_OK(env->fs.Remove(other.file));
  EXPECT_THAT(Download(env, SourceOf("bytes", {kOther})),
              FailsWith(ErrorCode::kNotFound, HasSubstr("is not in the cache")));
}

TEST(Download, NamesBothDigestsAndLeavesNothing) {
  TestEnv env;
  env.http.Serve(kUrl, "replaced");
  const recipe::Source source = SourceOf("original");

  const auto result = Download(env, source);

  EXPECT_THAT(result, FailsWith(ErrorCode::kHashMismatch, HasSubstr(HashText("original").Hex())));
  EXPECT_THAT(result, FailsWith(ErrorCode::kHashMismatch, HasSubstr(HashText("replaced").Hex())));
  EXPECT_THAT(result, FailsWith(ErrorCode::kHashMismatch, HasSubstr(kUrl)));
  EXPECT_THAT(env->fs.ListDir(env->cache_dir / "downloads" / HashText("original").Hex()),
              test::IsOkAndHolds(::testing::Each(::testing::AnyOf(
                  kLeaseName, kFetchLockName, ::testing::ResultOf(IsPartialFileName, true)))));
}

TEST(Download, ComparesADeclaredMd5) {
  TestEnv env;
  env.http.Serve(kUrl, "bytes");
  ASSERT_OK(WriteFile(env->fs, env.dir() / "bytes", "bytes"));
  ASSERT_OK_AND_ASSIGN(const Digests digests, HashFile(env->fs, env.dir() / "bytes", {.md5 = true}));
  recipe::Source source{.urls = {kUrl}, .md5 = digests.md5};
  ASSERT_OK_AND_ASSIGN(const Downloaded download, Download(env, source));
  EXPECT_EQ(download.file, env->cache_dir / "downloads" / ("md5-" + digests.md5.Hex()) / "toy-1.0.tar.gz");

  source.md5 = Md5{};
  EXPECT_THAT(Download(env, source),
              FailsWith(ErrorCode::kHashMismatch, HasSubstr("md5 " + digests.md5.Hex() + ", but")));
  source.sha256 = digests.sha256;
  EXPECT_THAT(Download(env, source), FailsWith(ErrorCode::kHashMismatch, HasSubstr("md5")))
      << "both must be those of the file";
  env->offline = true;
  source.sha256.reset();
  EXPECT_THAT(Download(env, source), FailsWith(ErrorCode::kNotFound, HasSubstr("(md5 " + Md5{}.Hex())));
}

TEST(Download, NoErrorNamesWhoMayFetchIt) {
  TestEnv env;
  const std::string url = "https://token@mirror.example/toy.tgz";
  env.http.Serve(url, "replaced");
  const auto wrong = Download(env, SourceOf("original", {url}));
  ASSERT_THAT(wrong, FailsWith(ErrorCode::kHashMismatch, HasSubstr("'https://mirror.example/toy.tgz'")));
  recipe::Source open = SourceOf("original", {url});
  open.sha256.reset();
  EXPECT_THAT(Download(env, open), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'https://mirror.example")));
}

TEST(Download, WhatIsInUseIsNotCleanedAway) {
  TestEnv env;
  env.http.Serve(kUrl, "bytes");
  const AbsPath folder = env->cache_dir / "downloads" / HashText("bytes").Hex();
  {
    ASSERT_OK_AND_ASSIGN(const Downloaded download, Download(env, SourceOf("bytes")));
    ASSERT_OK_AND_ASSIGN(const auto cleaner, Lease::Try(env->fs, folder, LockKind::kExclusive));
    EXPECT_FALSE(cleaner.has_value());
  }
  ASSERT_OK_AND_ASSIGN(const auto cleaner, Lease::Try(env->fs, folder, LockKind::kExclusive));
  EXPECT_TRUE(cleaner.has_value());
}

TEST(Download, WaitsForNobodyWhoHoldsTheFolderForEver) {
  TestEnv env;
  const AbsPath folder = env->cache_dir / "downloads" / HashText("bytes").Hex();
  ASSERT_OK(env->fs.MakeDirs(folder));
  ASSERT_OK_AND_ASSIGN(const auto other, Lease::Try(env->fs, folder, LockKind::kExclusive));
  ASSERT_TRUE(other.has_value());
  EXPECT_THAT(Download(env, SourceOf("bytes")),
              FailsWith(ErrorCode::kIo, HasSubstr("is being removed by another process")));
}

TEST(Download, TriesTheNextMirrorAfterAFailureAndAfterAWrongFile) {
  TestEnv env;
  env.http.FailNext(kUrl, Error(ErrorCode::kNetwork, "no route to host"));
  env.http.Serve(kOther, "wrong");
  env.http.Serve("https://third.example/x", "good");
  const recipe::Source source = SourceOf("good", {kUrl, kOther, "https://third.example/x"});

  ASSERT_OK_AND_ASSIGN(const Downloaded download, Download(env, source));
  const AbsPath& file = download.file;

  EXPECT_THAT(ReadFile(env->fs, file), test::IsOkAndHolds(std::string("good")));
  EXPECT_THAT(env.reporter.warnings(), ElementsAre(HasSubstr("no route to host"), HasSubstr("has sha256")));
}

TEST(Download, ReturnsTheErrorsOfAllMirrors) {
  TestEnv env;
  env.http.FailNext(kUrl, Error(ErrorCode::kNotFound, "status 404"));
  env.http.FailNext(kOther, Error(ErrorCode::kNetwork, "connection reset"));

  EXPECT_THAT(Download(env, SourceOf("x", {kUrl, kOther})),
              FailsWith(ErrorCode::kNetwork,
                        "cannot fetch 'toy-1.0.tar.gz' from any of 2 mirrors: status 404; connection reset"));
}

TEST(Download, FetchesADamagedCacheFileAgain) {
  TestEnv env;
  env.http.Serve(kUrl, "bytes");
  const recipe::Source source = SourceOf("bytes");
  ASSERT_OK_AND_ASSIGN(const Downloaded download, Download(env, source));
  const AbsPath& file = download.file;
  ASSERT_OK(WriteFile(env->fs, file, "bit rot"));

  ASSERT_OK(Download(env, source));

  EXPECT_THAT(ReadFile(env->fs, file), test::IsOkAndHolds(std::string("bytes")));
  EXPECT_THAT(env.reporter.warnings(), ElementsAre(HasSubstr("damaged")));
}

TEST(Download, StopsAtTheFirstMirrorWhenInterrupted) {
  TestEnv env;
  env.http.FailNext(kUrl, Error(ErrorCode::kCancelled, "interrupted"));
  env.http.Serve(kOther, "x");

  EXPECT_THAT(Download(env, SourceOf("x", {kUrl, kOther})), FailsWith(ErrorCode::kCancelled, "interrupted"));
  EXPECT_THAT(env.http.requested(), ElementsAre(kUrl));
}

TEST(Download, RefusesASourceWithoutDigest) {
  TestEnv env;
  recipe::Source source = SourceOf("x");
  source.sha256.reset();
  source.span = {.file = "recipe.yaml", .line = 4, .column = 5, .length = 1, .excerpt = ""};

  const auto result = Download(env, source);

  EXPECT_THAT(result, FailsWith(ErrorCode::kInvalidInput, HasSubstr("no sha256")));
  EXPECT_EQ(result.error().span()->line, 4);
  EXPECT_THAT(env.http.requested(), IsEmpty());
}

TEST(Download, ReportsProgressInBytes) {
  TestEnv env;
  env.http.Serve(kUrl, std::string(5000, 'x'));

  ASSERT_OK(Download(env, SourceOf(std::string(5000, 'x'))));

  ASSERT_THAT(env.reporter.tasks(), SizeIs(1));
  EXPECT_EQ(env.reporter.tasks()[0].info.stage, "source");
  EXPECT_EQ(env.reporter.tasks()[0].done_bytes, 5000U);
  EXPECT_EQ(env.reporter.tasks()[0].outcome, TaskOutcome::kDone);
}

TEST(DownloadName, IsFileNameOrTheLastPartOfTheUrl) {
  recipe::Source source;
  source.urls = {"https://a.example/b/c.tar.xz#x/y"};
  EXPECT_THAT(DownloadName(source), test::IsOkAndHolds(std::string("c.tar.xz")));
  source.file_name = "d.zip";
  EXPECT_THAT(DownloadName(source), test::IsOkAndHolds(std::string("d.zip")));
}

TEST(DownloadName, RefusesWhatIsNoFileName) {
  for (const char* url :
       {"https://a.example/", "https://a.example/b/..", "https://a.example/?x=/etc/passwd"}) {
    recipe::Source source;
    source.urls = {url};
    EXPECT_THAT(DownloadName(source),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("not a usable file name")))
        << url;
    EXPECT_THAT(DownloadName(source), HasHint(HasSubstr("file_name"))) << url;
  }
}

}  // namespace
}  // namespace ptpkg::source
