#include "provenance/key_file.h"

#include <fmt/core.h>

#include "support/limits.h"
#include "support/process/shared_variables.h"

namespace ptpkg::provenance {
namespace {

constexpr std::uint32_t kOthers = 0077;

}  // namespace

Result<SigningKey> ReadSigningKey(Env& env, const AbsPath& file) {
  PTPKG_TRY(const FileStat stat, env.fs.Stat(file), "while reading the key to sign with");
  // A warning, not an error: OpenSSL reads such a key, too.
  if ((stat.mode & kOthers) != 0) {
    env.reporter.Warn(fmt::format("other users can read the private key '{0}': chmod 600 '{0}'", file.str()));
  }
  PTPKG_TRY(std::string text, ReadFile(env.fs, file, limits::kKeyFile), "while reading the key to sign with");
  return SigningKey::Parse({.pem = Secret(std::move(text)),
                            .passphrase = Secret(env.Variable(kPassphraseVariable)),
                            .where = file.str(),
                            .variable = kPassphraseVariable});
}

Result<PublicKey> ReadPublicKey(Env& env, const AbsPath& file) {
  PTPKG_TRY(const std::string text, ReadFile(env.fs, file, limits::kKeyFile),
            "while reading the key to verify with");
  return PublicKey::Parse(text, file.str());
}

}  // namespace ptpkg::provenance
