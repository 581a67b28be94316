#pragma once
// Signs and verifies with PEM keys, compatible with OpenSSL. Layer: support. OpenSSL EVP behind it, no
// OpenSSL type here.
//
// - Ed25519: RFC 8032; the whole message must be in memory
// - ECDSA P-256: over SHA-256, in DER; the signature differs each time, because OpenSSL 3.0 has no
//   deterministic one
// - RSA: 3072 bits and more, PKCS #1 v1.5 over SHA-256
//
// Any other kind of key is refused by name.

#include <memory>
#include <string>

#include "support/files/fs.h"
#include "support/secret.h"

namespace ptpkg {

/// A key that checks signatures. Threads: may be shared.
class PublicKey {
 public:
  /// `pem`: "BEGIN PUBLIC KEY", the output of `openssl pkey -pubout`. `where`: its file, for messages.
  /// Errors: kInvalidInput naming `where`, with a hint: another kind of key or file.
  static Result<PublicKey> Parse(const std::string& pem, const std::string& where);

  PublicKey(PublicKey&&) noexcept;
  PublicKey& operator=(PublicKey&&) noexcept;
  ~PublicKey();

  /// SHA-256 of the key's DER form (SubjectPublicKeyInfo), in hexadecimal.
  [[nodiscard]] const std::string& id() const;
  [[nodiscard]] bool Fits(std::string_view message, std::string_view signature) const;
  /// Verifies the signature of a file's content. Errors: kIo, kNotFound.
  [[nodiscard]] Result<bool> VerifyFile(Fs& fs, const AbsPath& file, std::string_view signature) const;

 private:
  friend class SigningKey;
  struct State;
  explicit PublicKey(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A private key. Its bytes are in memory as long as it lives, and are wiped then.
class SigningKey {
 public:
  /// `pem`: "BEGIN PRIVATE KEY" and older forms. `passphrase`: for an encrypted key, from the variable
  /// `variable`. No error contains any part of the key. Errors: kInvalidInput naming `where`, with a hint:
  /// another kind of key or file, a missing or wrong passphrase.
  struct Source {
    Secret pem;
    Secret passphrase = Secret();
    std::string where;
    std::string variable;
  };
  static Result<SigningKey> Parse(const Source& source);

  /// Id of its public key.
  [[nodiscard]] const std::string& id() const;
  [[nodiscard]] Result<std::string> Sign(std::string_view message) const;
  /// Signs the content of a file. Memory: with Ed25519 the file's size.
  [[nodiscard]] Result<std::string> SignFile(Fs& fs, const AbsPath& file) const;

 private:
  explicit SigningKey(PublicKey key) : key_(std::move(key)) {}
  PublicKey key_;  // OpenSSL has one type for both
};

}  // namespace ptpkg
