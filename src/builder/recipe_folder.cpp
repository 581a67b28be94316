// Which files next to the recipe does a build see? They enter its key: one file too many rebuilds for
// nothing, and one too few lets a changed script reuse an old result. The rule depends on the sources:
//
// - Usually all files count, except the recipe, variant files, local sources, version control, and files of a
//   run.
// - A local source that holds the recipe (`path: .`) is in SRC_DIR anyway. Only files that the recipe names
//   count, and paths that scripts write after $RECIPE_DIR. Any doubt takes the whole directory: a pattern,
//   another variable, a link, or a named script that itself mentions RECIPE_DIR.
//
// Invariant: ptpkg digests the files once, when it reads the directory. Later readers and copies compare with
// these digests. So an edit during the run ends in an error, never in a build whose key describes other
// bytes.

#include "builder/recipe_folder.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>
#include <set>

#include "builder/script/script.h"
#include "source/patch_list.h"
#include "source/walk.h"
#include "support/process/parallel.h"
#include "support/text/display_text.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

// Scripts and patches are smaller; a larger file would live in memory, and in every package.
constexpr std::uint64_t kLargestRecipeFile = 1U << 20U;

/// Files that the recipe names, relative to its directory, but patches. Only some of them need exist.
std::vector<std::string> NamedFiles(const recipe::Recipe& recipe) {
  std::vector<std::string> names(recipe.loads.begin(), recipe.loads.end());
  const auto add_script = [&](const std::string& name) { names.insert(names.end(), {name, name + ".sh"}); };
  add_script(recipe.script.file.empty() ? "build.sh" : recipe.script.file);
  for (const recipe::Test& test : recipe.tests) {
    const auto* script = std::get_if<recipe::ScriptTest>(&test);
    if (script != nullptr && !script->script.file.empty()) add_script(script->script.file);
  }
  return names;
}

constexpr std::string_view kVariable = "RECIPE_DIR";

/// True if a shell word ends here: nothing can be added to the part read so far.
bool EndsWord(std::string_view rest) {
  constexpr std::string_view kEnds = " \t\r\n;|&)>";
  while (rest.starts_with('"') || rest.starts_with('\'')) rest.remove_prefix(1);
  return rest.empty() || kEnds.find(rest.front()) != std::string_view::npos;
}

/// Paths that scripts name below $RECIPE_DIR, relative to it. "" stands for the directory itself and for any
/// text that is not a plain path: patterns, other variables, blanks.
std::set<std::string> MentionedPaths(const std::vector<std::string>& texts) {
  constexpr std::string_view kPathBytes =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+@,/";
  std::set<std::string> paths;
  for (const std::string_view text : texts) {
    for (std::size_t at = text.find(kVariable); at != std::string_view::npos; at = text.find(kVariable, at)) {
      const std::string_view before = text.substr(0, at);
      // Inside quotes the path is whole only if the closing quote follows: a blank may be part of it.
      bool quoted = before.ends_with("\"$") || before.ends_with("\"${");
      at += kVariable.size();
      if (text.substr(at).starts_with('}')) ++at;
      if (quoted && text.substr(at).starts_with('"')) {  // "${RECIPE_DIR}"/x
        quoted = false;
        ++at;
      }
      const std::size_t end = std::min(text.find_first_not_of(kPathBytes, at), text.size());
      const bool closed = !quoted || text.substr(end).starts_with('"');
      std::string_view path = text.substr(at, end - at);
      while (path.starts_with('/')) path.remove_prefix(1);
      while (path.ends_with('/')) path.remove_suffix(1);
      paths.emplace(closed && EndsWord(text.substr(end)) ? path : std::string_view());
    }
  }
  return paths;
}

Error ChangedMeanwhile(const RelPath& path) {
  return Error(ErrorCode::kRefused,
               fmt::format("'{}' in the recipe directory changed while ptpkg was running", path.str()))
      .WithHint("run ptpkg again");
}

/// The files of at most kLargestRecipeFile, by name. Errors: ChangedMeanwhile.
Result<std::map<std::string, std::string>> SmallFiles(Env& env, const RecipeFolder& folder) {
  std::map<std::string, std::string> files;
  for (const TreeEntry& entry : folder.tree.entries) {
    if (entry.kind != FileKind::kRegular || entry.size_bytes > kLargestRecipeFile) continue;
    PTPKG_TRY(std::string text, ReadFile(env.fs, folder.tree.root / entry.path));
    if (HashText(text) != entry.sha256) return ChangedMeanwhile(entry.path);
    files.emplace(entry.path.str(), std::move(text));
  }
  return files;
}

class FolderReader {
 public:
  FolderReader(Env& env, const recipe::Recipe& recipe, const std::vector<AbsPath>& exclude)
      : env_(env), recipe_(recipe), root_(recipe.recipe_dir), exclude_(exclude) {}

  Result<RecipeFolder> Run() {
    PTPKG_CHECK(ExcludeSources());
    PTPKG_CHECK(AddNamed());
    PTPKG_CHECK(source_holds_folder_ ? AddMentioned() : AddAll());
    PTPKG_CHECK(Hash());
    return RecipeFolder{.tree = {.root = root_, .entries = std::move(entries_)}};
  }

 private:
  Result<void> ExcludeSources() {
    for (const recipe::Source& source : recipe_.sources) {
      if (source.path.empty()) continue;
      PTPKG_TRY(AbsPath path, AbsPath::Resolve(root_, source.path));
      if (root_.IsWithin(path)) {
        source_holds_folder_ = true;
      } else {
        exclude_.push_back(std::move(path));
      }
    }
    exclude_.push_back(recipe_.recipe_file);
    for (const char* name : recipe::kVariantFileNames) exclude_.push_back(root_ / name);
    return Ok();
  }

  Result<void> AddPatches() {
    for (const recipe::Source& source : recipe_.sources) {
      for (const std::string& name : source.patches) {
        PTPKG_CHECK(AddIfBelow(name));
        // A patch entry may be a directory, whose series file names the patches.
        PTPKG_CHECK(AddIfBelow(name + "/series"));
      }
      // Errors in patches are reported where the sources are examined.
      const auto patches = source::ListPatches(env_, recipe_, source);
      if (!patches) continue;
      for (const source::PatchFile& patch : *patches) PTPKG_CHECK(AddIfBelow(patch.file.str()));
    }
    return Ok();
  }

  /// A patch may lie elsewhere; the source stage hashes it.
  Result<void> AddIfBelow(const std::string& name) {
    PTPKG_TRY(const AbsPath path, AbsPath::Resolve(root_, name));
    const Result<RelPath> below = path.RelativeTo(root_);
    const auto stat = env_.fs.Stat(path);
    return below && stat && stat->kind != FileKind::kDirectory ? Add(*below) : Ok();
  }

  Result<void> AddNamed() {
    PTPKG_CHECK(AddPatches());
    for (const std::string& name : NamedFiles(recipe_)) {
      PTPKG_TRY(const AbsPath path, AbsPath::Resolve(root_, name));
      const Result<RelPath> below = path.RelativeTo(root_);
      if (!below) continue;
      PTPKG_TRY(const bool there, Exists(env_.fs, path));
      if (there) PTPKG_CHECK(Add(*below));
    }
    return Ok();
  }

  /// The source's files are in the build's directory anyway: only files that scripts read from here count.
  Result<void> AddMentioned() {
    PTPKG_TRY(const std::vector<std::string> texts, ScriptTexts());
    std::map<RelPath, FileKind> mentioned;
    for (const std::string& text : MentionedPaths(texts)) {
      const auto path = RelPath::Parse(text);
      if (!path) return AddAll();  // the directory itself, or a path that leaves it
      PTPKG_TRY(const bool there, Exists(env_.fs, root_ / *path));
      if (!there) continue;
      PTPKG_TRY(const FileStat stat, env_.fs.Lstat(root_ / *path));
      PTPKG_TRY(const bool alone, StandsAlone(*path, stat));
      if (!alone) return AddAll();
      mentioned.emplace(*path, stat.kind);
    }
    for (const auto& [path, kind] : mentioned) {
      if (IsExcluded(root_ / path)) continue;
      PTPKG_CHECK(kind == FileKind::kDirectory ? AddBelow(root_ / path) : Add(path));
    }
    return Ok();
  }

  /// False for a file that may need others: a link, a script that names $RECIPE_DIR in turn.
  Result<bool> StandsAlone(const RelPath& path, const FileStat& stat) {
    if (stat.kind == FileKind::kSymlink) return false;
    if (stat.kind != FileKind::kRegular || stat.size_bytes > kLargestRecipeFile) return true;
    PTPKG_TRY(const std::string text, ReadFile(env_.fs, root_ / path));
    return text.find(kVariable) == std::string::npos;
  }

  [[nodiscard]] bool IsExcluded(const AbsPath& path) const {
    return std::any_of(exclude_.begin(), exclude_.end(),
                       [&](const AbsPath& left_out) { return path.IsWithin(left_out); });
  }

  Result<std::vector<std::string>> ScriptTexts() {
    PTPKG_TRY(std::vector<std::string> texts, BuildTexts(env_, recipe_));
    for (const recipe::Test& test : recipe_.tests) {
      const auto* script = std::get_if<recipe::ScriptTest>(&test);
      if (script == nullptr) continue;
      PTPKG_TRY(texts.emplace_back(), ScriptText(env_.fs, script->script, root_));
      for (const auto& [name, value] : script->script.env) texts.push_back(value);
    }
    return texts;
  }

  Result<void> AddAll() { return AddBelow(root_); }

  Result<void> AddBelow(const AbsPath& folder) {
    PTPKG_TRY(const std::vector<source::WalkEntry> all,
              source::Walk(env_, folder, {.sources_only = true, .no_run_files = folder == root_}));
    for (const source::WalkEntry& one : all) {
      const AbsPath path = folder / one.path;
      if (IsExcluded(path)) continue;
      PTPKG_TRY(const RelPath below, path.RelativeTo(root_));
      PTPKG_CHECK(Add(below));
    }
    return Ok();
  }

  Result<void> Add(const RelPath& path) {
    if (!seen_.insert(path).second) return Ok();
    PTPKG_TRY(FileStat stat, env_.fs.Lstat(root_ / path));
    TreeEntry entry{.path = path, .kind = stat.kind};
    if (stat.kind == FileKind::kSymlink) {
      PTPKG_TRY(entry.link_target, env_.fs.ReadLink(root_ / path));
      // The copy lies elsewhere, so a link that leaves the directory would dangle there.
      if (!ResolveInTree(path.ParentText(), entry.link_target) || entry.link_target.starts_with("/")) {
        // A file that several recipes share: its content counts.
        PTPKG_TRY(stat, env_.fs.Stat(root_ / path), "while reading the recipe directory");
        entry.link_target.clear();
        entry.kind = stat.kind;
      }
    }
    if (entry.kind == FileKind::kDirectory) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' beside the recipe is a link to a directory elsewhere", path.str()))
          .WithHint("copy the directory, or add it as a source with 'path'");
    }
    if (entry.kind == FileKind::kOther) return Ok();  // a socket of an editor, say
    // The umask of a checkout must not enter the key: only the executable bit counts.
    entry.mode = (stat.mode & 0100U) != 0 ? 0755 : 0644;
    entries_.push_back(std::move(entry));
    return Ok();
  }

  Result<void> Hash() {
    std::sort(entries_.begin(), entries_.end(),
              [](const TreeEntry& a, const TreeEntry& b) { return a.path < b.path; });
    return ParallelFor(env_.jobs, entries_.size(), [&](std::size_t i) -> Result<void> {
      TreeEntry& entry = entries_[i];
      PTPKG_CHECK(env_.cancel.Check());
      if (entry.kind != FileKind::kRegular) return Ok();
      PTPKG_TRY(const Digests digests, HashFile(env_.fs, root_ / entry.path));
      entry.sha256 = digests.sha256;
      entry.size_bytes = digests.size_bytes;
      return Ok();
    });
  }

  Env& env_;
  const recipe::Recipe& recipe_;
  const AbsPath& root_;
  std::vector<AbsPath> exclude_;
  bool source_holds_folder_ = false;
  std::vector<TreeEntry> entries_;
  std::set<RelPath> seen_;
};

}  // namespace

Result<std::vector<std::string>> BuildTexts(Env& env, const recipe::Recipe& recipe) {
  std::vector<std::string> texts;
  PTPKG_TRY(std::optional<std::string> script, BuildScriptText(env.fs, recipe.script, recipe.recipe_dir));
  if (script) texts.push_back(*std::move(script));
  for (const auto& [name, value] : recipe.script.env) texts.push_back(value);
  return texts;
}

Result<RecipeFolder> ReadRecipeFolder(Env& env, const recipe::Recipe& recipe,
                                      const std::vector<AbsPath>& exclude) {
  return FolderReader(env, recipe, exclude).Run();
}

Result<void> CopyRecipeFolder(Env& env, const RecipeFolder& folder, const AbsPath& destination) {
  PTPKG_CHECK(env.fs.MakeDirs(destination));
  for (const TreeEntry& entry : folder.tree.entries) {
    PTPKG_CHECK(env.cancel.Check());
    const AbsPath target = destination / entry.path;
    PTPKG_CHECK(env.fs.MakeDirs(target.Parent()));
    if (entry.kind == FileKind::kSymlink) {
      PTPKG_CHECK(env.fs.CreateSymlink(entry.link_target, target));
      continue;
    }
    PTPKG_CHECK(env.fs.CopyFile(folder.tree.root / entry.path, target));
    PTPKG_CHECK(env.fs.SetMode(target, entry.mode));
    PTPKG_TRY(const Digests digests, HashFile(env.fs, target));
    if (digests.sha256 != entry.sha256) return ChangedMeanwhile(entry.path);
  }
  return Ok();
}

Result<std::map<std::string, std::string>> RecipeFiles(Env& env, const recipe::CondaOutput& output,
                                                       const std::string& written,
                                                       const RecipeFolder& folder) {
  std::map<std::string, std::string> files;
  PTPKG_TRY(auto small, SmallFiles(env, folder));
  for (auto& [name, text] : small) files.emplace("recipe/" + name, std::move(text));
  files["recipe/recipe.yaml"] = DropCredentials(written);
  files["recipe/rendered_recipe.yaml"] = DropCredentials(output.rendered_recipe_yaml);
  files["recipe/variant_config.yaml"] = DropCredentials(output.variant_config_yaml);
  return files;
}

Result<std::vector<std::string>> VariableSearchTexts(Env& env, const recipe::Recipe& recipe,
                                                     const RecipeFolder& folder) {
  PTPKG_TRY(std::vector<std::string> texts, BuildTexts(env, recipe));
  PTPKG_TRY(auto files, SmallFiles(env, folder));
  for (auto& [name, text] : files) texts.push_back(std::move(text));
  return texts;
}

}  // namespace ptpkg::builder
