#include "support/digest/crypto_library.h"

#include <stdexcept>

#include "support/process/shared_library.h"

namespace ptpkg {
namespace {

Result<void> FindSignatures(const SharedLibrary& library, CryptoLibrary& crypto) {
  PTPKG_CHECK(library.Find("BIO_new_mem_buf", crypto.bio_of_memory));
  PTPKG_CHECK(library.Find("BIO_free", crypto.bio_free));
  PTPKG_CHECK(library.Find("PEM_read_bio_PUBKEY", crypto.read_public));
  PTPKG_CHECK(library.Find("PEM_read_bio_PrivateKey", crypto.read_private));
  PTPKG_CHECK(library.Find("EVP_PKEY_free", crypto.key_free));
  PTPKG_CHECK(library.Find("EVP_PKEY_get_base_id", crypto.key_kind));
  PTPKG_CHECK(library.Find("EVP_PKEY_get0_type_name", crypto.key_kind_name));
  PTPKG_CHECK(library.Find("EVP_PKEY_get_bits", crypto.key_bits));
  PTPKG_CHECK(library.Find("EVP_PKEY_get_group_name", crypto.key_group));
  PTPKG_CHECK(library.Find("i2d_PUBKEY", crypto.key_to_der));
  PTPKG_CHECK(library.Find("EVP_DigestSignInit", crypto.sign_init));
  PTPKG_CHECK(library.Find("EVP_DigestSign", crypto.sign));
  PTPKG_CHECK(library.Find("EVP_DigestSignUpdate", crypto.sign_update));
  PTPKG_CHECK(library.Find("EVP_DigestSignFinal", crypto.sign_final));
  PTPKG_CHECK(library.Find("EVP_DigestVerifyInit", crypto.verify_init));
  PTPKG_CHECK(library.Find("EVP_DigestVerify", crypto.verify));
  PTPKG_CHECK(library.Find("EVP_DigestVerifyUpdate", crypto.verify_update));
  PTPKG_CHECK(library.Find("EVP_DigestVerifyFinal", crypto.verify_final));
  PTPKG_CHECK(library.Find("ERR_clear_error", crypto.clear_errors));
  return Ok();
}

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
  PTPKG_CHECK(library.Find("EVP_sha384", crypto.sha384));
  PTPKG_CHECK(library.Find("EVP_sha512", crypto.sha512));
  PTPKG_CHECK(library.Find("EVP_sha1", crypto.sha1));
  PTPKG_CHECK(library.Find("EVP_md5", crypto.md5));
  PTPKG_CHECK(FindSignatures(library, crypto));
  return crypto;
}

}  // namespace

const CryptoLibrary& Crypto() {
  static const Result<CryptoLibrary> kLibrary = LoadCrypto();
  if (!kLibrary) throw std::runtime_error(FormatError(kLibrary.error()));
  return *kLibrary;
}

}  // namespace ptpkg
