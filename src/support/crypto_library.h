#pragma once
// libcrypto of OpenSSL, loaded by the first digest: linked to the program it took 1.5 MB of every run, also
// of those that change a few bytes of an ELF file and hash nothing. Layer: support, private to it.

#include <openssl/evp.h>

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
  decltype(&EVP_sha1) sha1 = nullptr;
  decltype(&EVP_md5) md5 = nullptr;
};

/// Loads it on the first call. Never unloaded. Throws std::runtime_error when it is not installed, as the
/// dynamic linker would end a program that is linked to it.
const CryptoLibrary& Crypto();

}  // namespace ptpkg
