#pragma once
// Post-processes staged files between script and packaging. Layer: builder. Source: the steps of
// conda-build's post_process_files that concern every output family (research: build.py, post.py); search
// paths are elf's part, metadata conda's and wheel's.

#include <string>
#include <vector>

#include "builder/resume/work_layout.h"
#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::builder {

struct PostProcessInput {
  const recipe::Recipe& recipe;
  const WorkLayout& layout;
  std::string python;  ///< Path of the machine's interpreter behind the prefix's own; "" = none.
};

/// Selects the files of `added` for a package: without compiled Python (.pyc, .pyo, __pycache__), libtool
/// archives, version control, conda's own records, pip's direct_url.json (it names the build directory), and
/// what the recipe's build.files leaves out. A noarch python package leaves the scripts of its entry points
/// to its installer. Errors: kInvalidInput when Python files lie in a Debian-style "dist-packages" directory,
/// which no conda package and no wheel uses.
Result<std::vector<RelPath>> SelectFiles(const recipe::Recipe& recipe, const std::vector<RelPath>& added);

/// Writes bin/<name> for the entry points of a Python package that is not noarch, as conda-build does, over
/// what the script has put there. Errors: kIo.
Result<void> WriteEntryPoints(Env& env, const recipe::Recipe& recipe, const WorkLayout& layout);

/// Changes the files below `layout.prefix`, which holds nothing else:
/// - a hard link becomes a file of its own;
/// - permissions become 0755 (executable by the owner) or 0644;
/// - an absolute symlink into the prefix becomes relative;
/// - scripts that begin with the build's Python, by any of its names, begin with the prefix's;
/// - RECORD of an installed Python distribution names the files that are there, without digests;
/// - the path of the work directory becomes `layout.RootPlaceholder()`.
/// Errors: kInvalidInput for a symlink into the rest of the work directory, kIo, kCancelled.
Result<void> PostProcess(Env& env, const PostProcessInput& input);

}  // namespace ptpkg::builder
