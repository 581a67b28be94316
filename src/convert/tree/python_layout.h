#pragma once
// Locations of Python distributions in prefixes and wheels. Layer: convert. Sources: PyPA "Recording
// installed projects"; conda-build post-processing.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "convert/tree/tree_builder.h"
#include "model/staged_tree.h"
#include "wheel/metadata/entry_points.h"

namespace ptpkg::convert {

/// Counterpart in a noarch python package of an interpreter's lib/pythonX.Y/site-packages.
inline constexpr std::string_view kNoarchSitePackages = "site-packages";

/// One installed distribution of a prefix.
struct Distribution {
  std::string site_packages;  ///< "lib/python3.11/site-packages", or "site-packages" (noarch).
  std::string dist_info;      ///< "toytorch-1.0.dist-info"
  std::string metadata;       ///< Text of METADATA.
  std::string wheel;          ///< Text of WHEEL.
  std::string entry_points;   ///< Text of entry_points.txt, "" if none.
  std::string record;         ///< Text of RECORD, "" if none.
};

/// The only distribution of the tree, or the one whose normalised name is `name` (when not empty). Errors:
/// kNotFound with the existing names; kInvalidInput when there are several and no name.
Result<Distribution> FindDistribution(Env& env, const StagedTree& prefix, std::string_view name);

/// All distributions' directory names, "…/site-packages/x.dist-info".
std::vector<std::string> DistInfoFolders(const StagedTree& prefix);

/// The path below site-packages of a prefix path; nullopt outside of it.
std::optional<std::string> BelowSitePackages(std::string_view path);

/// True for files of .dist-info that an installer writes for itself and that no package contains: RECORD and
/// wheel::kInstallerFiles.
bool IsInstallerFile(std::string_view name);

/// True for METADATA, WHEEL and entry_points.txt of .dist-info, which wheel/ regenerates.
bool IsRewrittenInWheel(std::string_view name);

/// Prefix paths in the RECORD of the .dist-info `folder` ("…/x-1.0.dist-info"); empty without one. Errors:
/// kInvalidInput (malformed), kIo.
Result<std::set<std::string>> RecordedPaths(Env& env, const StagedTree& tree, const std::string& folder);

/// `entry_points` (the text of entry_points.txt) with `scripts`, each "name = module:function", as console
/// scripts. They replace scripts of the same names. Errors: kInvalidInput.
Result<std::string> WithScripts(const std::string& entry_points, const std::vector<std::string>& scripts);

/// The console and GUI scripts of entry_points.txt. Errors: kInvalidInput (also for a name that cannot be a
/// file name).
Result<std::vector<wheel::EntryPoint>> ScriptsOf(std::string_view entry_points);

/// RECORD for one dist-info directory of an installed prefix: rows for every file of `paths`, relative to
/// `site_packages`, its own row empty.
std::string InstalledRecord(const StagedTree& prefix, const Distribution& distribution,
                            const std::vector<std::string>& paths);

}  // namespace ptpkg::convert
