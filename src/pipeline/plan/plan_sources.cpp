// The place of a source must not be in the key of a build: another mirror, tag or clone of the same bytes
// builds nothing again. So the node has the source's key as input, and the place as an option. A place on
// this machine must not reach a package either. HidePlaces writes the declared repository, or a neutral name,
// into the recipe that packages contain.
//
// The order matters: --source replaces the first source, then names become commits (ResolveGit), then places
// are hidden. Staging outputs are resolved the same way, and heirs share the result.
//
// A local source may contain the output directory, the cache or the recipe itself. These are excluded, or
// each build would change its own input. A recipe or variant file that a script names stays, since the build
// may read it. Paths are compared as real paths, and a symlink counts by its own place and by its target.

#include "pipeline/plan/plan_sources.h"

#include <algorithm>
#include <fmt/core.h>
#include <limits>
#include <memory>
#include <set>

#include "pipeline/plan/input_output_overlap.h"
#include "recipe/git_url.h"
#include "recipe/recipe_codec.h"
#include "source/git_resolve.h"
#include "source/override.h"
#include "source/prepare.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

/// True if --source `name` means the recipe or a staging output that it inherits.
bool IsOverridden(const recipe::Recipe& recipe, const std::string& name) {
  return source::OverrideApplies(recipe, name) ||
         (recipe.inherited != nullptr && IsOverridden(*recipe.inherited, name));
}

}  // namespace

Result<void> CheckSources(const BuildRequest& request, const std::vector<recipe::Recipe>& recipes) {
  std::set<std::string> known;
  for (const recipe::Recipe& recipe : recipes) {
    for (const std::string& name : {recipe.name, recipe.recipe_name, std::string(recipe.recipe_dir.Name())}) {
      if (IsOverridden(recipe, name)) known.insert(name);
    }
  }
  known.erase("");
  const std::vector<std::string> names(known.begin(), known.end());
  std::set<std::string> given;
  for (const auto& source : request.sources) given.insert(source.first);
  for (const auto& source : request.git_sources) given.insert(source.first);
  for (const std::string& name : given) {
    const bool applies = std::any_of(recipes.begin(), recipes.end(), [&](const recipe::Recipe& recipe) {
      return IsOverridden(recipe, name);
    });
    if (applies) continue;
    const auto heir = std::find_if(recipes.begin(), recipes.end(), [&](const recipe::Recipe& recipe) {
      return recipe.name == name && recipe.inherited != nullptr;
    });
    if (heir != recipes.end()) {
      return Error(ErrorCode::kUsage, fmt::format("--source '{}': this output has no sources", name))
          .WithHint(fmt::format(
              "it inherits '{0}': use --source {1}=…", heir->inherited->name,
              heir->recipe_name.empty() ? std::string(heir->recipe_dir.Name()) : heir->recipe_name));
    }
    Error error(ErrorCode::kUsage, fmt::format("--source '{}' matches no recipe", name));
    if (const auto nearest = NearestMatch(name, names)) {
      return std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest));
    }
    return std::move(error).WithHint(fmt::format("the recipes are: {}", Join(names, ", ")));
  }
  return Ok();
}

std::optional<AbsPath> SourceOverride(const BuildRequest& request, const recipe::Recipe& recipe) {
  for (const auto& [name, path] : request.sources) {
    if (source::OverrideApplies(recipe, name)) return path;
  }
  return std::nullopt;
}

namespace {

void TakeGitSources(const BuildRequest& request, std::vector<recipe::Recipe>& recipes) {
  for (const auto& [name, git] : request.git_sources) {
    for (recipe::Recipe& recipe : recipes) {
      if (!source::OverrideApplies(recipe, name)) continue;
      if (recipe.sources.empty()) recipe.sources.emplace_back();
      recipe::Source& first = recipe.sources.front();
      recipe::GitSource taken = first.git;  // lfs and submodules stay
      taken.url = git.url;
      taken.rev = git.rev;
      // They name commits of the declared repository, not of this one.
      for (std::string* old : {&taken.tag, &taken.branch, &taken.expected_commit}) old->clear();
      first = {.target_directory = first.target_directory,
               .patches = first.patches,
               .git = std::move(taken),
               .span = first.span};
    }
  }
}

/// `declared`: the repository that each recipe names first, or "".
Result<void> HidePlaces(const BuildRequest& request, const std::vector<std::string>& declared,
                        std::vector<recipe::Recipe>& recipes) {
  for (const auto& [name, git] : request.git_sources) {
    for (std::size_t i = 0; i < recipes.size(); ++i) {
      recipe::Recipe& recipe = recipes[i];
      // If two names mean one recipe, the later one counts.
      if (!source::OverrideApplies(recipe, name) || recipe.sources.front().git.url != git.url) continue;
      PTPKG_TRY(const recipe::GitUrl url, recipe::ParseGitUrl(git.url, recipe.recipe_dir));
      if (!url.is_local) continue;
      const std::string& package = recipe.recipe_name.empty() ? recipe.name : recipe.recipe_name;
      recipe.sources.front().git.url = declared[i].empty() ? "./" + package : declared[i];
    }
  }
  return Ok();
}

}  // namespace

Result<void> ResolveSources(Env& env, const BuildRequest& request, std::vector<recipe::Recipe>& recipes) {
  std::vector<std::string> declared;
  for (const recipe::Recipe& recipe : recipes)
    declared.push_back(recipe.sources.empty() ? "" : recipe.sources.front().git.url);
  TakeGitSources(request, recipes);
  PTPKG_CHECK(source::ResolveGit(env, request.sources, recipes));
  PTPKG_CHECK(HidePlaces(request, declared, recipes));
  std::vector<std::size_t> heirs;
  std::vector<recipe::Recipe> staging;
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    if (recipes[i].inherited == nullptr) continue;
    heirs.push_back(i);
    staging.push_back(*recipes[i].inherited);
  }
  if (heirs.empty()) return Ok();
  PTPKG_CHECK(ResolveSources(env, request, staging));
  for (std::size_t i = 0; i < heirs.size(); ++i) {
    // Shared by all who copy the recipe, as when it was rendered; nobody changes it any more.
    recipes[heirs[i]].inherited = std::make_shared<const recipe::Recipe>(std::move(staging[i]));
  }
  return Ok();
}

std::vector<recipe::Source> SourcesToFetch(const BuildRequest& request, const recipe::Recipe& recipe) {
  std::vector<recipe::Source> sources = recipe.sources;
  for (const auto& [name, git] : request.git_sources) {
    if (source::OverrideApplies(recipe, name)) sources.front().git.url = git.url;
  }
  return sources;
}

SourceExclusions FindSourceExclusions(Env& env, const BuildRequest& request, const recipe::Recipe& recipe,
                                      const std::optional<AbsPath>& given,
                                      const std::vector<std::string>& texts) {
  std::vector<AbsPath> roots;
  for (const AbsPath& folder : LocalSources(recipe, given)) roots.push_back(ResolveExistingPart(env, folder));
  std::set<AbsPath> paths;
  std::set<std::string> names;
  const auto add = [&](const AbsPath& place, bool is_named) {
    for (const AbsPath& root : roots) {
      const Result<RelPath> below = place.RelativeTo(root);
      if (!below) continue;
      paths.insert(place);
      if (is_named) names.insert(below->str());
    }
  };
  std::vector<AbsPath> files = request.variant_files;
  if (files.empty()) {
    for (const char* name : recipe::kVariantFileNames) files.push_back(recipe.recipe_dir / name);
  }
  files.push_back(recipe.recipe_file);
  files.push_back(recipe.recipe_dir / recipe::kSettingsFileName);
  for (const AbsPath& file : files) {
    const bool named = std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return text.find(file.Name()) != std::string::npos;
    });
    if (named) continue;
    add(ResolveExistingPart(env, file.Parent()) / file.Name(), true);
    add(ResolveExistingPart(env, file), true);  // another one for a symlink
  }
  for (const RelPath& path : request.not_sources) {
    if (given) add(roots.front() / path, true);
  }
  // Both change while the build runs, and are elsewhere on another machine.
  add(ResolveExistingPart(env, request.output), false);
  add(ResolveExistingPart(env, env.cache_dir), false);
  return {.paths = {paths.begin(), paths.end()}, .names = {names.begin(), names.end()}};
}

namespace {

std::string SourceExclusionName(std::size_t i) { return fmt::format("left out {}", i); }

}  // namespace

void SetSourceExclusions(graph::Node& node, const std::vector<AbsPath>& left_out) {
  for (std::size_t i = 0; i < left_out.size(); ++i)
    node.places.insert_or_assign(SourceExclusionName(i), left_out[i]);
}

std::vector<AbsPath> ReadSourceExclusions(const graph::NodeRun& run) {
  std::vector<AbsPath> left_out;
  for (auto place = run.Place(SourceExclusionName(0)); place;
       place = run.Place(SourceExclusionName(left_out.size()))) {
    left_out.push_back(*place);
  }
  return left_out;
}

void SetSources(graph::Node& node, const BuildRequest& request, const recipe::Recipe& recipe) {
  if (recipe.sources.empty()) return;
  const std::vector<recipe::Source> sources = SourcesToFetch(request, recipe);
  node.options.insert_or_assign("sources", DumpJson(recipe::EncodeSources(sources)));
  Json spans = Json::array();
  for (const recipe::Source& source : sources) {
    spans.push_back({{"file", source.span.file.str()},
                     {"line", source.span.line},
                     {"column", source.span.column},
                     {"length", source.span.length},
                     {"excerpt", source.span.excerpt.str()}});
  }
  node.options.insert_or_assign("source spans", DumpJson(spans));
}

namespace {

/// Reads the sources' places in their recipe.
Result<void> ReadSpans(const graph::NodeRun& run, const std::string& where,
                       std::vector<recipe::Source>& sources) {
  PTPKG_TRY(const Json json, ParseJson(run.Option("source spans"), where));
  if (!json.is_array() || json.size() != sources.size()) {
    return Error(ErrorCode::kInvalidInput, fmt::format("{} have other places than sources", where));
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    SourceSpan& span = sources[i].span;
    PTPKG_TRY(span.file, JsonString(json[i], "file", where));
    PTPKG_TRY(span.excerpt, JsonString(json[i], "excerpt", where));
    for (const auto& [name, field] : {std::pair("line", &span.line), std::pair("column", &span.column),
                                      std::pair("length", &span.length)}) {
      PTPKG_TRY(const std::int64_t value, JsonInteger(json[i], name, where));
      *field = static_cast<int>(std::clamp<std::int64_t>(value, 1, std::numeric_limits<int>::max()));
    }
  }
  return Ok();
}

}  // namespace

Result<std::vector<recipe::Source>> ReadSources(const graph::NodeRun& run) {
  if (!run.Has("sources")) return std::vector<recipe::Source>();
  const std::string where = fmt::format("the sources of '{}' in its plan", run.subject());
  PTPKG_TRY(const Json json, ParseJson(run.Option("sources"), where));
  PTPKG_TRY(std::vector<recipe::Source> sources, recipe::DecodeSources(json, where));
  if (run.Has("source spans")) PTPKG_CHECK(ReadSpans(run, where, sources));
  return sources;
}

std::string SourceCommit(const graph::NodeRun& run, const std::vector<recipe::Source>& sources) {
  return sources.empty() || run.Place("source") ? "" : sources.front().git.commit;
}

Result<void> AddSource(Env& env, const std::string& name, const std::string& value, BuildRequest& request) {
  PTPKG_TRY(const source::Override taken, source::ParseOverride(env, value));
  if (request.sources.contains(name) || request.git_sources.contains(name)) {
    return Error(ErrorCode::kUsage, fmt::format("--source gives '{}' twice", name))
        .WithHint("remove one of them");
  }
  if (const auto* git = std::get_if<recipe::GitSource>(&taken)) {
    request.git_sources.emplace(name, *git);
  } else {
    request.sources.emplace(name, std::get<AbsPath>(taken));
  }
  return Ok();
}

}  // namespace ptpkg::pipeline
