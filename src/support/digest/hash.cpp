// Digests by OpenSSL's EVP interface. Layer: support.

#include "support/digest/hash.h"

#include <fmt/core.h>
#include <optional>

#include "support/digest/blake2b.h"
#include "support/digest/crypto_library.h"
#include "support/digest/scratch_buffer.h"

namespace ptpkg {
namespace {

constexpr std::size_t kReadBytes = 1U << 20U;

/// One running digest. EVP calls fail only when OpenSSL cannot allocate or lacks the algorithm
/// altogether (a build without sha256 or md5), which is a broken installation, not input.
class EvpHasher {
 public:
  explicit EvpHasher(const EVP_MD* algorithm) : context_(Crypto().context_new(), Crypto().context_free) {
    PTPKG_ASSERT(context_ != nullptr);
    PTPKG_ASSERT(Crypto().init(context_.get(), algorithm, nullptr) == 1);
  }

  void Update(Bytes bytes) { PTPKG_ASSERT(Crypto().update(context_.get(), bytes.data(), bytes.size()) == 1); }

  template <std::size_t kBytes>
  Digest<kBytes> Finish() {
    const CryptoLibrary& crypto = Crypto();
    Digest<kBytes> digest;
    unsigned int length = 0;
    PTPKG_ASSERT(static_cast<std::size_t>(crypto.digest_size(crypto.context_algorithm(context_.get()))) ==
                 kBytes);
    PTPKG_ASSERT(crypto.finish(context_.get(), digest.bytes.data(), &length) == 1);
    PTPKG_ASSERT(length == kBytes);
    return digest;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

/// -1 for anything but a hexadecimal digit.
int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

template <std::size_t kBytes>
std::string Digest<kBytes>::Hex() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * kBytes);
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

template <std::size_t kBytes>
Result<Digest<kBytes>> Digest<kBytes>::FromHex(std::string_view text) {
  Digest digest;
  bool valid = text.size() == 2 * kBytes;
  for (std::size_t i = 0; valid && i < kBytes; ++i) {
    const int high = HexValue(text[2 * i]);
    const int low = HexValue(text[2 * i + 1]);
    valid = high >= 0 && low >= 0;
    if (valid) digest.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  if (valid) return digest;
  // A wrong field of a hostile index may be megabytes long.
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a digest of {} hexadecimal digits",
                                                     text.substr(0, 4 * kBytes), 2 * kBytes));
}

template struct Digest<32>;
template struct Digest<20>;
template struct Digest<16>;

std::string Base64UrlUnpadded(Bytes bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8U | (k < count ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k <= count; ++k) text += kDigits[group >> (18U - 6U * k) & 63U];
  }
  return text;
}

struct HashingSink::State {
  ByteSink* next = nullptr;
  EvpHasher sha256{Crypto().sha256()};
  std::optional<EvpHasher> md5;
  std::optional<Blake2b256Hasher> blake2b;
  std::uint64_t size_bytes = 0;
};

HashingSink::HashingSink(ByteSink* next, HashChoice choice) : state_(std::make_unique<State>()) {
  state_->next = next;
  if (choice.md5) state_->md5.emplace(Crypto().md5());
  if (choice.blake2b_256) state_->blake2b.emplace();
}

HashingSink::~HashingSink() = default;

Result<void> HashingSink::Write(Bytes bytes) {
  state_->sha256.Update(bytes);
  if (state_->md5) state_->md5->Update(bytes);
  if (state_->blake2b) state_->blake2b->Update(bytes);
  state_->size_bytes += bytes.size();
  if (state_->next == nullptr) return Ok();
  return state_->next->Write(bytes);
}

Digests HashingSink::Finish() {
  Digests digests;
  digests.sha256 = state_->sha256.Finish<32>();
  if (state_->md5) digests.md5 = state_->md5->Finish<16>();
  if (state_->blake2b) digests.blake2b.bytes = state_->blake2b->Finish();
  digests.size_bytes = state_->size_bytes;
  return digests;
}

Sha256 HashText(std::string_view text) {
  EvpHasher hasher(Crypto().sha256());
  hasher.Update(AsBytes(text));
  return hasher.Finish<32>();
}

Sha1 Sha1OfText(std::string_view text) {
  EvpHasher hasher(Crypto().sha1());
  hasher.Update(AsBytes(text));
  return hasher.Finish<20>();
}

Result<Digests> HashFile(Fs& fs, const AbsPath& path, HashChoice choice) {
  PTPKG_TRY(const std::unique_ptr<File> file, fs.Open(path, OpenMode::kRead));
  FileSource source(*file);
  HashingSink sink(nullptr, choice);
  ScratchBuffer buffer(kReadBytes);
  while (true) {
    PTPKG_TRY(const std::size_t got, source.Read(buffer.bytes()));
    if (got == 0) return sink.Finish();
    PTPKG_CHECK(sink.Write(buffer.First(got)));
  }
}

struct KeyHasher::State {
  EvpHasher hasher{Crypto().sha256()};
};

KeyHasher::KeyHasher() : state_(std::make_unique<State>()) {}
KeyHasher::~KeyHasher() = default;

KeyHasher& KeyHasher::Add(std::string_view name, std::string_view value) {
  state_->hasher.Update(AsBytes(fmt::format("{}:{}{}:", name.size(), name, value.size())));
  state_->hasher.Update(AsBytes(value));
  return *this;
}

Sha256 KeyHasher::Finish() { return state_->hasher.Finish<32>(); }

}  // namespace ptpkg
