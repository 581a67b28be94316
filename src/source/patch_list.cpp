// A patch of a recipe may be a file, a directory with a quilt series, or the series file itself. All become
// one list, in the order in which they apply. A series names files below its own directory only, so a foreign
// series cannot reach others, and its options are limited to -pN and -R. Errors point at the line of the
// series file.
//
// Patches within sources ("${SRC_DIR}/…") are missing here, because they exist only once the sources are
// prepared.

#include "source/patch_list.h"

#include <charconv>
#include <fmt/core.h>

#include "support/limits.h"
#include "support/text/text.h"

namespace ptpkg::source {

namespace {

constexpr std::string_view kSeries = "series";
constexpr std::uint64_t kLargestSeries = 1U << 20U;

SourceSpan SpanOf(const std::string& shown, std::size_t line, const std::string& text) {
  return {.file = shown,
          .line = static_cast<int>(line) + 1,
          .column = 1,
          .length = std::max(1, static_cast<int>(text.size())),
          .excerpt = text};
}

/// "-p1", "-p 1" has two words and is not known to quilt; "-R".
Result<void> ReadOption(const std::string& word, PatchFile& patch) {
  if (word == "-R") {
    patch.reverse = true;
    return Ok();
  }
  constexpr std::size_t kMost = 64;
  std::size_t strip = 0;
  if (word.starts_with("-p")) {
    const char* end = word.data() + word.size();
    const auto [rest, status] = std::from_chars(word.data() + 2, end, strip);
    if (status == std::errc() && rest == end && strip <= kMost) {
      patch.strip = strip;
      return Ok();
    }
  }
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not an option of a series file", word))
      .WithHint("only -pN and -R can follow a patch");
}

/// nullopt for an empty line.
Result<std::optional<PatchFile>> ReadLine(Fs& fs, const AbsPath& folder, const std::string& folder_shown,
                                          const std::string& line) {
  std::vector<std::string> words;
  for (std::string& word : Split(ReplaceAll(line, "\t", " "), ' ')) {
    if (word.starts_with('#')) break;
    if (!word.empty()) words.push_back(std::move(word));
  }
  if (words.empty()) return std::optional<PatchFile>();
  const auto name = RelPath::Parse(words.front());
  if (!name) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is not below the directory of the series file", words.front()));
  }
  PatchFile patch{.file = folder / *name, .shown = folder_shown + name->str()};
  for (std::size_t i = 1; i < words.size(); ++i) PTPKG_CHECK(ReadOption(words[i], patch));
  PTPKG_TRY(const bool there, Exists(fs, patch.file));
  if (there) return std::optional(std::move(patch));
  return Error(ErrorCode::kNotFound,
               fmt::format("the series file lists the patch '{}', which does not exist", name->str()))
      .WithHint("add the file, or remove the line from the series file");
}

Result<void> ReadSeries(Fs& fs, const AbsPath& series, const std::string& shown,
                        std::vector<PatchFile>& patches) {
  PTPKG_TRY(const std::string text, ReadFile(fs, series, kLargestSeries), "while reading a series file");
  const std::vector<std::string> lines = SplitLines(text);
  if (lines.size() > limits::kPatchSeries) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' has more than {} lines", shown, limits::kPatchSeries));
  }
  const std::string folder_shown = shown.substr(0, shown.size() - kSeries.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto patch = ReadLine(fs, series.Parent(), folder_shown, lines[i]);
    if (!patch) return Error(patch.error()).At(SpanOf(shown, i, lines[i]));
    if (*patch) patches.push_back(**std::move(patch));
  }
  return Ok();
}

}  // namespace

Result<std::vector<PatchFile>> ListPatches(Env& env, const recipe::Recipe& recipe,
                                           const recipe::Source& source) {
  std::vector<PatchFile> patches;
  for (const std::string& entry : source.patches) {
    if (entry.starts_with(recipe::kSourceOfPatch)) continue;  // it is not there before the sources are
    PTPKG_TRY(const AbsPath file, AbsPath::Resolve(recipe.recipe_dir, entry));
    PTPKG_TRY(const FileStat stat, env.fs.Stat(file), fmt::format("while reading patch '{}'", entry));
    if (stat.kind == FileKind::kDirectory) {
      PTPKG_TRY(const bool has_series, Exists(env.fs, file / kSeries));
      if (!has_series) {
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("the patch directory '{}' has no file 'series'", entry))
            .WithHint("list the patches in a file 'series' there, or one by one in the recipe")
            .At(source.span);
      }
      PTPKG_CHECK(ReadSeries(env.fs, file / kSeries, fmt::format("{}/{}", entry, kSeries), patches));
    } else if (file.Name() == kSeries) {
      PTPKG_CHECK(ReadSeries(env.fs, file, entry, patches));
    } else {
      patches.push_back({.file = file, .shown = entry});
    }
  }
  return patches;
}

}  // namespace ptpkg::source
