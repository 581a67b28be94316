#pragma once
// Search paths of files and trees that the user names: `ptpkg relink`. Layer: pipeline.

#include <optional>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::pipeline {

struct RelinkRequest {
  std::vector<AbsPath> paths;                           ///< ELF files, or folders searched for them.
  std::string layout;                                   ///< Built-in layout, for folders.
  std::optional<std::vector<std::string>> search_path;  ///< The same for every file: "--set-rpath".
  bool use_rpath_tag = false;                           ///< With search_path: DT_RPATH instead of DT_RUNPATH.
  bool plan_only = false;
};

/// One file's change, in words.
struct RelinkItem {
  AbsPath file = AbsPath::Literal("/nonexistent");
  std::string old_tag;  ///< "rpath", "runpath", or "" when the file had none.
  std::string old_path;
  std::string new_tag;
  std::string new_path;
  std::string tier;  ///< "nothing", "in place", "spare entry", "append"
  std::uint64_t bytes_to_write = 0;
  std::uint64_t bytes_grown = 0;
};

/// Plans, and unless `plan_only` applies, the new search paths; items in order of paths.
/// With neither layout nor search_path, absolute entries below a given folder become relative to $ORIGIN.
/// Errors: kUsage (layout for a single file, layout together with a path), kNotFound, and those of elf/.
Result<std::vector<RelinkItem>> Relink(Env& env, const RelinkRequest& request);

/// Names of the built-in layouts.
std::vector<std::string> LayoutNames();

}  // namespace ptpkg::pipeline
