#include "builder/test/test_files.h"

#include <fmt/core.h>

#include "source/walk.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

struct TestFileGlobs {
  const std::vector<std::string>& globs;
  std::string_view key;
  const AbsPath& from;
};

Result<void> CopyMatches(Env& env, const TestFileGlobs& wanted, const AbsPath& to) {
  if (wanted.globs.empty()) return Ok();
  PTPKG_TRY(const std::vector<source::WalkEntry> entries,
            source::Walk(env, wanted.from, {.sources_only = true}));
  for (const std::string& glob : wanted.globs) {
    bool matched = false;
    for (const source::WalkEntry& entry : entries) {
      if (entry.stat.kind != FileKind::kRegular || !GlobOrDirectoryMatch(glob, entry.path.str())) continue;
      matched = true;
      const AbsPath place = to / entry.path;
      PTPKG_CHECK(env.fs.MakeDirs(place.Parent()));
      PTPKG_CHECK(env.fs.CopyFile(wanted.from / entry.path, place));
    }
    if (matched) continue;
    return Error(ErrorCode::kNotFound,
                 fmt::format("'tests.files.{}' names '{}', which matches no file of '{}'", wanted.key, glob,
                             wanted.from.str()))
        .WithHint("globs match the path below that directory: \"tests/**\"");
  }
  return Ok();
}

}  // namespace

Result<void> CopyTestFiles(Env& env, const recipe::Recipe& recipe, const TestFilePlaces& places) {
  for (const recipe::Test& test : recipe.tests) {
    const auto* script = std::get_if<recipe::ScriptTest>(&test);
    if (script == nullptr || !script->HasFiles()) continue;
    PTPKG_TRY(const RelPath below, RelPath::Parse(recipe::TestFilesFolder(recipe.name, script->position)));
    const AbsPath to = places.prefix / below;
    PTPKG_CHECK(CopyMatches(env, {script->source_files, "source", places.source_root}, to));
    PTPKG_CHECK(CopyMatches(env, {script->recipe_files, "recipe", places.recipe_folder}, to));
  }
  return Ok();
}

}  // namespace ptpkg::builder
