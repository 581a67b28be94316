#pragma once
// Evaluates the sections of a recipe. Layer: recipe. Internal to recipe/: evaluate_recipe.cpp calls them, and
// they call each other. Each takes the section's node, null if the recipe does not have it.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "recipe/document/typed_reader.h"
#include "recipe/expression/evaluate_recipe.h"
#include "recipe/recipe.h"
#include "versions/pin.h"

namespace ptpkg::recipe {

/// Errors: kInvalidInput with a span: not exactly one of url, path and git, no sha256, a key of another kind
/// of source, names that leave the source tree.
Result<std::vector<Source>> ReadSources(Reader& reader, const Node* section);

/// `git` of the source `item` and the keys that belong to it; nothing without `git`. Errors: kInvalidInput.
Result<GitSource> ReadGitSource(Reader& reader, const Node& item);

/// Fills number, noarch, script, entry points, files, prefix detection and track_features of `recipe`,
/// whose name is known. `build.skip` and `build.string` are read by evaluate_recipe.cpp.
Result<void> ReadBuild(Reader& reader, const Node* section, Recipe& recipe);

/// Templates of a shell's commands can have names of the build environment, which become "${NAME}". `key` is
/// the name of the section in messages: "build.script".
Result<BuildScript> ReadScript(Reader& reader, const Node* section, std::string_view key);

/// requirements.build and .host: bare names take the version of the variant, except the names in `bare`,
/// which are normalized variant keys. Fills the scope's PinFacts.
Result<void> ReadBuildRequirements(Reader& reader, const Node* section, const std::set<std::string>& bare,
                                   Requirements& requirements);

/// The other lists, after those. Bare names of run take bounds by `run_pins` from the host; for a noarch
/// package there are none.
Result<void> ReadRunRequirements(Reader& reader, const Node* section,
                                 const std::map<std::string, versions::PinBounds>& run_pins,
                                 Requirements& requirements);

/// Errors: kInvalidInput for a licence that is not an SPDX expression.
Result<About> ReadAbout(Reader& reader, const Node* section);

/// Errors: kInvalidInput for an item that is not of exactly one kind.
Result<std::vector<Test>> ReadTests(Reader& reader, const Node* section);

/// A list of requirements as written in the recipe; null gives none.
Result<std::vector<MatchSpec>> ReadSpecs(Reader& reader, const Node* node);

/// Errors: kInvalidInput for keys of a zip in extra.ptpkg, `section`, or under the name of an output there.
/// Such keys are wrong if no list of formats for them can contain 'zip', whatever the variant.
Result<void> CheckZipKeys(const Node& section);

/// extra.ptpkg.slices; `device_code`: from the same variant. Errors: kInvalidInput for an invalid value, and
/// for 'each' where `device_code` has no machine code.
Result<GpuSlices> ReadSlices(Reader& reader, const Node& node, const std::vector<std::string>& device_code);

/// Errors: kInvalidInput for slices where no package can be sliced: a package that is `noarch`, or formats
/// without a package. REQUIRES: `extra` comes from `section`.
Result<void> CheckSlices(const Node* section, const PtpkgExtra& extra, bool noarch);

/// extra.ptpkg; `check_requirement`: of EvaluationInput.
Result<PtpkgExtra> ReadPtpkgExtra(Reader& reader, const Node* section, const TextCheck& check_requirement);

}  // namespace ptpkg::recipe
