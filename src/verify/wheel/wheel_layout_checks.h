#pragma once
// Checks the install paths of wheels. Layer: verify. Pages: docs/findings/wheel-data-*.md, wheel-symlink.md,
// wheel-byte-code.md, wheel-install-*.md, wheel-dist-info.md.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "archive/extract.h"
#include "model/finding.h"
#include "model/staged_tree.h"
#include "wheel/file_name.h"

namespace ptpkg::verify {

struct WheelPlaces {
  const wheel::FileName& name;
  std::string_view file_name;  ///< File name, as written.
  const std::string& dist_info_dir;
};

/// Appends what installers refuse about the files of `tree`, or put at different places.
void CheckWheelLayout(const WheelPlaces& places, const StagedTree& tree, std::vector<Finding>& findings);

/// The same for `members` that are directories, which a tree has only with files in them. `scripts`: made of
/// entry_points.txt.
void CheckWheelFolders(const std::vector<archive::ZipReader::Member>& members,
                       const std::set<std::string>& scripts, std::vector<Finding>& findings);

}  // namespace ptpkg::verify
