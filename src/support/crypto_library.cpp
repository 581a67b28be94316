#include "support/crypto_library.h"

#include <stdexcept>

#include "support/shared_library.h"

namespace ptpkg {
namespace {

Result<CryptoLibrary> LoadCrypto() {
  PTPKG_TRY(const SharedLibrary library, SharedLibrary::Load(PTPKG_LIBCRYPTO_SONAME));
  CryptoLibrary crypto;
  PTPKG_CHECK(library.Find("EVP_MD_CTX_new", crypto.context_new));
  PTPKG_CHECK(library.Find("EVP_MD_CTX_free", crypto.context_free));
  PTPKG_CHECK(library.Find("EVP_MD_CTX_get0_md", crypto.context_algorithm));
  PTPKG_CHECK(library.Find("EVP_MD_get_size", crypto.digest_size));
  PTPKG_CHECK(library.Find("EVP_DigestInit_ex", crypto.init));
  PTPKG_CHECK(library.Find("EVP_DigestUpdate", crypto.update));
  PTPKG_CHECK(library.Find("EVP_DigestFinal_ex", crypto.finish));
  PTPKG_CHECK(library.Find("EVP_sha256", crypto.sha256));
  PTPKG_CHECK(library.Find("EVP_sha1", crypto.sha1));
  PTPKG_CHECK(library.Find("EVP_md5", crypto.md5));
  return crypto;
}

}  // namespace

const CryptoLibrary& Crypto() {
  static const Result<CryptoLibrary> kLibrary = LoadCrypto();
  if (!kLibrary) throw std::runtime_error(FormatError(kLibrary.error()));
  return *kLibrary;
}

}  // namespace ptpkg
