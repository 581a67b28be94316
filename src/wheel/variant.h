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

/// Errors: kInvalidInput (beginning with `where`) for what is no such document: no JSON, a label, namespace,
/// feature or value of other characters, a namespace in use that is not in the list, properties of "null",
/// none of another label; kUnsupported for another version of the format.
Result<VariantDocument> ParseVariantDocument(std::string_view text, const std::string& where);

/// Parses variant.json of the wheel with that label; `text` "" = none. Errors: as above; kInvalidInput unless
/// the document is about this label alone.
Result<VariantDocument> ParseWheelVariant(std::string_view text, const std::string& label,
                                          const std::string& where);

/// The text of a document. `variants` of variant.json has one entry. Keys are sorted.
std::string FormatVariantDocument(const VariantDocument& document);

/// Adds what another wheel of the version says. Errors: kInvalidInput for a label that stands for something
/// else, for properties that another label has, and for lists of namespaces of which none begins the other:
/// which variant is preferred must not change. Names `where`.
Result<void> MergeVariants(VariantDocument& all, const VariantDocument& one, std::string_view where);

/// "toy-1.0-variants.json": the index's document for a version; `stem` is FileName::Stem().
std::string VariantsFileName(std::string_view stem);

}  // namespace ptpkg::wheel
