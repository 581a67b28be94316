#pragma once
// Splits a recipe with outputs into one recipe per output. Layer: recipe. Source: CEP 14 (outputs, what they
// take from the top level) and CEP 41 (staging outputs); where these leave it open, as rattler-build merges.

#include <vector>

#include "recipe/document/document.h"

namespace ptpkg::recipe {

struct OutputDocument {
  /// Input of Evaluate: the output's keys, and the top-level keys that it takes. A staging output has its
  /// name under `package` too.
  Document document;
  bool staging = false;
  SourceSpan span = {};  ///< Place of the item of `outputs`.
};

/// One for each item of `outputs`, in its order; for a recipe without `outputs`, the recipe itself. An output
/// takes `context`, `recipe.version` and `extra`. It also takes each key of `about` and `build` that it does
/// not have itself, mappings below them alike. `skip` holds when either holds. Sources and tests of the top
/// level come before its own. An output that inherits from a staging output does not take the script, the
/// sources and the tests. A staging output takes `context`, `recipe.version`, `extra` and the sources.
std::vector<OutputDocument> OutputDocuments(const Document& document);

/// `over` on top of `base`, both mappings: its keys win. If both have a mapping, these are merged alike,
/// except for `script` and `files`, whose keys belong together.
Node MergeNodes(const Node& base, const Node& over);

}  // namespace ptpkg::recipe
