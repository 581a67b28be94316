#pragma once
// Variant labels and documents (PEP 825). Layer: wheel. Source: PEP 825, draft of August 2026, format 0.1.1.
// This file and variant.cpp alone know the draft; a later one is a change here.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::wheel {

/// Name of the document below .dist-info.
inline constexpr std::string_view kVariantDocument = "variant.json";
/// Version of the format that is written; one with another version must be taken as not supported.
inline constexpr std::string_view kVariantFormat = "0.1.1";
/// The label of the variant without properties, which fits every system.
inline constexpr std::string_view kNullVariant = "null";

/// Namespace → feature → values, sorted and without repetition. A system fits if it has one value of each
/// feature: {"nvidia", {"sm_arch", {"90_real"}}}.
using VariantProperties = std::map<std::string, std::map<std::string, std::vector<std::string>>>;

/// Content of a wheel's variant.json, or of an index's document for all wheels of a version.
struct VariantDocument {
  std::vector<std::string> namespaces = {};                ///< From the one that counts most on.
  std::map<std::string, VariantProperties> variants = {};  ///< By label.

  bool operator==(const VariantDocument&) const = default;
};

/// True if the text is a valid label: one or more of 0-9, a-z, '_' and '.'.
bool IsVariantLabel(std::string_view text);

/// Errors, each beginning with `where`: kUnsupported for another version of the format; kInvalidInput for any
/// other fault. Faults: text that is not JSON, a label, namespace, feature or value with other characters, a
/// used namespace outside the list, properties of "null", another label without properties.
Result<VariantDocument> ParseVariantDocument(std::string_view text, const std::string& where);

/// Parses variant.json of the wheel with that label; `text` "" = none. Errors: as above, and kInvalidInput
/// unless the document is about this label alone.
Result<VariantDocument> ParseWheelVariant(std::string_view text, const std::string& label,
                                          const std::string& where);

/// The text of a document. `variants` of variant.json has one entry. Keys are sorted.
std::string FormatVariantDocument(const VariantDocument& document);

/// Adds the document of another wheel of the same version. Errors, naming `where`: kInvalidInput for a label
/// with different properties, for properties that another label has, and for two lists of namespaces where
/// neither begins with the other. The preferred variant must not change.
Result<void> MergeVariants(VariantDocument& all, const VariantDocument& one, std::string_view where);

/// "toy-1.0-variants.json": the index's document for a version; `stem` is FileName::Stem().
std::string VariantsFileName(std::string_view stem);

}  // namespace ptpkg::wheel
