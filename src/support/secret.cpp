// Masks known secrets in all output. Programs print them in encoded form, so each secret is remembered in
// every form that common tools write: percent, JSON and HTML escapes of several languages, hexadecimal digits
// and base64.
// Base64 of a longer text holds a secret at one of three alignments. For each, the digits that the secret
// alone decides are searched (Base64Core).
// Short secrets would also match parts of words, so below kLongEnough bytes a match must not touch letters or
// digits. Below kShortestSecret nothing is remembered.
// Invariant: matches that overlap or touch become one mask, so that no rest of a secret stays between two
// masks.

#include "support/secret.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <span>
#include <vector>

#include "support/basic_credentials.h"
#include "support/digest/base64.h"
#include "support/digest/stream.h"
#include "support/net/url.h"
#include "support/text/display_text.h"
#include "support/text/utf8.h"

namespace ptpkg {
namespace {

constexpr std::size_t kLongEnough = 8;  // to be no part of a word by chance

bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string HexDigits(std::string_view value, bool upper) {
  std::string text;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    text += upper ? fmt::format("{:02X}", byte) : fmt::format("{:02x}", byte);
  }
  return text;
}

std::string Percented(std::string_view value, bool upper) {
  std::string text;
  for (const char& c : value) {
    const bool plain = IsWordByte(c) || c == '-' || c == '.' || c == '~';
    text += plain ? std::string(1, c) : "%" + HexDigits({&c, 1}, upper);
  }
  return text;
}

std::string Replaced(std::string_view value, std::span<const std::pair<char, std::string_view>> by) {
  std::string text;
  for (const char c : value) {
    const auto found = std::find_if(by.begin(), by.end(), [&](const auto& one) { return one.first == c; });
    found == by.end() ? text.push_back(c) : static_cast<void>(text.append(found->second));
  }
  return text;
}

/// The digits of base64 that `value` alone decides, where `before` bytes stand before it.
std::string Base64Core(std::string_view value, std::size_t before) {
  constexpr std::size_t kGroup = 3;
  constexpr std::size_t kDigits = 4;
  const std::string padded = std::string(before, '\0') + std::string(value);
  const std::string digits = Base64(AsBytes(padded));
  const std::size_t first = before == 0 ? 0 : before + 1;  // a byte reaches into the next digit
  const std::size_t whole = padded.size() / kGroup * kDigits;
  const std::size_t rest = padded.size() % kGroup;  // the last digit of these bytes depends on the next byte
  return digits.substr(first, whole + rest - first);
}

/// `form` with each character beyond ASCII as "\\uXXXX", in two halves beyond U+FFFF: as json.dumps of Python
/// and json_encode of PHP write it, or with the upper-case digits of .NET. Other bytes stay.
std::string EscapedBeyondAscii(std::string_view form, bool upper) {
  const auto add = [upper](std::string& text, std::uint32_t unit) {
    text += upper ? fmt::format("\\u{:04X}", unit) : fmt::format("\\u{:04x}", unit);
  };
  std::string text;
  while (!form.empty()) {
    const std::size_t length = std::max<std::size_t>(Utf8Length(form), 1);
    const std::string_view character = form.substr(0, length);
    form.remove_prefix(length);
    if (length == 1) {
      text += character;
      continue;
    }
    for (const std::uint32_t unit : Utf16Units(Utf8CodePoint(character))) add(text, unit);
  }
  return text;
}

class Remembered {
 public:
  void Add(std::string_view value) {
    constexpr std::array<std::pair<char, std::string_view>, 4> kJson = {
        {{'"', "\\\""}, {'\\', "\\\\"}, {'\t', "\\t"}, {'/', "\\/"}}};
    // Go's and .NET's form of JSON, safe inside HTML.
    constexpr std::array<std::pair<char, std::string_view>, 5> kGoJson = {
        {{'"', "\\\""}, {'\\', "\\\\"}, {'&', "\\u0026"}, {'<', "\\u003c"}, {'>', "\\u003e"}}};
    constexpr std::array<std::pair<char, std::string_view>, 8> kNetJson = {{{'"', "\\u0022"},
                                                                            {'\\', "\\\\"},
                                                                            {'&', "\\u0026"},
                                                                            {'\'', "\\u0027"},
                                                                            {'+', "\\u002B"},
                                                                            {'<', "\\u003C"},
                                                                            {'>', "\\u003E"},
                                                                            {'`', "\\u0060"}}};
    constexpr std::array<std::pair<char, std::string_view>, 5> kHtml = {
        {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#x27;"}}};
    // Go's and Jinja's form of HTML; Go's templates escape '+' too.
    constexpr std::array<std::pair<char, std::string_view>, 6> kGoHtml = {
        {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&#34;"}, {'\'', "&#39;"}, {'+', "&#43;"}}};
    constexpr std::array<std::pair<char, std::string_view>, 5> kHexHtml = {
        {{'&', "&#x26;"}, {'<', "&#x3c;"}, {'>', "&#x3e;"}, {'"', "&#x22;"}, {'\'', "&#x27;"}}};
    constexpr std::array<std::pair<char, std::string_view>, 2> kUrlSafe = {{{'+', "-"}, {'/', "_"}}};
    constexpr std::array<std::pair<char, std::string_view>, 1> kBlank = {{{' ', "+"}}};
    if (value.size() < kShortestSecret) return;
    const std::unique_lock lock(mutex_);
    if (!forms_.emplace(value).second) return;
    for (std::string form :
         {Percented(value, true), Percented(value, false), HexDigits(value, true), HexDigits(value, false),
          Replaced(value, std::span(kJson).first(3)), Replaced(value, kJson), Replaced(value, kGoJson),
          Replaced(value, kNetJson), Replaced(value, kHtml), Replaced(value, kGoHtml),
          Replaced(value, std::span(kGoHtml).first(5)), Replaced(value, kHexHtml), Replaced(value, kBlank),
          EscapedBeyondAscii(Replaced(value, std::span(kJson).first(3)), false),
          EscapedBeyondAscii(Replaced(value, kJson), false),
          EscapedBeyondAscii(Replaced(value, kGoJson), false),
          EscapedBeyondAscii(Replaced(value, kNetJson), true)})
      forms_.insert(std::move(form));
    for (const std::size_t before : {0U, 1U, 2U}) {
      std::string core = Base64Core(value, before);
      if (core.size() < kLongEnough) continue;
      forms_.insert(Replaced(core, kUrlSafe));
      forms_.insert(std::move(core));
    }
  }

  [[nodiscard]] std::string Mask(std::string_view text) const {
    const std::shared_lock lock(mutex_);
    std::vector<TextRange> found;
    for (const std::string& form : forms_) {
      // From at + 1, because a secret such as "abab…" can overlap itself.
      for (std::size_t at = text.find(form); at != std::string_view::npos; at = text.find(form, at + 1)) {
        if (IsWhole(text, at, form.size())) found.push_back({.begin = at, .end = at + form.size()});
      }
    }
    if (found.empty()) return std::string(text);
    std::sort(found.begin(), found.end(),
              [](const TextRange& a, const TextRange& b) { return a.begin < b.begin; });
    std::string masked;
    std::size_t done = 0;
    for (const TextRange& range : found) {
      // Ranges that overlap or touch get a single mask.
      if (range.begin > done || masked.empty()) {
        masked.append(text.substr(done, range.begin - done)).append(kCredentialMask);
      }
      done = std::max(done, range.end);
    }
    return masked.append(text.substr(done));
  }

 private:
  static bool IsWhole(std::string_view text, std::size_t at, std::size_t size) {
    if (size >= kLongEnough) return true;
    const bool touched_before = at > 0 && IsWordByte(text[at - 1]);
    const bool touched_behind = at + size < text.size() && IsWordByte(text[at + size]);
    return !touched_before && !touched_behind;
  }

  mutable std::shared_mutex mutex_;
  std::set<std::string> forms_;
};

Remembered& TheRemembered() {
  static Remembered remembered;
  return remembered;
}

}  // namespace

void RememberSecret(std::string_view value) { TheRemembered().Add(value); }

std::string BasicCredentials(std::string_view login) {
  std::string credentials = Base64(AsBytes(login));
  RememberSecret(credentials);
  return credentials;
}

void RememberSecretsOf(std::string_view url) {
  for (const TextRange& range : CredentialsIn(url)) {
    std::string_view value = url.substr(range.begin, range.end - range.begin);
    // Only the password of "user:password" is secret; a user name as a secret would mask ordinary words.
    const bool is_user_info = range.end < url.size() && url[range.end] == '@';
    const std::size_t colon = is_user_info ? value.find(':') : std::string_view::npos;
    // As HTTP clients send it.
    if (is_user_info) BasicCredentials(PercentDecode(value) + (colon == std::string_view::npos ? ":" : ""));
    if (colon != std::string_view::npos) value.remove_prefix(colon + 1);
    RememberSecret(value);
    RememberSecret(PercentDecode(value));
  }
}

std::string MaskSecrets(std::string_view text) { return TheRemembered().Mask(text); }
std::string MaskAllSecrets(std::string_view text) { return MaskSecrets(MaskCredentials(text)); }

}  // namespace ptpkg
