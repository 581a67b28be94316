// Digests by OpenSSL's EVP interface. Layer: support.

#include "support/digest/hash.h"

#include <fmt/core.h>
#include <openssl/evp.h>
#include <optional>

#include "support/digest/scratch_buffer.h"

namespace ptpkg {
namespace {

constexpr std::size_t kReadBytes = 1U << 20U;

/// One running digest. EVP calls fail only when OpenSSL cannot allocate or lacks the algorithm
/// altogether (a build without sha256 or md5), which is a broken installation, not input.
class EvpHasher {
 public:
  explicit EvpHasher(const EVP_MD* algorithm) : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    PTPKG_ASSERT(context_ != nullptr);
    PTPKG_ASSERT(EVP_DigestInit_ex(context_.get(), algorithm, nullptr) == 1);
  }

  void Update(Bytes bytes) {
    PTPKG_ASSERT(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }

  template <std::size_t kBytes>
  Digest<kBytes> Finish() {
    Digest<kBytes> digest;
    unsigned int length = 0;
    // Before Final, which would write past the end of a shorter digest.
    PTPKG_ASSERT(static_cast<std::size_t>(EVP_MD_get_size(EVP_MD_CTX_get0_md(context_.get()))) == kBytes);
    PTPKG_ASSERT(EVP_DigestFinal_ex(context_.get(), digest.bytes.data(), &length) == 1);
    PTPKG_ASSERT(length == kBytes);
    return digest;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace

struct HashingSink::State {
  ByteSink* next = nullptr;
  EvpHasher sha256{EVP_sha256()};
  std::optional<EvpHasher> md5;
  std::uint64_t size_bytes = 0;
};

HashingSink::HashingSink(ByteSink* next, HashChoice choice) : state_(std::make_unique<State>()) {
  state_->next = next;
  if (choice.md5) state_->md5.emplace(EVP_md5());
}

HashingSink::~HashingSink() = default;

Result<void> HashingSink::Write(Bytes bytes) {
  state_->sha256.Update(bytes);
  if (state_->md5) state_->md5->Update(bytes);
  state_->size_bytes += bytes.size();
  if (state_->next == nullptr) return Ok();
  return state_->next->Write(bytes);
}

Digests HashingSink::Finish() {
  Digests digests;
  digests.sha256 = state_->sha256.Finish<32>();
  if (state_->md5) digests.md5 = state_->md5->Finish<16>();
  digests.size_bytes = state_->size_bytes;
  return digests;
}

Sha256 HashText(std::string_view text) {
  EvpHasher hasher(EVP_sha256());
  hasher.Update(AsBytes(text));
  return hasher.Finish<32>();
}

Sha1 Sha1OfText(std::string_view text) {
  EvpHasher hasher(EVP_sha1());
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
  EvpHasher hasher{EVP_sha256()};
};

KeyHasher::KeyHasher() : state_(std::make_unique<State>()) {}
KeyHasher::~KeyHasher() = default;

KeyHasher& KeyHasher::Add(std::string_view name, std::string_view value) {
  // The lengths keep ("ab", "c") and ("a", "bc") apart.
  state_->hasher.Update(AsBytes(fmt::format("{}:{}{}:", name.size(), name, value.size())));
  state_->hasher.Update(AsBytes(value));
  return *this;
}

Sha256 KeyHasher::Finish() { return state_->hasher.Finish<32>(); }

}  // namespace ptpkg
