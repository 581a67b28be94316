#include "recipe/git_url.h"

#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::recipe {
namespace {

using test::FailsWith;
using ::testing::HasSubstr;

const AbsPath kBase = AbsPath::Literal("/recipes/toy");

TEST(ParseGitUrl, TakesWhatGitTakes) {
  for (const char* url :
       {"https://h/a.git", "http://u@h:8080/a", "ssh://git@h/a", "git://h/a.git", "git@h:a/b.git", "h:a"}) {
    ASSERT_OK_AND_ASSIGN(const GitUrl parsed, ParseGitUrl(url, kBase));
    EXPECT_EQ(parsed, (GitUrl{.text = url, .is_local = false}));
  }
  ASSERT_OK_AND_ASSIGN(const GitUrl file, ParseGitUrl("file:///srv/a.git", kBase));
  EXPECT_EQ(file, (GitUrl{.text = "file:///srv/a.git", .is_local = true}));
  ASSERT_OK_AND_ASSIGN(const GitUrl path, ParseGitUrl("../a", kBase));
  EXPECT_EQ(path, (GitUrl{.text = "/recipes/a", .is_local = true}));
}

TEST(ParseGitUrl, RefusesWhatRunsProgramsOrIsAnOption) {
  for (const char* url : {"ext::sh -c id", "ext::sh", "--upload-pack=x", "ssh://-oProxyCommand=x/a", "-h:a",
                          "ftp://h/a", "https:///a", "https://h/a b", "a\nb", ""}) {
    EXPECT_THAT(ParseGitUrl(url, kBase),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("not the URL of a git repository")))
        << url;
  }
}

struct Join {
  const char* parent;
  const char* text;
  const char* url;  ///< "": an error.
};

TEST(SubmoduleUrl, IsRelativeToItsParent) {
  for (const Join& one :
       {Join{"https://h/a/b.git", "../c.git", "https://h/a/c.git"},
        Join{"https://h/a/b.git/", "../../d/c", "https://h/d/c"},
        Join{"https://h/a/b", "./c", "https://h/a/b/c"}, Join{"git@h:a/b.git", "../c.git", "git@h:a/c.git"},
        Join{"git@h:a/b.git", "../../c.git", "git@h:c.git"}, Join{"/srv/a.git", "../b.git", "/srv/b.git"},
        Join{"file:///srv/a", "../b", "file:///srv/b"}, Join{"https://h/a", "../../b", ""},
        Join{"/a", "../../b", ""}, Join{"https://h/a", "https://o/b", "https://o/b"},
        Join{"/srv/a", "/srv/b", "/srv/b"}, Join{"https://h/a", "/srv/b", ""},
        Join{"https://h/a", "file:///srv/b", ""}, Join{"/srv/a", "b", ""},
        Join{"https://h/a", "ext::sh -c x", ""}, Join{"https://h/a", "-x", ""}}) {
    const bool local = one.parent[0] == '/' || std::string_view(one.parent).starts_with("file:");
    const auto url = SubmoduleUrl({.text = one.parent, .is_local = local}, one.text);
    EXPECT_EQ(url ? url->text : "", one.url) << one.parent << " " << one.text;
  }
}

TEST(SubmoduleUrl, OfAServerReadsNothingOfThisMachine) {
  EXPECT_THAT(SubmoduleUrl({.text = "https://u@h/a"}, "/etc/secret"),
              FailsWith(ErrorCode::kInvalidInput,
                        "'https://h/a' has the submodule '/etc/secret', a repository on this machine"));
}

TEST(ShownGitUrl, HidesCredentialsAndQueries) {
  EXPECT_EQ(ShownGitUrl("https://u@h/a?t=1"), "https://h/a");
  EXPECT_EQ(ShownGitUrl("git@h:a/b"), "git@h:a/b");
  EXPECT_EQ(ShownGitUrl("https://h/a@b"), "https://h/a@b");
}

TEST(CheckRefName, TakesWhatGitTakes) {
  for (const char* name : {"v1.0", "feature/x", "2.0+cpu", "grün", "refs/pull/7/head"}) {
    EXPECT_OK(CheckRefName(name)) << name;
  }
  for (const char* name : {"",  "-x",    "a b", "a..b", "a/",  "/a", "a//b", ".a", "a/.b", "a.lock", "a.",
                           "@", "a@{1}", "a~1", "a^",   "a:b", "a*", "a?",   "a[", "a\\b", "a\nb"}) {
    EXPECT_THAT(CheckRefName(name), FailsWith(ErrorCode::kInvalidInput, HasSubstr("cannot be the name")))
        << name;
  }
}

TEST(IsCommitId, IsFullAndLowerCase) {
  EXPECT_TRUE(IsCommitId(std::string(40, 'a')));
  EXPECT_TRUE(IsCommitId(std::string(64, '0')));
  EXPECT_FALSE(IsCommitId(std::string(39, 'a')));
  EXPECT_FALSE(IsCommitId(std::string(40, 'A')));
  EXPECT_FALSE(IsCommitId(std::string(40, 'g')));
}

}  // namespace
}  // namespace ptpkg::recipe
