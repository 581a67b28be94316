#pragma once
// Parses and formats wheel file names. Layer: wheel. Source: PyPA binary distribution format, "File name
// convention" and "Escaping and Unicode"; PEP 825 for the label of a variant.

#include <string>
#include <string_view>

#include "support/result.h"
#include "wheel/metadata/core_metadata.h"
#include "wheel/tag.h"

namespace ptpkg::wheel {

struct FileName {
  std::string name;          ///< Normalised, '_' between words.
  std::string version;       ///< Normalised PEP 440.
  std::string build;         ///< "" or digit first.
  Tag tag;                   ///< Sets sorted.
  std::string variant = {};  ///< Label (wheel/variant.h); "": a wheel like any other.

  /// The canonical file name; Parse(str()) gives the same value.
  [[nodiscard]] std::string str() const;
  /// "<name>-<version>", the stem of the .dist-info and .data directories.
  [[nodiscard]] std::string Stem() const { return name + "-" + version; }
  /// Takes names that are not in normal form too, and normalises them: compare str() with the text to
  /// tell. Errors: kInvalidInput naming the part that is wrong.
  static Result<FileName> Parse(std::string_view file_name);

  /// Name and version of the distribution that `metadata` describes; no build, no tag. Errors: kInvalidInput.
  static Result<FileName> Of(const CoreMetadata& metadata);

  bool operator==(const FileName&) const = default;
};

}  // namespace ptpkg::wheel
