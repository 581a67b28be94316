// extra.ptpkg of a recipe. Layer: recipe.
//
// Values are checked here, at their place in the recipe, rather than hours later in the packer: formats,
// search paths, file names, GPU architectures, sizes. A search path must begin with $ORIGIN, because packages
// can be installed anywhere.
//
// A key that would have no effect is an error. For the zip this needs care, since formats may be conditional:
// MayName tells whether any variant could make one. An expression may give every format, so it counts as yes.
//
// The other direction matters as well: a variable that is empty by mistake must not switch a check off, so
// `device_code` without a value is an error, and "any" has to be written.

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>

#include "recipe/document/sections.h"
#include "support/path.h"
#include "support/text/name_problem.h"
#include "support/text/text.h"
#include "versions/cuda_archs.h"

namespace ptpkg::recipe {
namespace {

constexpr std::array<std::string_view, 4> kFormats = {"conda", "tar.bz2", "wheel", "zip"};

Error InvalidExtra(std::string message, const SourceSpan& span) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

Result<std::vector<std::string>> ReadFormats(Reader& reader, const Node& node) {
  std::vector<std::string> formats;
  PTPKG_TRY(const std::vector<Reader::PlacedText> texts, reader.ReadPlacedTexts(node));
  for (const Reader::PlacedText& text : texts) {
    if (std::find(kFormats.begin(), kFormats.end(), text.text) == kFormats.end()) {
      return InvalidExtra(fmt::format("unknown format '{}'", text.text), text.node->span)
          .WithHint("the formats are 'conda', 'tar.bz2', 'wheel' and 'zip'");
    }
    // Two would be one file, written twice.
    if (std::find(formats.begin(), formats.end(), text.text) != formats.end()) {
      return InvalidExtra(fmt::format("format '{}' is listed twice", text.text), text.node->span);
    }
    formats.push_back(text.text);
  }
  if (formats.empty()) return InvalidExtra("'formats' is empty, so there is nothing to build", node.span);
  return formats;
}

Result<LayoutRule> ReadLayoutRule(Reader& reader, const Node& node) {
  LayoutRule rule;
  PTPKG_TRY(rule.files, reader.TextOf(&node, "files"));
  if (rule.files.empty()) {
    return InvalidExtra("a layout rule has no 'files'", node.span)
        .WithHint("give a glob, for example files: \"torch/lib/*.so*\"");
  }
  const Node* rpath = node.Find("rpath");
  if (rpath == nullptr) {
    return InvalidExtra("a layout rule has no 'rpath'", node.span)
        .WithHint("write 'rpath: []' for no search path at all");
  }
  PTPKG_TRY(const std::vector<Reader::PlacedText> entries, reader.ReadPlacedTexts(*rpath));
  for (const Reader::PlacedText& entry : entries) {
    if (entry.text != "$ORIGIN" && !entry.text.starts_with("$ORIGIN/")) {
      return InvalidExtra(fmt::format("search path '{}' does not begin with $ORIGIN", entry.text),
                          entry.node->span)
          .WithHint(
              "packages can be installed anywhere, so write the path relative to the file: "
              "\"$ORIGIN/../lib\"");
    }
    // ld.so separates entries by ':', so one entry with a ':' would be two.
    if (entry.text.find(':') != std::string::npos) {
      return InvalidExtra(fmt::format("search path '{}' contains a ':'", entry.text), entry.node->span)
          .WithHint("write each entry as an item of its own");
    }
    rule.rpath.push_back(entry.text);
  }
  if (const Node* tag = node.Find("tag")) {
    PTPKG_TRY(const std::string text, reader.ReadText(*tag));
    if (text != "rpath" && text != "runpath") {
      return InvalidExtra(fmt::format("unknown tag '{}'", text), tag->span)
          .WithHint("the tags are 'rpath' and 'runpath'");
    }
    rule.tag = text == "rpath" ? RpathTag::kRpath : RpathTag::kRunpath;
  }
  return rule;
}

Result<std::vector<std::string>> ReadRequires(Reader& reader, const Node* node, const TextCheck& check) {
  std::vector<std::string> requirements;
  if (node == nullptr) return requirements;
  PTPKG_TRY(std::vector<Reader::PlacedText> texts, reader.ReadPlacedTexts(*node));
  for (Reader::PlacedText& text : texts) {
    if (const Result<void> checked = check ? check(text.text) : Ok(); !checked) {
      return Error(checked.error()).At(text.node->span);
    }
    requirements.push_back(std::move(text.text));
  }
  return requirements;
}

/// True if the list `node` can have `format` in some variant: as an item, in a branch, or by an expression,
/// because the values of its variables are not all known here.
bool MayName(const Node& node, std::string_view format);

bool MayName(const std::vector<Item>& items, std::string_view format) {
  return std::any_of(items.begin(), items.end(), [&](const Item& item) {
    if (const Node* node = std::get_if<Node>(&item.value)) return MayName(*node, format);
    const auto& conditional = std::get<Conditional>(item.value);
    return MayName(conditional.then_items, format) || MayName(conditional.else_items, format);
  });
}

bool MayName(const Node& node, std::string_view format) {
  return node.raw == format || !node.text.IsLiteral() || MayName(node.items, format);
}

/// The text of `node`, which has to be a path inside of a tree.
Result<std::string> ReadTreePath(Reader& reader, const Node& node, std::string_view key) {
  PTPKG_TRY(std::string text, reader.ReadText(node));
  if (text.empty()) return text;
  if (const auto path = RelPath::Parse(text); !path) return Error(path.error()).At(node.span);
  if (const auto problem = NameProblem(text))
    return InvalidExtra(fmt::format("'{}' {} {}", key, ShownName(text), *problem), node.span);
  return text;
}

/// The text of `node`, which has to be the name of one file or directory.
Result<std::string> ReadFileName(Reader& reader, const Node& node, std::string_view key) {
  PTPKG_TRY(std::string text, ReadTreePath(reader, node, key));
  if (text.find('/') == std::string::npos && !text.starts_with('.')) return text;
  return InvalidExtra(fmt::format("'{}' is a name, not '{}'", key, text), node.span)
      .WithHint("remove '/' and the leading '.'");
}

/// Files of a package that `ptpkg check` reads (model/package_note.h), unpacked or not.
bool IsNoteOfPtpkg(const std::string& path) { return path == "ptpkg.json" || path == "info/ptpkg.json"; }

Result<std::map<std::string, std::string>> ReadZipTexts(Reader& reader, const Node* node) {
  std::map<std::string, std::string> texts;
  if (node == nullptr) return texts;
  for (const Entry& entry : node->entries) {
    const auto path = RelPath::Parse(entry.key);
    if (!path) return Error(path.error()).At(entry.key_span);
    if (const auto problem = NameProblem(entry.key))
      return InvalidExtra(fmt::format("'{}' {}", ShownName(entry.key), *problem), entry.key_span);
    if (IsNoteOfPtpkg(path->str())) {
      return InvalidExtra(fmt::format("'{}' is a file that ptpkg writes", entry.key), entry.key_span)
          .WithHint("give the text another name");
    }
    PTPKG_TRY(std::string text, reader.ReadText(entry.value));
    if (text.empty()) continue;  // a file for some variants only
    if (!text.ends_with('\n')) text += '\n';
    texts.emplace(entry.key, std::move(text));
  }
  for (const Entry& entry : node->entries) {
    // In sorted names, the first one from "key/" on is below the key, if any is.
    const auto below = texts.lower_bound(entry.key + "/");
    if (!texts.contains(entry.key) || below == texts.end() || !below->first.starts_with(entry.key + "/"))
      continue;
    return InvalidExtra(
        fmt::format("'{}' would be both a file and the directory of '{}'", entry.key, below->first),
        entry.key_span);
  }
  return texts;
}

Result<ZipPart> ReadZipPart(Reader& reader, const Node& zip) {
  constexpr std::string_view kEnding = ".zip";
  ZipPart part;
  if (const Node* name = zip.Find("name")) {
    PTPKG_TRY(part.name, ReadFileName(reader, *name, "extra.ptpkg.zip.name"));
    if (part.name.ends_with(kEnding)) {
      return InvalidExtra(fmt::format("'extra.ptpkg.zip.name' ends with '{}'", kEnding), name->span)
          .WithHint("remove the extension: ptpkg adds it");
    }
    // Checked with the ending, by which a name can become too long.
    const std::string file = part.name + std::string(kEnding);
    if (const auto problem = NameProblem(file))
      return InvalidExtra(fmt::format("'{}' {}", ShownName(file), *problem), name->span);
  }
  if (part.name.empty()) {
    return InvalidExtra("'extra.ptpkg.zip' has no 'name'", zip.span)
        .WithHint("give the file name without '.zip', with everything that distinguishes the variants");
  }
  part.top = part.name;
  if (const Node* top = zip.Find("top")) {
    PTPKG_TRY(std::string text, ReadFileName(reader, *top, "extra.ptpkg.zip.top"));
    if (!text.empty()) part.top = std::move(text);
  }
  if (const Node* root = zip.Find("root")) {
    PTPKG_TRY(part.root, ReadTreePath(reader, *root, "extra.ptpkg.zip.root"));
  }
  PTPKG_TRY(part.files, reader.TextsOf(&zip, "files"));
  PTPKG_TRY(part.exclude, reader.TextsOf(&zip, "exclude"));
  PTPKG_TRY(part.texts, ReadZipTexts(reader, zip.Find("texts")));
  return part;
}

/// Reads the zip of a variant that makes one; others have none.
Result<ZipPart> ReadZip(Reader& reader, const Node& section, const std::vector<std::string>& formats) {
  if (std::find(formats.begin(), formats.end(), "zip") == formats.end()) return ZipPart();
  if (const Node* zip = section.Find("zip")) return ReadZipPart(reader, *zip);
  return InvalidExtra("the format 'zip' needs 'extra.ptpkg.zip'", section.Find("formats")->span)
      .WithHint("set its name and content: zip: {name: …, root: …}");
}

/// Refuses keys of `section`, called `key`, about a zip that is never made.
Result<void> RefuseZipKeys(const Node& section, const std::string& key) {
  for (const auto& [node, name] : {std::pair(section.Find("zip"), "zip"),
                                   std::pair(FindIn(section.Find("layouts"), "zip"), "layouts.zip")}) {
    if (node == nullptr) continue;
    return InvalidExtra(fmt::format("'{}.{}' without the format 'zip'", key, name), node->span)
        .WithHint(fmt::format("add 'zip' to '{}.formats', or remove '{}'", key, name));
  }
  return Ok();
}

Result<std::vector<std::string>> ReadDeviceCode(Reader& reader, const Node& node) {
  std::vector<std::string> lists;
  PTPKG_TRY(std::vector<Reader::PlacedText> texts, reader.ReadPlacedTexts(node));
  for (Reader::PlacedText& text : texts) {
    if (const auto parsed = versions::DeviceCodeRequest::Parse({text.text}); !parsed) {
      return Error(parsed.error()).At(text.node->span);
    }
    lists.push_back(std::move(text.text));
  }
  // A variable that is empty by mistake must not end the comparison.
  PTPKG_TRY(const std::vector<const Node*> items, reader.ReadItems(node));
  if (lists.empty() && !items.empty()) {
    return InvalidExtra("'device_code' has no value", items.front()->span)
        .WithHint("write 'any' to accept any GPU code");
  }
  if (const auto parsed = versions::DeviceCodeRequest::Parse(lists); !parsed) {
    return Error(parsed.error()).At(node.span);
  }
  return lists;
}

/// 0 without the key, or where the variant leaves it empty.
Result<std::uint64_t> ReadMemory(Reader& reader, const Node* node) {
  if (node == nullptr) return std::uint64_t{0};
  PTPKG_TRY(const std::string text, reader.ReadText(*node));
  if (text.empty()) return std::uint64_t{0};
  constexpr std::uint64_t kLeast = 1'000'000;  // less is a number without its unit
  const auto bytes = ParseBytes(text);
  if (bytes && *bytes >= kLeast) return *bytes;
  return InvalidExtra(fmt::format("'{}' is not a size", text), node->span)
      .WithHint("give a size of at least 1 MB with its unit, such as 1.5 GB or 3 GiB");
}

/// A whole number of `resources`; 0 without the key, or where the variant leaves it empty.
Result<std::uint64_t> ReadCount(Reader& reader, const Node* node, std::uint64_t most) {
  if (node == nullptr) return std::uint64_t{0};
  PTPKG_TRY(const std::string text, reader.ReadText(*node));
  if (text.empty()) return std::uint64_t{0};
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number <= most) return number;
  return InvalidExtra(fmt::format("'{}' is not a whole number of at most {}", text, most), node->span);
}

Result<JobResources> ReadResources(Reader& reader, const Node* node) {
  constexpr std::uint64_t kMostCores = 4096;
  constexpr std::uint64_t kMostGpus = 64;
  constexpr std::uint64_t kMostMinutes = 525'600;  // a year
  JobResources resources;
  PTPKG_TRY(resources.cores, ReadCount(reader, FindIn(node, "cores"), kMostCores));
  PTPKG_TRY(resources.memory_bytes, ReadMemory(reader, FindIn(node, "memory")));
  PTPKG_TRY(resources.disk_bytes, ReadMemory(reader, FindIn(node, "disk")));
  PTPKG_TRY(resources.gpus, ReadCount(reader, FindIn(node, "gpus"), kMostGpus));
  PTPKG_TRY(resources.minutes, ReadCount(reader, FindIn(node, "minutes"), kMostMinutes));
  return resources;
}

/// Nothing without the key; a script that runs nothing would leave the edit unbuilt.
Result<BuildScript> ReadDevScript(Reader& reader, const Node* dev) {
  if (dev == nullptr) return BuildScript();
  PTPKG_TRY(BuildScript script, ReadScript(reader, dev->Find("script"), "extra.ptpkg.dev.script"));
  if (!script.lines.empty() || !script.file.empty()) return script;
  return InvalidExtra("'extra.ptpkg.dev' has no 'script'", dev->span)
      .WithHint("give the commands that rebuild after an edit, or remove 'dev'");
}

}  // namespace

Result<void> CheckZipKeys(const Node& section) {
  const Node* formats = section.Find("formats");
  const bool at_top = formats != nullptr && MayName(*formats, "zip");
  // Keys at the top are useful as soon as any output makes a zip.
  bool anywhere = at_top;
  if (const Node* outputs = section.Find("outputs")) {
    for (const Entry& output : outputs->entries) {
      const Node* own = output.value.Find("formats");
      // An output's own list replaces the list of the top level.
      const bool makes = own == nullptr ? at_top : MayName(*own, "zip");
      anywhere = anywhere || makes;
      if (!makes) PTPKG_CHECK(RefuseZipKeys(output.value, "extra.ptpkg.outputs." + output.key));
    }
  }
  return anywhere ? Ok() : RefuseZipKeys(section, "extra.ptpkg");
}

Result<PtpkgExtra> ReadPtpkgExtra(Reader& reader, const Node* section, const TextCheck& check_requirement) {
  PtpkgExtra extra;
  if (section == nullptr) return extra;
  if (const Node* formats = section->Find("formats")) {
    PTPKG_TRY(extra.formats, ReadFormats(reader, *formats));
    extra.formats_given = true;
  }
  if (const Node* layouts = section->Find("layouts")) {
    for (const Entry& entry : layouts->entries) {
      Layout& layout = extra.layouts[entry.key];
      PTPKG_TRY(const std::vector<const Node*> rules, reader.ReadItems(entry.value));
      for (const Node* node : rules) {
        PTPKG_TRY(LayoutRule rule, ReadLayoutRule(reader, *node));
        layout.push_back(std::move(rule));
      }
    }
  }
  const Node* wheel = section->Find("wheel");
  PTPKG_TRY(extra.wheel_name, reader.TextOf(wheel, "name"));
  PTPKG_TRY(extra.wheel_requires, ReadRequires(reader, FindIn(wheel, "requires"), check_requirement));
  PTPKG_TRY(extra.wheel_exclude, reader.TextsOf(wheel, "exclude"));
  PTPKG_TRY(extra.wheel_repair, reader.TextOf(wheel, "repair"));
  PTPKG_TRY(extra.zip, ReadZip(reader, *section, extra.formats));
  PTPKG_TRY(extra.system_packages, reader.TextsOf(section, "system_packages"));
  PTPKG_TRY(extra.allow_unresolved, reader.TextsOf(section, "allow_unresolved"));
  if (const Node* device_code = section->Find("device_code")) {
    PTPKG_TRY(extra.device_code, ReadDeviceCode(reader, *device_code));
  }
  if (const Node* slices = section->Find("slices")) {
    PTPKG_TRY(extra.slices, ReadSlices(reader, *slices, extra.device_code));
  }
  PTPKG_TRY(extra.allow_empty, reader.BoolOf(section, "allow_empty", false));
  PTPKG_TRY(extra.memory_per_job, ReadMemory(reader, section->Find("memory_per_job")));
  PTPKG_TRY(extra.resources, ReadResources(reader, section->Find("resources")));
  PTPKG_TRY(extra.resume, reader.BoolOf(section, "resume", true));
  PTPKG_TRY(extra.dev_script, ReadDevScript(reader, section->Find("dev")));
  return extra;
}

}  // namespace ptpkg::recipe
