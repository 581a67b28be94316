// Plain HTML tables of a document, for browsers without scripts. The shape of the JSON decides: a list of
// objects becomes a table, its columns are the keys of all shown rows, and values that do not fit one cell
// are left out. All text goes through Escaped, since names in an artifact can contain markup.

#include "inspect/plain_tables.h"

#include <algorithm>
#include <fmt/core.h>
#include <vector>

#include "support/text/display_text.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::inspect {
namespace {

// A wheel of PyTorch has 13,000 files, and a browser without scripts shows all rows at once.
constexpr std::size_t kMostRows = 500;

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      // Quotes stay: no text goes into an attribute.
      default:
        escaped += c;
    }
  }
  return escaped;
}

bool IsTextList(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_string(); });
}

/// True for values that one cell can show.
bool IsCell(const Json& value) { return !value.is_structured() || IsTextList(value); }

/// A text unchanged, a list of texts with commas, any other value as JSON.
std::string Cell(const Json& value) {
  if (value.is_null()) return "";
  if (IsTextList(value)) return Escaped(DisplayText(Join(value.get<std::vector<std::string>>(), ", ")));
  if (value.is_string()) return Escaped(DisplayText(value.get<std::string>()));
  return Escaped(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string Title(const std::string& key) { return Escaped(ReplaceAll(key, "_", " ")); }

bool IsTable(const Json& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json& row) { return row.is_object(); });
}

void AddTable(const std::string& key, const Json& rows, std::string& html) {
  std::vector<std::string> columns;
  const std::size_t shown = std::min(rows.size(), kMostRows);
  for (std::size_t i = 0; i < shown; ++i) {
    for (const auto& [name, value] : rows[i].items()) {
      const bool known = std::find(columns.begin(), columns.end(), name) != columns.end();
      if (IsCell(value) && !known) columns.push_back(name);
    }
  }
  html += fmt::format("<h2>{}</h2>\n<table>\n<tr>", Title(key));
  for (const std::string& column : columns) html += fmt::format("<th>{}</th>", Title(column));
  html += "</tr>\n";
  for (std::size_t i = 0; i < shown; ++i) {
    html += "<tr>";
    for (const std::string& column : columns) {
      const auto value = rows[i].find(column);
      html += fmt::format("<td>{}</td>", value == rows[i].end() ? "" : Cell(*value));
    }
    html += "</tr>\n";
  }
  html += "</table>\n";
  if (shown < rows.size()) html += fmt::format("<p>{} more rows are not shown.</p>\n", rows.size() - shown);
}

}  // namespace

std::string PlainTables(const Json& document) {
  std::string html;
  if (document.is_array()) {  // of several artifacts
    for (const Json& one : document) html += PlainTables(one);
    return html;
  }
  html += "<table>\n";
  for (const auto& [key, value] : document.items()) {
    if (value.is_structured()) continue;
    html += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", Title(key), Cell(value));
  }
  html += "</table>\n";
  for (const auto& [key, value] : document.items()) {
    if (IsTable(value)) AddTable(key, value, html);
    if (!value.is_object()) continue;
    for (const auto& [inner, list] : value.items()) {
      if (IsTable(list)) AddTable(key + ": " + inner, list, html);
    }
  }
  return html;
}

}  // namespace ptpkg::inspect
