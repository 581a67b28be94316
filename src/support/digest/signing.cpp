// Signatures by OpenSSL's EVP interface. Layer: support.

#include "support/digest/signing.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <functional>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "support/assert.h"
#include "support/digest/hash.h"
#include "support/digest/scratch_buffer.h"

namespace ptpkg {

struct KeyDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

struct PublicKey::State {
  std::unique_ptr<EVP_PKEY, KeyDeleter> key;
  std::string id = {};
  bool ed25519 = false;
};

namespace {

// 128 bits of security, like Ed25519 and P-256 (NIST SP 800-57, part 1).
constexpr int kLeastRsaBits = 3072;
constexpr std::size_t kSignedPieceBytes = 1U << 20U;
constexpr const char* kAccepted = "use Ed25519, ECDSA on P-256, or RSA with at least 3072 bits";

struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, BioDeleter>;

struct ContextDeleter {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, ContextDeleter>;

Context NewContext() {
  Context context(EVP_MD_CTX_new());
  PTPKG_ASSERT(context != nullptr);
  return context;
}

Bio MemoryBio(const std::string& text) {
  Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  PTPKG_ASSERT(bio != nullptr);
  return bio;
}

/// Pure Ed25519 has no digest before it.
const EVP_MD* DigestFor(bool ed25519) { return ed25519 ? nullptr : EVP_sha256(); }

const unsigned char* Octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string CurveOf(const EVP_PKEY* key) {
  std::array<char, 64> name{};
  std::size_t length = 0;
  if (EVP_PKEY_get_group_name(key, name.data(), name.size(), &length) != 1) return "unknown curve";
  return {name.data(), length};
}

/// "" for a kind that is taken.
std::string RefusedKind(const EVP_PKEY* key) {
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_ED25519:
      return "";
    case EVP_PKEY_EC: {
      const std::string curve = CurveOf(key);
      return curve == "prime256v1" || curve == "P-256" ? "" : fmt::format("an EC key on {}", curve);
    }
    case EVP_PKEY_RSA: {
      const int bits = EVP_PKEY_get_bits(key);
      return bits >= kLeastRsaBits ? "" : fmt::format("an RSA key of {} bits", bits);
    }
    default:
      break;
  }
  const char* const name = EVP_PKEY_get0_type_name(key);
  return fmt::format("a key of the kind {}", name == nullptr ? "unknown" : name);
}

std::string IdOf(const EVP_PKEY* key) {
  const int length = i2d_PUBKEY(key, nullptr);
  PTPKG_ASSERT(length > 0);
  std::string der(static_cast<std::size_t>(length), '\0');
  auto* at = reinterpret_cast<unsigned char*>(der.data());
  PTPKG_ASSERT(i2d_PUBKEY(key, &at) == length);
  return HashText(der).Hex();
}

/// Data for OpenSSL's passphrase callback; without one, it would ask at the terminal.
struct Asked {
  const Secret* passphrase = nullptr;
  bool asked = false;
};

int GivePassphrase(char* buffer, int size, int /*writing*/, void* asked_by) {
  auto* const asked = static_cast<Asked*>(asked_by);
  asked->asked = true;
  if (asked->passphrase == nullptr) return -1;
  const std::string& text = asked->passphrase->Reveal();
  if (text.empty() || text.size() > static_cast<std::size_t>(size)) return -1;
  std::copy(text.begin(), text.end(), buffer);  // OpenSSL wants no NUL behind it
  return static_cast<int>(text.size());
}

Error NoKey(const std::string& where, const std::string& what, const std::string& hint) {
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' {}", where, what)).WithHint(hint);
}

/// Reads the file again from its beginning until its end, in pieces.
Result<void> FeedFile(Fs& fs, const AbsPath& path, const std::function<void(Bytes)>& feed) {
  PTPKG_TRY(const std::unique_ptr<File> file, fs.Open(path, OpenMode::kRead));
  FileSource source(*file);
  ScratchBuffer buffer(kSignedPieceBytes);
  while (true) {
    PTPKG_TRY(const std::size_t got, source.Read(buffer.bytes()));
    if (got == 0) return Ok();
    feed(buffer.First(got));
  }
}

Result<std::string> WholeFile(Fs& fs, const AbsPath& file) {
  PTPKG_TRY(const FileStat stat, fs.Stat(file));
  return ReadFile(fs, file, stat.size_bytes);
}

}  // namespace

PublicKey::PublicKey(std::unique_ptr<State> state) : state_(std::move(state)) {}
PublicKey::PublicKey(PublicKey&&) noexcept = default;
PublicKey& PublicKey::operator=(PublicKey&&) noexcept = default;
PublicKey::~PublicKey() = default;

const std::string& PublicKey::id() const { return state_->id; }

Result<PublicKey> PublicKey::Parse(const std::string& pem, const std::string& where) {
  constexpr const char* kHow = "openssl pkey -in PRIVATE.pem -pubout -out PUBLIC.pem";
  // Look for the other kinds of PEM first: OpenSSL would call each of them unreadable.
  if (pem.find("PRIVATE KEY-----") != std::string::npos)
    return NoKey(where, "is a private key; give the public key", kHow);
  if (pem.find("BEGIN CERTIFICATE") != std::string::npos) {
    return NoKey(where, "is a certificate; give a public key",
                 "openssl x509 -in CERTIFICATE.pem -pubkey -noout");
  }
  const Bio bio = MemoryBio(pem);
  Asked none;
  auto state = std::make_unique<State>();
  state->key.reset(PEM_read_bio_PUBKEY(bio.get(), nullptr, GivePassphrase, &none));
  ERR_clear_error();
  if (state->key == nullptr) return NoKey(where, "is not a public key in PEM format", kHow);
  const std::string refused = RefusedKind(state->key.get());
  if (!refused.empty()) return NoKey(where, fmt::format("holds {}", refused), kAccepted);
  state->ed25519 = EVP_PKEY_get_base_id(state->key.get()) == EVP_PKEY_ED25519;
  state->id = IdOf(state->key.get());
  return PublicKey(std::move(state));
}

bool PublicKey::Fits(std::string_view message, std::string_view signature) const {
  const Context context = NewContext();
  PTPKG_ASSERT(EVP_DigestVerifyInit(context.get(), nullptr, DigestFor(state_->ed25519), nullptr,
                                    state_->key.get()) == 1);
  // A negative result is an error of the signature's form. A signature that nobody can read doesn't fit
  // either.
  const int fits =
      EVP_DigestVerify(context.get(), Octets(signature), signature.size(), Octets(message), message.size());
  ERR_clear_error();
  return fits == 1;
}

Result<bool> PublicKey::VerifyFile(Fs& fs, const AbsPath& file, std::string_view signature) const {
  if (state_->ed25519) {
    // Ed25519 reads the message twice (RFC 8032, 5.1.6), so it can't be streamed.
    PTPKG_TRY(const std::string content, WholeFile(fs, file));
    return Fits(content, signature);
  }
  const Context context = NewContext();
  PTPKG_ASSERT(EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, state_->key.get()) == 1);
  PTPKG_CHECK(FeedFile(fs, file, [&](Bytes bytes) {
    PTPKG_ASSERT(EVP_DigestVerifyUpdate(context.get(), bytes.data(), bytes.size()) == 1);
  }));
  const int fits = EVP_DigestVerifyFinal(context.get(), Octets(signature), signature.size());
  ERR_clear_error();
  return fits == 1;
}

Result<SigningKey> SigningKey::Parse(const Source& source) {
  constexpr const char* kHow = "openssl genpkey -algorithm ed25519 -out PRIVATE.pem";
  const std::string& pem = source.pem.Reveal();
  if (pem.find("BEGIN PUBLIC KEY") != std::string::npos)
    return NoKey(source.where, "is a public key; give the private key", kHow);
  const Bio bio = MemoryBio(pem);
  Asked asked{.passphrase = &source.passphrase};
  auto state = std::make_unique<PublicKey::State>();
  state->key.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, GivePassphrase, &asked));
  ERR_clear_error();
  if (state->key == nullptr && asked.asked) {
    // OpenSSL asks only for encrypted keys.
    const bool missing = source.passphrase.empty();
    return NoKey(source.where, missing ? "is encrypted" : "cannot be decrypted with the given passphrase",
                 missing ? fmt::format("set its passphrase in {}", source.variable)
                         : fmt::format("set the right passphrase in {}", source.variable));
  }
  if (state->key == nullptr) return NoKey(source.where, "is not a private key in PEM format", kHow);
  const std::string refused = RefusedKind(state->key.get());
  if (!refused.empty()) return NoKey(source.where, fmt::format("holds {}", refused), kAccepted);
  state->ed25519 = EVP_PKEY_get_base_id(state->key.get()) == EVP_PKEY_ED25519;
  state->id = IdOf(state->key.get());
  return SigningKey(PublicKey(std::move(state)));
}

const std::string& SigningKey::id() const { return key_.id(); }

namespace {

Error CannotSign() {
  return Error(ErrorCode::kInternal, "OpenSSL could not sign");  // out of memory, or a broken installation
}

}  // namespace

Result<std::string> SigningKey::Sign(std::string_view message) const {
  const Context context = NewContext();
  EVP_PKEY* const key = key_.state_->key.get();
  std::size_t length = 0;
  bool ok = EVP_DigestSignInit(context.get(), nullptr, DigestFor(key_.state_->ed25519), nullptr, key) == 1 &&
            EVP_DigestSign(context.get(), nullptr, &length, Octets(message), message.size()) == 1;
  std::string signature(length, '\0');
  ok = ok && EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &length,
                            Octets(message), message.size()) == 1;
  ERR_clear_error();
  if (!ok) return CannotSign();
  // The first call gives the longest possible length; signatures of ECDSA in DER are often shorter.
  signature.resize(length);
  return signature;
}

Result<std::string> SigningKey::SignFile(Fs& fs, const AbsPath& file) const {
  if (key_.state_->ed25519) {
    PTPKG_TRY(const std::string content, WholeFile(fs, file));
    return Sign(content);
  }
  const Context context = NewContext();
  EVP_PKEY* const key = key_.state_->key.get();
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) != 1) return CannotSign();
  PTPKG_CHECK(FeedFile(fs, file, [&](Bytes bytes) {
    PTPKG_ASSERT(EVP_DigestSignUpdate(context.get(), bytes.data(), bytes.size()) == 1);
  }));
  std::size_t length = 0;
  if (EVP_DigestSignFinal(context.get(), nullptr, &length) != 1) return CannotSign();
  std::string signature(length, '\0');
  const int ok =
      EVP_DigestSignFinal(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &length);
  ERR_clear_error();
  if (ok != 1) return CannotSign();
  signature.resize(length);
  return signature;
}

}  // namespace ptpkg
