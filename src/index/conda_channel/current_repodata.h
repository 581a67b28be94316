#pragma once
// Selects the newest packages for current_repodata.json. Layer: index. Source: CEP 36; conda-index 0.13
// current_repodata.py.

#include <string_view>

#include "support/text/json_fwd.h"

namespace ptpkg::index {

inline constexpr std::string_view kCurrentRepodata = "current_repodata.json";

/// The document of current_repodata.json for `repodata`, with rows as AddToRepodata makes them. Lists, of
/// each name:
/// - the packages of the newest version ("=version", as conda matches it)
/// - for a dependency that none of these satisfies, the packages of the newest version that does. Their
///   dependencies are not followed, as in conda-index
/// - the newest package without features, if a listed one has features
///
/// A .conda replaces the .tar.bz2 of the same package, and has its MD5 as "legacy_bz2_md5" (null without
/// one). If ptpkg cannot read a dependency spec, lists every package of that name.
Json MakeCurrentRepodata(const Json& repodata);

}  // namespace ptpkg::index
