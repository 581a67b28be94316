#pragma once
// Parses METADATA of a wheel. Layer: wheel. Source: PyPA core metadata specification 2.5; PEP 566 for the
// message form.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/result.h"
#include "wheel/metadata/pep440_version.h"  // IWYU pragma: export
#include "wheel/metadata/requirement.h"     // IWYU pragma: export

namespace ptpkg::wheel {

/// Header fields in written order, so that an unknown field survives a rewrite. Field names compare
/// without case.
struct CoreMetadata {
  std::vector<std::pair<std::string, std::string>> fields;
  std::string description;   ///< The body, byte for byte; or "" when a Description field holds it.
  std::string written = {};  ///< The source text: HeaderBlock::written.

  [[nodiscard]] std::string Get(std::string_view field) const;  ///< First value, "" if none.
  [[nodiscard]] std::vector<std::string> GetAll(std::string_view field) const;
  void Set(std::string_view field, std::string value);  ///< Replaces all of that name, or appends.
  void Add(std::string_view field, std::string value);
};

/// Errors: kInvalidInput at `name`:line:1 for a malformed header, and unless Metadata-Version, Name and
/// Version each occur once and not empty.
Result<CoreMetadata> ParseCoreMetadata(std::string_view text, const std::string& name);
/// Unchanged metadata gives the same bytes, whatever its form; a change leaves all other fields as they were
/// written (FormatHeaderBlock).
std::string FormatCoreMetadata(const CoreMetadata& metadata);

/// Names (PEP 503) of the projects that an installation brings: Requires-Dist without the requirements of
/// extras, which only users request. Invalid requirements are skipped.
std::vector<std::string> RequiredProjects(const CoreMetadata& metadata);

/// PEP 503: runs of "-_." become '-', lower case.
std::string NormalizeName(std::string_view name);

}  // namespace ptpkg::wheel
