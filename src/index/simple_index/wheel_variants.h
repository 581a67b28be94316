#pragma once
// Variant documents (PEP 825) of a simple index. Layer: index. Source: PEP 825 "Index-level metadata"; the
// format is that of wheel/variant.h.

#include <map>
#include <string>
#include <vector>

#include "support/digest/hash.h"
#include "support/text/json_fwd.h"
#include "wheel/variant.h"
#include "wheel/wheel.h"

namespace ptpkg::index {

/// "toy-1.0-variants.json": what each label stands for among the wheels of a version.
struct VariantsFile {
  std::string file_name;
  std::string stem;     ///< wheel::FileName::Stem() of those wheels.
  std::string project;  ///< PEP 503 normal form.
  std::string text;
};

/// Collects what the variant wheels of a directory say.
class WheelVariants {
 public:
  /// Nothing for a wheel without label. Errors: as wheel::MergeVariants, for a wheel that contradicts
  /// one that was added before; it is not added then.
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

/// Adds those of `files` to a project's page that are about a variant wheel on it. Errors: those of
/// AddToProjectPage.
Result<void> AddVariantsToPage(Json& page, const std::vector<VariantsFile>& files);

/// True if a file of that name can be a variants document.
bool IsVariantsFileName(const std::string& name);

}  // namespace ptpkg::index
