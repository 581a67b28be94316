// Builds with a key: what appears beside the artifacts, when it is made again, and when it goes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/artifact_record.h"
#include "pipeline/commands/check_command.h"
#include "pipeline/plan/run_plan.h"
#include "pipeline/stages/provenance.h"
#include "provenance/envelope.h"
#include "provenance/statement.h"
#include "support/digest/hash.h"
#include "support/openssl_keys.h"
#include "unit/pipeline/fixtures/build_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class SignTest : public BuildFixture {
 protected:
  void SetUp() override {
    test::MakeKeyPair(env_, folder_);
    WriteRecipe("toy", "mkdir -p $PREFIX/share && echo one > $PREFIX/share/toy", kCondaOnly);
  }
  BuildRequest Signed() {
    BuildRequest request = Request({"toy"});
    request.sign_key = folder_ / "key.pem";
    return request;
  }
  AbsPath Package() { return output_ / "conda/linux-64/toy-1.0-0.conda"; }
  AbsPath Beside(const std::string& ending) { return Package().Parent() / ("toy-1.0-0.conda" + ending); }
  std::string Text(const AbsPath& file) {
    const auto text = ReadFile(env_->fs, file);
    EXPECT_THAT(text, IsOk());
    return text ? *text : "";
  }
  /// The findings about what lies beside the package.
  std::vector<std::string> Wrong(const std::string& key = "key.pub") {
    const auto summary = Check(env_, {.paths = {Package()}, .verify_key = folder_ / key});
    EXPECT_THAT(summary, IsOk());
    std::vector<std::string> ids;
    if (!summary || summary->outcomes.empty()) return {"no outcome"};
    for (const Finding& finding : summary->outcomes.front().report.findings) {
      if (finding.id.starts_with("provenance-")) ids.push_back(finding.id);
    }
    return ids;
  }
  Json StatementBeside() {
    const auto envelope = ParseJson(Text(Beside(".intoto.jsonl")), "the envelope");
    EXPECT_THAT(envelope, IsOk());
    if (!envelope) return {};
    const auto parsed = provenance::ParseEnvelope(*envelope, "the envelope");
    EXPECT_THAT(parsed, IsOk());
    return parsed ? *ParseJson(parsed->payload, "the statement") : Json();
  }

  AbsPath folder_ = env_.dir().MakeDir("keys");
};

TEST_F(SignTest, ArtifactsAppearWithWhatVouchesForThem) {
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Run(Signed()));
  EXPECT_THAT(summary.artifacts, SizeIs(3));
  EXPECT_THAT(Wrong(), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const Json manifest, ParseJson(Text(output_ / "manifest.json"), "manifest"));
  std::vector<std::string> listed;
  for (const Json& item : manifest["artifacts"]) listed.push_back(item["format"]);
  EXPECT_THAT(listed, ElementsAre("conda", "provenance", "signature"));
}

TEST_F(SignTest, TheStatementSaysWhatTheBuildRead) {
  Put("toy/helper.txt", "help");
  ASSERT_THAT(Run(Signed()), IsOk());
  const Json statement = StatementBeside();
  ASSERT_OK_AND_ASSIGN(const Digests package, HashFile(env_->fs, Package()));
  EXPECT_EQ(statement["subject"], Json::parse(R"([{"name": "toy-1.0-0.conda", "digest": {"sha256": ")" +
                                              package.sha256.Hex() + R"("}}])"));
  const Json& definition = statement["predicate"]["buildDefinition"];
  EXPECT_EQ(definition["buildType"], "urn:ptpkg:build:v1");
  EXPECT_EQ(definition["externalParameters"]["package"], "toy");
  EXPECT_EQ(definition["externalParameters"]["format"], "conda");
  const auto digest = [](const std::string& name, const std::string& text) {
    return Json{{"name", name}, {"digest", {{"sha256", HashText(text).Hex()}}}};
  };
  const std::vector<Json> dependencies = definition["resolvedDependencies"];
  EXPECT_THAT(dependencies, Contains(digest("recipe/helper.txt", "help")));
  EXPECT_THAT(dependencies,
              Contains(digest("recipe/recipe.yaml", Text(env_.dir().path() / "toy/recipe.yaml"))));
  EXPECT_EQ(provenance::MissingSlsaField(statement["predicate"]), "");
  EXPECT_THAT(statement.dump(), Not(HasSubstr(env_.dir().path().str()))) << "a place of this machine";
}

TEST_F(SignTest, NoTokenOfAUrlIsInTheStatement) {
  const std::optional<Sha256> sha256 = HashText("x");
  recipe::Recipe recipe;
  recipe.name = "toy";
  recipe.recipe_file = env_.dir().path() / "toy/recipe.yaml";
  const auto archive = [&](const char* url) { recipe.sources.push_back({.urls = {url}, .sha256 = sha256}); };
  archive("https://me:hidden@example.org/t/hidden/a.zip?token=hidden/hidden#hidden");
  archive("https://me:hidden@example.org:8443");
  const auto git = [&](const char* url) {
    recipe.sources.push_back({.git = {.url = url, .commit = "c0ffee"}});
  };
  git("https://hidden@example.org/me/b.git?private_token=hidden/hidden");
  git("https://example.org/me/c/");
  git("hidden@example.org:d.git");
  recipe.sources.push_back({.path = "sub/e?f#g:h.zip", .sha256 = sha256});
  graph::Plan plan;
  plan.nodes.push_back({.id = "build/toy", .stage = "build", .subject = "toy"});

  ASSERT_OK_AND_ASSIGN(const BuildDescription making,
                       DescribeBuild(env_, plan, "build/toy", Signed(), recipe));

  std::vector<std::string> said;
  for (const Json& item : (*making.definition)["resolvedDependencies"])
    said.push_back(item["name"].get<std::string>() + " " + item.value("uri", ""));
  EXPECT_THAT(said, ::testing::IsSupersetOf(
                        {"a.zip https://example.org/a.zip", "example.org:8443 https://example.org:8443",
                         "b.git git+https://example.org/me/b.git@c0ffee",
                         "c git+https://example.org/me/c/@c0ffee", "d.git ", "e?f#g:h.zip "}));
  EXPECT_THAT(DumpJson(*making.definition), Not(HasSubstr("hidden")));
}

TEST_F(SignTest, EachFormatIsSignedByItself) {
  WriteRecipe(
      "toy", "mkdir -p $PREFIX/share && echo one > $PREFIX/share/toy",
      "about: {license: MIT}\nextra: {ptpkg: {formats: [conda, tar.bz2, zip], zip: {name: toy-1.0}}}\n");
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Run(Signed()));
  EXPECT_THAT(summary.artifacts, SizeIs(9));
  ASSERT_OK_AND_ASSIGN(const auto checked,
                       Check(env_, {.paths = {output_}, .verify_key = folder_ / "key.pub"}));
  EXPECT_THAT(checked.outcomes, SizeIs(3));
  for (const CheckOutcome& outcome : checked.outcomes)
    EXPECT_THAT(outcome.report.findings, Not(Contains(Field(&Finding::id, HasSubstr("provenance")))))
        << outcome.report.subject;
}

TEST_F(SignTest, AnotherRunSignsNothingAgainAndAnotherFolderTheSameBytes) {
  ASSERT_THAT(Run(Signed()), IsOk());
  const std::string first = Text(Beside(".intoto.jsonl")) + Text(Beside(".sig"));
  ASSERT_OK_AND_ASSIGN(const BuildSummary again, Run(Signed()));
  EXPECT_THAT(Ran(again), IsEmpty());
  output_ = env_.dir().path() / "elsewhere";
  ASSERT_THAT(Run(Signed()), IsOk());
  EXPECT_EQ(Text(Beside(".intoto.jsonl")) + Text(Beside(".sig")), first);
}

TEST_F(SignTest, ArtifactsThatAreThereAreSignedWithoutABuild) {
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  EXPECT_THAT(Wrong(), ElementsAre("provenance-missing"));
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Run(Signed()));
  EXPECT_THAT(Ran(summary), ElementsAre("sign toy-1.0-0", "publish toy-1.0-0"));
  EXPECT_THAT(Wrong(), IsEmpty());
}

TEST_F(SignTest, WhatIsGoneOrChangedBesideIsMadeAgain) {
  for (const char* ending : {".intoto.jsonl", ".sig"}) {
    ASSERT_THAT(Run(Signed()), IsOk());
    ASSERT_THAT(env_->fs.Remove(Beside(ending)), IsOk());
    ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Run(Signed()));
    EXPECT_THAT(Ran(summary), Contains("sign toy-1.0-0")) << ending;
    EXPECT_THAT(Wrong(), IsEmpty()) << ending;
  }
}

TEST_F(SignTest, AnotherKeySignsAnew) {
  ASSERT_THAT(Run(Signed()), IsOk());
  test::MakeKeyPair(env_, folder_, "other");
  BuildRequest request = Signed();
  request.sign_key = folder_ / "other.pem";
  ASSERT_THAT(Run(request), IsOk());
  EXPECT_THAT(Wrong(), ElementsAre("provenance-signature"));
  EXPECT_THAT(Wrong("other.pub"), IsEmpty());
}

TEST_F(SignTest, WhatVouchedForAnOlderBuildGoesWithIt) {
  ASSERT_THAT(Run(Signed()), IsOk());
  WriteRecipe("toy", "mkdir -p $PREFIX/share && echo two > $PREFIX/share/toy", kCondaOnly);
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  EXPECT_THAT(Exists(env_->fs, Beside(".intoto.jsonl")), IsOkAndHolds(false));
  EXPECT_THAT(Exists(env_->fs, Beside(".sig")), IsOkAndHolds(false));
}

TEST_F(SignTest, AKeyThatIsNoneIsToldBeforeAnythingIsBuilt) {
  BuildRequest request = Signed();
  request.sign_key = folder_ / "key.pub";
  EXPECT_THAT(Run(request), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is a public key")));
  request.sign_key = folder_ / "none.pem";
  EXPECT_THAT(Run(request), FailsWith(ErrorCode::kNotFound, HasSubstr("none.pem")));
  EXPECT_THAT(Exists(env_->fs, output_), IsOkAndHolds(false));
}

TEST_F(SignTest, WhatWasBuiltWithIsNamedByItsDigest) {
  WriteRecipe("user", "cp $PREFIX/share/toy $PREFIX/share/user",
              std::string("requirements: {host: [toy]}\n") + kCondaOnly);
  BuildRequest request = Signed();
  request.recipes.push_back(env_.dir().path() / "user");
  ASSERT_THAT(Run(request), IsOk());
  ASSERT_OK_AND_ASSIGN(const Digests toy, HashFile(env_->fs, Package()));
  ASSERT_OK_AND_ASSIGN(const Json envelope,
                       ParseJson(Text(output_ / "conda/linux-64/user-1.0-0.conda.intoto.jsonl"), "it"));
  ASSERT_OK_AND_ASSIGN(const provenance::Envelope parsed, provenance::ParseEnvelope(envelope, "it"));
  EXPECT_THAT(parsed.payload, HasSubstr(toy.sha256.Hex()));
}

TEST_F(SignTest, AnotherKeyThanThatOfThePlanIsRefused) {
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env_, Signed()));
  const AbsPath plan = folder_ / "plan.json";
  ASSERT_THAT(WriteFile(env_->fs, plan, DumpJson(graph::PlanToJson(planned.plan))), IsOk());
  test::MakeKeyPair(env_, folder_);
  EXPECT_THAT(RunNode(env_, plan, "sign/conda/toy-1.0-0"),
              FailsWith(ErrorCode::kRefused, HasSubstr("changed after planning")));
}

TEST_F(SignTest, AFolderOfFilesHasNothingBesideIt) {
  Put("files/a", "x");
  EXPECT_THAT(Check(env_, {.paths = {env_.dir().path() / "files"}, .verify_key = folder_ / "key.pub"}),
              FailsWith(ErrorCode::kUsage, HasSubstr("is a directory of plain files")));
}

}  // namespace
}  // namespace ptpkg::pipeline
