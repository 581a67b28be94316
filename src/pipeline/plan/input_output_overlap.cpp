// An output directory inside a source would change that source with every build. So output and cache may not
// be a source themselves. An output directory inside a source is left out of it, and then must hold nothing
// of the user's: it is empty or was made by ptpkg.
//
// Real paths are compared. The output may not exist yet, so only its existing part is resolved.

#include "pipeline/plan/input_output_overlap.h"

#include <array>
#include <fmt/core.h>

namespace ptpkg::pipeline {

AbsPath ResolveExistingPart(Env& env, const AbsPath& path) {
  std::vector<std::string> missing;
  AbsPath there = path;
  while (true) {
    const auto real = env.fs.RealPath(there.str());
    if (real || there == there.Parent()) {
      AbsPath place = real ? *real : there;
      for (auto name = missing.rbegin(); name != missing.rend(); ++name) place = place / *name;
      return place;
    }
    missing.emplace_back(there.Name());
    there = there.Parent();
  }
}

std::vector<AbsPath> LocalSources(const recipe::Recipe& recipe, const std::optional<AbsPath>& given) {
  std::vector<AbsPath> places;
  if (given) places.push_back(*given);
  for (const recipe::Source& source : recipe.sources) {
    if (source.path.empty() || (given && &source == &recipe.sources.front())) continue;
    const auto path = AbsPath::Resolve(recipe.recipe_dir, source.path);
    if (path) places.push_back(*path);
  }
  return places;
}

std::optional<AbsPath> LocalSource(const recipe::Recipe& recipe, const std::optional<AbsPath>& given) {
  std::vector<AbsPath> places = LocalSources(recipe, given);
  return places.empty() ? std::nullopt : std::optional(std::move(places.front()));
}

namespace {

/// The output directory is left out of a source that it lies in: it has to be one of ours, or empty.
Result<void> CheckOutputInside(Env& env, const AbsPath& source, const AbsPath& output) {
  if (!output.IsWithin(source)) return Ok();
  const auto names = env.fs.ListDir(output);
  if (!names || names->empty()) return Ok();
  PTPKG_TRY(const bool is_ours, Exists(env.fs, output / ".ptpkg"));
  if (is_ours) return Ok();
  return Error(ErrorCode::kUsage, fmt::format("the output directory '{}' is inside the source and contains "
                                              "other files, which the build would not see",
                                              output.str()))
      .WithHint("choose another directory: --output DIR");
}

}  // namespace

Result<void> CheckOutputOutsideInputs(Env& env, const AbsPath& output, const recipe::Recipe& recipe,
                                      const std::optional<AbsPath>& source_override) {
  struct Place {
    const char* what;
    const AbsPath& path;
    const char* option;
  };
  const std::array<Place, 2> places = {
      {{"output", output, "--output DIR"}, {"cache", env.cache_dir, "--cache-dir DIR"}}};
  for (const AbsPath& folder : LocalSources(recipe, source_override)) {
    const auto stat = env.fs.Stat(folder);
    if (!stat && stat.error().code() != ErrorCode::kNotFound) return stat.error();
    if (!stat || stat->kind != FileKind::kDirectory) continue;
    const AbsPath source = ResolveExistingPart(env, folder);
    for (const Place& place : places) {
      if (ResolveExistingPart(env, place.path) != source) continue;
      return Error(ErrorCode::kUsage, fmt::format("the {} directory '{}' is also the source of '{}'",
                                                  place.what, place.path.str(), recipe.name))
          .WithHint(fmt::format("choose another directory: {}", place.option));
    }
    PTPKG_CHECK(CheckOutputInside(env, source, ResolveExistingPart(env, output)));
  }
  return Ok();
}

std::vector<AbsPath> OutputPlacesBelow(Env& env, const AbsPath& folder, const AbsPath& output) {
  std::vector<AbsPath> places;
  for (const AbsPath& path : {output, env.cache_dir}) {
    const AbsPath place = ResolveExistingPart(env, path);
    const AbsPath real = ResolveExistingPart(env, folder);
    const auto below = place.RelativeTo(real);
    if (below) places.push_back(folder / *below);
    if (place == real) places.push_back(folder);
  }
  return places;
}

}  // namespace ptpkg::pipeline
