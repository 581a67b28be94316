#include "support/display_text.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/display_json.h"
#include "support/utf8.h"

namespace ptpkg {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\a';

/// The length of the escape sequence at the start of `text`, which begins with ESC. A string (OSC, DCS, …)
/// that does not end counts with its introducer only, so that it cannot hide the rest of a line.
std::size_t EscapeLength(std::string_view text) {
  if (text.size() < 2) return text.size();
  const auto skip = [&](std::size_t at, char first, char last) {
    while (at < text.size() && text[at] >= first && text[at] <= last) ++at;
    return at;
  };
  const char kind = text[1];
  if (kind == '[') {
    const std::size_t end = skip(skip(2, '0', '?'), ' ', '/');
    return std::min(end + 1, text.size());
  }
  if (kind == ']' || kind == 'P' || kind == 'X' || kind == '^' || kind == '_') {
    for (std::size_t i = 2; i < text.size(); ++i) {
      if (text[i] == kBell) return i + 1;
      if (text[i] == kEscape) return text.substr(i).starts_with("\x1b\\") ? i + 2 : 2;
    }
    return 2;
  }
  return std::min(skip(1, ' ', '/') + 1, text.size());
}

/// DEL, C1 controls, marks that turn or isolate the direction of writing, line and paragraph separators.
bool IsActedOn(std::string_view character) {
  constexpr std::array<std::string_view, 15> kMarks = {"\x7f",   "\u061c", "\u200e", "\u200f", "\u2028",
                                                       "\u2029", "\u202a", "\u202b", "\u202c", "\u202d",
                                                       "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"};
  if (character.size() == 2 && character[0] == '\xc2') return static_cast<unsigned char>(character[1]) < 0xA0;
  return std::find(kMarks.begin(), kMarks.end(), character) != kMarks.end();
}

bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::string Sanitised(std::string_view text) {
  if (IsPlain(text)) return std::string(text);
  std::string shown;
  while (!text.empty()) {
    const char first = text.front();
    std::size_t length = Utf8Length(text);
    if (first == kEscape) {
      length = EscapeLength(text);
    } else if (length == 0) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(first));
      length = 1;
    } else if (first == '\t' ||
               (!HasControlCharacter(text.substr(0, 1)) && !IsActedOn(text.substr(0, length)))) {
      shown += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return shown;
}

/// Moves `at` back to the begin of a character.
std::size_t CharacterBegin(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  return at;
}

}  // namespace

std::string DisplayLine(std::string_view line, std::size_t max_bytes) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  line.remove_prefix(line.rfind('\r') + 1);  // npos + 1 = 0
  std::string shown = Sanitised(line);
  if (shown.size() <= max_bytes) return shown;
  const std::size_t head = CharacterBegin(shown, max_bytes / 2);
  const std::size_t tail = CharacterBegin(shown, shown.size() - max_bytes / 2);
  return fmt::format("{}… ({} bytes) …{}", shown.substr(0, head), tail - head, shown.substr(tail));
}

std::string DisplayJson(std::string_view json) {
  std::string shown;
  while (!json.empty()) {
    const std::string_view character = json.substr(0, std::max<std::size_t>(Utf8Length(json), 1));
    if (IsActedOn(character)) {
      // All of them lie below U+10000 and have one to three bytes.
      const auto byte = [&](std::size_t i) {
        return static_cast<unsigned>(static_cast<unsigned char>(character[i]));
      };
      unsigned point = byte(0);
      if (character.size() == 2) point = ((byte(0) & 0x1FU) << 6U) | (byte(1) & 0x3FU);
      if (character.size() == 3)
        point = ((byte(0) & 0x0FU) << 12U) | ((byte(1) & 0x3FU) << 6U) | (byte(2) & 0x3FU);
      shown += fmt::format("\\u{:04x}", point);
    } else {
      shown += character;
    }
    json.remove_prefix(character.size());
  }
  return shown;
}

std::string DisplayText(std::string_view text) {
  std::string shown;
  while (true) {
    const std::size_t end = text.find('\n');
    shown += DisplayLine(text.substr(0, end));
    if (end == std::string_view::npos) return shown;
    shown += '\n';
    text.remove_prefix(end + 1);
  }
}

std::vector<TextRange> CredentialsIn(std::string_view text) {
  constexpr std::string_view kSchemeEnd = "://";
  constexpr std::string_view kExpression = "${{";
  constexpr std::string_view kExpressionEnd = "}}";
  std::vector<TextRange> found;
  for (std::size_t scheme = text.find(kSchemeEnd); scheme != std::string_view::npos;) {
    TextRange range{.begin = scheme + kSchemeEnd.size(), .end = 0};
    std::size_t at = range.begin;
    while (at < text.size() && std::string_view("/?# \t\n'\"<>").find(text[at]) == std::string_view::npos) {
      const std::size_t end =
          text.substr(at).starts_with(kExpression) ? text.find(kExpressionEnd, at) : std::string_view::npos;
      if (text[at] == '@') range.end = at;
      at = end == std::string_view::npos ? at + 1 : end + kExpressionEnd.size();
    }
    const std::string_view part = text.substr(range.begin, std::max(range.end, range.begin) - range.begin);
    const bool user_alone =
        text.substr(0, scheme).ends_with("ssh") && part.find(':') == std::string_view::npos;
    if (!part.empty() && !user_alone) found.push_back(range);
    scheme = text.find(kSchemeEnd, at);
  }
  return found;
}

std::string MaskCredentials(std::string_view text) {
  std::string masked;
  std::size_t done = 0;
  for (const TextRange& range : CredentialsIn(text)) {
    masked.append(text.substr(done, range.begin - done)).append(kCredentialMask);
    done = range.end;
  }
  return masked.append(text.substr(done));
}

std::string DropCredentials(std::string_view text) {
  std::string rest;
  std::size_t done = 0;
  for (const TextRange& range : CredentialsIn(text)) {
    rest.append(text.substr(done, range.begin - done));
    done = range.end + 1;  // the '@'
  }
  return rest.append(text.substr(done));
}

}  // namespace ptpkg
