#include "builder/outside_files.h"

#include <fmt/core.h>

#include "source/patch_list.h"

namespace ptpkg::builder {
namespace {

constexpr std::string_view kOutside = "outside/";
constexpr std::size_t kMostLevels = 9;  // one digit
constexpr std::uint64_t kLargestFile = 1U << 20U;

/// "outside/2/patches/x.patch"; "" for a file below `recipe_dir`, and for one that is too far away.
std::string PackedName(const AbsPath& recipe_dir, const AbsPath& file) {
  AbsPath above = recipe_dir;
  for (std::size_t level = 0; level <= kMostLevels; ++level) {
    if (const auto rest = file.RelativeTo(above))
      return level == 0 ? std::string() : fmt::format("{}{}/{}", kOutside, level, rest->str());
    above = above.Parent();
  }
  return "";
}

std::vector<std::string> NamedTexts(Env& env, const recipe::Recipe& recipe) {
  std::vector<std::string> texts;
  if (!recipe.script.file.empty())
    texts.insert(texts.end(), {recipe.script.file, recipe.script.file + ".sh"});
  for (const recipe::Source& source : recipe.sources) {
    for (const std::string& name : source.patches) texts.insert(texts.end(), {name, name + "/series"});
    const auto patches = source::ListPatches(env, recipe, source);
    if (!patches) continue;  // the source stage reports the error
    for (const source::PatchFile& patch : *patches) texts.push_back(patch.shown);
  }
  return texts;
}

}  // namespace

Result<std::map<std::string, Sha256>> OutsideFiles(Env& env, const recipe::Recipe& recipe) {
  std::map<std::string, Sha256> files;
  for (const recipe::Recipe* part = &recipe; part != nullptr; part = part->inherited.get()) {
    for (const std::string& text : NamedTexts(env, *part)) {
      if (text.starts_with('/')) continue;  // of this machine alone
      PTPKG_TRY(const AbsPath file, AbsPath::Resolve(part->recipe_dir, text));
      const std::string name = PackedName(part->recipe_dir, file);
      if (name.empty() || files.contains(name)) continue;
      const auto stat = env.fs.Stat(file);
      if (!stat || stat->kind != FileKind::kRegular || stat->size_bytes > kLargestFile) continue;
      PTPKG_TRY(const Digests digests, HashFile(env.fs, file));
      files.emplace(name, digests.sha256);
    }
  }
  return files;
}

bool IsOutsideFile(std::string_view name) { return LevelsAbove(name) != 0; }

std::size_t LevelsAbove(std::string_view name) {
  if (!name.starts_with(kOutside)) return 0;
  name.remove_prefix(kOutside.size());
  if (name.size() < 3 || name[0] < '1' || name[0] > '9' || name[1] != '/') return 0;
  return static_cast<std::size_t>(name[0] - '0');
}

Result<AbsPath> PlaceOfOutsideFile(const AbsPath& recipe_dir, const std::string& name) {
  const std::size_t levels = LevelsAbove(name);
  AbsPath above = recipe_dir;
  bool exists = levels != 0;
  for (std::size_t i = 0; i < levels; ++i) {
    exists = exists && above != above.Parent();
    above = above.Parent();
  }
  if (!exists) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' does not name a file above the recipe's directory", name));
  }
  PTPKG_TRY(const RelPath rest, RelPath::Parse(std::string_view(name).substr(kOutside.size() + 2)));
  return above / rest;
}

}  // namespace ptpkg::builder
