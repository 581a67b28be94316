#pragma once
// Reads signing and verification keys. Layer: provenance.

#include "support/digest/signing.h"
#include "support/env.h"

namespace ptpkg::provenance {

/// Warns when other users may read the file. The passphrase of an encrypted key is that of
/// kPassphraseVariable (support/process/shared_variables.h). Errors: kNotFound, kIo; those of
/// SigningKey::Parse.
Result<SigningKey> ReadSigningKey(Env& env, const AbsPath& file);

/// Errors: kNotFound, kIo; those of PublicKey::Parse.
Result<PublicKey> ReadPublicKey(Env& env, const AbsPath& file);

}  // namespace ptpkg::provenance
