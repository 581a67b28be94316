#include "pipeline/commands/ci.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ci/seal.h"
#include "pipeline/commands/ci_workflow.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOk;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kCiRecipe = R"(package: {name: toy, version: '1.0'}
source: {path: src}
build: {string: "h${{ hash }}", script: {content: 'true', env: {BACKEND: "${{ backend }}"}}}
about: {license: MIT, summary: toy}
)";
const std::string kDigest = "@sha256:" + std::string(64, 'a');

class CiTest : public ::testing::Test {
 protected:
  CiTest() {
    env_.dir().MakeDir("repo/.git");
    env_.dir().MakeDir("repo/recipes/toy/src");
    Write("recipes/toy/recipe.yaml", kCiRecipe);
    Write("recipes/toy/variants.yaml", "backend: [cpu, cuda]\n");
    request_.build.recipes = {env_.dir() / "repo/recipes/toy"};
  }

  void Write(const std::string& path, const std::string& text) {
    ASSERT_OK(WriteFile(env_->fs, env_.dir() / "repo" / path, text));
  }
  Result<CiOutcome> Run() { return WriteCi(env_, request_); }
  std::string Text() {
    const auto outcome = Run();
    EXPECT_THAT(outcome, IsOk());
    return outcome ? outcome->text : "";
  }
  std::vector<std::string> ArgumentsOf(std::size_t job) {
    const auto outcome = Run();
    EXPECT_THAT(outcome, IsOk());
    return outcome ? outcome->jobs.at(job).arguments : std::vector<std::string>();
  }

  test::TestEnv env_;
  CiRequest request_;
  AbsPath file_ = env_.dir() / "repo/.github/workflows/toy.yml";
};

TEST_F(CiTest, WritesOnceAndThenSaysThatItIsCurrent) {
  const auto first = Run();
  ASSERT_THAT(first, IsOk());
  EXPECT_TRUE(first->differs);
  EXPECT_EQ(first->file, file_);
  EXPECT_EQ(*ReadFile(env_->fs, file_), first->text);
  ASSERT_EQ(first->jobs.size(), 2U);
  EXPECT_EQ(first->jobs[0].id, "1-toy-cpu");
  EXPECT_THAT(first->jobs[0].arguments, ElementsAre("recipes/toy", "--select=backend=cpu"));
  EXPECT_THAT(first->jobs[1].packages, ElementsAre(HasSubstr("toy-1.0-h")));
  const auto second = Run();
  ASSERT_THAT(second, IsOk());
  EXPECT_FALSE(second->differs);
  EXPECT_EQ(second->text, first->text);
  request_.check = true;
  EXPECT_THAT(Run(), IsOk());
}

TEST_F(CiTest, CheckFindsWhatIsNotCurrent) {
  request_.check = true;
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kCheckFailed, HasSubstr("is not there")));
  EXPECT_FALSE(*Exists(env_->fs, file_));
  request_.check = false;
  ASSERT_OK(Run());
  request_.check = true;
  Write("recipes/toy/variants.yaml", "backend: [cpu, cuda, rocm]\n");
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kCheckFailed, HasSubstr("is out of date with the recipes")));
  request_.check = false;
  EXPECT_THAT(Run(), IsOk());  // ours, and nobody edited it
  Write(".github/workflows/toy.yml", Text() + "# mine\n");
  request_.check = true;
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kCheckFailed, HasSubstr("was edited by hand")));
}

TEST_F(CiTest, ReplacesWhatIsNotItsOwnOnlyByForce) {
  const std::string text = Text();
  for (const auto& [theirs, why] : {std::pair{text + "\n", "was edited by hand"},
                                    {std::string("on: push\n"), "was not written by 'ptpkg ci'"},
                                    {std::string(), "was not written by 'ptpkg ci'"}}) {
    Write(".github/workflows/toy.yml", theirs);
    EXPECT_THAT(Run(), FailsWith(ErrorCode::kAlreadyExists, HasSubstr(why)));
    EXPECT_EQ(*ReadFile(env_->fs, file_), theirs);
    request_.force = true;
    EXPECT_THAT(Run(), IsOk());
    request_.force = false;
    EXPECT_EQ(*ReadFile(env_->fs, file_), text);
  }
  ASSERT_OK(env_->fs.Remove(file_));
  ASSERT_OK(env_->fs.CreateSymlink("elsewhere", file_));
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kAlreadyExists, HasSubstr("is not a regular file")));
}

TEST_F(CiTest, DryRunAndPrintWriteNothing) {
  request_.dry_run = true;
  EXPECT_TRUE(Run()->differs);
  EXPECT_FALSE(*Exists(env_->fs, file_));
  request_.dry_run = false;
  request_.print = true;
  const auto printed = Run();
  ASSERT_THAT(printed, IsOk());
  EXPECT_EQ(printed->file, std::nullopt);
  EXPECT_FALSE(*Exists(env_->fs, file_));
}

TEST_F(CiTest, AFailedWriteLeavesWhatWasThere) {
  const std::string before = Text();
  Write("recipes/toy/variants.yaml", "backend: [cpu]\n");
  int failed = 0;
  for (std::uint64_t number = 1;; ++number) {
    test::FaultFs fs(env_->fs, {.number = number});
    Env env{.fs = fs,
            .process = env_->process,
            .http = env_->http,
            .clock = env_->clock,
            .reporter = env_->reporter,
            .cancel = env_->cancel,
            .variables = {}};
    const auto outcome = WriteCi(env, request_);
    const std::string now = *ReadFile(env_->fs, file_);
    if (!fs.fired()) {
      EXPECT_THAT(outcome, IsOk());
      EXPECT_EQ(now, outcome->text);
      break;
    }
    if (outcome) continue;
    ++failed;
    // Either the old one or, when only the directory could not be synced, the new one: never a part.
    EXPECT_EQ(ci::OriginOf(now), ci::Origin::kOurs) << number;
    if (now != before) {
      ASSERT_OK(WriteFile(env_->fs, file_, before));
    }
  }
  EXPECT_GT(failed, 10);
}

TEST_F(CiTest, PathsAreThoseOfAnyCheckout) {
  Write("more.yaml", "backend: [omp]\n");
  request_.build.variant_files = {env_.dir() / "repo/more.yaml"};
  EXPECT_THAT(ArgumentsOf(0), ElementsAre("recipes/toy", "--variants=more.yaml"));
  EXPECT_THAT(Text(), Not(HasSubstr(env_.dir().path().str())));
  ASSERT_OK(WriteFile(env_->fs, env_.dir() / "outside.yaml", "backend: [omp]\n"));
  request_.build.variant_files = {env_.dir() / "outside.yaml"};
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kUsage, HasSubstr("is outside the repository")));
}

TEST_F(CiTest, ASourceMustBeInTheCheckout) {
  Write("recipes/toy/recipe.yaml",
        std::string(kCiRecipe).replace(std::string(kCiRecipe).find("src"), 3, "../../.."));
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kUsage, HasSubstr("is outside the repository")));
  Write("recipes/toy/recipe.yaml",
        std::string(kCiRecipe).replace(std::string(kCiRecipe).find("src"), 3, "../.."));
  request_.service = CiService::kGitlab;
  EXPECT_THAT(Text(), HasSubstr("--exclude=./.ptpkg-ci"));
  Write("recipes/toy/recipe.yaml",
        std::string(kCiRecipe).replace(std::string(kCiRecipe).find("src"), 3, "gone"));
  EXPECT_THAT(Text(), Not(HasSubstr("--exclude=./.ptpkg-ci")));
  EXPECT_THAT(env_.reporter.warnings(), Contains(HasSubstr("gone' of 'toy' does not exist here")));
}

TEST_F(CiTest, SourcesAreOnesThatJobsReach) {
  const auto with = [&](const std::string& value) {
    request_.sources = {{"toy", value}};
    request_.build.sources.clear();
    request_.build.git_sources.clear();
    return AddSource(env_, "toy", value, request_.build)
               ? Run()
               : Result<CiOutcome>(Error(ErrorCode::kInternal, "x"));
  };
  const auto git = with("git+https://example.org/toy@v1");
  ASSERT_THAT(git, IsOk());
  EXPECT_THAT(git->jobs[0].arguments, Contains("--source=toy=git+https://example.org/toy@v1"));
  const auto folder = with((env_.dir() / "repo/recipes").str());
  ASSERT_THAT(folder, IsOk());
  EXPECT_THAT(folder->jobs[0].arguments, Contains("--source=toy=recipes"));
  EXPECT_THAT(with("git+https://me:example@example.org/toy@v1"),
              FailsWith(ErrorCode::kUsage, HasSubstr("contains a user name or password")));
  EXPECT_THAT(with(env_.dir().path().str()),
              FailsWith(ErrorCode::kUsage, HasSubstr("is outside the repository")));
}

TEST_F(CiTest, TheNameOfTheRecipeReplacesTheSourcesOfTheStagingOutputAlone) {
  Write("recipes/toy/recipe.yaml", R"(recipe: {name: toy, version: '1.0'}
build: {string: s}
about: {license: MIT, summary: toy}
outputs:
- staging: {name: base}
  source: {path: base-gone}
  build: {script: ['true']}
- package: {name: one}
  inherit: base
  source: {path: one-gone}
)");
  Write("recipes/toy/variants.yaml", "{}\n");
  const auto warnings_with = [&](const std::string& name) {
    request_.sources = {{name, (env_.dir() / "repo/recipes/toy/src").str()}};
    const std::size_t before = env_.reporter.warnings().size();
    EXPECT_THAT(Run(), IsOk());
    std::vector<std::string> warnings = env_.reporter.warnings();
    warnings.erase(warnings.begin(), warnings.begin() + static_cast<std::ptrdiff_t>(before));
    return warnings;
  };
  EXPECT_THAT(warnings_with("toy"), ElementsAre(HasSubstr("one-gone' of 'one' does not exist here")));
  EXPECT_THAT(warnings_with("one"), ElementsAre(HasSubstr("base-gone' of 'base' does not exist here")));
}

TEST_F(CiTest, ImagesNameTheirDigestAndFitSomeVariant) {
  const auto image = [&](const std::string& text) {
    request_.images = {*CiRule::Parse("--image", text)};
    return Run();
  };
  EXPECT_THAT(image("debian:12"), FailsWith(ErrorCode::kUsage, HasSubstr("has no digest")));
  EXPECT_THAT(image("a@sha256:12"), FailsWith(ErrorCode::kUsage, HasSubstr("has no digest")));
  EXPECT_THAT(image("backend=rocm:a" + kDigest),
              FailsWith(ErrorCode::kUsage, HasSubstr("matches no variant")));
  EXPECT_THAT(image("localhost:5000/a" + kDigest), IsOk());
  const auto one = image("backend=cuda:cuda" + kDigest);
  ASSERT_THAT(one, IsOk());
  EXPECT_THAT(one->text, HasSubstr("image: \"cuda" + kDigest + "\""));
  EXPECT_THAT(CiRule::Parse("--image", "=x:y"), FailsWith(ErrorCode::kUsage, HasSubstr("empty part")));
  EXPECT_THAT(CiRule::Parse("--runner", "a=b:"), FailsWith(ErrorCode::kUsage, HasSubstr("empty part")));
}

TEST_F(CiTest, TargetsAreLookedAtWithoutTheUsersFiles) {
  env_->variables["UV_PUBLISH_CHECK_URL"] = "https://example.org/simple";
  const auto to = [&](const std::string& target, const std::string& server = "") {
    request_.to = target;
    request_.server = server;
    return Run();
  };
  EXPECT_THAT(to("anacodna:me"), FailsWith(ErrorCode::kUsage, HasSubstr("did you mean 'anaconda:'?")));
  EXPECT_THAT(to(""), FailsWith(ErrorCode::kUsage, HasSubstr("--to TARGET is missing")));
  EXPECT_THAT(to("pypi:ours", "https://example.org/legacy"),
              FailsWith(ErrorCode::kUsage, HasSubstr("skip files that are already uploaded")));
  EXPECT_THAT(to("quetz:c", "https://me:example@example.org"),
              FailsWith(ErrorCode::kUsage, HasSubstr("contains a user name or password")));
  struct Case {
    const char* target;
    const char* server;
    const char* in_text;
  };
  for (const Case& one :
       {Case{"anaconda:me", "", "secrets.ANACONDA_API_TOKEN"}, Case{"prefix:c", "", "secrets.PREFIX_API_KEY"},
        Case{"quetz:c", "https://example.org", "secrets.QUETZ_API_KEY"},
        Case{"artifactory:c", "https://example.org", "secrets.ARTIFACTORY_TOKEN"},
        Case{"s3://bucket", "https://example.org", "secrets.AWS_SECRET_ACCESS_KEY"},
        Case{"s3://bucket", "https://example.org", "AWS_REGION: ${{ vars.AWS_REGION }}"},
        Case{"s3://bucket", "", "vars.PTPKG_AWS_ROLE"}, Case{"pypi:testpypi", "", "id-token: write"}}) {
    const auto outcome = to(one.target, one.server);
    ASSERT_THAT(outcome, IsOk()) << one.target;
    EXPECT_THAT(outcome->text, HasSubstr(one.in_text)) << one.target;
  }
}

TEST_F(CiTest, AFolderNeedsARunnerThatStays) {
  request_.to = "file:///srv/x";
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kUsage, HasSubstr("--to file:///srv/x needs --runner")));
  request_.runners = {{.key = "backend", .value = "cuda", .text = "gpu"}};
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kUsage, HasSubstr("needs --runner")));
  request_.runners = {{.text = "channel"}};
  request_.images = {{.text = "a" + kDigest}};
  EXPECT_THAT(Text(), Not(HasSubstr("secrets.")));
  request_.service = CiService::kGitlab;
  EXPECT_THAT(Run(),
              FailsWith(ErrorCode::kUsage, HasSubstr("--to file:///srv/x cannot be combined with --image")));
  request_.images = {{.key = "backend", .value = "cuda", .text = "a" + kDigest}};
  EXPECT_THAT(Run(), IsOk());
}

TEST_F(CiTest, ValuesWithLineBreaksAreRefused) {
  Write("recipes/toy/variants.yaml", "backend: [cpu, \"a\\nb\"]\n");
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a single line of text")));
  EXPECT_THAT(CheckSingleLine("x", "a\u2028b"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("x 'a")));
  EXPECT_THAT(CheckSingleLine("x", "\xff"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("not a single line of text")));
  EXPECT_OK(CheckSingleLine("x", "a $(b) ${{ c }} ü"));
}

TEST_F(CiTest, KeysWithLineBreaksAreRefused) {
  // In a comment and in the arguments of a job, each would be lines of the file.
  Write("recipes/toy/recipe.yaml",
        std::string(kCiRecipe).replace(std::string(kCiRecipe).find("script:"), 0,
                                       "variant: {use_keys: [\"x\\nevil:\\n  script: id #\"]}, "));
  Write("recipes/toy/variants.yaml", "backend: [cpu]\n\"x\\nevil:\\n  script: id #\": [a, b]\n");
  for (const CiService service : {CiService::kGithub, CiService::kGitlab}) {
    request_.service = service;
    EXPECT_THAT(Run(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("the variant key 'x")));
  }
  Write("recipes/toy/recipe.yaml", kCiRecipe);
  Write("recipes/toy/variants.yaml", "backend: [cpu, cuda]\n");
  ASSERT_THAT(Run(), IsOk());
  request_.runners = {{.key = "backend", .value = "cpu\nevil: 1", .text = "x"}};
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("--runner 'cpu")));
  request_.runners = {{.key = "backend\nevil: 1", .value = "cpu", .text = "x"}};
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("--runner 'backend")));
  request_.runners.clear();
  request_.sources = {{"toy\nevil: 1", (env_.dir() / "repo/recipes").str()}};
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("--source 'toy")));
}

TEST_F(CiTest, JobsOfLookalikeValuesHaveNamesOfTheirOwn) {
  Write("recipes/toy/variants.yaml", "backend: [a/b, a_b, " + std::string(80, 'c') + "]\n");
  const auto outcome = Run();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->jobs[0].id, "1-toy-a_b");
  EXPECT_THAT(outcome->jobs[1].id, testing::MatchesRegex("1-toy-a_b-[0-9a-f]{8}"));
  EXPECT_EQ(outcome->jobs[2].id.size(), 69U);
}

TEST_F(CiTest, ARecipeWhoseVariantsAreAllSkippedHasNoJob) {
  Write("recipes/toy/recipe.yaml",
        std::string(kCiRecipe).replace(std::string(kCiRecipe).find("script:"), 0, "skip: [true], "));
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("makes no package")));
}

}  // namespace
}  // namespace ptpkg::pipeline
