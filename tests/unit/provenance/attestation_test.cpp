#include "provenance/attestation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "unit/provenance/sigstore_samples.h"

namespace ptpkg::provenance {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::HasSubstr;

const Subject kWheel{.name = "toy-1.0-py3-none-any.whl", .sha256 = std::string(64, 'a')};
const Subject kPackage{.name = "toy-1.0-0.conda", .sha256 = std::string(64, 'b')};

Result<Statement> Python(const Json& json) { return ReadPythonAttestation(json.dump(), "it"); }
Result<Statement> Conda(const Json& json) { return ReadCondaAttestation(json.dump(), "it"); }

/// `sample` with another value at "/a/b".
Json With(Json sample, const std::string& at, const Json& value) {
  sample[Json::json_pointer(at)] = value;
  return sample;
}

TEST(PythonAttestation, IsReadForBothTypesThatIndexesTake) {
  for (const std::string& type : {std::string(kPypiPublish), std::string(kSlsaProvenance)}) {
    ASSERT_OK_AND_ASSIGN(const Statement statement, Python(PythonSample(kWheel, type)));
    EXPECT_EQ(statement.predicate_type, type);
    EXPECT_EQ(SubjectMismatch(statement, kWheel), "");
  }
}

TEST(PythonAttestation, MayHaveBrokenLines) {
  Json sample = PythonSample(kWheel);
  for (const char* field : {"statement", "signature"}) {
    std::string text = sample["envelope"][field];
    sample["envelope"][field] = text.insert(8, "\n") + "\n";
  }
  EXPECT_THAT(Python(sample), IsOk());
}

TEST(PythonAttestation, WhatIsNoneIsRefused) {
  const Json good = PythonSample(kWheel);
  const std::vector<std::pair<Json, std::string>> cases = {
      {Json::array(), "is not an object"},
      {With(good, "/version", 2), "is of version 2, not 1"},
      {With(good, "/version", "1"), "version"},
      {With(good, "/verification_material", "x"), "verification_material"},
      {With(good, "/verification_material/certificate", "!"), "certificate"},
      {With(good, "/verification_material/transparency_entries", Json::array()), "transparency log"},
      {With(good, "/verification_material/transparency_entries", Json::array({1})), "transparency log"},
      {With(good, "/envelope", Json()), "envelope"},
      {With(good, "/envelope/signature", ""), "signature"},
      {With(good, "/envelope/statement", "x"), "statement"},
      {With(good, "/envelope/statement", Base64(AsBytes("{}"))), "the statement in it"},
      {With(good, "/envelope/statement", Base64(AsBytes(R"({"_type": "v0"})"))), "not in-toto's v1"},
      {PythonSample(kWheel, "urn:other"), "'urn:other', which indexes do not accept"}};
  for (const auto& [json, text] : cases) {
    EXPECT_THAT(Python(json), FailsWith(ErrorCode::kInvalidInput, HasSubstr(text))) << json.dump();
  }
  EXPECT_THAT(ReadPythonAttestation(good.dump().substr(1), "it"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("it")));
}

TEST(CondaAttestation, MayNameItsChannel) {
  ASSERT_OK_AND_ASSIGN(const Statement there,
                       Conda(CondaSample(kPackage, {{"targetChannel", "https://channels.test/me/"}})));
  EXPECT_EQ(TargetChannelOf(there), "https://channels.test/me");
  EXPECT_EQ(SubjectMismatch(there, kPackage), "");
  for (const Json& predicate : {Json(), Json::object()}) {
    ASSERT_OK_AND_ASSIGN(const Statement anywhere, Conda(CondaSample(kPackage, predicate)));
    EXPECT_EQ(TargetChannelOf(anywhere), "");
  }
}

TEST(CondaAttestation, WhatIsNoneIsRefused) {
  const Json good = CondaSample(kPackage, Json());
  EXPECT_THAT(Conda(good), IsOk());
  const std::vector<std::pair<Json, std::string>> cases = {
      {Json("x"), "is not an object"},
      {With(good, "/mediaType", "text/plain"), "but a Sigstore bundle has"},
      {With(good, "/verificationMaterial", Json()), "verificationMaterial"},
      {With(good, "/dsseEnvelope", Json()), "dsseEnvelope"},
      {With(good, "/dsseEnvelope/signatures", Json::array()), "has no signatures"},
      {With(good, "/dsseEnvelope/payloadType", "text/plain"), "a payload of the type 'text/plain'"},
      {CondaSample(kPackage, Json(), kPypiPublish), "but CEP 27 requires"},
      {CondaSample(kPackage, "text"), "that CEP 27 does not know"},
      {CondaSample(kPackage, {{"targetChannel", 7}}), "that CEP 27 does not know"}};
  for (const auto& [json, text] : cases) {
    EXPECT_THAT(Conda(json), FailsWith(ErrorCode::kInvalidInput, HasSubstr(text))) << json.dump();
  }
}

}  // namespace
}  // namespace ptpkg::provenance
