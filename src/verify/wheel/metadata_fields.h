#pragma once
// Checks core metadata like PyPI's upload validation. Layer: verify. Source: verify/wheel/upload_checks.h.

#include <string>
#include <vector>

#include "model/finding.h"
#include "wheel/metadata/core_metadata.h"

namespace ptpkg::verify {

/// Appends warnings about `metadata`, which lies at `file`: fields that are unknown, newer than the
/// Metadata-Version, or given twice; values that the index refuses; classifiers that it does not know or no
/// longer takes. What CheckWheelMetadata says is not said again.
void CheckMetadataFields(const wheel::CoreMetadata& metadata, const std::string& file,
                         std::vector<Finding>& findings);

/// Number of characters of UTF-8 text, as the index counts: not bytes.
std::size_t CharacterCount(std::string_view text);
/// "": a classifier that the index takes. Else why not.
std::string ClassifierProblem(std::string_view classifier);
/// The address that the index looks at, the first one of the field, is fit for it, or there is none.
bool IsAcceptedAddress(std::string_view field);

/// The Metadata-Version that came with the newest field of `metadata`, if the one that it states is older;
/// else "".
std::string MetadataVersionNeeded(const wheel::CoreMetadata& metadata);

}  // namespace ptpkg::verify
