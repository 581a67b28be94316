// Keys are those of OpenSSL's command line, which also judges what is signed here, and signs what is
// verified.

#include "support/digest/signing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/digest/base64.h"
#include "support/digest/hash.h"
#include "support/matchers.h"
#include "support/openssl_keys.h"
#include "support/test_env.h"

namespace ptpkg {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOk;
using test::IsOkAndHolds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kVariable = "THE_PASSPHRASE";

class SigningTest : public ::testing::Test {
 protected:
  int OpenSsl(const std::vector<std::string>& arguments) { return test::OpenSsl(env_, folder_, arguments); }
  std::string MakeKey(const std::vector<std::string>& how) {
    test::MakeKeyPair(env_, folder_, "key", how);
    return Read("key.pem");
  }
  std::string Read(const std::string& name) {
    auto text = ReadFile(env_->fs, folder_ / name);
    EXPECT_THAT(text, IsOk());
    return text ? *text : "";
  }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_THAT(WriteFile(env_->fs, folder_ / name, text), IsOk());
  }
  static Result<SigningKey> Parse(const std::string& pem, const std::string& passphrase = "") {
    return SigningKey::Parse(
        {.pem = Secret(pem), .passphrase = Secret(passphrase), .where = "key.pem", .variable = kVariable});
  }
  Result<PublicKey> Public() { return PublicKey::Parse(Read("key.pub"), "key.pub"); }

  test::TestEnv env_;
  AbsPath folder_ = env_.dir().path();
};

const std::vector<std::vector<std::string>> kKinds = {
    {"-algorithm", "ed25519"},
    {"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"},
    {"-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072"}};

TEST_F(SigningTest, WhatOneKeySignsItsPublicKeyVerifiesAndNothingElse) {
  for (const auto& kind : kKinds) {
    ASSERT_OK_AND_ASSIGN(const SigningKey key, Parse(MakeKey(kind)));
    ASSERT_OK_AND_ASSIGN(const PublicKey public_key, Public());
    EXPECT_EQ(key.id(), public_key.id());
    ASSERT_OK_AND_ASSIGN(const std::string signature, key.Sign("a message"));
    EXPECT_TRUE(public_key.Fits("a message", signature)) << kind[1];
    EXPECT_FALSE(public_key.Fits("a massage", signature)) << kind[1];
    EXPECT_FALSE(public_key.Fits("a message", signature.substr(1))) << kind[1];
    EXPECT_FALSE(public_key.Fits("a message", "")) << kind[1];
    std::string changed = signature;
    changed.back() = static_cast<char>(changed.back() ^ 1);
    EXPECT_FALSE(public_key.Fits("a message", changed)) << kind[1];
    ASSERT_OK_AND_ASSIGN(const SigningKey other, Parse(MakeKey(kKinds[0])));
    ASSERT_OK_AND_ASSIGN(const std::string by_other, other.Sign("a message"));
    EXPECT_FALSE(public_key.Fits("a message", by_other)) << kind[1];
  }
}

TEST_F(SigningTest, OpenSslVerifiesFilesThatAreSigned) {
  Write("file", std::string(3'000'000, 'x'));
  for (const auto& kind : kKinds) {
    ASSERT_OK_AND_ASSIGN(const SigningKey key, Parse(MakeKey(kind)));
    ASSERT_OK_AND_ASSIGN(const PublicKey public_key, Public());
    ASSERT_OK_AND_ASSIGN(const std::string signature, key.SignFile(env_->fs, folder_ / "file"));
    Write("signature", signature);
    if (kind[1] == "ed25519") {
      EXPECT_EQ(OpenSsl({"pkeyutl", "-verify", "-pubin", "-inkey", "key.pub", "-rawin", "-in", "file",
                         "-sigfile", "signature"}),
                0);
    } else {
      EXPECT_EQ(OpenSsl({"dgst", "-sha256", "-verify", "key.pub", "-signature", "signature", "file"}), 0);
    }
    EXPECT_THAT(public_key.VerifyFile(env_->fs, folder_ / "file", signature), IsOkAndHolds(true));
    EXPECT_THAT(public_key.VerifyFile(env_->fs, folder_ / "key.pub", signature), IsOkAndHolds(false));
  }
}

TEST_F(SigningTest, WhatOpenSslSignedIsVerified) {
  Write("file", "content");
  MakeKey(kKinds[1]);
  ASSERT_EQ(OpenSsl({"dgst", "-sha256", "-sign", "key.pem", "-out", "signature", "file"}), 0);
  ASSERT_OK_AND_ASSIGN(const PublicKey public_key, Public());
  EXPECT_TRUE(public_key.Fits("content", Read("signature")));
  EXPECT_THAT(public_key.VerifyFile(env_->fs, folder_ / "file", Read("signature")), IsOkAndHolds(true));
}

TEST_F(SigningTest, TheIdIsTheDigestOfTheKeyInDer) {
  MakeKey(kKinds[0]);
  ASSERT_EQ(OpenSsl({"pkey", "-pubin", "-in", "key.pub", "-outform", "DER", "-out", "key.der"}), 0);
  ASSERT_OK_AND_ASSIGN(const PublicKey public_key, Public());
  EXPECT_EQ(public_key.id(), HashText(Read("key.der")).Hex());
}

TEST_F(SigningTest, Ed25519AndRsaSignTheSameBytesEachTime) {
  for (const std::size_t kind : {0U, 2U}) {
    ASSERT_OK_AND_ASSIGN(const SigningKey key, Parse(MakeKey(kKinds[kind])));
    ASSERT_OK_AND_ASSIGN(const std::string first, key.Sign("message"));
    EXPECT_THAT(key.Sign("message"), IsOkAndHolds(first));
  }
}

TEST_F(SigningTest, RefusesOtherKindsOfKeysByName) {
  const auto refused = [&](const std::vector<std::string>& how, const std::string& name) {
    const std::string pem = MakeKey(how);
    const auto same =
        AllOf(FailsWith(ErrorCode::kInvalidInput, HasSubstr(name)), HasHint(HasSubstr("Ed25519")));
    EXPECT_THAT(Parse(pem), same);
    EXPECT_THAT(Public(), same);
  };
  refused({"-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"}, "an RSA key of 2048 bits");
  refused({"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp384r1"}, "an EC key on secp384r1");
  refused({"-algorithm", "X25519"}, "a key of the kind X25519");
  refused({"-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:3072"}, "a key of the kind RSA-PSS");
}

TEST_F(SigningTest, AnEncryptedKeyWantsItsPassphrase) {
  const std::string pem = MakeKey({"-algorithm", "ed25519", "-aes-256-cbc", "-pass", "pass:secret words"});
  EXPECT_THAT(Parse(pem), AllOf(FailsWith(ErrorCode::kInvalidInput, "'key.pem' is encrypted"),
                                HasHint(HasSubstr(kVariable))));
  EXPECT_THAT(Parse(pem, "wrong words"),
              AllOf(FailsWith(ErrorCode::kInvalidInput, HasSubstr("cannot be decrypted")),
                    HasHint(Not(HasSubstr("wrong words")))));
  EXPECT_THAT(Parse(pem, std::string(100'000, 'x')),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("cannot be")));
  EXPECT_THAT(Parse(pem, "secret words"), IsOk());
}

TEST_F(SigningTest, RefusesFilesThatAreNoKeyOrTheOtherHalf) {
  const std::string pem = MakeKey(kKinds[0]);
  EXPECT_THAT(Parse(Read("key.pub")), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is a public key")));
  EXPECT_THAT(PublicKey::Parse(pem, "key.pem"),
              AllOf(FailsWith(ErrorCode::kInvalidInput, HasSubstr("is a private key")),
                    HasHint(HasSubstr("-pubout"))));
  EXPECT_THAT(Parse("no key"),
              FailsWith(ErrorCode::kInvalidInput, "'key.pem' is not a private key in PEM format"));
  EXPECT_THAT(Parse(pem.substr(0, pem.size() / 2)),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("not a private key")));
  EXPECT_THAT(PublicKey::Parse("", "x"),
              FailsWith(ErrorCode::kInvalidInput, "'x' is not a public key in PEM format"));
  EXPECT_THAT(PublicKey::Parse("-----BEGIN CERTIFICATE-----", "x"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is a certificate")));
}

TEST_F(SigningTest, AFileThatCannotBeReadIsAnError) {
  for (const std::size_t kind : {0U, 1U}) {  // at once, and in pieces
    ASSERT_OK_AND_ASSIGN(const SigningKey key, Parse(MakeKey(kKinds[kind])));
    ASSERT_OK_AND_ASSIGN(const PublicKey public_key, Public());
    EXPECT_THAT(key.SignFile(env_->fs, folder_ / "none"), FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
    EXPECT_THAT(public_key.VerifyFile(env_->fs, folder_ / "none", ""),
                FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
  }
}

TEST(DecodeBase64, TakesOnlyWhatBase64Gives) {
  for (const std::string& text :
       std::vector<std::string>{"", "f", "fo", "foo", "foob", "fooba", "foobar", "\xff\xfe\xfb"}) {
    EXPECT_THAT(DecodeBase64(Base64(AsBytes(text))), IsOkAndHolds(text));
  }
  EXPECT_EQ(Base64(AsBytes("fooba")), "Zm9vYmE=");
  for (const char* text : {"Zm9vYmE", "Zm9vYmF=", "Zm9v\n", "Zm9 v", "Z", "====", "Zm=v", "Zm-_",
                           "Zg=="
                           "Zg=="}) {
    EXPECT_THAT(DecodeBase64(text), FailsWith(ErrorCode::kInvalidInput, "not base64")) << text;
  }
}

}  // namespace
}  // namespace ptpkg
