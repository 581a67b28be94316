// The text of `ptpkg diff`. Layer: cli.

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "cli/inspect_text.h"
#include "cli/size_table.h"
#include "support/display_text.h"
#include "support/json.h"
#include "support/plural.h"
#include "support/text.h"

namespace ptpkg::cli {
namespace {

std::string TextIn(const Json& object, const char* key) {
  return object[key].is_null() ? std::string() : object[key].get<std::string>();
}

std::uint64_t BytesIn(const Json& object, const char* key) {
  return object[key].is_null() ? 0 : object[key].get<std::uint64_t>();
}

std::string ListText(const Json& list) {
  const auto texts = list.get<std::vector<std::string>>();
  return texts.empty() ? "none" : Join(texts, ", ");
}

std::string ValueText(const Json& value) {
  if (value.is_null()) return "none";
  return value.is_array() ? ListText(value) : value.get<std::string>();
}

/// Of two lists what each has alone; of two texts both.
void AddField(const Json& change, std::vector<std::string>& lines) {
  const std::string field = TextIn(change, "field");
  if (!change["old"].is_array() || !change["new"].is_array()) {
    lines.push_back(fmt::format("  {}: {} -> {}", field, ValueText(change["old"]), ValueText(change["new"])));
    return;
  }
  const auto before = change["old"].get<std::vector<std::string>>();
  const auto after = change["new"].get<std::vector<std::string>>();
  const std::size_t begin = lines.size();
  for (const std::string& text : before) {
    if (std::find(after.begin(), after.end(), text) == after.end()) {
      lines.push_back(fmt::format("  {}: - {}", field, text));
    }
  }
  for (const std::string& text : after) {
    if (std::find(before.begin(), before.end(), text) == before.end()) {
      lines.push_back(fmt::format("  {}: + {}", field, text));
    }
  }
  if (lines.size() == begin) lines.push_back(fmt::format("  {}: another order", field));
}

std::string PartText(const Json& part) {
  std::string name = TextIn(part, "part");
  if (part["old_bytes"].is_null()) {
    if (part["old"].is_null()) return name;
    return fmt::format("{}: {} -> {}", name, ListText(part["old"]), ListText(part["new"]));
  }
  const std::uint64_t before = BytesIn(part, "old_bytes");
  const std::uint64_t after = BytesIn(part, "new_bytes");
  if (before == after) return fmt::format("{}: other content, {}", name, HumanBytes(after));
  return fmt::format("{}: {} -> {}", name, HumanBytes(before), HumanBytes(after));
}

void AddFile(const Json& file, std::vector<std::string>& lines) {
  const std::string change = TextIn(file, "change");
  std::string line = fmt::format("  {:<8} {}", change, TextIn(file, "path"));
  if (!file["old_path"].is_null()) line += " (was " + TextIn(file, "old_path") + ")";
  if (change == "mode")
    line += fmt::format(" ({} -> {})", TextIn(file, "old_mode"), TextIn(file, "new_mode"));
  if (change == "added") line += fmt::format(" ({})", HumanBytes(BytesIn(file, "new_size_bytes")));
  if (change == "removed") line += fmt::format(" ({})", HumanBytes(BytesIn(file, "old_size_bytes")));
  if (change == "changed") {
    line +=
        fmt::format(" ({})", SignedBytes(BytesIn(file, "old_size_bytes"), BytesIn(file, "new_size_bytes")));
  }
  lines.push_back(std::move(line));
  if (file["elf"].is_null()) return;
  for (const Json& part : file["elf"]) lines.push_back("             " + PartText(part));
}

/// Rows that differ, the largest difference first.
std::vector<SizeRow> ChangedSizes(const Json& list, const char* key, std::size_t most) {
  std::vector<std::pair<std::uint64_t, SizeRow>> rows;
  for (const Json& item : list) {
    const std::uint64_t before = BytesIn(item, "old_bytes");
    const std::uint64_t after = BytesIn(item, "new_bytes");
    if (before == after) continue;
    rows.emplace_back(std::max(before, after) - std::min(before, after),
                      SizeRow{.name = TextIn(item, key),
                              .cells = {HumanBytes(before), HumanBytes(after), SignedBytes(before, after)}});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& left, const auto& right) { return left.first > right.first; });
  std::vector<SizeRow> shown;
  for (std::size_t i = 0; i < std::min(rows.size(), most); ++i) shown.push_back(std::move(rows[i].second));
  return shown;
}

void AddAll(const std::vector<std::string>& more, std::vector<std::string>& lines) {
  lines.insert(lines.end(), more.begin(), more.end());
}

}  // namespace

std::vector<std::string> DiffLines(const Json& document, const InspectTextOptions& options) {
  std::vector<std::string> lines;
  if (document["identical"].get<bool>()) return lines;
  if (!document["metadata"].empty()) lines.emplace_back("metadata");
  for (const Json& change : document["metadata"]) AddField(change, lines);
  std::map<std::string, std::uint64_t> counts;
  for (const Json& file : document["files"]) ++counts[TextIn(file, "change")];
  if (!counts.empty()) {
    std::vector<std::string> texts;
    for (const auto& [change, count] : counts) {
      texts.push_back(fmt::format("{} {}", count, change == "mode" ? "of another mode" : change));
    }
    lines.push_back(
        fmt::format("files: {}, {} equal", Join(texts, ", "), BytesIn(document, "unchanged_files")));
  }
  for (const Json& file : document["files"]) AddFile(file, lines);
  const Json& sizes = document["sizes"];
  AddAll(SizeTable("size by folder (old, new, difference)",
                   ChangedSizes(sizes["folders"], "name", options.rows)),
         lines);
  AddAll(SizeTable("sections of ELF files", ChangedSizes(sizes["sections"], "kind", options.rows)), lines);
  AddAll(SizeTable("GPU code", ChangedSizes(sizes["device_code"], "architecture", options.rows)), lines);
  if (!document["packing"].empty()) {
    const bool only = document["metadata"].empty() && document["files"].empty();
    lines.push_back((only ? "only packaging differs: " : "packaging: ") + ListText(document["packing"]));
  }
  for (std::string& line : lines) line = DisplayLine(line);
  return lines;
}

}  // namespace ptpkg::cli
