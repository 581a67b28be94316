#pragma once
// Builds the tree of a conda package. Layer: convert.

#include "convert/tree/python_layout.h"
#include "wheel/wheel.h"

namespace ptpkg::convert {

/// Links `staged` into `root` in the layout of a conda package. Regenerates entry-point scripts for the
/// interpreter below `prefix_placeholder`, sets INSTALLER to "conda", and leaves out files of .dist-info that
/// reveal the build machine. Call AddInstalledRecords for RECORD, after the search paths.
Result<StagedTree> MakeCondaTree(Env& env, const StagedTree& staged, std::string_view prefix_placeholder,
                                 const AbsPath& root);

struct WheelPlacement {
  std::string site_packages;  ///< "lib/python3.11/site-packages", or "site-packages" for noarch.
  std::string prefix_placeholder;
};
/// Links an unpacked wheel into `root` as pip would install it. Spreads "<stem>.data" over the prefix, makes
/// its scripts executable and binds them to the prefix's Python, and makes console scripts. Errors:
/// kInvalidInput (a .data scheme that does not exist), kAlreadyExists (two files of one name).
Result<StagedTree> MakeCondaTreeOfWheel(Env& env, const StagedTree& unpacked, const wheel::WheelInfo& info,
                                        const WheelPlacement& placement, const AbsPath& root);

/// Adds RECORD to every .dist-info of `tree`, with the current digests. A single distribution owns all files.
/// Among several, each owns its .dist-info and the files that `staged`'s RECORD lists for it.
Result<void> AddInstalledRecords(Env& env, const StagedTree& staged, StagedTree& tree);

}  // namespace ptpkg::convert
