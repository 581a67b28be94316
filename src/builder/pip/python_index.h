#pragma once
// Queries the Python index through pip and caches the answers. Layer: builder.
//
//   <cache>/wheels/<key>/pins.json       the answer to one question
//   <cache>/downloads/<sha256>/<file>    the wheels

#include <string>
#include <vector>

#include "builder/env/python.h"
#include "builder/pip/locked_wheels.h"
#include "support/env.h"
#include "support/files/lease.h"

namespace ptpkg::builder {

/// A query: which wheels meet these requirements together.
struct WheelQuery {
  std::vector<std::string> requirements;      ///< In pip's syntax: "cmake>=3.27".
  std::vector<std::string> constraints = {};  ///< In the same syntax: packages that only others may bring.
  bool dependencies = true;                   ///< Their requirements too.
};

/// Identity of the client that asks the index.
struct IndexAccess {
  Python pip;  ///< An interpreter that has pip; its version and platform choose among wheels.
};

/// The pins, by name, each with WheelRole::kToolkit. The first answer to a question is kept, and given again
/// until `ptpkg cache clean` removes it: so a plan asks nobody, and a range means the same version each time.
/// Else `pip download` with the user's own configuration (index, proxies, certificates) fetches the wheels,
/// because an index need not tell digests, and a key needs them.
/// Errors: kNotFound naming the versions that exist, or offline without an answer that is kept; kNetwork;
/// kCommandFailed with pip's last lines; kIo, kCancelled.
Result<std::vector<WheelPin>> ResolveFromIndex(Env& env, const IndexAccess& access, const WheelQuery& ask);

struct LeasedWheel {
  AbsPath file;
  Lease lease;  ///< While it lives, no cleanup removes the file.
};

/// The wheel of a pin, compared with its digest; one that is damaged or gone is fetched again. Errors:
/// kHashMismatch (the index has other bytes under that name now), kNotFound (offline, and it is not kept),
/// those of ResolveFromIndex.
Result<LeasedWheel> LeaseWheel(Env& env, const IndexAccess& access, const WheelPin& pin);

}  // namespace ptpkg::builder
