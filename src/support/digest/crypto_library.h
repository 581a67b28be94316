#pragma once
// libcrypto of OpenSSL, loaded by the first digest: linked to the program it took 1.5 MB of every run, also
// of those that change a few bytes of an ELF file and hash nothing. Layer: support, private to it.

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace ptpkg {

struct CryptoLibrary {
  decltype(&EVP_MD_CTX_new) context_new = nullptr;
  decltype(&EVP_MD_CTX_free) context_free = nullptr;
  decltype(&EVP_MD_CTX_get0_md) context_algorithm = nullptr;
  decltype(&EVP_MD_get_size) digest_size = nullptr;
  decltype(&EVP_DigestInit_ex) init = nullptr;
  decltype(&EVP_DigestUpdate) update = nullptr;
  decltype(&EVP_DigestFinal_ex) finish = nullptr;
  decltype(&EVP_sha256) sha256 = nullptr;
  decltype(&EVP_sha384) sha384 = nullptr;
  decltype(&EVP_sha512) sha512 = nullptr;
  decltype(&EVP_sha1) sha1 = nullptr;
  decltype(&EVP_md5) md5 = nullptr;

  decltype(&BIO_new_mem_buf) bio_of_memory = nullptr;
  decltype(&BIO_free) bio_free = nullptr;
  decltype(&PEM_read_bio_PUBKEY) read_public = nullptr;
  decltype(&PEM_read_bio_PrivateKey) read_private = nullptr;
  decltype(&EVP_PKEY_free) key_free = nullptr;
  decltype(&EVP_PKEY_get_base_id) key_kind = nullptr;
  decltype(&EVP_PKEY_get0_type_name) key_kind_name = nullptr;
  decltype(&EVP_PKEY_get_bits) key_bits = nullptr;
  decltype(&EVP_PKEY_get_group_name) key_group = nullptr;
  decltype(&i2d_PUBKEY) key_to_der = nullptr;
  decltype(&EVP_DigestSignInit) sign_init = nullptr;
  decltype(&EVP_DigestSign) sign = nullptr;
  decltype(&EVP_DigestSignUpdate) sign_update = nullptr;
  decltype(&EVP_DigestSignFinal) sign_final = nullptr;
  decltype(&EVP_DigestVerifyInit) verify_init = nullptr;
  decltype(&EVP_DigestVerify) verify = nullptr;
  decltype(&EVP_DigestVerifyUpdate) verify_update = nullptr;
  decltype(&EVP_DigestVerifyFinal) verify_final = nullptr;
  decltype(&ERR_clear_error) clear_errors = nullptr;
};

/// Loads it on the first call. Never unloaded. Throws std::runtime_error when it is not installed, as the
/// dynamic linker would end a program that is linked to it.
const CryptoLibrary& Crypto();

}  // namespace ptpkg
