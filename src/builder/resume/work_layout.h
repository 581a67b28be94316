#pragma once
// Directory layout of one build. Layer: builder.

#include <string>
#include <string_view>

#include "support/env.h"

namespace ptpkg::builder {

/// Names below WorkLayout::root: of EnvironmentFile(), of `source`.
inline constexpr std::string_view kEnvironmentFileName = "build_env_setup.sh";
inline constexpr std::string_view kSourceFolderName = "work";

/// Everything whose path may enter a built file lies below `root`, whose path has the same length for
/// every work directory: so a file that holds it has the same layout wherever it was built, and a text of
/// that length can stand in for it.
struct WorkLayout {
  AbsPath root = AbsPath::Literal("/nonexistent");
  AbsPath source = AbsPath::Literal("/nonexistent");        ///< SRC_DIR. Not made: source::Prepare does.
  AbsPath prefix = AbsPath::Literal("/nonexistent");        ///< PREFIX; its path has 255 characters.
  AbsPath build_prefix = AbsPath::Literal("/nonexistent");  ///< BUILD_PREFIX: tools, of a conda client.
  AbsPath recipe_copy = AbsPath::Literal("/nonexistent");   ///< RECIPE_DIR. Not made: CopyRecipeFolder does.
  AbsPath home = AbsPath::Literal("/nonexistent");          ///< HOME of the script.
  AbsPath temp = AbsPath::Literal("/nonexistent");          ///< TMPDIR: short, for sockets.

  /// The environment of the script, for bash (environment_file.h).
  [[nodiscard]] AbsPath EnvironmentFile() const { return root / kEnvironmentFileName; }
  /// `root` as it is called in staged files; as long as `root`'s path.
  [[nodiscard]] std::string RootPlaceholder() const;
  /// `prefix` as it is called in staged files; begins with RootPlaceholder().
  [[nodiscard]] std::string PrefixPlaceholder() const;
};

/// make splits a path at a blank, PATH at ':', CMake at ';', -Wl at ',' and a prefix map at '='; shells and
/// make expand others. No quoting holds for all of them, so such a directory is refused before anything is
/// copied. Errors: kInvalidInput naming the character.
Result<void> CheckWorkFolder(const AbsPath& work_dir);

/// Makes the directories (all but `source` and `recipe_copy`) below the existing directory `work_dir`, where
/// they are missing. A work directory with a path so long that the lengths cannot be kept is allowed, with a
/// warning that its results differ from those made elsewhere. Errors: CheckWorkFolder's, kIo.
Result<WorkLayout> MakeWorkLayout(Env& env, const AbsPath& work_dir);

/// Path of conda's placeholder prefix: 255 characters (conda-build config.py DEFAULT_PREFIX_LENGTH).
inline constexpr std::size_t kPrefixLength = 255;
/// Length of WorkLayout::root's path. Leaves 79 characters for the prefix's own name, and any work directory
/// of up to 170 characters.
inline constexpr std::size_t kRootLength = 176;

/// The absolute directory that fills the run-time search path of everything that is linked in a build, so
/// that any later search path fits in its place. It does not exist on any machine; one left in a finished
/// artifact is an error. 640 characters or more (docs/formats/build-environment.md).
std::string SearchPathPad();

}  // namespace ptpkg::builder
