// Reads an image description: YAML whose top level holds what all images share, and `images` what each adds.
// One table lists the settings, so that each works at both levels. Values end up in shell lines, passwd files
// and image metadata: names are checked here, and the writer (containerfile.cpp) quotes every value.

#include "pipeline/image/image_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>

#include "pipeline/image/containerfile.h"
#include "support/limits.h"
#include "support/text/display_text.h"
#include "support/text/text.h"
#include "support/text/yaml.h"

namespace ptpkg::pipeline {
namespace {

using Kind = YamlNode::Kind;

Error InvalidImage(std::string message, const SourceSpan& span) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

Result<void> RequireKind(const YamlNode& node, std::string_view key, Kind kind, std::string_view noun) {
  if (node.kind == kind) return Ok();
  return InvalidImage(fmt::format("expected {} for '{}', found {}", noun, key, node.KindName()), node.span);
}

/// True for ASCII letters, digits and bytes of `more`, the first of them a letter, a digit or '_'.
bool IsWord(std::string_view text, std::string_view more) {
  const std::string low = ToLower(text);
  const std::string_view plain = "abcdefghijklmnopqrstuvwxyz0123456789_";
  return !text.empty() && plain.find(low.front()) != std::string_view::npos &&
         low.find_first_not_of(std::string(plain) + std::string(more)) == std::string::npos;
}

bool StartsWithDigit(std::string_view text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

/// One line without a password: whatever it is for, people who get the image can read it.
Result<std::string> ReadLine(const YamlNode& node, std::string_view key, bool may_be_empty = false) {
  PTPKG_CHECK(RequireKind(node, key, Kind::kScalar, "text"));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (std::ranges::any_of(node.scalar, is_control) || (node.scalar.empty() && !may_be_empty)) {
    return InvalidImage(fmt::format("'{}' is not one line of text", key), node.span);
  }
  if (CredentialsIn(node.scalar).empty()) return node.scalar;
  return InvalidImage(fmt::format("'{}' has a URL with a password, which the image would show", key),
                      node.span)
      .WithHint("use a mirror without a password, or name the downloaded files on the command line");
}

/// Words for a command line. A package must not begin with '-': the tool would read an option.
Result<void> ReadWords(const YamlEntry& entry, std::vector<std::string>& out) {
  PTPKG_CHECK(RequireKind(entry.value, entry.key, Kind::kSequence, "a list"));
  for (const YamlNode& item : entry.value.items) {
    PTPKG_TRY(std::string text, ReadLine(item, entry.key));
    if (entry.key != "arguments" && text.starts_with('-')) {
      return InvalidImage(fmt::format("'{}' is not a package for '{}'", text, entry.key), item.span);
    }
    out.push_back(std::move(text));
  }
  return Ok();
}

Result<void> ReadPairs(const YamlEntry& entry, std::map<std::string, std::string>& out) {
  PTPKG_CHECK(RequireKind(entry.value, entry.key, Kind::kMapping, "a mapping"));
  for (const YamlEntry& pair : entry.value.entries) {
    const bool is_variable = IsWord(pair.key, "") && !StartsWithDigit(pair.key);
    if (entry.key == "env" ? !is_variable : !IsWord(pair.key, ".-/")) {
      return InvalidImage(fmt::format("'{}' is not a name for '{}'", pair.key, entry.key), pair.key_span);
    }
    if (entry.key == "labels" && pair.key == kArtifactsLabel) {
      return InvalidImage(fmt::format("ptpkg itself sets the label '{}'", pair.key), pair.key_span)
          .WithHint("choose another name");
    }
    PTPKG_TRY(out[pair.key], ReadLine(pair.value, pair.key, true));
  }
  return Ok();
}

/// 0 is root; the largest number is "no change" for chown(2).
Result<void> ReadId(const YamlEntry& entry, std::optional<std::uint32_t>& out) {
  PTPKG_TRY(const std::string text, ReadLine(entry.value, entry.key));
  std::uint32_t id = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, id);
  if (problem != std::errc() || rest != end || id == 0 || id == UINT32_MAX) {
    return InvalidImage(fmt::format("'{}' is not a number from 1 to 4294967294 for '{}'", text, entry.key),
                        entry.value.span);
  }
  out = id;
  return Ok();
}

/// A size of --shm-size: bytes, or a number with the unit b, k, m or g.
bool IsSize(std::string_view text) {
  const std::size_t unit = text.find_first_not_of("0123456789");
  return unit != 0 &&
         (unit == std::string_view::npos ||
          (unit + 1 == text.size() && std::string_view("bkmg").find(text[unit]) != std::string_view::npos));
}

Result<void> ReadText(const YamlEntry& entry, std::string& out) {
  PTPKG_TRY(out, ReadLine(entry.value, entry.key));
  const bool fits = entry.key == "timezone"  ? IsWord(out, "+-/") && RelPath::Parse(out).has_value()
                    : entry.key == "user"    ? IsWord(out, ".-") && !StartsWithDigit(out)
                    : entry.key == "workdir" ? AbsPath::Parse(out).has_value()
                                             : IsSize(out);
  if (fits) return Ok();
  return InvalidImage(fmt::format("'{}' is not a value for '{}'", out, entry.key), entry.value.span);
}

using SettingReader = Result<void> (*)(const YamlEntry&, ImageSettings&);
struct SettingRow {
  std::string_view key;
  SettingReader read;
};
constexpr std::array<SettingRow, 11> kSettings = {
    {{"apt", [](const YamlEntry& e, ImageSettings& s) { return ReadWords(e, s.apt); }},
     {"conda", [](const YamlEntry& e, ImageSettings& s) { return ReadWords(e, s.conda); }},
     {"pip", [](const YamlEntry& e, ImageSettings& s) { return ReadWords(e, s.pip); }},
     {"env", [](const YamlEntry& e, ImageSettings& s) { return ReadPairs(e, s.env); }},
     {"labels", [](const YamlEntry& e, ImageSettings& s) { return ReadPairs(e, s.labels); }},
     {"timezone", [](const YamlEntry& e, ImageSettings& s) { return ReadText(e, s.timezone); }},
     {"user", [](const YamlEntry& e, ImageSettings& s) { return ReadText(e, s.user); }},
     {"uid", [](const YamlEntry& e, ImageSettings& s) { return ReadId(e, s.uid); }},
     {"gid", [](const YamlEntry& e, ImageSettings& s) { return ReadId(e, s.gid); }},
     {"workdir", [](const YamlEntry& e, ImageSettings& s) { return ReadText(e, s.workdir); }},
     {"shm_size", [](const YamlEntry& e, ImageSettings& s) { return ReadText(e, s.shm_size); }}}};

Error UnknownImageKey(const YamlEntry& entry, const std::vector<std::string>& known) {
  Error error =
      InvalidImage(fmt::format("unknown key '{}' in an image description", entry.key), entry.key_span);
  const std::optional<std::string> nearest = NearestMatch(entry.key, known);
  return std::move(error).WithHint(nearest ? fmt::format("did you mean '{}'?", *nearest)
                                           : fmt::format("known keys are {}", Join(known, ", ")));
}

/// `others`: keys that the caller reads itself.
Result<void> ReadSetting(const YamlEntry& entry, std::vector<std::string> others, ImageSettings& out) {
  const auto* const row = std::ranges::find(kSettings, entry.key, &SettingRow::key);
  if (row != kSettings.end()) return row->read(entry, out);
  for (const SettingRow& one : kSettings) others.emplace_back(one.key);
  return UnknownImageKey(entry, others);
}

Result<void> ReadBuildStage(const YamlEntry& entry, ImageFile& file) {
  PTPKG_CHECK(RequireKind(entry.value, entry.key, Kind::kMapping, "a mapping"));
  for (const YamlEntry& field : entry.value.entries) {
    if (field.key == "base") {
      PTPKG_TRY(file.build_base, ReadLine(field.value, field.key));
    } else if (field.key == "apt" || field.key == "arguments") {
      PTPKG_CHECK(ReadWords(field, field.key == "apt" ? file.build_apt : file.build_arguments));
    } else {
      return UnknownImageKey(field, {"base", "apt", "arguments"});
    }
  }
  return Ok();
}

/// Packages and variables of `shared` are in a stage that all images have; the rest is filled in here.
void Inherit(const ImageSettings& shared, ImageSettings& image) {
  if (image.timezone.empty()) image.timezone = shared.timezone;
  if (image.workdir.empty()) image.workdir = shared.workdir;
  if (image.shm_size.empty()) image.shm_size = shared.shm_size;
  image.labels.insert(shared.labels.begin(), shared.labels.end());
  if (image.user.empty()) image.user = shared.user;
  if (!image.uid) image.uid = shared.uid;
  if (!image.gid) image.gid = shared.gid;
}

Result<NamedImage> ReadImage(const YamlEntry& entry, const ImageSettings& shared) {
  constexpr std::array<std::string_view, 5> kStages = {"base", "build-base", "builder", "artifacts",
                                                       "common"};
  const bool fits = IsWord(entry.key, ".-") && ToLower(entry.key) == entry.key && entry.key.front() >= 'a' &&
                    std::string_view("._-").find(entry.key.back()) == std::string_view::npos &&
                    std::ranges::find(kStages, entry.key) == kStages.end();
  if (!fits) {
    return InvalidImage(fmt::format("'{}' is not a name for an image", entry.key), entry.key_span)
        .WithHint(
            "use lower-case letters, digits, '.', '_' and '-', with a letter or digit at the end; base, "
            "build-base, builder, artifacts and common are taken");
  }
  NamedImage image{.name = entry.key, .settings = {}};
  PTPKG_CHECK(RequireKind(entry.value, entry.key, Kind::kMapping, "a mapping"));
  for (const YamlEntry& setting : entry.value.entries) PTPKG_CHECK(ReadSetting(setting, {}, image.settings));
  Inherit(shared, image.settings);
  const ImageSettings& all = image.settings;
  if (all.user.empty() == !all.uid && (all.uid || !all.gid)) return image;
  return InvalidImage(fmt::format("image '{}' needs both 'user' and 'uid', or neither", entry.key),
                      entry.key_span)
      .WithHint("for example {user: alice, uid: 1001}");
}

}  // namespace

Result<ImageFile> ParseImageFile(std::string_view text, const std::string& name) {
  PTPKG_TRY(const YamlNode root, ParseYaml(text, name));
  PTPKG_CHECK(RequireKind(root, name, Kind::kMapping, "a mapping"));
  ImageFile file;
  const YamlNode* images = nullptr;
  for (const YamlEntry& entry : root.entries) {
    if (entry.key == "base") {
      PTPKG_TRY(file.base, ReadLine(entry.value, entry.key));
    } else if (entry.key == "build") {
      PTPKG_CHECK(ReadBuildStage(entry, file));
    } else if (entry.key == "images") {
      images = &entry.value;
    } else {
      PTPKG_CHECK(ReadSetting(entry, {"base", "build", "images"}, file.shared));
    }
  }
  if (images == nullptr || images->entries.empty()) {
    return InvalidImage("'images' names no image", images == nullptr ? root.span : images->span)
        .WithHint("add 'images: {NAME: {user: NAME, uid: 1000}}'");
  }
  for (const YamlEntry& entry : images->entries) {
    PTPKG_TRY(NamedImage image, ReadImage(entry, file.shared));
    file.images.push_back(std::move(image));
  }
  return file;
}

Result<ImageFile> LoadImageFile(Fs& fs, const AbsPath& path) {
  PTPKG_TRY(const std::string text, ReadFile(fs, path, limits::kRecipe));
  return ParseImageFile(text, path.str());
}

}  // namespace ptpkg::pipeline
