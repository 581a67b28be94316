// Templates have two kinds of places. A place alone on its line takes a text of several lines, each indented
// as the place is, or vanishes with its line if the text is empty. A place within a line takes its value
// unchanged.
//
// Filled text is not searched again: a value may contain "@name@". Values are quoted as JSON, which is valid
// YAML. GitHub also evaluates ${{ }} inside quoted text, so QuotedForGithub makes an expression that gives
// these characters.

#include "ci/template.h"

#include <algorithm>

#include "support/assert.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::ci {
namespace {

constexpr std::string_view kNameLetters = "abcdefghijklmnopqrstuvwxyz_";
constexpr std::string_view kPlainInShell =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";

/// The length of "@name@" at the start of `text`; 0 if there is none.
std::size_t PlaceLength(std::string_view text) {
  if (!text.starts_with('@')) return 0;
  const std::size_t end = text.find_first_not_of(kNameLetters, 1);
  return end == std::string_view::npos || end == 1 || text[end] != '@' ? 0 : end + 1;
}

const std::string& ValueOf(std::string_view place, const std::map<std::string, std::string>& values) {
  const auto found = values.find(std::string(place.substr(1, place.size() - 2)));
  PTPKG_ASSERT(found != values.end());
  return found->second;
}

std::string FilledLine(std::string_view line, const std::map<std::string, std::string>& values) {
  std::string filled;
  while (!line.empty()) {
    const std::size_t length = PlaceLength(line);
    if (length == 0) {
      filled += line.front();
    } else {
      filled += ValueOf(line.substr(0, length), values);
    }
    line.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return filled + "\n";
}

std::string Indented(const std::string& text, std::string_view indentation) {
  if (text.empty()) return "";
  std::string lines;
  for (const std::string& line : SplitLines(text)) {
    if (!line.empty()) lines += indentation;
    lines += line + "\n";
  }
  return lines;
}

}  // namespace

std::string_view FindTemplate(std::string_view file, std::string_view name) {
  constexpr std::string_view kMark = "\n=== ";
  std::size_t at = file.find(kMark);
  while (at != std::string_view::npos) {
    const std::size_t title = at + kMark.size();
    const std::size_t line = file.find('\n', title) + 1;
    at = file.find(kMark, line - 1);
    const std::string_view words = file.substr(title, line - title);
    if (words.substr(0, words.find_first_of(" \n")) != name) continue;
    return file.substr(line, at == std::string_view::npos ? at : at + 1 - line);
  }
  PTPKG_ASSERT(false);
  return {};
}

std::string Fill(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string filled;
  for (const std::string& line : SplitLines(text)) {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view rest = std::string_view(line).substr(begin);
    if (!rest.empty() && PlaceLength(rest) == rest.size()) {
      filled += Indented(ValueOf(rest, values), std::string_view(line).substr(0, begin));
    } else {
      filled += FilledLine(line, values);
    }
  }
  return filled;
}

std::string Quoted(std::string_view text) { return Json(std::string(text)).dump(); }

std::string QuotedForGithub(std::string_view text) { return Quoted(ReplaceAll(text, "${{", "${{ '${{' }}")); }

std::string Words(const std::vector<std::string>& words) { return Join(words, "\n"); }

std::string ShellLine(const std::vector<std::string>& words) {
  std::vector<std::string> shown;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && word.find_first_not_of(kPlainInShell) == std::string::npos;
    shown.push_back(plain ? word : "'" + ReplaceAll(word, "'", "'\\''") + "'");
  }
  return Join(shown, " ");
}

}  // namespace ptpkg::ci
