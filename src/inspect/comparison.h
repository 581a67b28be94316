#pragma once
// Compares two artifacts for `ptpkg diff`. Layer: inspect.

#include "support/env.h"
#include "support/text/json_fwd.h"

namespace ptpkg::inspect {

struct Comparison {
  bool identical = false;  ///< Byte by byte.
  JsonBox document;
};

/// Reads the content of every file of both, unless the two are equal byte by byte: "sections" and
/// "device_code" of its sizes are null then. `before` and `after` may
/// have different formats. Text files that changed, of up to 1 MiB each, are read once more and compared line
/// by line: the first 128 MiB of them. Memory: these texts, that of archive::PassOptions, and some 200 bytes
/// a file. Errors: those of ReadListing, archive::ZipMembers and conda's reader.
Result<Comparison> CompareArtifacts(Env& env, const AbsPath& before, const AbsPath& after);

}  // namespace ptpkg::inspect
