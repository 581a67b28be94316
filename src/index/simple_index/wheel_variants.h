#pragma once
// Variant documents (PEP 825) of a simple index. Layer: index. Source: PEP 825 "Index-level metadata", in the
// format of wheel/variant.h.

#include <map>
#include <string>
#include <vector>

#include "support/digest/hash.h"
#include "support/text/json_fwd.h"
#include "wheel/variant.h"
#include "wheel/wheel.h"

namespace ptpkg::index {

/// "toy-1.0-variants.json": the meaning of each label among the wheels of a version.
struct VariantsFile {
  std::string file_name;
  std::string stem;     ///< wheel::FileName::Stem() of its wheels.
  std::string project;  ///< PEP 503 normal form.
  std::string text;
};

/// Collects the variant data of the wheels of a directory.
class WheelVariants {
 public:
  /// Adds nothing for a wheel without label. Errors: as wheel::MergeVariants, for a wheel that contradicts an
  /// earlier one; it is then not added.
  Result<void> Add(const wheel::WheelInfo& info);
  /// Sorted by name.
  [[nodiscard]] std::vector<VariantsFile> Files() const;

 private:
  struct OfVersion {
    std::string project;
    wheel::VariantDocument document;
  };
  std::map<std::string, OfVersion> versions_;  // by stem
};

/// Adds the `files` that describe a variant wheel on a project's page to that page. Errors: as
/// AddToProjectPage.
Result<void> AddVariantsToPage(Json& page, const std::vector<VariantsFile>& files);

/// True if a file of that name can be a variants document.
bool IsVariantsFileName(const std::string& name);

}  // namespace ptpkg::index
