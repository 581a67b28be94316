// A glob of about.license_file may match in the sources or next to the recipe. The sources win: a copy beside
// the recipe serves only globs that the sources don't match. In a resumed build SRC_DIR also holds products
// of the earlier script. Only files in the record of the prepared sources count, so a resumed run finds the
// same licences as a clean one.
//
// Globs below ${PREFIX} need the installed files, so a second pass searches them after the script. All others
// are searched before it: a missing licence must not cost a build of hours.

#include "builder/license_files.h"

#include <array>
#include <fmt/core.h>
#include <map>

#include "source/walk.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

// info/ is read whole by every client; the largest known licence file, of a browser engine, has 4 MiB.
constexpr std::uint64_t kLargestLicense = 16U << 20U;

bool LooksLikeLicense(const RelPath& path) {
  constexpr std::array<std::string_view, 5> kWords = {"license", "licence", "copying", "copyright", "notice"};
  const std::string name = ToLower(path.Name());
  for (const std::string_view word : kWords) {
    if (name.find(word) != std::string::npos) return true;
  }
  return false;
}

class LicenseFinder {
 public:
  /// `where`: for messages.
  LicenseFinder(Env& env, std::string where) : env_(env), where_(std::move(where)) {}

  /// Lists the files below `root`, once: those that `record` holds, if it is not null.
  Result<void> List(const AbsPath& root, const SourceRecord* record = nullptr) {
    PTPKG_TRY(std::vector<source::WalkEntry> entries, source::Walk(env_, root, {.sources_only = true}));
    if (record != nullptr) {
      std::erase_if(entries, [&](const source::WalkEntry& entry) { return !record->Holds(entry.path); });
    }
    places_.push_back({root, std::move(entries)});
    return Ok();
  }

  /// Takes what matches in the first place that has a match.
  Result<void> Take(const std::string& glob) {
    for (const Place& place : places_) {
      std::size_t matches = 0;
      for (const source::WalkEntry& entry : place.entries) {
        if (entry.stat.kind != FileKind::kRegular || !GlobOrDirectoryMatch(glob, entry.path.str())) continue;
        ++matches;
        PTPKG_CHECK(Keep(place.root, entry));
      }
      if (matches > 0) return Ok();
    }
    return Error(ErrorCode::kNotFound,
                 fmt::format("about.license_file '{}' matches no file {}", glob, where_))
        .WithHint(Hint());
  }

  [[nodiscard]] std::vector<LicenseFile> Finish() && {
    std::vector<LicenseFile> files;
    for (auto& [name, file] : kept_) files.push_back(std::move(file));
    return files;
  }

 private:
  struct Place {
    AbsPath root;
    std::vector<source::WalkEntry> entries;
  };

  Result<void> Keep(const AbsPath& root, const source::WalkEntry& entry) {
    if (entry.stat.size_bytes > kLargestLicense) {
      return Error(ErrorCode::kInvalidInput, fmt::format("the licence file '{}' has {}", entry.path.str(),
                                                         HumanBytes(entry.stat.size_bytes)))
          .WithHint("list the licence files one by one in about.license_file");
    }
    const AbsPath path = root / entry.path;
    PTPKG_TRY(const Digests digests, HashFile(env_.fs, path));
    kept_.try_emplace(entry.path.str(), LicenseFile{.name = entry.path.str(),
                                                    .path = path,
                                                    .sha256 = digests.sha256,
                                                    .size_bytes = digests.size_bytes});
    return Ok();
  }

  [[nodiscard]] std::string Hint() const {
    std::vector<std::string> names;
    constexpr std::size_t kMostNames = 5;
    for (const Place& place : places_) {
      for (const source::WalkEntry& entry : place.entries) {
        if (names.size() < kMostNames && LooksLikeLicense(entry.path)) names.push_back(entry.path.str());
      }
    }
    if (names.empty()) return "no licence file found in the sources; put one beside the recipe";
    return fmt::format("found: {}", Join(names, ", "));
  }

  Env& env_;
  std::string where_;
  std::vector<Place> places_;
  std::map<std::string, LicenseFile> kept_;
};

/// The globs below the prefix, or the others.
std::vector<std::string> GlobsOf(const recipe::Recipe& recipe, bool below_prefix) {
  std::vector<std::string> globs;
  for (const std::string& glob : recipe.about.license_files) {
    if (glob.starts_with(recipe::kPrefixOfLicense) != below_prefix) continue;
    globs.push_back(below_prefix ? glob.substr(recipe::kPrefixOfLicense.size()) : glob);
  }
  return globs;
}

}  // namespace

Result<std::vector<LicenseFile>> FindLicenseFiles(Env& env, const recipe::Recipe& recipe,
                                                  const AbsPath& source_root, const SourceRecord* record) {
  const std::vector<std::string> globs = GlobsOf(recipe, false);
  if (globs.empty()) return std::vector<LicenseFile>();
  LicenseFinder finder(env, "in the sources or beside the recipe");
  PTPKG_CHECK(finder.List(source_root, record), "while looking for licence files");
  PTPKG_CHECK(finder.List(recipe.recipe_dir), "while looking for licence files");
  for (const std::string& glob : globs) PTPKG_CHECK(finder.Take(glob));
  return std::move(finder).Finish();
}

Result<std::vector<LicenseFile>> FindPrefixLicenses(Env& env, const recipe::Recipe& recipe,
                                                    const AbsPath& prefix) {
  const std::vector<std::string> globs = GlobsOf(recipe, true);
  if (globs.empty()) return std::vector<LicenseFile>();
  LicenseFinder finder(env, "in the prefix");
  PTPKG_CHECK(finder.List(prefix), "while looking for licence files");
  for (const std::string& glob : globs) PTPKG_CHECK(finder.Take(glob));
  return std::move(finder).Finish();
}

}  // namespace ptpkg::builder
