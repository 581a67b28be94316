// The text of 'ptpkg diff', from the document that --json prints (docs/json/diff.json). Layer: cli. Metadata
// comes first, then files with their ELF parts and text lines, then sizes. If only the packaging differs,
// that is the single line.

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>

#include "cli/output/inspect_text.h"
#include "cli/output/size_table.h"
#include "support/text/display_text.h"
#include "support/text/json.h"
#include "support/text/plural.h"
#include "support/text/text.h"

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

/// The words of docs/json/diff.json, spelled out.
std::string PackingText(const Json& list) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kWords = {
      {{"order", "member order"},
       {"compression", "compressed sizes"},
       {"other", "times, comments or archive fields"}}};
  std::vector<std::string> texts;
  for (const Json& item : list) {
    const std::string word = item.get<std::string>();
    const auto* const known = std::ranges::find(kWords, word, [](const auto& pair) { return pair.first; });
    texts.emplace_back(known == kWords.end() ? std::string_view(word) : known->second);
  }
  return Join(texts, ", ");
}

std::string ValueText(const Json& value) {
  if (value.is_null()) return "none";
  return value.is_array() ? ListText(value) : value.get<std::string>();
}

/// "- text" for each text that only the first list has, then "+ text" for the second list.
std::vector<std::string> ListDifference(const Json& old_list, const Json& new_list) {
  const auto before = old_list.get<std::vector<std::string>>();
  const auto after = new_list.get<std::vector<std::string>>();
  std::vector<std::string> lines;
  const auto add = [&](const char* mark, const std::vector<std::string>& some,
                       const std::vector<std::string>& others) {
    for (const std::string& text : some) {
      if (std::find(others.begin(), others.end(), text) == others.end()) lines.push_back(mark + text);
    }
  };
  add("- ", before, after);
  add("+ ", after, before);
  // Equal texts in another order still make other bytes.
  if (lines.empty()) lines.emplace_back("order differs");
  return lines;
}

/// True for parts that are sets of texts: their lines are the texts that only one side has.
bool ListsDifference(std::string_view part) {
  return part == "needed" || part == "dynamic" || part == "embedded paths" || part.ends_with(" symbols");
}

std::string PartText(const Json& part) {
  std::string name = TextIn(part, "part");
  // Parts without bytes of their own: header fields, or lists of texts.
  if (part["old_bytes"].is_null()) {
    if (part["old"].is_null()) return name;
    return fmt::format("{}: {} -> {}", name, ListText(part["old"]), ListText(part["new"]));
  }
  const std::uint64_t before = BytesIn(part, "old_bytes");
  const std::uint64_t after = BytesIn(part, "new_bytes");
  if (before == after) return fmt::format("{}: content differs, {}", name, HumanBytes(after));
  return fmt::format("{}: {} -> {} ({})", name, HumanBytes(before), HumanBytes(after),
                     SignedBytes(before, after));
}

/// "12,3". An empty range has the number of the line before it, like that of diff(1).
std::string RangeText(std::uint64_t line, std::size_t count) {
  return fmt::format("{},{}", count == 0 ? line - 1 : line, count);
}

/// The lines of diff(1)'s unified format.
std::vector<std::string> UnifiedDiff(const Json& hunks) {
  std::vector<std::string> rows;
  for (const Json& hunk : hunks) {
    std::array<std::size_t, 2> counts = {};
    // The header has the counts of the lines behind it, so it is filled in last.
    const std::size_t header = rows.size();
    rows.emplace_back();
    for (const Json& line : hunk["lines"]) {
      const std::string mark = TextIn(line, "mark");
      if (mark == " " || mark == "-") ++counts[0];
      if (mark == " " || mark == "+") ++counts[1];
      rows.push_back(mark + TextIn(line, "text"));
    }
    rows[header] = fmt::format("@@ -{} +{} @@", RangeText(BytesIn(hunk, "old_line"), counts[0]),
                               RangeText(BytesIn(hunk, "new_line"), counts[1]));
  }
  return rows;
}

std::string FileText(const Json& file) {
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
  return line;
}

/// Rows that differ, the largest difference first.
std::vector<SizeRow> ChangedSizes(const Json& list, const char* key) {
  std::vector<std::pair<std::uint64_t, SizeRow>> rows;
  for (const Json& item : list) {
    // The document calls the sum of all directories ".".
    const std::uint64_t before = BytesIn(item, "old_bytes");
    const std::uint64_t after = BytesIn(item, "new_bytes");
    if (before == after) continue;
    rows.emplace_back(std::max(before, after) - std::min(before, after),
                      SizeRow{.name = item[key] == "." ? "total" : TextIn(item, key),
                              .cells = {HumanBytes(before), HumanBytes(after), SignedBytes(before, after)}});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& left, const auto& right) { return left.first > right.first; });
  std::vector<SizeRow> shown;
  for (auto& [difference, row] : rows) shown.push_back(std::move(row));
  return shown;
}

/// Files whose content changed come first, then the other changes, each in the order of paths.
std::vector<const Json*> ByChange(const Json& files) {
  std::vector<const Json*> sorted;
  for (const Json& file : files) sorted.push_back(&file);
  const auto rank = [](const Json* file) {
    static constexpr std::array<std::string_view, 5> kOrder = {"changed", "mode", "renamed", "added",
                                                               "removed"};
    return std::find(kOrder.begin(), kOrder.end(), TextIn(*file, "change")) - kOrder.begin();
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Json* left, const Json* right) { return rank(left) < rank(right); });
  return sorted;
}

/// Every list is cut after `rows` rows, because a new version of a large package changes thousands of files.
/// Rows that are left out are counted, so that the last line can name the number that shows everything.
class DiffText {
 public:
  explicit DiffText(std::size_t rows) : rows_(rows) {}

  std::vector<std::string> Lines(const Json& document) && {
    AddMetadata(document["metadata"]);
    AddFiles(document);
    const Json& sizes = document["sizes"];
    AddSizes("size by directory (old, new, difference)", ChangedSizes(sizes["folders"], "name"));
    AddSizes("sections of ELF files", ChangedSizes(sizes["sections"], "kind"));
    AddSizes("GPU code", ChangedSizes(sizes["device_code"], "architecture"));
    if (!document["packing"].empty()) {
      const bool only = document["metadata"].empty() && document["files"].empty();
      lines_.push_back((only ? "only packaging differs: " : "packaging: ") +
                       PackingText(document["packing"]));
    }
    if (longest_ > rows_)
      lines_.push_back(fmt::format("--rows {} shows all rows, --json more details", longest_));
    // Names and text lines come from the artifacts, and could hold escape sequences.
    for (std::string& line : lines_) line = DisplayLine(line);
    return std::move(lines_);
  }

 private:
  /// Adds the lines of the first rows of a list, and one line for the rest. `add` runs for every row, so that
  /// longest_ also counts the lists inside of rows that are cut. `more`: rows that the document leaves out.
  template <class Add>
  void AddRows(std::size_t count, std::string_view indent, const Add& add, std::size_t more = 0) {
    std::size_t shown = lines_.size();
    for (std::size_t i = 0; i < count; ++i) {
      add(i);
      if (i < rows_) shown = lines_.size();
    }
    lines_.resize(shown);
    const std::size_t rest = count - std::min(count, rows_) + more;
    if (rest != 0) lines_.push_back(fmt::format("{}… and {} more", indent, rest));
    longest_ = std::max(longest_, count);
  }

  void AddMetadata(const Json& changes) {
    if (!changes.empty()) lines_.emplace_back("metadata");
    AddRows(changes.size(), "  ", [&](std::size_t i) {
      const Json& change = changes[i];
      const std::string field = "  " + TextIn(change, "field") + ": ";
      if (!change["old"].is_array() || !change["new"].is_array()) {
        lines_.push_back(
            fmt::format("{}{} -> {}", field, ValueText(change["old"]), ValueText(change["new"])));
        return;
      }
      // Lists such as requirements have a row for each text that only one side has. As a whole they fill a
      // screen.
      const std::vector<std::string> texts = ListDifference(change["old"], change["new"]);
      AddRows(texts.size(), "    ", [&](std::size_t k) { lines_.push_back(field + texts[k]); });
    });
  }

  void AddFiles(const Json& document) {
    std::map<std::string, std::uint64_t> counts;
    for (const Json& file : document["files"]) ++counts[TextIn(file, "change")];
    if (counts.empty()) return;
    std::vector<std::string> texts;
    for (const auto& [change, count] : counts) {
      texts.push_back(fmt::format("{} {}", count, change == "mode" ? "mode changed" : change));
    }
    lines_.push_back(
        fmt::format("files: {}, {} equal", Join(texts, ", "), BytesIn(document, "unchanged_files")));
    const std::vector<const Json*> files = ByChange(document["files"]);
    AddRows(files.size(), "  ", [&](std::size_t i) {
      lines_.push_back(FileText(*files[i]));
      AddParts((*files[i])["elf"]);
      AddText((*files[i])["text"]);
    });
  }

  void AddParts(const Json& parts) {
    AddRows(parts.size(), "    ", [&](std::size_t i) {
      const Json& part = parts[i];
      // `old_more` and `new_more`: the document has at most 1000 names of a list and counts the others.
      if (!ListsDifference(TextIn(part, "part"))) {
        lines_.push_back("    " + PartText(part));
        return;
      }
      const std::uint64_t old_more = BytesIn(part, "old_more");
      const std::uint64_t new_more = BytesIn(part, "new_more");
      const std::vector<std::string> texts = ListDifference(part["old"], part["new"]);
      const auto count = [&](const char* mark) {
        return std::ranges::count_if(texts, [&](const std::string& text) { return text.starts_with(mark); });
      };
      lines_.push_back(fmt::format("    {}: {} removed, {} added", TextIn(part, "part"),
                                   old_more + static_cast<std::uint64_t>(count("- ")),
                                   new_more + static_cast<std::uint64_t>(count("+ "))));
      AddRows(
          texts.size(), "      ", [&](std::size_t k) { lines_.push_back("      " + texts[k]); },
          old_more + new_more);
    });
  }

  void AddText(const Json& text) {
    if (text.is_null()) return;
    // Null for binary files, and for text above the limits in docs/cli/diff.md.
    const std::vector<std::string> rows = UnifiedDiff(text["hunks"]);
    AddRows(
        rows.size(), "    ", [&](std::size_t i) { lines_.push_back("    " + rows[i]); },
        BytesIn(text, "more_lines"));
  }

  void AddSizes(const std::string& title, const std::vector<SizeRow>& rows) {
    const std::vector<std::string> table = SizeTable(title, rows);
    if (!table.empty()) lines_.push_back(table.front());
    AddRows(rows.size(), "  ", [&](std::size_t i) { lines_.push_back(table[i + 1]); });
  }

  std::size_t rows_;
  std::size_t longest_ = 0;  ///< Rows of the longest list.
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> DiffLines(const Json& document, const InspectTextOptions& options) {
  if (document["identical"].get<bool>()) return {};
  return DiffText(options.rows).Lines(document);
}

}  // namespace ptpkg::cli
