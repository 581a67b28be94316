#pragma once
// Keys in files that a user names. Layer: provenance.

#include "support/env.h"
#include "support/signing.h"

namespace ptpkg::provenance {

/// Warns when other users may read the file. The passphrase of an encrypted key is that of
/// kPassphraseVariable (support/shared_variables.h). Errors: kNotFound, kIo; those of SigningKey::Parse.
Result<SigningKey> ReadSigningKey(Env& env, const AbsPath& file);

/// Errors: kNotFound, kIo; those of PublicKey::Parse.
Result<PublicKey> ReadPublicKey(Env& env, const AbsPath& file);

}  // namespace ptpkg::provenance
