// Built files contain paths of the build directory, and their layout depends on the length of these paths.
// Padding every root to the same length makes two builds in different directories equal, once a placeholder
// replaces the path.
//
// conda's relocation needs a prefix of 255 characters, so the rest of that length pads the prefix's own name.
// HOME and TMPDIR stay short: sockets below them have at most 107 characters.
//
// The real path is used, without symlinks. CMake writes real paths into files, and one that differs from ours
// would be neither found nor replaced.

#include "builder/resume/work_layout.h"

#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

/// `head` and then `filler` again and again, cut to `length` characters; never ends in '/'.
std::string Filled(std::string head, std::string_view filler, std::size_t length) {
  while (head.size() < length) head += filler;
  head.resize(length);
  if (head.back() == '/') head.back() = '_';
  return head;
}

constexpr std::string_view kPrefixName = "/h_env";
constexpr std::string_view kPlacehold =
    "_placehold";  // conda-build's word, known to those who look for leaks
constexpr std::string_view kRootName = "/w";
constexpr int kMaxLinks = 40;  // as the kernel's limit

/// `path` without symlinks: CMake and others write the real path of their directories, and one that is longer
/// than ours would not be found again.
Result<AbsPath> RealPath(Fs& fs, const AbsPath& path) {
  AbsPath todo = path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    AbsPath done = AbsPath::Literal("/");
    bool changed = false;
    const std::vector<std::string> parts = Split(std::string_view(todo.str()).substr(1), '/');
    for (std::size_t i = 0; i < parts.size() && !changed; ++i) {
      if (parts[i].empty()) continue;
      const AbsPath next = done / parts[i];
      PTPKG_TRY(const FileStat stat, fs.Lstat(next));
      if (stat.kind != FileKind::kSymlink) {
        done = next;
        continue;
      }
      PTPKG_TRY(std::string target, fs.ReadLink(next));
      for (std::size_t rest = i + 1; rest < parts.size(); ++rest) target += "/" + parts[rest];
      PTPKG_TRY(todo, AbsPath::Resolve(done, target));
      changed = true;
    }
    if (!changed) return done;
  }
  return Error(ErrorCode::kIo, fmt::format("too many symlinks lead to '{}'", path.str()));
}

}  // namespace

std::string WorkLayout::RootPlaceholder() const {
  return Filled("/opt/ptpkg_build_root", kPlacehold, root.str().size());
}

std::string WorkLayout::PrefixPlaceholder() const {
  return RootPlaceholder() + prefix.str().substr(root.str().size());
}

Result<void> CheckWorkFolder(const AbsPath& work_dir) {
  constexpr std::string_view kRefused = " \t\n\"'`\\$#%&*?!;:,=<>|(){}[]^";
  const std::size_t at = work_dir.str().find_first_of(kRefused);
  if (at == std::string::npos) return Ok();
  const char bad = work_dir.str()[at];
  const std::string what = bad == ' '  ? "a blank"
                           : bad < ' ' ? "a control character"
                                       : fmt::format("a '{}'", bad);
  return Error(ErrorCode::kInvalidInput,
               fmt::format(
                   "the path of the work directory, '{}', contains {}: compilers and make cannot work there",
                   work_dir.str(), what))
      .WithHint("use --cache-dir DIR with a path of letters, digits, '/', '.', '-' and '_'");
}

Result<WorkLayout> MakeWorkLayout(Env& env, const AbsPath& work_dir) {
  PTPKG_TRY(const AbsPath real, RealPath(env.fs, work_dir), "while creating the work directory");
  PTPKG_CHECK(CheckWorkFolder(real));
  WorkLayout layout;
  const std::size_t shortest = real.str().size() + kRootName.size();
  const std::size_t length = std::max(kRootLength, shortest);
  if (shortest > kRootLength) {
    env.reporter.Warn(fmt::format(
        "the path of the work directory has {} characters; above {}, build results can depend on it",
        real.str().size(), kRootLength - kRootName.size()));
  }
  layout.root = AbsPath::Literal(Filled(real.str() + std::string(kRootName), kPlacehold, length));
  layout.prefix = AbsPath::Literal(Filled(layout.root.str() + std::string(kPrefixName), kPlacehold,
                                          std::max(kPrefixLength, length + kPrefixName.size())));
  layout.source = layout.root / kSourceFolderName;
  layout.recipe_copy = layout.root / "recipe";
  layout.build_prefix = layout.root / "build_env";
  // Not below the padded root: sockets in them have short paths only.
  layout.home = real / "home";
  layout.temp = real / "tmp";
  for (const AbsPath& folder : {layout.root, layout.prefix, layout.build_prefix, layout.home, layout.temp}) {
    PTPKG_CHECK(env.fs.MakeDirs(folder));
  }
  return layout;
}

std::string SearchPathPad() {
  // Components stay below the 255 bytes that a file name may have, so that a loader just finds nothing.
  std::string pad = "/ptpkg-search-path-pad";
  while (pad.size() < 640) pad += "/" + std::string(102, 'x');
  return pad;
}

}  // namespace ptpkg::builder
