#pragma once
// info/about.json. Layer: conda. Source: CEP 34.

#include "conda/package.h"

namespace ptpkg::conda {

/// Only what the recipe says: what depends on the building machine (conda_version, root_pkgs,
/// env_vars) would make equal inputs give other bytes. Empty texts are left out; credentials and
/// channel tokens in URLs are removed.
Json MakeAboutJson(const PackageMetadata& metadata);

/// The URL `written` without "user:password@", secret parameters and the "/t/<token>" of a private channel.
std::string WithoutCredentials(std::string_view written);

}  // namespace ptpkg::conda
