// extra.ptpkg of a recipe. Layer: recipe.

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "recipe/sections.h"
#include "spec/device_code.h"
#include "support/text.h"

namespace ptpkg::recipe {
namespace {

constexpr std::array<std::string_view, 3> kFormats = {"conda", "tar.bz2", "wheel"};

Error InvalidExtra(std::string message, const SourceSpan& span) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

Result<std::vector<std::string>> ReadFormats(Reader& reader, const Node& node) {
  std::vector<std::string> formats;
  PTPKG_TRY(const std::vector<Reader::PlacedText> texts, reader.ReadPlacedTexts(node));
  for (const Reader::PlacedText& text : texts) {
    if (std::find(kFormats.begin(), kFormats.end(), text.text) == kFormats.end()) {
      return InvalidExtra(fmt::format("unknown format '{}'", text.text), text.node->span)
          .WithHint("the formats are 'conda', 'tar.bz2' and 'wheel'");
    }
    if (std::find(formats.begin(), formats.end(), text.text) != formats.end()) {
      return InvalidExtra(fmt::format("format '{}' is listed twice", text.text), text.node->span);
    }
    formats.push_back(text.text);
  }
  if (formats.empty()) return InvalidExtra("'formats' lists nothing, so there is nothing to make", node.span);
  return formats;
}

Result<LayoutRule> ReadLayoutRule(Reader& reader, const Node& node) {
  LayoutRule rule;
  PTPKG_TRY(rule.files, reader.TextOf(&node, "files"));
  if (rule.files.empty()) {
    return InvalidExtra("a layout rule names no 'files'", node.span)
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
          .WithHint("packages are installed anywhere, so paths are relative to the file: \"$ORIGIN/../lib\"");
    }
    if (entry.text.find(':') != std::string::npos) {
      return InvalidExtra(fmt::format("search path '{}' holds a ':'", entry.text), entry.node->span)
          .WithHint("list the entries one by one");
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

Result<std::vector<std::string>> ReadDeviceCode(Reader& reader, const Node& node) {
  std::vector<std::string> lists;
  PTPKG_TRY(std::vector<Reader::PlacedText> texts, reader.ReadPlacedTexts(node));
  for (Reader::PlacedText& text : texts) {
    if (const auto parsed = spec::DeviceCodeRequest::Parse({text.text}); !parsed) {
      return Error(parsed.error()).At(text.node->span);
    }
    lists.push_back(std::move(text.text));
  }
  // A variable that is empty by mistake must not end the comparison.
  PTPKG_TRY(const std::vector<const Node*> items, reader.ReadItems(node));
  if (lists.empty() && !items.empty()) {
    return InvalidExtra("'device_code' has no value", items.front()->span)
        .WithHint("write 'any' where nothing is asked for");
  }
  if (const auto parsed = spec::DeviceCodeRequest::Parse(lists); !parsed) {
    return Error(parsed.error()).At(node.span);
  }
  return lists;
}

/// 0 without the key, or where the variant leaves it empty.
Result<std::uint64_t> ReadMemoryPerJob(Reader& reader, const Node* node) {
  if (node == nullptr) return std::uint64_t{0};
  PTPKG_TRY(const std::string text, reader.ReadText(*node));
  if (text.empty()) return std::uint64_t{0};
  constexpr std::uint64_t kLeast = 1'000'000;  // less is a number without its unit
  const auto bytes = ParseBytes(text);
  if (bytes && *bytes >= kLeast) return *bytes;
  return InvalidExtra(fmt::format("'{}' is not the memory that a compiler needs", text), node->span)
      .WithHint("give a size of at least 1 MB with its unit, such as 1.5 GB or 3 GiB");
}

/// Nothing without the key; a script that runs nothing would leave the edit unbuilt.
Result<BuildScript> ReadDevScript(Reader& reader, const Node* dev) {
  if (dev == nullptr) return BuildScript();
  PTPKG_TRY(BuildScript script, ReadScript(reader, dev->Find("script"), "extra.ptpkg.dev.script"));
  if (!script.lines.empty() || !script.file.empty()) return script;
  return InvalidExtra("'extra.ptpkg.dev' has no 'script'", dev->span)
      .WithHint("give the commands that build again what was edited, or leave 'dev' out");
}

}  // namespace

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
  PTPKG_TRY(extra.system_packages, reader.TextsOf(section, "system_packages"));
  PTPKG_TRY(extra.allow_unresolved, reader.TextsOf(section, "allow_unresolved"));
  if (const Node* device_code = section->Find("device_code")) {
    PTPKG_TRY(extra.device_code, ReadDeviceCode(reader, *device_code));
  }
  PTPKG_TRY(extra.allow_empty, reader.BoolOf(section, "allow_empty", false));
  PTPKG_TRY(extra.memory_per_job, ReadMemoryPerJob(reader, section->Find("memory_per_job")));
  PTPKG_TRY(extra.resume, reader.BoolOf(section, "resume", true));
  PTPKG_TRY(extra.dev_script, ReadDevScript(reader, section->Find("dev")));
  return extra;
}

}  // namespace ptpkg::recipe
