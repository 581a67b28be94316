#pragma once
// Queries dpkg and apt where available. Layer: builder.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::builder {

/// Versions of those of `names` that are installed, as /var/lib/dpkg/status says; nullopt on a machine
/// without dpkg. A package of several architectures counts once, with its first version.
Result<std::optional<std::map<std::string, std::string>>> InstalledDebianPackages(
    Env& env, const std::vector<std::string>& names);

/// True if `apt-get install name` has something to install. Asks apt-cache of PATH; false where there is
/// none.
Result<bool> AptHasPackage(Env& env, const std::string& name);

}  // namespace ptpkg::builder
