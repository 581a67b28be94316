#pragma once
// Reads signing and verification keys. Layer: provenance.

#include "support/digest/signing.h"
#include "support/env.h"

namespace ptpkg::provenance {

/// Warns when other users can read the file. The variable kPassphraseVariable
/// (support/process/shared_variables.h) holds the passphrase of an encrypted key. Errors: kNotFound, kIo, any
/// from SigningKey::Parse.
Result<SigningKey> ReadSigningKey(Env& env, const AbsPath& file);

/// Errors: kNotFound, kIo, any from PublicKey::Parse.
Result<PublicKey> ReadPublicKey(Env& env, const AbsPath& file);

}  // namespace ptpkg::provenance
