#include "builder/tools/conda_client.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::TestEnv;
using ::testing::HasSubstr;

TEST(FindCondaClient, PrefersTheNamedOneThenMicromamba) {
  TestEnv env;
  env->variables["PATH"] = env.dir().MakeDir("bin").str();
  EXPECT_EQ(FindCondaClient(env), std::nullopt);
  env.dir().WriteFile("bin/conda", "", 0755);
  EXPECT_EQ(FindCondaClient(env), env.dir() / "bin/conda");
  env.dir().WriteFile("bin/micromamba", "", 0755);
  EXPECT_EQ(FindCondaClient(env), env.dir() / "bin/micromamba");
  env->variables["PTPKG_CONDA_EXE"] = "conda";
  EXPECT_EQ(FindCondaClient(env), env.dir() / "bin/conda");
  env->variables["PTPKG_CONDA_EXE"] = "/opt/mamba";
  EXPECT_EQ(FindCondaClient(env), AbsPath::Literal("/opt/mamba"));
}

class CreateCondaPrefixTest : public ::testing::Test {
 protected:
  /// A client that records its arguments, one a line, and makes the prefix.
  AbsPath Client(const std::string& body) {
    return env_.dir().WriteFile("conda", "#!/bin/sh\n" + body, 0755);
  }

  TestEnv env_;
  CondaPrefix wanted_{.prefix = env_.dir() / "prefix",
                      .specs = {{.name = "python", .version = "3.11.*", .build = ""},
                                {.name = "cmake", .version = "", .build = ""}}};
};

TEST_F(CreateCondaPrefixTest, HandsTheRequirementsToTheClient) {
  const AbsPath client =
      Client("for a in \"$@\"; do echo \"$a\"; done > \"$HOME/argv\"\nmkdir \"$4\"\necho solved\n");
  ASSERT_OK(env_->fs.MakeDirs(env_.dir() / "home"));
  ASSERT_OK(env_->fs.MakeDirs(wanted_.prefix));

  ASSERT_OK(CreateCondaPrefix(env_, client, wanted_, env_.dir() / "logs/build.log"));

  EXPECT_EQ(env_.dir().ReadFile("home/argv"),
            "create\n--yes\n--prefix\n" + wanted_.prefix.str() + "\npython 3.11.*\ncmake\n");
  EXPECT_THAT(env_.dir().ReadFile("logs/build.log"), HasSubstr("solved"));
  EXPECT_THAT(Exists(env_->fs, wanted_.prefix), test::IsOkAndHolds(true));
}

TEST_F(CreateCondaPrefixTest, HandsTheChannelsToTheClient) {
  const AbsPath client = Client("for a in \"$@\"; do echo \"$a\"; done > \"$HOME/argv\"\nmkdir \"$4\"\n");
  ASSERT_OK(env_->fs.MakeDirs(env_.dir() / "home"));
  wanted_.channels = {"nvidia", "nodefaults"};
  ASSERT_OK(CreateCondaPrefix(env_, client, wanted_, env_.dir() / "logs/build.log"));
  EXPECT_THAT(env_.dir().ReadFile("home/argv"),
              HasSubstr("\ncmake\n--channel\nnvidia\n--override-channels\n"));
}

TEST_F(CreateCondaPrefixTest, TellsTheClientToAskNoServer) {
  const AbsPath client = Client("for a in \"$@\"; do echo \"$a\"; done > \"$HOME/argv\"\nmkdir \"$4\"\n");
  ASSERT_OK(env_->fs.MakeDirs(env_.dir() / "home"));
  ASSERT_OK(env_->fs.MakeDirs(env_->cache_dir));  // where the client says it would make one
  env_->offline = true;
  ASSERT_OK(CreateCondaPrefix(env_, client, wanted_, env_.dir() / "log"));
  EXPECT_THAT(env_.dir().ReadFile("home/argv"), ::testing::EndsWith("\n--offline\n"));
  EXPECT_THAT(SolvedPackages(env_, client, wanted_.specs), test::IsOkAndHolds(std::nullopt));
  EXPECT_THAT(env_.dir().ReadFile("home/argv"), ::testing::EndsWith("--json\n--offline\n"));
}

TEST_F(CreateCondaPrefixTest, ThePassphraseIsNotForTheClient) {
  const AbsPath client = Client("env >> \"$HOME/seen\"\nmkdir \"$4\"\n");
  ASSERT_OK(env_->fs.MakeDirs(env_.dir() / "home"));
  ASSERT_OK(env_->fs.MakeDirs(env_->cache_dir));  // where the client says it would make one
  env_->variables["PTPKG_SIGN_PASSPHRASE"] = "secret words";
  env_->variables["OTHER"] = "seen";
  ASSERT_OK(CreateCondaPrefix(env_, client, wanted_, env_.dir() / "log"));
  EXPECT_THAT(SolvedPackages(env_, client, wanted_.specs), test::IsOkAndHolds(std::nullopt));
  EXPECT_THAT(env_.dir().ReadFile("home/seen"), ::testing::ContainsRegex("OTHER=seen(.|\n)*OTHER=seen"));
  EXPECT_THAT(env_.dir().ReadFile("home/seen"), ::testing::Not(HasSubstr("PASSPHRASE")));
}

TEST_F(CreateCondaPrefixTest, ShowsWhyTheClientFailed) {
  const AbsPath client = Client("echo 'nothing provides cmake'; exit 1\n");
  const auto result = CreateCondaPrefix(env_, client, wanted_, env_.dir() / "log");
  EXPECT_THAT(result, FailsWith(ErrorCode::kCommandFailed, HasSubstr("nothing provides cmake")));
  EXPECT_THAT(result, test::HasHint(HasSubstr("log")));
}

TEST_F(CreateCondaPrefixTest, AsksForNothingWithoutRequirements) {
  wanted_.specs.clear();
  EXPECT_OK(CreateCondaPrefix(env_, env_.dir() / "no-such-client", wanted_, env_.dir() / "log"));
}

TEST_F(CreateCondaPrefixTest, NamesAClientThatIsNotThere) {
  EXPECT_THAT(CreateCondaPrefix(env_, env_.dir() / "no-such-client", wanted_, env_.dir() / "log"),
              FailsWith(ErrorCode::kNotFound, HasSubstr("no-such-client")));
}

class SolvedPackagesTest : public CreateCondaPrefixTest {
 protected:
  using Packages = std::optional<std::vector<std::string>>;
  Result<Packages> Solve(const std::string& answer) {
    return SolvedPackages(env_, Client("cat <<'END'\n" + answer + "\nEND\n"), wanted_.specs);
  }
};

TEST_F(SolvedPackagesTest, ReadsTheAnswersOfBothKindsOfClient) {
  const std::string mamba = R"({"actions": {"LINK": [
      {"name": "python", "version": "3.11.7", "build": "h1_0_cpython", "build_string": "h1_0_cpython",
       "channel": "https://a.example/c", "sha256": "abc", "md5": "d"},
      {"name": "cmake", "version": "3.30", "build_string": "h2", "channel": "c", "md5": "e"}]}, "success": true})";
  EXPECT_THAT(Solve(mamba),
              test::IsOkAndHolds(Packages({"cmake 3.30 h2 e", "python 3.11.7 h1_0_cpython abc"})));
  const std::string conda = R"(Collecting package metadata
{"actions": {"FETCH": [], "LINK": [{"base_url": "https://a.example/c", "build_number": 0, "build_string": "h2",
  "channel": "c", "dist_name": "cmake-3.30-h2", "name": "cmake", "platform": "linux-64", "version": "3.30"}],
  "PREFIX": "/x"}, "dry_run": true, "success": true})";
  EXPECT_THAT(Solve(conda), test::IsOkAndHolds(Packages({"cmake 3.30 h2 c"})));
}

TEST_F(SolvedPackagesTest, AsksWithoutMakingAnything) {
  ASSERT_OK(env_->fs.MakeDirs(env_.dir() / "home"));
  const AbsPath client = Client("for a in \"$@\"; do echo \"$a\"; done > \"$HOME/argv\"\necho '{}'\n");
  ASSERT_OK(SolvedPackages(env_, client, wanted_.specs));
  EXPECT_THAT(env_.dir().ReadFile("home/argv"), HasSubstr("\npython 3.11.*\ncmake\n--dry-run\n--json\n"));
}

TEST_F(SolvedPackagesTest, KnowsThatItDoesNotKnow) {
  for (const char* answer :
       {"", "solved", "{}", "{\"actions\": []}", "{\"actions\": {\"LINK\": {}}}",
        "{\"actions\": {\"LINK\": [3]}}", "{\"actions\": {\"LINK\": [{\"name\": \"a\"}]}}", "} {"}) {
    EXPECT_THAT(Solve(answer), test::IsOkAndHolds(Packages())) << answer;
  }
  wanted_.specs.clear();
  EXPECT_THAT(SolvedPackages(env_, env_.dir() / "no-such-client", {}),
              test::IsOkAndHolds(Packages(std::vector<std::string>())));
}

TEST_F(SolvedPackagesTest, ShowsWhyTheClientFailed) {
  EXPECT_THAT(SolvedPackages(env_, Client("echo 'nothing provides cmake'; exit 1\n"), wanted_.specs),
              FailsWith(ErrorCode::kCommandFailed, HasSubstr("nothing provides cmake")));
}

}  // namespace
}  // namespace ptpkg::builder
