// Makes foreign text safe to show, in two independent steps.
// DisplayLine removes everything that acts on a terminal or changes the text around it: escape sequences,
// control characters, invisible characters. An escape sequence without an end loses only its introducer, so
// that it can't swallow the rest of the line.
// CredentialsIn finds secrets in URLs anywhere in a text: user info, conda's /t/TOKEN/, ccache's attributes,
// and parameters by name, by the known start of a token, or by their shape. Names that are harmless alone
// ("se", "policy") count only in a signed URL. Two opposite errors are weighed: a secret in a log can't be
// recalled, but a masked commit or anchor makes a message useless. So a shape must be long and mixed. A
// fragment hides only parameters with a name.
// "${{ … }}" is skipped as one unit, because expressions of workflows contain the characters that end a URL.

#include "support/text/display_text.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/net/url.h"
#include "support/secret_name.h"
#include "support/text/display_json.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

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
    // A control sequence: parameters, intermediates and a final byte (ECMA-48, 5.4).
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

struct CodeRange {
  char32_t first;
  char32_t last;
};

/// True for characters that nobody sees, but that change the text around them: DEL, C1 controls, formats that
/// turn the direction of writing or have no width, line and paragraph separators, tags. Joiners (U+200C and
/// U+200D) are not among them, because scripts and emoji need them.
bool IsInvisible(std::string_view character) {
  constexpr std::array<CodeRange, 11> kRanges = {{{0x7F, 0x9F},
                                                  {0xAD, 0xAD},
                                                  {0x61C, 0x61C},
                                                  {0x180E, 0x180E},
                                                  {0x200B, 0x200B},
                                                  {0x200E, 0x200F},
                                                  {0x2028, 0x202E},
                                                  {0x2060, 0x206F},
                                                  {0xFEFF, 0xFEFF},
                                                  {0xFFF9, 0xFFFB},
                                                  {0xE0000, 0xE007F}}};
  if (Utf8Length(character) == 0) return false;
  const char32_t code = Utf8CodePoint(character);
  return std::any_of(kRanges.begin(), kRanges.end(),
                     [code](const CodeRange& range) { return code >= range.first && code <= range.last; });
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
               (!HasControlCharacter(text.substr(0, 1)) && !IsInvisible(text.substr(0, length)))) {
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

/// A secret in a URL, and what goes with it when it is dropped: '@', the name of a parameter, a '/'.
struct Credential {
  TextRange value;
  TextRange whole;
};

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// True if a parameter of this name, in lower case, is the signature of its URL.
bool IsSignature(std::string_view name) {
  return name == "sig" || name == "hmac" || Contains(name, "signature") || name.starts_with("hdn");
}

/// The names that Amazon, Google, Azure and others sign URLs by, and those that people give tokens and keys.
bool IsSecretName(std::string_view name, bool is_signed) {
  if (NamesSecret(name)) return true;
  // Not in names of variables: PWD, XDG_SESSION_ID and PGPASSFILE hold no secret.
  for (const std::string_view part : {"pwd", "session", "passw"}) {
    if (Contains(name, part)) return true;
  }
  for (const std::string_view vendor :
       {"x-amz-", "x-goog-", "x-oss-", "x-cos-", "x-obs-", "x-tos-", "x-ms-"}) {
    if (name.starts_with(vendor)) return true;
  }
  for (const std::string_view whole :
       {"key", "auth", "pass", "sas", "code", "ticket", "otp", "googleaccessid"}) {
    if (name == whole) return true;
  }
  if (IsSignature(name)) return true;
  if (!is_signed) return false;
  // Parameters of a shared access signature, and of CloudFront.
  for (const std::string_view part :
       {"se",  "sp",  "sv",    "sr",    "st",    "si",      "ss",     "srt",
        "spr", "sip", "sdd",   "ses",   "skoid", "sktid",   "skt",    "ske",
        "sks", "skv", "saoid", "suoid", "scid",  "expires", "policy", "key-pair-id"}) {
    if (name == part) return true;
  }
  return false;
}

/// Tokens that their makers begin so that they are found.
bool IsSecretValue(std::string_view value) {
  for (const std::string_view begin :
       {"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glcbt-", "pypi-Ag", "eyJ",
        "AKIA", "ASIA", "xoxb-", "xoxp-", "hf_", "npm_", "pfx_", "dckr_pat_"}) {
    if (value.starts_with(begin)) return true;
  }
  return false;
}

constexpr std::string_view kExpression = "${{";
constexpr std::string_view kExpressionEnd = "}}";

/// The place behind the byte or the expression at `at`.
std::size_t After(std::string_view text, std::size_t at) {
  const std::size_t end =
      text.substr(at).starts_with(kExpression) ? text.find(kExpressionEnd, at) : std::string_view::npos;
  return end == std::string_view::npos ? at + 1 : end + kExpressionEnd.size();
}

/// The first place from `at` on of one of `ends`, outside of expressions.
std::size_t EndOfPart(std::string_view text, std::size_t at, std::string_view ends) {
  while (at < text.size() && !Contains(ends, text.substr(at, 1))) {
    // Behind a comma of a list of YAML, or of a sentence, comes a blank.
    if (text[at] == ',' && (at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == '\n')) break;
    at = After(text, at);
  }
  return std::min(at, text.size());
}

constexpr std::string_view kUrlEnds = " \t\r\n'\"<>`|[](){}\\";

/// One part of a query between two separators.
struct Parameter {
  TextRange name;
  TextRange value;  ///< Behind '='; equal to `name` where there is none.
};

/// The parameters from `at` on, behind '?' or '#'; `at` moves to their end.
std::vector<Parameter> ParametersFrom(std::string_view text, std::size_t& at) {
  const std::string ends = std::string(kUrlEnds) + "&;#?";
  std::vector<Parameter> found;
  while (true) {
    const std::size_t end = EndOfPart(text, at, ends);
    const std::size_t equals = text.substr(at, end - at).find('=');
    Parameter one{.name = {.begin = at, .end = end}, .value = {.begin = at, .end = end}};
    if (equals != std::string_view::npos) {
      one.name.end = at + equals;
      one.value.begin = at + equals + 1;
    }
    found.push_back(one);
    at = end;
    if (at == text.size() || !Contains("&;", text.substr(at, 1))) return found;
    ++at;
  }
}

/// Says whether FindCredentials also decodes the percent escapes in values of parameters.
enum class Escapes : std::uint8_t { kDecode, kKeep };

std::vector<Credential> FindCredentials(std::string_view text, Escapes escapes = Escapes::kDecode);

std::string_view In(std::string_view text, const TextRange& range) {
  return text.substr(range.begin, range.end - range.begin);
}

bool HasDigit(std::string_view text) { return text.find_first_of("0123456789") != std::string_view::npos; }

/// A part of a query that has no name, and is long and mixed enough for a token: neither words
/// ("release-notes-2024") nor a commit.
bool IsOpaque(std::string_view value) {
  constexpr std::size_t kShortest = 20;
  constexpr std::size_t kCommit = 40;
  const auto has = [&](char first, char last) {
    return std::any_of(value.begin(), value.end(), [&](char c) { return c >= first && c <= last; });
  };
  const bool is_hex = value.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  const bool is_words =
      value.find_first_of("-_") != std::string_view::npos && !(has('a', 'z') && has('A', 'Z'));
  return value.size() >= kShortest && HasDigit(value) && (has('a', 'z') || has('A', 'Z')) && !is_words &&
         !(is_hex && value.size() == kCommit) && value.find_first_of("./:") == std::string_view::npos;
}

/// True for a value that is a URL with a secret, in the percent escapes that such a value should have.
bool HoldsEscapedSecret(std::string_view value) {
  return Contains(value, "%") && !FindCredentials(PercentDecode(value), Escapes::kKeep).empty();
}

/// Adds the secrets of a URL in the value of a parameter.
void AddNested(std::string_view text, const TextRange& value, std::vector<Credential>& found) {
  const auto moved = [&](const TextRange& range) {
    return TextRange{.begin = value.begin + range.begin, .end = value.begin + range.end};
  };
  for (const Credential& one : FindCredentials(In(text, value)))
    found.push_back({.value = moved(one.value), .whole = moved(one.whole)});
}

/// Adds the secrets of a query or a fragment, whose mark is at `at`. A fragment is an anchor, which no server
/// sees: a part of it without a name hides nothing.
void AddParameters(std::string_view text, Escapes escapes, std::size_t& at, std::vector<Credential>& found) {
  const bool is_query = text[at] == '?';
  const std::vector<Parameter> all = ParametersFrom(text, ++at);
  std::vector<std::string> names;
  for (const Parameter& one : all) names.push_back(ToLower(In(text, one.name)));
  const bool is_signed = std::any_of(names.begin(), names.end(), IsSignature);
  std::vector<bool> secret;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string_view value = In(text, all[i].value);
    const bool named = all[i].value.begin != all[i].name.begin;
    // "?code=all" chooses something; the codes that log in have digits.
    const bool is_choice = names[i] == "code" && !HasDigit(value);
    secret.push_back(
        !value.empty() &&
        (IsSecretValue(value) || (escapes == Escapes::kDecode && HoldsEscapedSecret(value)) ||
         (named ? IsSecretName(names[i], is_signed) && !is_choice : is_query && IsOpaque(value))));
  }
  const auto last_kept = std::find(secret.rbegin(), secret.rend(), false);
  const auto first_kept = std::find(secret.begin(), secret.end(), false) - secret.begin();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!secret[i]) {
      AddNested(text, all[i].value, found);
      continue;
    }
    // With the separator before it, or the one behind it while what is kept comes later.
    const bool comes_first = last_kept != secret.rend() && static_cast<std::ptrdiff_t>(i) < first_kept;
    const std::size_t begin = all[i].name.begin;
    const std::size_t end = all[i].value.end;
    found.push_back(
        {.value = all[i].value,
         .whole = {.begin = comes_first ? begin : begin - 1, .end = comes_first ? end + 1 : end}});
  }
}

/// "/t/TOKEN/" of conda's channels.
void AddPathToken(std::string_view text, std::string_view host, const TextRange& path,
                  std::vector<Credential>& found) {
  constexpr std::string_view kMark = "/t/";
  const std::size_t mark = In(text, path).find(kMark);
  if (mark == std::string_view::npos) return;
  const std::size_t begin = path.begin + mark + kMark.size();
  const TextRange token{.begin = begin, .end = std::min(text.find('/', begin), path.end)};
  // Other hosts can have a directory "t" with ordinary names below it.
  const bool is_token = Contains(host, "anaconda") || In(text, token).starts_with("tk-");
  if (is_token && token.end > begin)
    found.push_back({.value = token, .whole = {path.begin + mark, token.end}});
}

/// "URL|bearer-token=…|header=…": attributes of ccache's remote storage, from '|' on. `at` moves behind those
/// that are secret.
void AddAttributes(std::string_view text, std::size_t& at, std::vector<Credential>& found) {
  for (std::size_t begin = at; begin < text.size() && text[begin] == '|';) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n'\"<>`|", begin + 1), text.size());
    const std::size_t equals = text.substr(0, end).find('=', begin);
    const bool has_value = equals != std::string_view::npos && equals + 1 < end;
    const std::string name = has_value ? ToLower(text.substr(begin + 1, equals - begin - 1)) : "";
    if (has_value && (name == "header" || IsSecretName(name, false))) {
      found.push_back({.value = {equals + 1, end}, .whole = {begin, end}});
      at = end;  // else another URL can begin here
    }
    begin = end;
  }
}

/// Where the user info of the next URL can begin, at or behind `from`. A path that was made of a URL has one
/// slash behind its scheme; an empty variable in place of the host leaves three.
std::size_t NextAuthority(std::string_view text, std::size_t from) {
  const auto is_of_scheme = [&](std::size_t at) {
    return (text[at] >= 'a' && text[at] <= 'z') || (text[at] >= 'A' && text[at] <= 'Z') ||
           HasDigit(text.substr(at, 1));
  };
  for (std::size_t colon = text.find(":/", from); colon != std::string_view::npos;
       colon = text.find(":/", colon + 1)) {
    const std::size_t begin = std::min(text.find_first_not_of('/', colon + 1), text.size());
    if (begin > colon + 2) return begin;
    // No scheme has a single letter; the drives of Windows have.
    if (colon < 2 || !is_of_scheme(colon - 1) || !is_of_scheme(colon - 2)) continue;
    const std::string_view part = text.substr(begin, text.find_first_of("/?# \t\n'\"<>", begin) - begin);
    if (part.find(':') < part.find('@') && Contains(part, "@")) return begin;
  }
  return std::string_view::npos;
}

std::vector<Credential> FindCredentials(std::string_view text, Escapes escapes) {
  std::vector<Credential> found;
  std::size_t word_end = 0;  // once for all URLs of a word
  for (std::size_t next = NextAuthority(text, 0); next != std::string_view::npos;) {
    TextRange user{.begin = next, .end = 0};
    const std::size_t scheme = text.rfind(":/", next);
    std::size_t at = user.begin;
    while (at < text.size() && !Contains("/?# \t\n'\"<>", text.substr(at, 1))) {
      if (text[at] == '@') user.end = at;
      at = After(text, at);
    }
    at = std::min(at, text.substr(0, at).find('|', std::max(user.begin, user.end)));
    const std::string_view part = text.substr(user.begin, std::max(user.end, user.begin) - user.begin);
    // "git@" of an ssh URL is a name that everybody knows.
    const bool user_alone = text.substr(0, scheme).ends_with("ssh") && !Contains(part, ":");
    if (!part.empty() && !user_alone) found.push_back({.value = user, .whole = {user.begin, user.end + 1}});
    TextRange path{.begin = at, .end = at};
    if (at >= word_end) word_end = EndOfPart(text, at, std::string(kUrlEnds) + "?#");
    at = path.end = word_end;
    // A URL in the path of another, such as a proxy's: the query belongs to the inner one.
    next = NextAuthority(text, std::max(path.begin, user.begin));
    if (next < path.end) path.end = next;
    AddPathToken(text, text.substr(user.begin, path.begin - user.begin), path, found);
    if (next == path.end) continue;
    while (at < text.size() && Contains("?#", text.substr(at, 1))) AddParameters(text, escapes, at, found);
    AddAttributes(text, at, found);
    if (next < at) next = NextAuthority(text, at);
  }
  return found;
}

}  // namespace

std::string DisplayLine(std::string_view line, std::size_t max_bytes) {
  // A terminal shows of a progress bar only the text after its last '\r'.
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
  shown.reserve(json.size());
  while (!json.empty()) {
    // Nearly all of a document is such text, and a plan has megabytes of it.
    const auto* const plain = std::ranges::find_if_not(json, [](char c) { return c >= '\n' && c <= '~'; });
    shown.append(json.begin(), plain);
    json.remove_prefix(static_cast<std::size_t>(plain - json.begin()));
    if (json.empty()) break;
    const std::string_view character = json.substr(0, std::max<std::size_t>(Utf8Length(json), 1));
    if (IsInvisible(character)) {
      for (const std::uint16_t unit : Utf16Units(Utf8CodePoint(character)))
        shown += fmt::format("\\u{:04x}", unit);
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
  std::vector<TextRange> found;
  for (const Credential& one : FindCredentials(text)) found.push_back(one.value);
  return found;
}

std::string MaskCredentials(std::string_view text) {
  std::string masked;
  std::size_t done = 0;
  for (const auto& [value, whole] : FindCredentials(text)) {
    masked.append(text.substr(done, value.begin - done)).append(kCredentialMask);
    done = value.end;
  }
  return masked.append(text.substr(done));
}

std::string DropCredentials(std::string_view text) {
  std::string rest;
  std::size_t done = 0;
  for (const auto& [value, whole] : FindCredentials(text)) {
    rest.append(text.substr(done, whole.begin - done));
    done = whole.end;
  }
  return rest.append(text.substr(done));
}

}  // namespace ptpkg
