// What goes along with an artifact, what is refused because it is about something else, and what servers get.

#include "publish/output/sidecar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/artifact_record.h"
#include "publish/publish_target.h"
#include "publish/s3/s3_index.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "support/text/json.h"
#include "unit/provenance/sigstore_samples.h"

namespace ptpkg::publish {
namespace {

using provenance::CondaSample;
using provenance::PythonSample;
using provenance::Subject;
using test::FailsWith;
using test::HasHint;
using test::IsOk;
using test::IsOkAndHolds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kWheel = "Toy_A-1.0-py3-none-any.whl";
constexpr const char* kPackage = "toy-1.0-0.conda";

class BesideTest : public ::testing::Test {
 protected:
  Upload Artifact(const std::string& name) {
    Write(name, "content");
    Upload upload{.file = folder_ / name};
    if (name.ends_with(".whl")) {
      upload.format = ArtifactFormat::kWheel;
      upload.wheel.emplace();
    } else {
      upload.conda =
          CondaFacts{.name = "toy", .version = "1.0", .subdir = "linux-64", .index = {}, .about = {}};
    }
    upload.digests.sha256 = HashText("content");
    upload.digests.size_bytes = 7;
    return upload;
  }
  static Subject SubjectOf(const std::string& name, const std::string& content = "content") {
    return {.name = name, .sha256 = HashText(content).Hex()};
  }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_THAT(WriteFile(env_->fs, folder_ / name, text), IsOk());
  }
  /// An unsigned envelope: nobody here has the key.
  static std::string Envelope(const Subject& subject) {
    const std::string statement =
        provenance::StatementText(subject, provenance::kSlsaProvenance, Json::object());
    const Json signature = {{"sig", ""}};
    return Json{{"payload", Base64(AsBytes(statement))},
                {"payloadType", "application/vnd.in-toto+json"},
                {"signatures", Json::array({signature})}}
        .dump();
  }
  static std::vector<std::string> Names(const std::vector<Upload>& uploads) {
    std::vector<std::string> names;
    for (const Upload& upload : uploads) names.push_back(upload.Name());
    return names;
  }

  test::TestEnv env_;
  AbsPath folder_ = env_.dir().MakeDir("artifacts");
};

TEST_F(BesideTest, FindsWhatIsAboutTheArtifactAndNothingElse) {
  Upload wheel = Artifact(kWheel);
  const std::string name = kWheel;
  Write(name + ".intoto.jsonl", Envelope(SubjectOf(name)));
  Write(name + ".sig", "a signature");
  Write(name + ".publish.attestation", PythonSample(SubjectOf(name)).dump());
  for (const char* other : {".metadata", ".asc", ".attestation", ".sigstore.json", ".v0.sigs"})
    Write(name + other, "x");
  Write("Other-1.0-py3-none-any.whl.sig", "x");
  ASSERT_OK_AND_ASSIGN(const std::vector<Upload> found, FindSidecars(env_, wheel));
  EXPECT_THAT(Names(found),
              ElementsAre(name + ".intoto.jsonl", name + ".publish.attestation", name + ".sig"));
  EXPECT_THAT(
      found, ElementsAre(Field(&Upload::beside, kStatementFormat), Field(&Upload::beside, kAttestationFormat),
                         Field(&Upload::beside, kSignatureFormat)));
  EXPECT_EQ(found[2].digests.sha256, HashText("a signature"));
  EXPECT_THAT(wheel.attestations, ElementsAre(Field(&Attestation::name, name + ".publish.attestation")));
}

// A signature of gpg is not published, but vouches for the bytes that go.
TEST(SidecarIds, OfBothFormatsEverySignature) {
  const ArtifactId wheel = {.file_name = kWheel, .format = ArtifactFormat::kWheel};
  const std::string name = kWheel;
  const auto names = [](const std::vector<ArtifactId>& ids) {
    std::vector<std::string> found;
    for (const ArtifactId& id : ids) found.push_back(id.file_name);
    return found;
  };
  EXPECT_THAT(
      names(SidecarIds(wheel, {name, name + ".asc", name + ".sig", name + ".sha256", "other.whl.asc"})),
      ElementsAre(name + ".asc", name + ".sig"));
  EXPECT_THAT(names(UsualSidecarIds(wheel)), ::testing::Contains(name + ".asc"));
  const ArtifactId package = {.file_name = kPackage, .format = ArtifactFormat::kConda};
  EXPECT_THAT(names(SidecarIds(package, {std::string(kPackage) + ".asc"})), ::testing::SizeIs(1));
}

TEST_F(BesideTest, OfAPackageTheBundlesOfCep27) {
  Upload package = Artifact(kPackage);
  const std::string name = kPackage;
  const Json bundle = CondaSample(SubjectOf(name), {{"targetChannel", "https://c.test/me"}});
  Write(name + ".sigstore.json", bundle.dump());
  Write(name + ".v0.sigs", Json::array({bundle}).dump());
  Write(name + ".publish.attestation", "x");
  ASSERT_OK_AND_ASSIGN(const std::vector<Upload> found, FindSidecars(env_, package));
  EXPECT_THAT(Names(found), ElementsAre(name + ".sigstore.json", name + ".v0.sigs"));
  EXPECT_EQ(found[0].ChannelPath(), "linux-64/" + name + ".sigstore.json");
  EXPECT_EQ(S3PathOf(found[0]), "conda/linux-64/" + name + ".sigstore.json");
  EXPECT_THAT(package.attestations, ElementsAre(AllOf(Field(&Attestation::name, name + ".sigstore.json"),
                                                      Field(&Attestation::channel, "https://c.test/me"))));
}

TEST_F(BesideTest, TheNameOfAWheelMayBeInNormalForm) {
  Upload wheel = Artifact(kWheel);
  Write(std::string(kWheel) + ".publish.attestation",
        PythonSample(SubjectOf("toy_a-1.0-py3-none-any.whl")).dump());
  EXPECT_THAT(FindSidecars(env_, wheel), IsOkAndHolds(SizeIs(1)));
}

TEST_F(BesideTest, WhatIsAboutAnotherFileIsRefused) {
  const std::string wheel = kWheel;
  const std::string package = kPackage;
  const auto bundle = [&](const Subject& subject) { return CondaSample(subject, Json()); };
  for (const Subject& other : {SubjectOf(wheel, "other"), SubjectOf("b-1.0-py3-none-any.whl")}) {
    const std::map<std::string, std::string> files = {
        {wheel + ".intoto.jsonl", Envelope(other)},
        {wheel + ".publish.attestation", PythonSample(other).dump()}};
    for (const auto& [name, text] : files) {
      Upload artifact = Artifact(wheel);
      Write(name, text);
      EXPECT_THAT(FindSidecars(env_, artifact),
                  AllOf(FailsWith(ErrorCode::kRefused, HasSubstr("'" + name + "' is about")),
                        HasHint(HasSubstr("remove it"))));
      ASSERT_THAT(env_->fs.Remove(folder_ / name), IsOk());
    }
  }
  for (const Subject& other : {SubjectOf(package, "other"), SubjectOf("toy-1.0-1.conda")}) {
    const std::map<std::string, std::string> files = {
        {package + ".sigstore.json", bundle(other).dump()},
        {package + ".v0.sigs", Json::array({bundle(SubjectOf(package)), bundle(other)}).dump()}};
    for (const auto& [name, text] : files) {
      Upload artifact = Artifact(package);
      Write(name, text);
      EXPECT_THAT(FindSidecars(env_, artifact),
                  FailsWith(ErrorCode::kRefused, HasSubstr("'" + name + "' is about")));
      ASSERT_THAT(env_->fs.Remove(folder_ / name), IsOk());
    }
  }
}

TEST_F(BesideTest, WhatCannotBeReadIsRefused) {
  const std::string wheel = kWheel;
  const std::string package = kPackage;
  const std::map<std::string, std::string> files = {
      {wheel + ".intoto.jsonl", ""},     {wheel + ".x.attestation", "{"},
      {package + ".intoto.jsonl", "[]"}, {package + ".sigstore.json", "{}"},
      {package + ".v0.sigs", "[]"},      {package + ".sig", std::string((16U << 20U) + 1, ' ')}};
  for (const auto& [name, text] : files) {
    Upload artifact = Artifact(name.starts_with(wheel) ? wheel : package);
    Write(name, text);
    EXPECT_THAT(FindSidecars(env_, artifact), FailsWith(ErrorCode::kRefused, HasSubstr(name)));
    ASSERT_THAT(env_->fs.Remove(folder_ / name), IsOk());
  }
}

TEST_F(BesideTest, OneAttestationOfEachType) {
  Upload wheel = Artifact(kWheel);
  const Subject subject = SubjectOf(kWheel);
  Write(std::string(kWheel) + ".publish.attestation", PythonSample(subject).dump());
  Write(std::string(kWheel) + ".slsa.attestation", PythonSample(subject, provenance::kSlsaProvenance).dump());
  EXPECT_THAT(FindSidecars(env_, wheel), IsOkAndHolds(SizeIs(2)));
  Write(std::string(kWheel) + ".third.attestation", PythonSample(subject).dump());
  Upload again = Artifact(kWheel);
  EXPECT_THAT(FindSidecars(env_, again),
              FailsWith(ErrorCode::kRefused, HasSubstr("is a second attestation")));
}

TEST_F(BesideTest, PrefixDevTakesAnAttestationForItsChannelAlone) {
  Upload package = Artifact(kPackage);
  ASSERT_OK_AND_ASSIGN(const Target target,
                       MakeTarget(env_, {.to = "prefix:me", .server = "https://c.test"}));
  const Remote& remote = **std::get_if<std::unique_ptr<Remote>>(&target);
  EXPECT_TRUE(remote.AcceptsAttestations());
  for (const char* fine : {"", "https://c.test/me"}) {
    package.attestations = {{.name = "it", .text = "{}", .channel = fine}};
    EXPECT_THAT(remote.CheckRules(package), IsOk());
    EXPECT_THAT(remote.Requests(package, false)[1], EndsWith("/api/v1/upload/me (with it)"));
  }
  package.attestations = {{.name = "it", .text = "{}", .channel = "https://c.test/you"}};
  EXPECT_THAT(remote.CheckRules(package),
              FailsWith(ErrorCode::kRefused,
                        "'it' was made for the channel 'https://c.test/you', not for "
                        "'https://c.test/me'"));
}

TEST_F(BesideTest, OtherServersTakeNone) {
  for (const char* to : {"quetz:me", "artifactory:me", "anaconda:me"}) {
    ASSERT_OK_AND_ASSIGN(const Target target, MakeTarget(env_, {.to = to, .server = "https://c.test"}));
    const Remote& remote = **std::get_if<std::unique_ptr<Remote>>(&target);
    EXPECT_FALSE(remote.AcceptsAttestations()) << to;
    EXPECT_FALSE(remote.AcceptsSidecars()) << to;
  }
}

}  // namespace
}  // namespace ptpkg::publish
