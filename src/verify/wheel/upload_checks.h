#pragma once
// Checks upload rules of the Python package index. Layer: verify. Sources: pypi/warehouse
// forklift/metadata.py and packaging's metadata.py, which it calls; core metadata 2.5.

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/finding.h"
#include "model/staged_tree.h"
#include "support/env.h"

namespace ptpkg::verify {

struct UploadedFile {
  std::string_view name;  ///< File name of the wheel.
  std::uint64_t size_bytes = 0;
  std::string_view dist_info_dir;  ///< From CheckWheelContent, "": none, and there is no METADATA.
};

/// Appends warnings, and an information about a size that needs a larger allowance. `tree` is the wheel's
/// content, read through `env`. Nothing for a name or a METADATA that cannot be read: those have findings of
/// their own. Licence expressions are not compared with the list of licences. Errors: kIo.
Result<void> CheckUpload(Env& env, const UploadedFile& file, const StagedTree& tree,
                         std::vector<Finding>& findings);

}  // namespace ptpkg::verify
