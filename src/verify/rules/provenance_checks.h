#pragma once
// Verifies signed sidecar files of an artifact. Layer: verify.

#include <vector>

#include "model/finding.h"
#include "support/digest/signing.h"
#include "support/env.h"

namespace ptpkg::verify {

/// Checks "<artifact>.intoto.jsonl" (envelopes of in-toto statements, one a line) and "<artifact>.sig". One
/// envelope must be signed by `key` and hold SLSA provenance of exactly this file. A signature by another key
/// proves nothing, but is not a fault next to such an envelope. Returns one finding for the first fault, or
/// none. Errors: kIo, kNotFound (the artifact), kCancelled.
Result<std::vector<Finding>> CheckProvenance(Env& env, const AbsPath& artifact, const PublicKey& key);

}  // namespace ptpkg::verify
