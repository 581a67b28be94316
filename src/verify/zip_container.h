#pragma once
// The zip that an artifact is: as its strictest readers see it, and unpacked. Layer: verify. Source:
// archive/zip_strict.h.

#include <optional>
#include <string_view>
#include <vector>

#include "model/finding.h"
#include "model/staged_tree.h"
#include "support/env.h"

namespace ptpkg::verify {

/// How a kind of artifact takes what strict readers refuse.
struct ContainerRule {
  std::string_view id;  ///< Of the findings.
  std::string_view fix;
  /// Of what readers refuse and nobody reads otherwise. Where readers part, people get other files, and that
  /// is an error in any artifact.
  Severity where_readers_agree = Severity::kError;
};

/// Appends a finding by `rule` for each problem of `zip`. Errors: those of reading.
Result<void> CheckZipContainer(Env& env, const AbsPath& zip, const ContainerRule& rule,
                               std::vector<Finding>& findings);

/// Unpacks any zip into the existing, empty `folder`. nullopt, and a finding, when that cannot be done; a
/// tree without entries is a zip without files. Errors: kIo, kCancelled.
Result<std::optional<StagedTree>> UnpackZip(Env& env, const AbsPath& zip, const AbsPath& folder,
                                            std::vector<Finding>& findings);

}  // namespace ptpkg::verify
