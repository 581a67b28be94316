#pragma once
// Keys in files that a user names. Layer: provenance.

#include "support/env.h"
#include "support/signing.h"

namespace ptpkg::provenance {

/// Where the passphrase of an encrypted key is looked for.
inline constexpr const char* kPassphraseVariable = "PTPKG_SIGN_PASSPHRASE";

/// Warns when other users may read the file. Errors: kNotFound, kIo; those of SigningKey::Parse.
Result<SigningKey> ReadSigningKey(Env& env, const AbsPath& file);

/// Errors: kNotFound, kIo; those of PublicKey::Parse.
Result<PublicKey> ReadPublicKey(Env& env, const AbsPath& file);

}  // namespace ptpkg::provenance
