#pragma once
// Builds the tree of a conda package. Layer: convert.

#include "convert/tree/python_layout.h"
#include "wheel/wheel.h"

namespace ptpkg::convert {

/// Links `staged` into `root` as a conda package holds it: entry-point scripts are re-made for the
/// interpreter below `prefix_placeholder`, INSTALLER says "conda", and files of .dist-info that tell of
/// the build machine are left out. RECORD comes with AddInstalledRecords, after the search paths.
Result<StagedTree> MakeCondaTree(Env& env, const StagedTree& staged, std::string_view prefix_placeholder,
                                 const AbsPath& root);

struct WheelPlacement {
  std::string site_packages;  ///< "lib/python3.11/site-packages", or "site-packages" for noarch.
  std::string prefix_placeholder;
};
/// Links an unpacked wheel into `root` as pip would install it: "<stem>.data" spread over the prefix, its
/// scripts made executable and bound to the prefix's Python, console scripts made. Errors: kInvalidInput (a
/// .data scheme that does not exist), kAlreadyExists (two files of one name).
Result<StagedTree> MakeCondaTreeOfWheel(Env& env, const StagedTree& unpacked, const wheel::WheelInfo& info,
                                        const WheelPlacement& placement, const AbsPath& root);

/// Adds RECORD to every .dist-info of `tree`, with the digests as they are now. With one distribution all
/// files are its own; with several, each owns its .dist-info and the files that `staged`'s RECORD gave it.
Result<void> AddInstalledRecords(Env& env, const StagedTree& staged, StagedTree& tree);

}  // namespace ptpkg::convert
