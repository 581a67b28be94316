#pragma once
// Queries dpkg and apt where available. Layer: builder.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::builder {

/// Versions of the installed packages among `names`, from /var/lib/dpkg/status. nullopt on a machine without
/// dpkg. A package of several architectures counts once, with its first version.
Result<std::optional<std::map<std::string, std::string>>> InstalledDebianPackages(
    Env& env, const std::vector<std::string>& names);

/// True if `apt-get install name` has something to install. Runs apt-cache from PATH; false if there is none.
Result<bool> AptHasPackage(Env& env, const std::string& name);

}  // namespace ptpkg::builder
