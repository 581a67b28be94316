#pragma once
// Version specifiers outside PEP 440 that uv accepts. Layer: verify. Source: uv 0.13.8 (uv-pypi-types,
// lenient_requirement.rs), asked by tests/peers/wheel/wheel_targets.py.

#include <string>
#include <string_view>

#include "wheel/metadata/pep440_version.h"
#include "wheel/metadata/requirement.h"

namespace ptpkg::verify {

/// A Requires-Dist or Requires-Python value as uv reads it when it does not parse. Removes ".*" after an
/// order (">=3.8.*") and quotes around versions, and adds missing commas and dots ("<3>=2", "!=3.0*").
/// Mistakes that only single old releases have (">dev", "!=~5.0") remain. The marker is unchanged.
std::string NormalizeLikeUv(std::string_view text);

/// True if uv reads all numbers of the version: up to 2^64 - 2. It reads longer ones in a local label as
/// text.
bool UvReadsNumbers(const wheel::Version& version);
/// The same for the versions of all conditions. A text that does not parse as a version counts as read.
bool UvReadsNumbers(const wheel::Specifiers& specifiers);
/// True if uv reads the number that a build tag begins with, up to 2^64 - 1, and for "".
bool UvReadsBuild(std::string_view build);

}  // namespace ptpkg::verify
