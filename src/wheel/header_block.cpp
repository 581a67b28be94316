#include "wheel/header_block.h"

#include <algorithm>

#include "support/text.h"

namespace ptpkg::wheel {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

/// Printable ASCII but ':' (RFC 822 field-name).
bool IsFieldName(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (c <= ' ' || c > '~' || c == ':') return false;
  }
  return true;
}

Error LineError(std::string message, const std::string& name, int line_number, std::string_view line) {
  SourceSpan span;
  span.file = name;
  span.line = line_number;
  span.length = std::max(1, static_cast<int>(line.size()));
  span.excerpt = std::string(line);
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(std::move(span));
}

std::string_view TrimLeadingBlanks(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  return text;
}

/// The next line of `rest` without its break (LF or CRLF); `rest` moves on.
std::string_view TakeLine(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace

Result<HeaderBlock> ParseHeaderBlock(std::string_view text, const std::string& name) {
  HeaderBlock block;
  std::string_view rest = text;
  for (int line_number = 1; !rest.empty(); ++line_number) {
    const std::string_view line = TakeLine(rest);
    if (line.empty()) break;
    // Python's reader takes a lone carriage return for a line break, so it could smuggle a field in.
    if (line.find_first_of(std::string_view("\0\r", 2)) != std::string_view::npos) {
      return LineError("a header holds a NUL byte or a lone carriage return", name, line_number, "");
    }
    if (IsBlank(line.front())) {
      if (block.fields.empty()) {
        return LineError("continuation line before the first field", name, line_number, line);
      }
      block.fields.back().second.append("\n").append(line);
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !IsFieldName(line.substr(0, colon))) {
      return LineError("expected 'Field: value'", name, line_number, line);
    }
    block.fields.emplace_back(line.substr(0, colon), TrimLeadingBlanks(line.substr(colon + 1)));
  }
  block.body = std::string(rest);
  return block;
}

std::string FormatHeaderBlock(const HeaderBlock& block) {
  std::string out;
  for (const auto& [field, value] : block.fields) {
    out.append(field).append(": ");
    const std::string lines = ReplaceAll(ReplaceAll(value, "\r\n", "\n"), "\r", "\n");
    std::string_view rest = lines;
    out.append(TakeLine(rest));
    while (!rest.empty()) {
      const std::string_view line = TakeLine(rest);
      out += '\n';
      // An empty line would end the headers, an unindented one would begin a field.
      if (line.empty() || !IsBlank(line.front())) out.append("        ");
      out.append(line);
    }
    out += '\n';
  }
  if (!block.body.empty()) out.append("\n").append(block.body);
  return out;
}

}  // namespace ptpkg::wheel
