// Each way in which what lies beside an artifact can be wrong, and one finding for each.

#include "verify/rules/provenance_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provenance/envelope.h"
#include "provenance/key_file.h"
#include "provenance/statement.h"
#include "support/digest/hash.h"
#include "support/matchers.h"
#include "support/openssl_keys.h"
#include "support/test_env.h"

namespace ptpkg::verify {
namespace {

using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSignedArtifact = "toy-1.0-0.conda";

Json GoodPredicate() {
  return {{"buildDefinition", {{"buildType", "urn:x"}, {"externalParameters", Json::object()}}},
          {"runDetails", {{"builder", {{"id", "urn:y"}}}}}};
}

class ProvenanceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    test::MakeKeyPair(env_, folder_);
    Write(kSignedArtifact, "content");
    SignAll("content");
  }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_THAT(WriteFile(env_->fs, folder_ / name, text), IsOk());
  }
  std::string Envelope(const std::string& statement, const std::string& key_name = "key",
                       std::string_view type = provenance::kStatementPayload) {
    const auto key = provenance::ReadSigningKey(env_, folder_ / (key_name + ".pem"));
    EXPECT_THAT(key, IsOk());
    if (!key) return "";
    const auto line = provenance::SignEnvelope(*key, type, statement);
    EXPECT_THAT(line, IsOk());
    return line ? *line : "";
  }
  static std::string StatementOf(const std::string& content, const Json& predicate = GoodPredicate(),
                                 std::string_view type = provenance::kSlsaProvenance) {
    return provenance::StatementText({.name = kSignedArtifact, .sha256 = HashText(content).Hex()}, type,
                                     predicate);
  }
  void WriteStatement(const std::string& text) {
    Write(std::string(kSignedArtifact) + ".intoto.jsonl", text);
  }
  void SignAll(const std::string& content, const std::string& key_name = "key") {
    WriteStatement(Envelope(StatementOf(content), key_name));
    ASSERT_OK_AND_ASSIGN(const SigningKey key,
                         provenance::ReadSigningKey(env_, folder_ / (key_name + ".pem")));
    ASSERT_OK_AND_ASSIGN(const std::string signature, key.Sign(content));
    Write(std::string(kSignedArtifact) + ".sig", signature);
  }
  Result<std::vector<Finding>> Check() {
    PTPKG_TRY(const PublicKey key, provenance::ReadPublicKey(env_, folder_ / "key.pub"));
    return CheckProvenance(env_, folder_ / kSignedArtifact, key);
  }
  void ExpectFinding(const std::string& id, const std::string& message) {
    EXPECT_THAT(Check(), IsOkAndHolds(ElementsAre(AllOf(Field(&Finding::id, id),
                                                        Field(&Finding::severity, Severity::kError),
                                                        Field(&Finding::message, HasSubstr(message))))));
  }

  test::TestEnv env_;
  AbsPath folder_ = env_.dir().path();
};

TEST_F(ProvenanceTest, WhatTheKeySignedIsFine) { EXPECT_THAT(Check(), IsOkAndHolds(IsEmpty())); }

TEST_F(ProvenanceTest, NoStatement) {
  ASSERT_THAT(env_->fs.Remove(folder_ / (std::string(kSignedArtifact) + ".intoto.jsonl")), IsOk());
  ExpectFinding("provenance-missing", "signed statement is missing: 'toy-1.0-0.conda.intoto.jsonl'");
}

TEST_F(ProvenanceTest, NoSignature) {
  ASSERT_THAT(env_->fs.Remove(folder_ / (std::string(kSignedArtifact) + ".sig")), IsOk());
  ExpectFinding("provenance-missing", "signature is missing: 'toy-1.0-0.conda.sig'");
}

TEST_F(ProvenanceTest, AnotherKey) {
  test::MakeKeyPair(env_, folder_, "other");
  SignAll("content", "other");
  ExpectFinding("provenance-signature", "signed by a different key");
}

TEST_F(ProvenanceTest, AnotherKeyThatClaimsToBeThisOne) {
  test::MakeKeyPair(env_, folder_, "other");
  ASSERT_OK_AND_ASSIGN(const PublicKey key, provenance::ReadPublicKey(env_, folder_ / "key.pub"));
  ASSERT_OK_AND_ASSIGN(Json envelope, ParseJson(Envelope(StatementOf("content"), "other"), "it"));
  envelope["signatures"][0]["keyid"] = key.id();
  WriteStatement(envelope.dump());
  ExpectFinding("provenance-signature", "signature of its statement is invalid");
}

TEST_F(ProvenanceTest, AChangedArtifact) {
  Write(kSignedArtifact, "other content");
  ExpectFinding("provenance-subject", "is about another 'toy-1.0-0.conda': its sha256 is");
}

TEST_F(ProvenanceTest, AChangedStatement) {
  ASSERT_OK_AND_ASSIGN(Json envelope, ParseJson(Envelope(StatementOf("content")), "it"));
  ASSERT_OK_AND_ASSIGN(const Json other, ParseJson(Envelope(StatementOf("other")), "it"));
  envelope["payload"] = other["payload"];
  WriteStatement(envelope.dump());
  ExpectFinding("provenance-signature", "the statement was changed");
}

TEST_F(ProvenanceTest, AnotherSubject) {
  WriteStatement(
      Envelope(provenance::StatementText({.name = "toy-2.0-0.conda", .sha256 = HashText("content").Hex()},
                                         provenance::kSlsaProvenance, GoodPredicate())));
  ExpectFinding("provenance-subject", "is about 'toy-2.0-0.conda', not 'toy-1.0-0.conda'");
}

TEST_F(ProvenanceTest, AnotherPayload) {
  WriteStatement(Envelope(StatementOf("content"), "key", "text/plain"));
  ExpectFinding("provenance-type", "not a statement but 'text/plain'");
}

TEST_F(ProvenanceTest, AnotherVersionOfTheStatement) {
  WriteStatement(Envelope(R"({"_type": "https://in-toto.io/Statement/v9"})"));
  ExpectFinding("provenance-type", "unknown type 'https://in-toto.io/Statement/v9'");
}

TEST_F(ProvenanceTest, AnotherPredicate) {
  WriteStatement(
      Envelope(StatementOf("content", GoodPredicate(), "https://in-toto.io/attestation/test-result/v0.1")));
  ExpectFinding("provenance-type", "but 'https://in-toto.io/attestation/test-result/v0.1'");
}

TEST_F(ProvenanceTest, APredicateWithoutWhatSlsaRequires) {
  WriteStatement(Envelope(StatementOf("content", Json::object())));
  ExpectFinding("provenance-type", "has no 'buildDefinition.buildType'");
}

TEST_F(ProvenanceTest, EveryTruncationOfTheStatement) {
  const std::string whole = Envelope(StatementOf("content"));
  for (std::size_t length = 0; length + 2 < whole.size(); length += 97) {
    WriteStatement(whole.substr(0, length));
    ExpectFinding("provenance-unreadable", "");
  }
}

TEST_F(ProvenanceTest, ASignedPayloadThatIsNoStatement) {
  WriteStatement(Envelope("[]"));
  ExpectFinding("provenance-unreadable", "its statement is not an object");
}

TEST_F(ProvenanceTest, AHugeStatementOrSignature) {
  WriteStatement(std::string((16U << 20U) + 1, ' '));
  ExpectFinding("provenance-unreadable", "intoto.jsonl");
  SignAll("content");
  Write(std::string(kSignedArtifact) + ".sig", std::string((16U << 20U) + 1, ' '));
  ExpectFinding("provenance-unreadable", ".sig");
}

TEST_F(ProvenanceTest, ASignatureOfAnotherFile) {
  Write(std::string(kSignedArtifact) + ".sig", "no signature");
  ExpectFinding("provenance-signature", "the signature 'toy-1.0-0.conda.sig' does not match it");
}

TEST_F(ProvenanceTest, OneLineThatFitsIsEnough) {
  test::MakeKeyPair(env_, folder_, "other");
  WriteStatement(Envelope(StatementOf("content"), "other") + "\n" + Envelope(StatementOf("content")));
  EXPECT_THAT(Check(), IsOkAndHolds(IsEmpty()));
}

TEST_F(ProvenanceTest, AnArtifactThatIsNotThereIsAnError) {
  ASSERT_THAT(env_->fs.Remove(folder_ / kSignedArtifact), IsOk());
  EXPECT_THAT(Check(), FailsWith(ErrorCode::kNotFound, HasSubstr(kSignedArtifact)));
}

}  // namespace
}  // namespace ptpkg::verify
