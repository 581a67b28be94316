// Git sources with real git and repositories of this machine; servers are in tests/e2e/build/source_test.py.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "source/git_checkout.h"
#include "source/git_resolve.h"
#include "source/prepare.h"
#include "source/walk.h"
#include "support/fake_process.h"
#include "support/matchers.h"
#include "unit/source/git_repository.h"

namespace ptpkg::source {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOkAndHolds;
using test::TestEnv;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class GitSourceTest : public ::testing::Test {
 protected:
  GitSourceTest() {
    recipe_.name = "toy";
    recipe_.recipe_dir = env_.dir().MakeDir("recipes/toy");
    recipe_.sources.emplace_back().git.url = repo_.path().str();
    env_.dir().MakeDir("work");
  }

  recipe::GitSource& git() { return recipe_.sources[0].git; }
  Result<std::string> Resolve() {
    std::vector<recipe::Recipe> recipes = {recipe_};
    PTPKG_CHECK(ResolveGit(env_, {}, recipes));
    git().commit = recipes[0].sources[0].git.commit;
    return git().commit;
  }
  /// Resolves and writes the files to work/src.
  Result<void> Make() {
    PTPKG_CHECK(RemoveTree(env_->fs, env_.dir() / "work/src"));
    PTPKG_CHECK(Resolve());
    return Take();
  }
  Result<void> Take() {
    PTPKG_TRY(const SourceTree tree, Prepare(env_, recipe_, {}, env_.dir() / "work/src"));
    PTPKG_TRY(const Sha256 key, SourceKey(env_, recipe_, {}));
    EXPECT_EQ(tree.key, key);
    return Ok();
  }
  std::vector<std::string> Made() { return test::ListTree(env_->fs, env_.dir() / "work/src"); }
  std::string Read(const std::string& file) { return env_.dir().ReadFile("work/src/" + file); }
  [[nodiscard]] AbsPath Mirror() const {
    return env_.dir() / "cache/git" / HashText(recipe_.sources[0].git.url).Hex();
  }

  TestEnv env_;
  GitRepository repo_{env_, "repo"};
  recipe::Recipe recipe_;
};

TEST_F(GitSourceTest, TagsBranchesCommitsAndHead) {
  const std::string first = repo_.Commit("f", "one");
  repo_.Git({"tag", "light"});
  repo_.Git({"tag", "-a", "-m", "x", "full"});
  repo_.Git({"branch", "side"});
  const std::string second = repo_.Commit("f", "two");
  EXPECT_THAT(Resolve(), IsOkAndHolds(second));
  EXPECT_THAT(env_.reporter.notes(),
              ElementsAre(HasSubstr("HEAD of '" + repo_.path().str() + "' is commit " + second)));
  for (const char* tag : {"light", "full"}) {
    git() = {.url = repo_.path().str(), .tag = tag};
    EXPECT_THAT(Resolve(), IsOkAndHolds(first)) << tag;
  }
  git() = {.url = repo_.path().str(), .branch = "side"};
  EXPECT_THAT(Resolve(), IsOkAndHolds(first));
  for (const std::string& rev :
       {first, std::string("full"), std::string("side"), std::string("refs/heads/side")}) {
    git() = {.url = repo_.path().str(), .rev = rev};
    EXPECT_THAT(Resolve(), IsOkAndHolds(first)) << rev;
  }
  EXPECT_THAT(Exists(env_->fs, env_->cache_dir), IsOkAndHolds(false)) << "a plan writes nothing";
}

TEST_F(GitSourceTest, WritesTheFilesWithoutARepository) {
  repo_.Commit("run", "#!/bin/sh\n", 0755);
  env_.dir().MakeSymlink("run", "repo/link");
  env_.dir().WriteFile("repo/.gitattributes", "*.txt eol=crlf\nleft export-ignore\n");
  env_.dir().WriteFile("repo/a.txt", "x\n");
  repo_.Commit("left", "still here");
  ASSERT_OK(Make());
  EXPECT_THAT(Made(), ElementsAre(".gitattributes", "a.txt", "left", "link -> run", "run"));
  EXPECT_EQ(Read("a.txt"), "x\r\n");
  ASSERT_OK_AND_ASSIGN(const FileStat stat, env_->fs.Lstat(env_.dir() / "work/src/run"));
  EXPECT_EQ(stat.mode & 0111U, 0111U);
  EXPECT_EQ(stat.link_count, 1U);
  EXPECT_EQ(stat.mtime_ns, env_->source_date_epoch * 1'000'000'000);
  EXPECT_THAT(env_->fs.ListDir(env_.dir() / "work"), IsOkAndHolds(ElementsAre("src")));
}

TEST_F(GitSourceTest, TheUsersConfigurationDoesNotChangeTheFiles) {
  env_.dir().WriteFile("home/.gitconfig",
                       "[core]\n autocrlf = true\n attributesFile = " + (env_.dir() / "attr").str() +
                           "\n[filter \"x\"]\n smudge = touch " + (env_.dir() / "ran").str() +
                           "\n[core]\n hooksPath = " + env_.dir().MakeDir("hooks").str() + "\n");
  env_.dir().WriteFile("attr", "* filter=x\n");
  env_.dir().WriteFile("hooks/reference-transaction",
                       "#!/bin/sh\ntouch '" + (env_.dir() / "ran").str() + "'\n", 0755);
  repo_.Commit("a.txt", "x\n");
  ASSERT_OK(Make());
  EXPECT_EQ(Read("a.txt"), "x\n");
  EXPECT_THAT(Exists(env_->fs, env_.dir() / "ran"), IsOkAndHolds(false));
}

TEST_F(GitSourceTest, AnotherRepositoryOfTheEnvironmentIsNotTouched) {
  const std::string commit = repo_.Commit("f", "x");
  GitRepository other(env_, "other");
  const std::string before = other.Commit("g", "y");
  env_->variables["GIT_DIR"] = (other.path() / ".git").str();
  env_->variables["GIT_WORK_TREE"] = other.path().str();
  ASSERT_OK(Make());
  EXPECT_EQ(git().commit, commit);
  EXPECT_EQ(other.Git({"for-each-ref", "--format=%(objectname)"}), before);
}

TEST_F(GitSourceTest, ABranchThatMovesAfterThePlanDoesNotChangeWhatIsBuilt) {
  git().branch = "main";
  repo_.Commit("f", "planned");
  ASSERT_OK(Resolve());
  repo_.Commit("f", "later");
  ASSERT_OK(Take());
  EXPECT_EQ(Read("f"), "planned");
  ASSERT_OK(Make());
  EXPECT_EQ(Read("f"), "later");
}

TEST_F(GitSourceTest, ACommitThatIsGoneIsNamed) {
  git().branch = "main";
  repo_.Commit("f", "one");
  ASSERT_OK(Resolve());
  const std::string planned = git().commit;
  repo_.Git({"update-ref", "-d", "refs/heads/main"});
  repo_.Git({"reflog", "expire", "--expire=now", "--all"});
  repo_.Git({"rm", "-q", "--cached", "f"});
  repo_.Git({"gc", "-q", "--prune=now"});
  const auto result = Take();
  EXPECT_THAT(result,
              FailsWith(ErrorCode::kNotFound, "commit " + planned + " is not in '" + git().url + "'"));
  EXPECT_THAT(result, HasHint(HasSubstr("it was 'branch main' during planning")));
  EXPECT_THAT(env_->fs.ListDir(env_.dir() / "work"), IsOkAndHolds(IsEmpty()));
}

TEST_F(GitSourceTest, NamesThatAreNotThere) {
  repo_.Commit("f", "x");
  recipe_.sources[0].span = {.file = "recipe.yaml", .line = 4, .column = 5, .length = 1, .excerpt = ""};
  git().tag = "v9";
  EXPECT_THAT(Resolve(), FailsWith(ErrorCode::kNotFound, "'" + git().url + "' does not have the tag 'v9'"));
  EXPECT_EQ(Resolve().error().span()->line, 4);
  git() = {.url = git().url, .branch = "side"};
  EXPECT_THAT(Resolve(), FailsWith(ErrorCode::kNotFound, HasSubstr("does not have the branch 'side'")));
  git() = {.url = (env_.dir() / "none").str()};
  EXPECT_THAT(Resolve(), FailsWith(ErrorCode::kNotFound, HasSubstr("cannot list the branches and tags of")));
}

TEST_F(GitSourceTest, AnotherCommitThanTheRecipeExpects) {
  const std::string commit = repo_.Commit("f", "x");
  repo_.Git({"tag", "v1"});
  git().tag = "v1";
  git().expected_commit = commit;
  EXPECT_THAT(Resolve(), IsOkAndHolds(commit));
  git().expected_commit = std::string(40, 'a');
  EXPECT_THAT(Resolve(),
              FailsWith(ErrorCode::kHashMismatch, AllOf(HasSubstr(commit), HasSubstr("expects aaaa"))));
}

TEST_F(GitSourceTest, IsFetchedOnceAndThenNotAskedFor) {
  git().rev = repo_.Commit("f", "x");
  ASSERT_OK(Make());
  ASSERT_OK(env_->fs.Rename(repo_.path(), env_.dir() / "away"));
  ASSERT_OK(Make());
  EXPECT_EQ(Read("f"), "x");
}

TEST_F(GitSourceTest, OfHistoryOnlyWhatIsWantedIsFetched) {
  repo_.Commit("f", "1");
  repo_.Commit("f", "2");
  git().rev = repo_.Commit("f", "3");
  git().url = "file://" + repo_.path().str();  // git takes no notice of the depth of a path
  const auto commits = [&] {
    return repo_.Git({"--git-dir=" + (Mirror() / "repo.git").str(), "rev-list", "--count", "--all"});
  };
  ASSERT_OK(Make());
  EXPECT_EQ(commits(), "1");
  ASSERT_OK(RemoveTree(env_->fs, Mirror()));
  git().depth = 2;
  ASSERT_OK(Make());
  EXPECT_EQ(commits(), "2");
}

TEST_F(GitSourceTest, OfflineTakesWhatTheCacheHas) {
  git().url = "https://127.0.0.1:1/toy.git";  // nobody listens there
  git().tag = "v1";
  env_->offline = true;
  auto result = Resolve();
  EXPECT_THAT(
      result,
      FailsWith(ErrorCode::kNotFound,
                "cannot resolve tag v1 of 'https://127.0.0.1:1/toy.git' offline: it is not in the cache"));
  EXPECT_THAT(result, HasHint(HasSubstr("--source NAME=PATH")));
  git().expected_commit = std::string(40, 'a');
  EXPECT_THAT(Resolve(), IsOkAndHolds(git().expected_commit));
  EXPECT_THAT(Take(), FailsWith(ErrorCode::kNotFound, HasSubstr("offline: it is not in the cache")));
  // As if it had been fetched before.
  const std::string commit = repo_.Commit("f", "x");
  env_->variables["GIT_CONFIG_COUNT"] = "1";
  env_->variables["GIT_CONFIG_KEY_0"] = "url." + repo_.path().str() + ".insteadOf";
  env_->variables["GIT_CONFIG_VALUE_0"] = git().url;
  repo_.Git({"tag", "v1"});
  env_->offline = false;
  git().expected_commit.clear();
  ASSERT_OK(Make());
  env_->offline = true;
  env_->variables.erase("GIT_CONFIG_COUNT");
  ASSERT_OK(Make());
  EXPECT_EQ(git().commit, commit);
  EXPECT_EQ(Read("f"), "x");
}

TEST_F(GitSourceTest, ADamagedMirrorIsFetchedAgain) {
  git().rev = repo_.Commit("f", std::string(100'000, 'x'));
  ASSERT_OK(Make());
  const AbsPath objects = Mirror() / "repo.git/objects";
  for (const std::string& name : test::ListTree(env_->fs, objects)) {
    if (name.ends_with('/') || name.ends_with(".idx")) continue;
    ASSERT_OK(env_->fs.SetMode(objects / name, 0644));
    ASSERT_OK(WriteFile(env_->fs, objects / name, "damaged"));
  }
  ASSERT_OK(RemoveTree(env_->fs, env_.dir() / "work/src"));
  ASSERT_OK(Take());
  EXPECT_EQ(Read("f").size(), 100'000U);
  EXPECT_THAT(env_.reporter.warnings(), Contains(HasSubstr("fetching it again")));
}

TEST_F(GitSourceTest, ADamagedPackIsFetchedAgain) {
  env_->variables["GIT_CONFIG_COUNT"] = "1";
  env_->variables["GIT_CONFIG_KEY_0"] = "fetch.unpackLimit";
  env_->variables["GIT_CONFIG_VALUE_0"] = "1";
  git().rev = repo_.Commit("f", "x");
  for (const char* ending : {".pack", ".idx"}) {
    ASSERT_OK(Make());
    const AbsPath objects = Mirror() / "repo.git/objects";
    for (const std::string& name : test::ListTree(env_->fs, objects)) {
      if (!name.ends_with(ending)) continue;
      ASSERT_OK(env_->fs.SetMode(objects / name, 0644));
      ASSERT_OK(WriteFile(env_->fs, objects / name, "damaged"));
    }
    ASSERT_OK(RemoveTree(env_->fs, env_.dir() / "work/src"));
    EXPECT_THAT(Take(), test::IsOk()) << ending;
  }
  EXPECT_THAT(env_.reporter.warnings(), ::testing::Each(HasSubstr("fetching it again")));
  EXPECT_EQ(env_.reporter.warnings().size(), 2U);
}

TEST_F(GitSourceTest, ADamagedServerIsNoDamageOfTheMirror) {
  git().rev = repo_.Commit("f", std::string(100'000, 'x'));
  // The commit is read by git itself, and the file by a program whose words follow "remote: ".
  for (const std::string& broken : {std::string("HEAD:f"), std::string("HEAD")}) {
    const std::string id = repo_.Git({"rev-parse", broken});
    const AbsPath object = repo_.path() / ".git/objects" / id.substr(0, 2) / id.substr(2);
    ASSERT_OK_AND_ASSIGN(const std::string sound, ReadFile(env_->fs, object));
    ASSERT_OK(env_->fs.SetMode(object, 0644));
    ASSERT_OK(WriteFile(env_->fs, object, "damaged"));
    ASSERT_OK(RemoveTree(env_->fs, env_.dir() / "work/src"));
    git().commit = git().rev;
    EXPECT_THAT(Take(), FailsWith(ErrorCode::kIo, HasSubstr("cannot fetch"))) << broken;
    ASSERT_OK(WriteFile(env_->fs, object, sound));
  }
  EXPECT_THAT(env_.reporter.warnings(), IsEmpty());
}

TEST_F(GitSourceTest, OfflineADamagedMirrorStays) {
  const std::string origin = "https://127.0.0.1:1/toy.git";  // nobody listens there
  git().url = origin;
  std::string noise;  // the longest object of its pack by far
  for (int i = 0; i < 1000; ++i) noise += HashText(std::to_string(i)).Hex();
  git().rev = repo_.Commit("f", noise);
  env_->variables["GIT_CONFIG_COUNT"] = "1";
  env_->variables["GIT_CONFIG_KEY_0"] = "url." + repo_.path().str() + ".insteadOf";
  env_->variables["GIT_CONFIG_VALUE_0"] = origin;
  ASSERT_OK(Make());
  const AbsPath objects = Mirror() / "repo.git/objects";
  const std::vector<std::string> before = test::ListTree(env_->fs, objects);
  for (const std::string& name : before) {
    if (name.ends_with('/')) continue;
    ASSERT_OK_AND_ASSIGN(const FileStat stat, env_->fs.Lstat(objects / name));
    if (stat.size_bytes < 10'000) continue;
    ASSERT_OK_AND_ASSIGN(std::string pack, ReadFile(env_->fs, objects / name));
    pack.replace(pack.size() / 2, 16, "damaged damaged!");
    ASSERT_OK(env_->fs.SetMode(objects / name, 0644));
    ASSERT_OK(WriteFile(env_->fs, objects / name, pack));
  }
  ASSERT_OK(RemoveTree(env_->fs, env_.dir() / "work/src"));
  env_->offline = true;
  const auto failed = Take();
  EXPECT_THAT(failed, FailsWith(ErrorCode::kCorrupt, HasSubstr("cannot check out commit")));
  EXPECT_THAT(failed, HasHint(HasSubstr("without --offline")));
  EXPECT_EQ(test::ListTree(env_->fs, objects), before);
}

TEST_F(GitSourceTest, ACheckoutThatFailsForAnotherReasonFetchesNothing) {
  git().rev = repo_.Commit("f", "x");
  ASSERT_OK(Make());
  // git, but a checkout meets a full quota, or is killed.
  for (const char* end :
       {"echo 'error: unable to write file f: Disk quota exceeded'; exit 128", "kill -XFSZ $$"}) {
    env_.dir().WriteFile("bin/git",
                         std::string("#!/bin/sh\ncase \" $* \" in *\" read-tree \"*) ") + end +
                             ";; esac\nexec /usr/bin/git \"$@\"\n",
                         0755);
    env_->variables["PATH"] = (env_.dir() / "bin").str() + ":/usr/bin:/bin";
    ASSERT_OK(RemoveTree(env_->fs, env_.dir() / "work/src"));
    EXPECT_THAT(Take(),
                FailsWith(ErrorCode::kIo, ::testing::AnyOf(HasSubstr("Disk quota exceeded"),
                                                           HasSubstr("git was killed by signal 25"))));
  }
  EXPECT_THAT(env_.reporter.warnings(), Not(Contains(HasSubstr("fetching it again"))));
}

TEST_F(GitSourceTest, AFetchThatWasKilledIsNoObstacle) {
  repo_.Commit("f", "x");
  ASSERT_OK(Make());
  git().rev = repo_.Commit("f", "y");
  for (const char* name : {"shallow.lock", "packed-refs.lock", "objects/pack/tmp_pack_x"}) {
    const AbsPath file = Mirror() / "repo.git" / name;
    ASSERT_OK(env_->fs.MakeDirs(file.Parent()));
    ASSERT_OK(WriteFile(env_->fs, file, ""));
  }
  ASSERT_OK(Make());
  EXPECT_EQ(Read("f"), "y");
}

TEST_F(GitSourceTest, AStaleLockOfANameIsNoObstacleWhereTheCommitIsThere) {
  repo_.Commit("f", "x");
  repo_.Git({"tag", "v1"});
  git().tag = "v1";
  ASSERT_OK(Make());
  const AbsPath refs = Mirror() / "repo.git/refs";
  int locks = 0;
  ASSERT_OK_AND_ASSIGN(const std::vector<WalkEntry> entries, Walk(env_, refs));
  for (const WalkEntry& entry : entries) {
    if (entry.stat.kind != FileKind::kRegular) continue;
    ASSERT_OK(WriteFile(env_->fs, AbsPath::Literal((refs / entry.path).str() + ".lock"), ""));
    ++locks;
  }
  EXPECT_GE(locks, 2) << "of the commit and of the tag";
  ASSERT_OK(Make());
  EXPECT_EQ(Read("f"), "x");
  env_->offline = true;
  ASSERT_OK(Make());
}

TEST_F(GitSourceTest, AMirrorInUseIsNotCleanedAway) {
  git().rev = repo_.Commit("f", "x");
  ASSERT_OK(Make());
  ASSERT_OK_AND_ASSIGN(const Git program, Git::Find(env_));
  const recipe::GitUrl url{.text = git().url, .is_local = true};
  ASSERT_OK_AND_ASSIGN(const GitMirror mirror, GitMirror::Open(env_, program, url, git().rev));
  ASSERT_OK_AND_ASSIGN(const auto cleaner, Lease::Try(env_->fs, Mirror(), LockKind::kExclusive));
  EXPECT_FALSE(cleaner.has_value());
}

TEST_F(GitSourceTest, ALinkOutOfTheTreeIsRefused) {
  env_.dir().MakeSymlink("/etc/passwd", "repo/link");
  git().rev = repo_.CommitAll();
  EXPECT_THAT(Make(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("points outside the source directory")));
}

TEST_F(GitSourceTest, PatchesApplyToACommit) {
  git().rev = repo_.Commit("f", "one\ntwo\n");
  env_.dir().WriteFile("recipes/toy/p.patch", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n");
  recipe_.sources[0].patches = {"p.patch"};
  recipe_.sources[0].target_directory = "deep";
  ASSERT_OK(Make());
  EXPECT_EQ(Read("deep/f"), "one\nthree\n");
}

TEST_F(GitSourceTest, TheKeyIsTheCommitAndNotTheUrl) {
  git().rev = git().commit = std::string(40, 'a');
  ASSERT_OK_AND_ASSIGN(const Sha256 key, SourceKey(env_, recipe_, {}));
  git().url = "https://other.example/x.git";
  EXPECT_THAT(SourceKey(env_, recipe_, {}), IsOkAndHolds(key));
  for (bool* flag : {&git().lfs, &git().submodules}) {
    *flag = !*flag;
    EXPECT_THAT(SourceKey(env_, recipe_, {}), IsOkAndHolds(Not(key)));
    *flag = !*flag;
  }
  git().commit = std::string(40, 'b');
  EXPECT_THAT(SourceKey(env_, recipe_, {}), IsOkAndHolds(Not(key)));
  for (const char* none : {"", "main", "--output=x"}) {  // as a plan that somebody has written may say
    git().commit = none;
    EXPECT_THAT(SourceKey(env_, recipe_, {}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not known")));
  }
  git().commit.clear();
  EXPECT_THAT(SourceKey(env_, recipe_, {}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not known")));
}

TEST_F(GitSourceTest, MissingPrograms) {
  repo_.Commit("f", "x");
  git().lfs = true;
  env_.dir().MakeDir("bin");
  env_.dir().MakeSymlink("/usr/bin/git", "bin/git");
  env_->variables["PATH"] = (env_.dir() / "bin").str();
  // git looks for git-lfs beside its own programs, too.
  const auto has = Git::Find(env_)->Has("lfs");
  if (has && !*has) {
    EXPECT_THAT(Resolve(), FailsWith(ErrorCode::kNotFound, HasSubstr("program 'git-lfs' is missing")));
  }
  env_->variables["PATH"] = (env_.dir() / "empty").str();
  EXPECT_THAT(Resolve(), FailsWith(ErrorCode::kNotFound, "program 'git' is missing"));
}

class SubmoduleTest : public GitSourceTest {
 protected:
  /// Adds `child` to `parent` at `path`, declared by `url`; the commit of the parent.
  static std::string Add(GitRepository& parent, GitRepository& child, const std::string& path,
                         const std::string& url) {
    parent.Git({"submodule", "--quiet", "add", child.path().str(), path});
    parent.Git({"config", "-f", ".gitmodules", "submodule." + path + ".url", url});
    return parent.CommitAll();
  }

  GitRepository child_{env_, "child"};
  GitRepository grandchild_{env_, "grandchild"};
};

TEST_F(SubmoduleTest, AreTakenRecursivelyAtTheirCommits) {
  grandchild_.Commit("g", "grandchild");
  child_.Commit("c", "child");
  Add(child_, grandchild_, "third party/g", "../grandchild");
  repo_.Commit("f", "x");
  Add(repo_, child_, "deps/c", "../child");
  git().rev = Add(repo_, grandchild_, "deps/g", grandchild_.path().str());
  child_.Commit("c", "later");
  ASSERT_OK(Make());
  EXPECT_EQ(Read("deps/c/c"), "child");
  EXPECT_EQ(Read("deps/c/third party/g/g"), "grandchild");
  EXPECT_EQ(Read("deps/g/g"), "grandchild");
  ASSERT_OK_AND_ASSIGN(const auto mirrors, env_->fs.ListDir(env_->cache_dir / "git"));
  EXPECT_EQ(mirrors.size(), 3U);
  git().submodules = false;
  ASSERT_OK(Make());
  EXPECT_THAT(env_->fs.ListDir(env_.dir() / "work/src/deps/c"), IsOkAndHolds(IsEmpty()));
}

TEST_F(SubmoduleTest, RelativeOnesOfACloneAreBesideWhatItWasClonedFrom) {
  GitRepository child(env_, "child");
  child.Commit("c", "child");
  Add(repo_, child, "sub", "../child");
  env_.dir().MakeDir("clones");
  repo_.Git({"clone", "-q", repo_.path().str(), (env_.dir() / "clones/mine").str()});
  git() = {.url = (env_.dir() / "clones/mine").str()};
  ASSERT_OK(Make());
  EXPECT_EQ(Read("sub/c"), "child");
}

TEST_F(SubmoduleTest, OneThatSaysNoneIsLeftOut) {
  child_.Commit("c", "child");
  Add(repo_, child_, "c", "../child");
  repo_.Git({"config", "-f", ".gitmodules", "submodule.c.update", "none"});
  git().rev = repo_.CommitAll();
  ASSERT_OK(Make());
  EXPECT_THAT(env_->fs.ListDir(env_.dir() / "work/src/c"), IsOkAndHolds(IsEmpty()));
}

TEST_F(SubmoduleTest, ACommitThatIsGoneIsNamedWithItsPlace) {
  const std::string gone = child_.Commit("c", "child");
  git().rev = Add(repo_, child_, "c", "../child");
  child_.Git({"commit", "-q", "--amend", "-m", "another"});
  child_.Git({"reflog", "expire", "--expire=now", "--all"});
  child_.Git({"gc", "-q", "--prune=now"});
  const auto result = Make();
  EXPECT_THAT(result,
              FailsWith(ErrorCode::kNotFound, "commit " + gone + " is not in '" + child_.path().str() + "'"));
  EXPECT_THAT(result.error().context(), Contains(HasSubstr("while fetching the submodule 'c'")));
}

TEST_F(SubmoduleTest, OneWithoutUrlIsRefused) {
  child_.Commit("c", "child");
  Add(repo_, child_, "c", "../child");
  env_.dir().WriteFile("repo/.gitmodules", "");
  git().rev = repo_.CommitAll();
  EXPECT_THAT(Make(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("its .gitmodules gives no URL for it")));
}

TEST_F(SubmoduleTest, OneThatRunsAProgramIsRefused) {
  child_.Commit("c", "child");
  git().rev = Add(repo_, child_, "c", "ext::sh -c 'touch " + (env_.dir() / "ran").str() + "'");
  EXPECT_THAT(Make(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not the URL of a git repository")));
  EXPECT_THAT(Exists(env_->fs, env_.dir() / "ran"), IsOkAndHolds(false));
}

TEST(GitReason, IsGitsFirstWord) {
  EXPECT_EQ(GitReason("remote: Counting\nerror: a\nfatal: b.\n"), "b");
  EXPECT_EQ(GitReason("ssh: connect to host h: no route\nx"), "ssh: connect to host h: no route");
  EXPECT_EQ(GitReason("From x\n ! [rejected]  v2 -> v2  (would clobber existing tag)\n"),
            "v2 -> v2  (would clobber existing tag)");
  EXPECT_EQ(GitReason("something\nelse"), "something");
}

/// A git that always prints this and fails.
ErrorCode CodeFor(const std::string& output, int& calls) {
  test::FakeProcess process;
  process.On("git", [&](const Command&) {
    ++calls;
    ExitStatus status;
    status.code = 128;
    status.output = output;
    return status;
  });
  TestEnv env({.process = &process});
  const auto git = Git::Find(env);
  return git->RunWithRetry({.args = {"x"}}, {.text = "https://u@h/a"}, "cannot").error().code();
}

TEST(GitAsk, TriesAgainWhatMayPass) {
  int calls = 0;
  EXPECT_EQ(CodeFor("fatal: unable to access 'https://h/': Could not resolve host: h", calls),
            ErrorCode::kNetwork);
  EXPECT_EQ(calls, 3);
  calls = 0;
  EXPECT_EQ(CodeFor("fatal: early EOF", calls), ErrorCode::kNetwork);
  EXPECT_EQ(calls, 3);
  calls = 0;
  EXPECT_EQ(CodeFor("fatal: repository 'https://h/' not found", calls), ErrorCode::kNotFound);
  EXPECT_EQ(CodeFor("fatal: could not read Username for 'https://h': terminal prompts disabled", calls),
            ErrorCode::kRefused);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace ptpkg::source
