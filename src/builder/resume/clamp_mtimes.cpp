// The prefixes are made anew in each run, and make would compile everything again because their files are
// newer than the objects. Their content is in the key, so ptpkg gives the files that this run wrote one fixed
// old time. Files with an older time keep it: it comes from their package, and compiled Python refers to it.
// A file with a second name shares its time with another place. docs/decisions/0012-resuming-a-build.md
// explains the date.

#include "builder/resume/clamp_mtimes.h"

#include "source/walk.h"

namespace ptpkg::builder {

Result<void> ClampMtimes(Env& env, const WorkLayout& layout, std::int64_t began_ns) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  for (const AbsPath& folder : {layout.prefix, layout.build_prefix, layout.recipe_copy}) {
    const bool all = folder == layout.recipe_copy;
    PTPKG_TRY(const bool there, Exists(env.fs, folder));
    if (!there) continue;
    PTPKG_TRY(const std::vector<source::WalkEntry> files, source::Walk(env, folder));
    for (const source::WalkEntry& file : files) {
      const bool made_now = file.stat.mtime_ns >= began_ns && file.stat.link_count < 2;
      if (!all && !made_now) continue;
      PTPKG_CHECK(env.fs.SetMtime(folder / file.path, kStableTime * kNsPerSecond));
    }
  }
  return Ok();
}

}  // namespace ptpkg::builder
