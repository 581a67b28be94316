#pragma once
// Verifies signed sidecar files of an artifact. Layer: verify.

#include <vector>

#include "model/finding.h"
#include "support/digest/signing.h"
#include "support/env.h"

namespace ptpkg::verify {

/// Looks at "<artifact>.intoto.jsonl" (envelopes of in-toto statements, one a line) and "<artifact>.sig". It
/// is enough that one of the envelopes is signed by `key` and holds SLSA provenance of exactly this file; a
/// signature by another key vouches for nothing, and is no fault beside such a one. Returns one finding for
/// the first thing that is wrong, or none. Errors: kIo, kNotFound (the artifact), kCancelled.
Result<std::vector<Finding>> CheckProvenance(Env& env, const AbsPath& artifact, const PublicKey& key);

}  // namespace ptpkg::verify
