#include "source/override.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "unit/source/git_repository.h"

namespace ptpkg::source {
namespace {

using test::FailsWith;
using test::TestEnv;
using ::testing::HasSubstr;

/// "path: …", "git: URL NAME", or the message of the error.
std::string Meaning(Env& env, const std::string& value) {
  const auto meant = ParseOverride(env, value);
  if (!meant) return meant.error().message();
  if (const auto* path = std::get_if<AbsPath>(&*meant)) return "path: " + path->str();
  const auto& git = std::get<recipe::GitSource>(*meant);
  return "git: " + git.url + " " + git.rev;
}

TEST(ParseOverride, FoldersAndArchivesAreTakenAsTheyAre) {
  TestEnv env;
  env.dir().WriteFile("tree@2/f", "");
  const std::string base = env.dir().path().str();
  EXPECT_EQ(Meaning(env, "tree@2"), "path: " + base + "/tree@2");
  EXPECT_EQ(Meaning(env, base + "/none.tar.gz"), "path: " + base + "/none.tar.gz");
  EXPECT_EQ(Meaning(env, "none@v1"), "path: " + base + "/none@v1") << "no repository: told as a missing path";
}

TEST(ParseOverride, ARepositoryIsGit) {
  TestEnv env;
  GitRepository repo(env, "repo");
  const std::string commit = repo.Commit("f", "x");
  repo.Git({"clone", "-q", "--bare", ".", "../bare.git"});
  const std::string base = env.dir().path().str();
  EXPECT_EQ(Meaning(env, "bare.git"), "git: " + base + "/bare.git ");
  EXPECT_EQ(Meaning(env, "bare.git@v1"), "git: " + base + "/bare.git v1");
  EXPECT_EQ(Meaning(env, "bare.git@feature/x"), "git: " + base + "/bare.git feature/x");
  EXPECT_EQ(Meaning(env, "repo"), "path: " + base + "/repo") << "its files, as they are now";
  EXPECT_EQ(Meaning(env, "repo@" + commit), "git: " + base + "/repo " + commit);
  repo.Git({"--git-dir=../bare.git", "update-ref", "--no-deref", "HEAD", commit});
  EXPECT_EQ(Meaning(env, "bare.git"), "git: " + base + "/bare.git ") << "a detached HEAD";
  EXPECT_THAT(ParseOverride(env, "repo@a..b"),
              FailsWith(ErrorCode::kUsage, HasSubstr("'a..b' cannot be the name")));
}

TEST(ParseOverride, UrlsAreMarkedAsGit) {
  TestEnv env;
  EXPECT_EQ(Meaning(env, "git+https://u@h/a.git"), "git: https://u@h/a.git ");
  EXPECT_EQ(Meaning(env, "git+https://u@h/a.git@v1"), "git: https://u@h/a.git v1");
  EXPECT_EQ(Meaning(env, "git+ssh://git@h/a@b/c"), "git: ssh://git@h/a b/c");
  EXPECT_THAT(ParseOverride(env, "https://h/a.git"),
              FailsWith(ErrorCode::kUsage, HasSubstr("takes a path or git+URL")));
  EXPECT_THAT(ParseOverride(env, "git+ftp://h/a"),
              FailsWith(ErrorCode::kUsage, HasSubstr("'ftp' is not a URL scheme")));
  EXPECT_THAT(ParseOverride(env, "git+https://h/a@"),
              FailsWith(ErrorCode::kUsage, HasSubstr("nothing after")));
}

}  // namespace
}  // namespace ptpkg::source
