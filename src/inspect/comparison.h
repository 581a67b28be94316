#pragma once
// Compares two artifacts for `ptpkg diff`. Layer: inspect.

#include "support/env.h"
#include "support/text/json_fwd.h"

namespace ptpkg::inspect {

struct Comparison {
  bool identical = false;  ///< Byte by byte.
  JsonBox document;
};

/// Compares two artifacts, whose formats can differ. Reads every file of both, unless the artifacts are equal
/// byte by byte: "sections" and "device_code" under "sizes" are then null. Changed text files of up to 1 MiB
/// each are read once more and compared line by line, up to 128 MiB in total. Memory: these texts, the limit
/// of archive::PassOptions, and some 200 bytes per file. Errors: any from ReadListing, archive::ZipMembers
/// and conda's reader.
Result<Comparison> CompareArtifacts(Env& env, const AbsPath& before, const AbsPath& after);

}  // namespace ptpkg::inspect
