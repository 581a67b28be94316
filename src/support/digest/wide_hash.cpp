#include "support/digest/wide_hash.h"

#include <array>
#include <memory>
#include <openssl/evp.h>

#include "support/digest/hash.h"
#include "support/digest/scratch_buffer.h"
#include "support/digest/stream.h"

namespace ptpkg {

Result<std::string> WideDigestOfFile(Fs& fs, const AbsPath& path, WideHash kind) {
  constexpr std::size_t kReadBytes = 1U << 20U;
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  PTPKG_ASSERT(context != nullptr);
  const EVP_MD* const algorithm = kind == WideHash::kSha384 ? EVP_sha384() : EVP_sha512();
  PTPKG_ASSERT(EVP_DigestInit_ex(context.get(), algorithm, nullptr) == 1);
  PTPKG_TRY(const std::unique_ptr<File> file, fs.Open(path, OpenMode::kRead));
  FileSource source(*file);
  ScratchBuffer buffer(kReadBytes);
  while (true) {
    PTPKG_TRY(const std::size_t got, source.Read(buffer.bytes()));
    if (got == 0) break;
    PTPKG_ASSERT(EVP_DigestUpdate(context.get(), buffer.First(got).data(), got) == 1);
  }
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  PTPKG_ASSERT(EVP_DigestFinal_ex(context.get(), digest.data(), &length) == 1);
  return Base64UrlUnpadded(std::as_bytes(std::span(digest).first(length)));
}

}  // namespace ptpkg
