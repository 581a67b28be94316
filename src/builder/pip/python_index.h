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

/// A query for wheels that meet these requirements together.
struct WheelQuery {
  std::vector<std::string> requirements;      ///< In pip's syntax: "cmake>=3.27".
  std::vector<std::string> constraints = {};  ///< In the same syntax: packages that only others require.
  bool dependencies = true;                   ///< Also resolve the requirements of the wheels.
};

/// Identity of the client that queries the index.
struct IndexAccess {
  Python pip;  ///< An interpreter that has pip; its version and platform choose among wheels.
};

/// The pins, by name, each with WheelRole::kToolkit. Caches the first answer to a query and returns it until
/// `ptpkg cache clean` removes it. So a plan needs no network, and a range means the same version each time.
/// Otherwise `pip download` fetches the wheels with the user's own configuration (index, proxies,
/// certificates). An index does not have to list digests, and a key needs them. Errors:
/// - kNotFound, naming the versions that exist; kNotFound when offline without a cached answer
/// - kCommandFailed with pip's last lines
/// - kNetwork, kIo, kCancelled
Result<std::vector<WheelPin>> ResolveFromIndex(Env& env, const IndexAccess& access, const WheelQuery& ask);

struct LeasedWheel {
  AbsPath file;
  Lease lease;  ///< While it lives, no cleanup removes the file.
};

/// The wheel of a pin, verified by its digest. Fetches a damaged or missing one again. Errors: kHashMismatch
/// (the index now has other bytes under that name), kNotFound (offline and not cached), and as
/// ResolveFromIndex.
Result<LeasedWheel> LeaseWheel(Env& env, const IndexAccess& access, const WheelPin& pin);

}  // namespace ptpkg::builder
