#pragma once
// Directory layout of one build. Layer: builder.

#include <string>
#include <string_view>

#include "support/env.h"

namespace ptpkg::builder {

/// Names below WorkLayout::root: of EnvironmentFile() and of `source`.
inline constexpr std::string_view kEnvironmentFileName = "build_env_setup.sh";
inline constexpr std::string_view kSourceFolderName = "work";

/// Every path that can enter a built file lies below `root`. The path of `root` has the same length for every
/// work directory. So a file that holds it has the same layout wherever it was built, and a placeholder of
/// that length can replace it.
struct WorkLayout {
  AbsPath root = AbsPath::Literal("/nonexistent");
  AbsPath source = AbsPath::Literal("/nonexistent");        ///< SRC_DIR. Created by source::Prepare.
  AbsPath prefix = AbsPath::Literal("/nonexistent");        ///< PREFIX; its path has 255 characters.
  AbsPath build_prefix = AbsPath::Literal("/nonexistent");  ///< BUILD_PREFIX: tools, from a conda client.
  AbsPath recipe_copy = AbsPath::Literal("/nonexistent");   ///< RECIPE_DIR. Created by CopyRecipeFolder.
  AbsPath home = AbsPath::Literal("/nonexistent");          ///< HOME of the script.
  AbsPath temp = AbsPath::Literal("/nonexistent");          ///< TMPDIR: short, for sockets.

  /// The environment of the script, for bash (environment_file.h).
  [[nodiscard]] AbsPath EnvironmentFile() const { return root / kEnvironmentFileName; }
  /// Placeholder for `root` in staged files, as long as `root`'s path.
  [[nodiscard]] std::string RootPlaceholder() const;
  /// Placeholder for `prefix` in staged files; begins with RootPlaceholder().
  [[nodiscard]] std::string PrefixPlaceholder() const;
};

/// make splits a path at a blank, PATH at ':', CMake at ';', -Wl at ',' and a prefix map at '='. Shells and
/// make expand other characters. No quoting works for all of them, so ptpkg refuses such a directory before
/// it copies anything. Errors: kInvalidInput naming the character.
Result<void> CheckWorkFolder(const AbsPath& work_dir);

/// Makes the missing directories (all but `source` and `recipe_copy`) below the existing directory
/// `work_dir`. If the path is too long to keep the lengths, it warns that the results differ from builds in
/// other directories. Errors: as CheckWorkFolder, kIo.
Result<WorkLayout> MakeWorkLayout(Env& env, const AbsPath& work_dir);

/// Path of conda's placeholder prefix: 255 characters (conda-build config.py DEFAULT_PREFIX_LENGTH).
inline constexpr std::size_t kPrefixLength = 255;
/// Length of WorkLayout::root's path. Leaves 79 characters for the prefix's own name, and any work directory
/// of up to 174 characters.
inline constexpr std::size_t kRootLength = 176;

/// The absolute directory that fills the run-time search path of everything linked in a build, so that any
/// later search path fits in its place. It does not exist on any machine. In a finished artifact it is an
/// error. At least 640 characters (docs/formats/build-environment.md).
std::string SearchPathPad();

}  // namespace ptpkg::builder
