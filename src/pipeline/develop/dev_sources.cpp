// Which sources can follow an edit in seconds? A local directory that is used unchanged is synchronised file
// by file. The others are fixed and prepared as a whole: archives, git, patched or filtered sources, single
// files.
//
// The fingerprint of fixed sources says cheaply whether anything may have changed, by kind, size, time and
// mode of each local file. Only patches are digested. FixedKey digests the contents.

#include "pipeline/develop/dev_sources.h"

#include <fmt/core.h>

#include "recipe/recipe_codec.h"
#include "source/local_tree.h"
#include "source/override.h"
#include "source/patch_list.h"
#include "source/walk.h"
#include "support/text/json.h"

namespace ptpkg::pipeline {

namespace {

/// Path of `source` on this machine; nullopt: it is fetched.
Result<std::optional<AbsPath>> PlaceOf(const recipe::Recipe& recipe, const recipe::Source& source) {
  if (source.path.empty()) return std::optional<AbsPath>();
  PTPKG_TRY(AbsPath place, AbsPath::Resolve(recipe.recipe_dir, source.path));
  return std::optional(std::move(place));
}

/// A bare repository is refused later, as in a build.
Result<bool> IsSynchronised(Env& env, const std::optional<AbsPath>& place, const recipe::Source& source) {
  const bool is_whole = source.filter_include.empty() && source.filter_exclude.empty();
  if (!place || !source.patches.empty() || !is_whole) return false;
  PTPKG_TRY(const FileStat stat, env.fs.Stat(*place));
  if (stat.kind != FileKind::kDirectory) return false;
  PTPKG_TRY(const bool bare, source::IsBareRepository(env.fs, *place));
  return !bare;
}

/// The error of a build, if `place` of `source` does not exist. `given`: it is --source's.
Result<void> RefuseMissing(Env& env, const recipe::Recipe& recipe, const recipe::Source& source,
                           const AbsPath& place, bool given) {
  const auto stat = env.fs.Stat(place);
  if (stat || stat.error().code() != ErrorCode::kNotFound) return Ok();
  recipe::Recipe alone = recipe;
  alone.sources = {source};
  source::SourceOptions options;
  if (given) options.overrides.emplace(recipe.name, place);
  PTPKG_TRY([[maybe_unused]] const Sha256 key, source::SourceKey(env, alone, options));
  return Ok();
}

void AddStat(const std::string& path, const FileStat& stat, KeyHasher& hasher) {
  hasher.Add(path, fmt::format("{} {} {} {}", static_cast<int>(stat.kind), stat.size_bytes, stat.mtime_ns,
                               stat.mode));
}

Result<void> AddLocal(Env& env, const AbsPath& place, const std::vector<AbsPath>& left_out,
                      KeyHasher& hasher) {
  const auto stat = env.fs.Stat(place);
  if (!stat) return stat.error().code() == ErrorCode::kNotFound ? Ok() : Result<void>(stat.error());
  if (stat->kind != FileKind::kDirectory) {
    AddStat(place.str(), *stat, hasher);
    return Ok();
  }
  PTPKG_TRY(const std::vector<source::WalkEntry> entries,
            source::Walk(env, place,
                         {.sources_only = true,
                          .no_run_files = true,
                          .left_out = source::PathsBelow(env, place, left_out)}));
  for (const source::WalkEntry& entry : entries) AddStat(entry.path.str(), entry.stat, hasher);
  return Ok();
}

}  // namespace

Result<DevSources> SplitSources(Env& env, const recipe::Recipe& recipe, const std::optional<AbsPath>& given,
                                const std::vector<AbsPath>& left_out) {
  DevSources split{.fixed = recipe, .options = {.left_out = left_out}};
  split.fixed.sources.clear();
  std::vector<recipe::Source> sources = recipe.sources;
  if (sources.empty() && given) sources.emplace_back();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    PTPKG_TRY(std::optional<AbsPath> place, PlaceOf(recipe, sources[i]));
    const bool replaced = i == 0 && given.has_value();
    if (replaced) place = given;
    if (place) PTPKG_CHECK(RefuseMissing(env, recipe, sources[i], *place, replaced));
    PTPKG_TRY(const bool synchronised, IsSynchronised(env, place, sources[i]));
    if (synchronised) {
      split.synchronised.push_back({.folder = *place,
                                    .below = sources[i].target_directory,
                                    .left_out = source::PathsBelow(env, *place, left_out)});
      continue;
    }
    if (replaced) split.options.overrides.emplace(recipe.name, *given);
    split.fixed.sources.push_back(sources[i]);
  }
  return split;
}

Result<std::string> FixedFingerprint(Env& env, const DevSources& sources) {
  if (!sources.HasFixed()) return std::string();
  KeyHasher hasher;
  hasher.Add("sources", recipe::EncodeRecipe(sources.fixed).at("sources").dump());
  for (const auto& [name, place] : sources.options.overrides)
    PTPKG_CHECK(AddLocal(env, place, sources.options.left_out, hasher));
  for (const recipe::Source& source : sources.fixed.sources) {
    PTPKG_TRY(const std::optional<AbsPath> place, PlaceOf(sources.fixed, source));
    if (place) PTPKG_CHECK(AddLocal(env, *place, sources.options.left_out, hasher));
    PTPKG_TRY(const std::vector<source::PatchFile> patches, source::ListPatches(env, sources.fixed, source));
    for (const source::PatchFile& patch : patches) {
      PTPKG_TRY(const Digests digests, HashFile(env.fs, patch.file));
      hasher.Add(patch.shown, digests.sha256.Hex());
    }
  }
  return hasher.Finish().Hex();
}

Result<std::string> FixedKey(Env& env, const DevSources& sources) {
  if (!sources.HasFixed()) return std::string();
  PTPKG_TRY(const Sha256 key, source::SourceKey(env, sources.fixed, sources.options));
  return key.Hex();
}

}  // namespace ptpkg::pipeline
