// The sections `source` and `build` of a recipe. Layer: recipe.
//
// Each function reads one key in all forms that CEP 14 allows (scalar, list or mapping), and reports errors
// at the key's own place. The schema has checked the kinds of nodes before, so only values remain to be
// checked. Paths must stay in their directory, which also holds for values that come from expressions.
//
// Script lines may name variables that exist only while the script runs, such as ${{ PREFIX }}. They become
// "${PREFIX}", but only for shells: other interpreters would not expand them.

#include "recipe/document/sections.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/core.h>
#include <set>

#include "support/path.h"
#include "versions/entry_point.h"

namespace ptpkg::recipe {
namespace {

Error At(ErrorCode code, std::string message, const SourceSpan& span) {
  return Error(code, std::move(message)).At(span);
}

/// A path below some directory: relative, without "..".
Result<void> CheckRelative(const std::string& text, const Node& node, std::string_view key) {
  const Result<RelPath> path = RelPath::Parse(text);
  if (path) return Ok();
  return At(ErrorCode::kInvalidInput,
            fmt::format("'{}' takes a relative path without '..', found '{}'", key, text), node.span);
}

Result<void> ReadUrls(Reader& reader, const Node& item, Source& source) {
  const Node& node = *item.Find("url");
  PTPKG_TRY(source.urls, reader.ReadTexts(node));
  if (source.urls.empty()) return At(ErrorCode::kInvalidInput, "'source.url' is empty", node.span);
  for (const std::string& url : source.urls) {
    const bool known =
        url.starts_with("https://") || url.starts_with("http://") || url.starts_with("file://");
    if (known) continue;
    return At(ErrorCode::kInvalidInput, fmt::format("'{}' is not a URL that ptpkg can fetch", url), node.span)
        .WithHint("URLs begin with https://, http:// or file://; a local file goes under 'path'");
  }
  // Without a digest, other bytes under the same URL would enter the build unnoticed.
  if (item.Find("sha256") == nullptr && item.Find("md5") == nullptr) {
    return At(ErrorCode::kInvalidInput, "'source.url' without 'sha256'", node.span)
        .WithHint("add 'sha256:' with the digest from the publisher");
  }
  return Ok();
}

/// The digest under `key`, if there is one.
template <class Digest>
Result<std::optional<Digest>> ReadDigest(Reader& reader, const Node* node, std::string_view kind) {
  if (node == nullptr) return std::optional<Digest>();
  PTPKG_TRY(const std::string text, reader.ReadText(*node));
  const Result<Digest> digest = Digest::FromHex(text);
  if (digest) return std::optional<Digest>(*digest);
  return At(ErrorCode::kInvalidInput, fmt::format("'{}' is not {} digest", text, kind), node->span)
      .WithHint(fmt::format("a digest is {} hexadecimal digits", 2 * sizeof(Digest::bytes)));
}

/// Which files of a source are taken.
Result<void> ReadFilter(Reader& reader, const Node* filter, Source& source) {
  // Text or a list is short for `include`.
  if (filter != nullptr && filter->kind != Node::Kind::kMapping) {
    PTPKG_TRY(source.filter_include, reader.ReadTexts(*filter));
    return Ok();
  }
  PTPKG_TRY(source.filter_include, reader.TextsOf(filter, "include"));
  PTPKG_TRY(source.filter_exclude, reader.TextsOf(filter, "exclude"));
  return Ok();
}

/// Below the recipe, or "${SRC_DIR}/x.patch" of an earlier source.
Result<std::vector<std::string>> ReadPatches(Reader& reader, const Node* node) {
  if (node == nullptr) return std::vector<std::string>();
  PTPKG_TRY(std::vector<std::string> patches, reader.ReadTextsOfScripts(*node));
  for (const std::string& patch : patches) {
    if (patch.find("${") == std::string::npos) continue;
    if (patch.starts_with(kSourceOfPatch)) {
      PTPKG_CHECK(CheckRelative(patch.substr(kSourceOfPatch.size()), *node, "patches"));
      continue;
    }
    return At(ErrorCode::kUnsupported, fmt::format("the patch '{}' is in no known directory", patch),
              node->span)
        .WithHint("patches are relative to the recipe, or begin with '${{ SRC_DIR }}/'");
  }
  return patches;
}

Result<Source> ReadSource(Reader& reader, const Node& item) {
  Source source;
  source.span = item.span;
  const auto given = [&](std::string_view key) { return item.Find(key) != nullptr ? 1 : 0; };
  if (given("url") + given("path") + given("git") != 1) {
    return At(ErrorCode::kInvalidInput, "a source has exactly one of 'url', 'path' and 'git'", item.span);
  }
  PTPKG_TRY(source.git, ReadGitSource(reader, item));
  if (given("url") != 0) {
    PTPKG_CHECK(ReadUrls(reader, item, source));
  } else if (given("path") != 0) {
    PTPKG_TRY(source.path, reader.TextOf(&item, "path"));
    if (source.path.empty())
      return At(ErrorCode::kInvalidInput, "'source.path' is empty", item.Find("path")->span);
  }
  PTPKG_TRY(source.sha256, ReadDigest<Sha256>(reader, item.Find("sha256"), "a SHA-256"));
  PTPKG_TRY(source.md5, ReadDigest<Md5>(reader, item.Find("md5"), "an MD5"));
  PTPKG_TRY(source.file_name, reader.TextOf(&item, "file_name"));
  if (!source.file_name.empty()) {
    PTPKG_CHECK(CheckRelative(source.file_name, *item.Find("file_name"), "file_name"));
    if (source.file_name.find('/') != std::string::npos) {
      return At(ErrorCode::kInvalidInput, "'file_name' is a name without '/'", item.Find("file_name")->span);
    }
  }
  PTPKG_TRY(source.target_directory, reader.TextOf(&item, "target_directory"));
  if (!source.target_directory.empty()) {
    PTPKG_CHECK(CheckRelative(source.target_directory, *item.Find("target_directory"), "target_directory"));
  }
  PTPKG_TRY(source.patches, ReadPatches(reader, item.Find("patches")));
  PTPKG_CHECK(ReadFilter(reader, item.Find("filter"), source));
  return source;
}

Result<std::vector<std::string>> ReadEntryPoints(Reader& reader, const Node* node) {
  std::vector<std::string> points;
  if (node == nullptr) return points;
  PTPKG_TRY(const std::vector<Reader::PlacedText> texts, reader.ReadPlacedTexts(*node));
  std::set<std::string> names;
  for (const Reader::PlacedText& text : texts) {
    const Result<versions::EntryPoint> point = versions::ParseEntryPoint(text.text);
    if (!point) return Error(point.error()).At(text.node->span);
    // Both would be one file of bin/.
    if (!names.insert(point->name).second) {
      return At(ErrorCode::kInvalidInput, fmt::format("the program '{}' is listed twice", point->name),
                text.node->span);
    }
    points.push_back(point->str());
  }
  return points;
}

Result<std::vector<std::string>> ReadTrackFeatures(Reader& reader, const Node* node,
                                                   const std::string& name) {
  std::vector<std::string> features;
  if (node == nullptr) return features;
  PTPKG_TRY(const Value value, reader.ReadValue(*node));
  // Each step is an entry in the package's index.json.
  constexpr std::int64_t kMost = 100;
  const std::int64_t* number = value.AsInteger();
  if (value.IsNone()) return features;
  if (number == nullptr || *number < -kMost || *number > kMost) {
    return At(ErrorCode::kInvalidInput,
              fmt::format("'down_prioritize_variant' is a whole number up to {}", kMost), node->span);
  }
  // conda's solvers prefer packages with fewer track_features, so n of them mean n steps back.
  for (std::int64_t i = 0; i < std::abs(*number); ++i) features.push_back(fmt::format("{}-p-{}", name, i));
  return features;
}

bool NamesScriptFile(const std::string& text) {
  // A command with arguments or operators is a line of a script, not its file.
  const bool one_word = text.find_first_of(" \t\n;&|$") == std::string::npos;
  return one_word && (text.ends_with(".sh") || text.ends_with(".py"));
}

/// True if a shell runs the script of `section`: only a shell expands "${PREFIX}".
bool RunByShell(const Node& section) {
  const Node* interpreter = section.Find("interpreter");
  if (interpreter == nullptr) return true;
  constexpr std::array<std::string_view, 4> kShells = {"bash", "sh", "dash", "zsh"};
  // As written: an interpreter that an expression gives is not known to be a shell.
  return std::find(kShells.begin(), kShells.end(), interpreter->raw) != kShells.end();
}

/// The commands of a script; null gives none.
Result<std::vector<std::string>> ReadCommands(Reader& reader, const Node* node, bool by_shell) {
  std::vector<std::string> lines;
  if (node == nullptr) return lines;
  reader.scope().ExposeScriptVariables(by_shell);
  Result<std::vector<std::string>> read = reader.ReadTexts(*node);
  // Reset before errors are looked at: the scope outlives this script.
  reader.scope().ExposeScriptVariables(false);
  return read;
}

Result<void> ReadScriptMapping(Reader& reader, const Node& node, std::string_view key, BuildScript& script) {
  if ((node.Find("file") != nullptr) == (node.Find("content") != nullptr)) {
    return At(ErrorCode::kInvalidInput, fmt::format("'{}' has either 'file' or 'content'", key), node.span);
  }
  PTPKG_TRY(script.file, reader.TextOf(&node, "file"));
  PTPKG_TRY(script.lines, ReadCommands(reader, node.Find("content"), RunByShell(node)));
  if (const Node* interpreter = node.Find("interpreter")) {
    PTPKG_TRY(script.interpreter, reader.ReadText(*interpreter));
    if (script.interpreter.empty()) {
      return At(ErrorCode::kInvalidInput, fmt::format("'{}.interpreter' is empty", key), interpreter->span);
    }
  } else if (script.file.ends_with(".py")) {
    script.interpreter = "python";
  }
  PTPKG_TRY(script.secrets, reader.TextsOf(&node, "secrets"));
  const Node* environment = node.Find("env");
  if (environment == nullptr) return Ok();
  for (const Entry& entry : environment->entries) {
    if (entry.key.empty() || entry.key.find_first_of("= ") != std::string::npos) {
      return At(ErrorCode::kInvalidInput, fmt::format("'{}' is not a variable name", entry.key),
                entry.key_span);
    }
    PTPKG_TRY(std::string value, reader.ReadText(entry.value));
    script.env.emplace(entry.key, std::move(value));
  }
  return Ok();
}

/// A key that is true, false or a list of globs; nullopt: it is a list, which goes to `globs`.
Result<std::optional<bool>> ReadSwitchOrGlobs(Reader& reader, const Node* node,
                                              std::vector<std::string>& globs) {
  if (node != nullptr && node->kind == Node::Kind::kScalar) {
    PTPKG_TRY(const Value value, reader.ReadValue(*node));
    if (value.AsBool() != nullptr) return std::optional<bool>(*value.AsBool());
  }
  if (node != nullptr) {
    PTPKG_TRY(globs, reader.ReadTexts(*node));
  }
  return std::optional<bool>();
}

Result<PrefixDetection> ReadPrefixDetection(Reader& reader, const Node* section) {
  PrefixDetection detection;
  PTPKG_TRY(detection.ignore_binary, reader.BoolOf(section, "ignore_binary_files", false));
  PTPKG_TRY(const std::optional<bool> ignore,
            ReadSwitchOrGlobs(reader, FindIn(section, "ignore"), detection.ignore));
  detection.ignore_all = ignore.value_or(false);
  const Node* types = FindIn(section, "force_file_type");
  PTPKG_TRY(detection.force_text, reader.TextsOf(types, "text"));
  PTPKG_TRY(detection.force_binary, reader.TextsOf(types, "binary"));
  return detection;
}

/// "error" or "ignore".
Result<std::string> ReadBehavior(Reader& reader, const Node* section, const char* key) {
  PTPKG_TRY(std::string text, reader.TextOf(section, key));
  if (text.empty() || text == "error" || text == "ignore") return text;
  return At(ErrorCode::kInvalidInput, fmt::format("'{}' is 'error' or 'ignore', found '{}'", key, text),
            FindIn(section, key)->span);
}

Result<DynamicLinking> ReadDynamicLinking(Reader& reader, const Node* section) {
  DynamicLinking linking;
  PTPKG_TRY(const std::vector<std::string> rpaths, reader.TextsOf(section, "rpaths"));
  for (std::string path : rpaths) {
    while (path.ends_with('/')) path.pop_back();
    PTPKG_CHECK(CheckRelative(path, *section->Find("rpaths"), "rpaths"));
    linking.rpaths.push_back(std::move(path));
  }
  PTPKG_TRY(linking.rpath_allowlist, reader.TextsOf(section, "rpath_allowlist"));
  PTPKG_TRY(const std::optional<bool> relocates,
            ReadSwitchOrGlobs(reader, FindIn(section, "binary_relocation"), linking.relocated));
  // A list that is empty in this variant relocates nothing, while an absent key relocates everything.
  const bool no_glob = FindIn(section, "binary_relocation") != nullptr && linking.relocated.empty();
  linking.relocates = relocates.value_or(!no_glob);
  PTPKG_TRY(const std::string overlinking, ReadBehavior(reader, section, "overlinking_behavior"));
  linking.overlinking_is_error = overlinking != "ignore";
  PTPKG_TRY(const std::string overdepending, ReadBehavior(reader, section, "overdepending_behavior"));
  if (overdepending != "error") return linking;
  return At(ErrorCode::kUnsupported, "'overdepending_behavior: error' is not supported",
            section->Find("overdepending_behavior")->span)
      .WithHint("ptpkg does not look for unused requirements; remove the key, or write 'ignore'");
}

}  // namespace

Result<std::vector<Source>> ReadSources(Reader& reader, const Node* section) {
  std::vector<Source> sources;
  if (section == nullptr) return sources;
  PTPKG_TRY(const std::vector<const Node*> items, reader.ReadItems(*section));
  for (const Node* item : items) {
    PTPKG_TRY(Source source, ReadSource(reader, *item));
    sources.push_back(std::move(source));
  }
  return sources;
}

Result<BuildScript> ReadScript(Reader& reader, const Node* section, std::string_view key) {
  BuildScript script;
  if (section == nullptr) return script;
  if (section->kind == Node::Kind::kMapping) {
    PTPKG_CHECK(ReadScriptMapping(reader, *section, key, script));
  } else {
    PTPKG_TRY(script.lines, ReadCommands(reader, section, true));
    // Only a lone scalar can name a file: an item of a list is a command.
    if (section->kind == Node::Kind::kScalar && script.lines.size() == 1 &&
        NamesScriptFile(script.lines[0])) {
      script.file = script.lines[0];
      if (script.file.starts_with("./")) script.file.erase(0, 2);
      script.lines.clear();
      if (script.file.ends_with(".py")) script.interpreter = "python";
    }
  }
  if (!script.file.empty()) PTPKG_CHECK(CheckRelative(script.file, *section, key));
  return script;
}

Result<void> ReadBuild(Reader& reader, const Node* section, Recipe& recipe) {
  if (const Node* number = FindIn(section, "number")) {
    PTPKG_TRY(recipe.build_number, reader.ReadCount(*number, "build.number"));
  }
  PTPKG_TRY(recipe.python_entry_points,
            ReadEntryPoints(reader, FindIn(FindIn(section, "python"), "entry_points")));
  PTPKG_TRY(recipe.python_version_independent,
            reader.BoolOf(FindIn(section, "python"), "version_independent", false));
  const Node* files = FindIn(section, "files");
  if (files != nullptr && files->kind != Node::Kind::kMapping) {
    PTPKG_TRY(recipe.files_include, reader.ReadTexts(*files));
  } else {
    PTPKG_TRY(recipe.files_include, reader.TextsOf(files, "include"));
    PTPKG_TRY(recipe.files_exclude, reader.TextsOf(files, "exclude"));
  }
  PTPKG_TRY(recipe.always_include_files, reader.TextsOf(section, "always_include_files"));
  PTPKG_TRY(recipe.always_copy_files, reader.TextsOf(section, "always_copy_files"));
  PTPKG_TRY(recipe.prefix_detection, ReadPrefixDetection(reader, FindIn(section, "prefix_detection")));
  PTPKG_TRY(recipe.dynamic_linking, ReadDynamicLinking(reader, FindIn(section, "dynamic_linking")));
  PTPKG_TRY(
      recipe.track_features,
      ReadTrackFeatures(reader, FindIn(FindIn(section, "variant"), "down_prioritize_variant"), recipe.name));
  return Ok();
}

}  // namespace ptpkg::recipe
