// An output that inherits continues in the work directory of its staging output. Its sources are the restored
// directory plus sources of its own, which may replace files there.
//
// All outputs of a recipe share its directory, and each file next to the recipe would enter the key of each
// of them. So scripts and loaded files of the other outputs are left out of an output's own recipe directory
// (OwnRecipeFolder), unless its script mentions their names. Otherwise an edited script of one output would
// rebuild all.
//
// Whether a staging output was built with --ccache is in no key: the first build decides it. Its CMake files
// name the launchers, so the result records it, and heirs put launchers at the same path.

#include "pipeline/stages/staging_inputs.h"

#include <algorithm>
#include <set>

#include "builder/tools/compiler_cache.h"
#include "support/text/json.h"

namespace ptpkg::pipeline {

namespace {

constexpr const char* kWhere = "the result of a staging output";

Result<TreeEntry> EntryOf(Env& env, const AbsPath& file) {
  PTPKG_TRY(const Digests digests, HashFile(env.fs, file));
  return TreeEntry{.path = RelPath::Literal(std::string(file.Name())),
                   .size_bytes = digests.size_bytes,
                   .sha256 = digests.sha256};
}

/// Adds the script files of the recipe and of the staging outputs it inherits; a name may lack its ".sh".
void AddScripts(const recipe::Recipe& recipe, std::set<std::string>& files) {
  for (const recipe::Recipe* part = &recipe; part != nullptr; part = part->inherited.get()) {
    if (!part->script.file.empty()) files.insert({part->script.file, part->script.file + ".sh"});
  }
}

/// Adds the files that load_from_file() has read. Their values are in the recipe.
Result<void> AddLoaded(const recipe::Recipe& recipe, std::set<std::string>& files) {
  for (const std::string& name : recipe.loads) {
    PTPKG_TRY(const AbsPath path, AbsPath::Resolve(recipe.recipe_dir, name));
    if (const Result<RelPath> below = path.RelativeTo(recipe.recipe_dir)) files.insert(below->str());
  }
  return Ok();
}

}  // namespace

Result<builder::RecipeFolder> OwnRecipeFolder(Env& env, const recipe::Recipe& recipe,
                                              const std::vector<recipe::Recipe>& recipes,
                                              const builder::RecipeFolder& folder) {
  std::set<std::string> others;
  const bool is_output = !recipe.recipe_name.empty();
  for (const recipe::Recipe& other : recipes) {
    if (!is_output || other.recipe_file != recipe.recipe_file) continue;
    AddScripts(other, others);
    PTPKG_CHECK(AddLoaded(other, others));
  }
  PTPKG_CHECK(AddLoaded(recipe, others));
  if (others.empty()) return folder;
  others.erase(recipe.script.file);
  others.erase(recipe.script.file + ".sh");
  PTPKG_TRY(const std::vector<std::string> texts, builder::BuildTexts(env, recipe));
  builder::RecipeFolder own = folder;
  std::erase_if(own.tree.entries, [&](const TreeEntry& entry) {
    const bool named = std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return text.find(entry.path.Name()) != std::string::npos;
    });
    return others.contains(entry.path.str()) && !named;
  });
  return own;
}

std::vector<std::string> PathTexts(const std::vector<RelPath>& paths) {
  std::vector<std::string> texts;
  texts.reserve(paths.size());
  for (const RelPath& path : paths) texts.push_back(path.str());
  return texts;
}

Result<InheritedStaging> ReadInheritedStaging(const graph::NodeRun& run) {
  InheritedStaging inheritance;
  const auto need = run.needs().find("staging");
  if (need == run.needs().end()) return inheritance;
  const graph::NodeResult& result = need->second;
  builder::StagingArchives archives{.prefix = result.files.root / "prefix.tar",
                                    .work = result.files.root / "work.tar",
                                    .root = {},
                                    .files = {}};
  PTPKG_TRY(archives.root, JsonString(result.value, "root", kWhere));
  PTPKG_TRY(const std::vector<std::string> files, JsonStringsOr(result.value, "files", {}, kWhere));
  for (const std::string& file : files) {
    PTPKG_TRY(RelPath path, RelPath::Parse(file), kWhere);
    archives.files.push_back(std::move(path));
  }
  PTPKG_TRY(inheritance.forbidden, JsonStringsOr(result.value, "forbidden", {}, kWhere));
  // An older ptpkg did not say.
  const auto ccache = result.value.find("ccache");
  inheritance.compiler_cache = ccache == result.value.end() || *ccache != false;
  inheritance.archives = std::move(archives);
  return inheritance;
}

Result<Sha256> MakeSources(Env& env, const recipe::Recipe& recipe, const source::SourceOptions& sources,
                           const SourceOrigin& origin) {
  const AbsPath& place = origin.layout.source;
  const auto& archives = origin.inheritance.archives;
  const bool script = !recipe.script.interpreter.empty();
  const bool work = archives && (script || !recipe.about.license_files.empty());
  if (work) PTPKG_CHECK(builder::RestoreWork(env, *archives, origin.layout));
  if (work && origin.inheritance.compiler_cache) {
    PTPKG_CHECK(builder::MarkCompilerCacheUsed(env, origin.layout));
  }
  if (work && recipe.sources.empty() && sources.overrides.empty()) return Sha256();
  const AbsPath own = work ? origin.layout.root / "own_sources" : place;
  PTPKG_CHECK(RemoveTree(env.fs, own));  // of an interrupted run
  PTPKG_TRY(const source::SourceTree tree, source::Prepare(env, recipe, sources, own));
  if (work) PTPKG_CHECK(builder::AddSources(env, own, place));
  return tree.key;
}

Result<graph::NodeResult> StoreStaging(Env& env, const graph::NodeRun& run, const builder::WorkLayout& layout,
                                       const builder::StagingBuild& made,
                                       const InheritedStaging& inheritance) {
  PTPKG_TRY(const builder::StagingArchives archives,
            builder::SaveStaging(env, layout, made.files, run.folder()));
  graph::NodeResult result;
  result.files.root = run.folder();
  for (const AbsPath& file : {archives.prefix, archives.work}) {
    PTPKG_TRY(TreeEntry entry, EntryOf(env, file));
    result.files.entries.push_back(std::move(entry));
  }
  std::vector<std::string> forbidden = made.forbidden_paths;
  forbidden.insert(forbidden.end(), inheritance.forbidden.begin(), inheritance.forbidden.end());
  result.value = {{"root", archives.root},
                  {"files", PathTexts(archives.files)},
                  {"prefix", layout.PrefixPlaceholder()},
                  {"forbidden", forbidden},
                  {"ccache", run.Has("ccache") || inheritance.compiler_cache}};
  result.counts = made.counts;
  return result;
}

}  // namespace ptpkg::pipeline
