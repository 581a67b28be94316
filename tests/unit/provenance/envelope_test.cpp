#include "provenance/envelope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provenance/key_file.h"
#include "support/digest/base64.h"
#include "support/matchers.h"
#include "support/openssl_keys.h"
#include "support/test_env.h"

namespace ptpkg::provenance {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class EnvelopeTest : public ::testing::Test {
 protected:
  void SetUp() override { test::MakeKeyPair(env_, folder_); }
  Result<Envelope> Signed(const std::string& type, const std::string& payload) {
    PTPKG_TRY(const SigningKey key, ReadSigningKey(env_, folder_ / "key.pem"));
    PTPKG_TRY(const std::string line, SignEnvelope(key, type, payload));
    PTPKG_TRY(const Json json, ParseJson(line, "line"));
    return ParseEnvelope(json, "the envelope");
  }

  test::TestEnv env_;
  AbsPath folder_ = env_.dir().path();
};

TEST_F(EnvelopeTest, HoldsWhatWasSigned) {
  ASSERT_OK_AND_ASSIGN(const Envelope envelope, Signed("text/x", "payload \xff"));
  ASSERT_OK_AND_ASSIGN(const PublicKey key, ReadPublicKey(env_, folder_ / "key.pub"));
  EXPECT_EQ(envelope.payload_type, "text/x");
  EXPECT_EQ(envelope.payload, "payload \xff");
  ASSERT_THAT(envelope.signatures, SizeIs(1));
  EXPECT_EQ(envelope.signatures[0].key_id, key.id());
  EXPECT_TRUE(envelope.IsSignedBy(key));
}

TEST_F(EnvelopeTest, SignsTheTypeWithThePayload) {
  ASSERT_OK_AND_ASSIGN(Envelope envelope, Signed("text/x", "payload"));
  ASSERT_OK_AND_ASSIGN(const PublicKey key, ReadPublicKey(env_, folder_ / "key.pub"));
  // As the specification's example has it: lengths, so that no text can move from one field to the other.
  EXPECT_TRUE(key.Fits("DSSEv1 6 text/x 7 payload", envelope.signatures[0].bytes));
  envelope.payload_type = "text/y";
  EXPECT_FALSE(envelope.IsSignedBy(key));
  envelope.payload_type = "text/x 7";
  EXPECT_FALSE(envelope.IsSignedBy(key));
}

TEST_F(EnvelopeTest, IsOneLineOfJsonAndTheSameEachTime) {
  ASSERT_OK_AND_ASSIGN(const SigningKey key, ReadSigningKey(env_, folder_ / "key.pem"));
  ASSERT_OK_AND_ASSIGN(const std::string line, SignEnvelope(key, "t", "a\nb"));
  EXPECT_THAT(line, EndsWith("\n"));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_THAT(SignEnvelope(key, "t", "a\nb"), test::IsOkAndHolds(line));
}

TEST_F(EnvelopeTest, OneOfSeveralSignaturesIsEnough) {
  ASSERT_OK_AND_ASSIGN(Envelope envelope, Signed("t", "p"));
  ASSERT_OK_AND_ASSIGN(const PublicKey key, ReadPublicKey(env_, folder_ / "key.pub"));
  envelope.signatures.insert(envelope.signatures.begin(), Signature{.key_id = "another", .bytes = "no"});
  EXPECT_TRUE(envelope.IsSignedBy(key));
}

TEST_F(EnvelopeTest, WhatIsNoEnvelopeIsRefused) {
  const std::string data = Base64(AsBytes("x"));
  const auto parsed = [](const Json& json) { return ParseEnvelope(json, "it"); };
  const Json signature = {{"sig", data}};
  const Json good = {
      {"payloadType", "t"}, {"payload", data}, {"signatures", Json::array({signature})}, {"more", 1}};
  EXPECT_THAT(parsed(good), IsOk());
  EXPECT_THAT(parsed(Json("text")), FailsWith(ErrorCode::kInvalidInput, HasSubstr("it")));
  for (const char* field : {"payloadType", "payload", "signatures"}) {
    Json lacking = good;
    lacking.erase(field);
    EXPECT_THAT(parsed(lacking), FailsWith(ErrorCode::kInvalidInput, HasSubstr("it"))) << field;
    lacking[field] = 7;
    EXPECT_THAT(parsed(lacking), FailsWith(ErrorCode::kInvalidInput, HasSubstr("it"))) << field;
  }
  Json other = good;
  other["payload"] = "_-8=";
  EXPECT_THAT(parsed(other), IsOk()) << "the other alphabet";
  other["payload"] = "no base64!";
  EXPECT_THAT(parsed(other), FailsWith(ErrorCode::kInvalidInput, "'payload' of it is not base64"));
  other = good;
  other["signatures"] = Json::array();
  EXPECT_THAT(parsed(other), FailsWith(ErrorCode::kInvalidInput, "it has no signatures"));
  other["signatures"] = Json::array({"text"});
  EXPECT_THAT(parsed(other), FailsWith(ErrorCode::kInvalidInput, HasSubstr("it")));
}

TEST_F(EnvelopeTest, AKeyThatOthersMayReadIsTold) {
  EXPECT_THAT(ReadSigningKey(env_, folder_ / "key.pem"), IsOk());
  EXPECT_THAT(env_.reporter.warnings(), IsEmpty());
  ASSERT_THAT(env_->fs.SetMode(folder_ / "key.pem", 0640), IsOk());
  EXPECT_THAT(ReadSigningKey(env_, folder_ / "key.pem"), IsOk());
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("chmod 600")));
}

TEST_F(EnvelopeTest, ThePassphraseComesFromItsVariable) {
  test::MakeKeyPair(env_, folder_, "locked",
                    {"-algorithm", "ed25519", "-aes-256-cbc", "-pass", "pass:secret words"});
  EXPECT_THAT(ReadSigningKey(env_, folder_ / "locked.pem"),
              AllOf(FailsWith(ErrorCode::kInvalidInput, HasSubstr("is encrypted")),
                    HasHint(HasSubstr("PTPKG_SIGN_PASSPHRASE"))));
  env_->variables["PTPKG_SIGN_PASSPHRASE"] = "other words";
  EXPECT_THAT(
      ReadSigningKey(env_, folder_ / "locked.pem"),
      FailsWith(ErrorCode::kInvalidInput, AllOf(HasSubstr("passphrase"), Not(HasSubstr("other words")))));
  env_->variables["PTPKG_SIGN_PASSPHRASE"] = "secret words";
  EXPECT_THAT(ReadSigningKey(env_, folder_ / "locked.pem"), IsOk());
}

TEST_F(EnvelopeTest, AKeyThatIsNotThereOrTooLargeIsAnError) {
  EXPECT_THAT(ReadSigningKey(env_, folder_ / "none"), FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(ReadPublicKey(env_, folder_ / "none"), FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
  ASSERT_THAT(WriteFile(env_->fs, folder_ / "big", std::string(100'000, 'x')), IsOk());
  EXPECT_THAT(ReadSigningKey(env_, folder_ / "big"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("big")));
}

}  // namespace
}  // namespace ptpkg::provenance
