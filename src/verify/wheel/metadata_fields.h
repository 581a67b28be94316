#pragma once
// Checks core metadata like PyPI's upload validation. Layer: verify. Source: verify/wheel/upload_checks.h.

#include <string>
#include <vector>

#include "model/finding.h"
#include "wheel/metadata/core_metadata.h"

namespace ptpkg::verify {

/// Appends warnings about `metadata`, from `file`. Causes: fields that are unknown, newer than the
/// Metadata-Version, or given twice, values that the index refuses, and classifiers that it does not know or
/// no longer accepts. Does not repeat findings of CheckWheelMetadata.
void CheckMetadataFields(const wheel::CoreMetadata& metadata, const std::string& file,
                         std::vector<Finding>& findings);

/// Number of characters of UTF-8 text, as the index counts: not bytes.
std::size_t CharacterCount(std::string_view text);
/// "": a classifier that the index accepts. Else the reason against it.
std::string ClassifierProblem(std::string_view classifier);
/// True if the index accepts the first address of the field, the only one it reads, or if there is none.
bool IsAcceptedAddress(std::string_view field);

/// The Metadata-Version that introduced the newest field of `metadata`, if the stated one is older; else "".
std::string MetadataVersionNeeded(const wheel::CoreMetadata& metadata);

}  // namespace ptpkg::verify
