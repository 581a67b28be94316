#pragma once
// Words for secrets in names of variables, keys and URL parameters. Layer: support.

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "support/text/text.h"

namespace ptpkg {

// docs/environment.md has the same words.
inline constexpr std::array<std::string_view, 16> kSecretWords = {
    "token",         "secret", "password", "passwd",    "passphrase", "credential",
    "authorization", "apikey", "api_key",  "accesskey", "access_key", "privatekey",
    "private_key",   "jwt",    "bearer",   "oauth"};

/// True if the name contains such a word, in any case and with '-' for '_': "API_TOKEN", "api-key".
[[nodiscard]] inline bool NamesSecret(std::string_view name) {
  const std::string lower = ReplaceAll(ToLower(name), "-", "_");
  return std::ranges::any_of(kSecretWords,
                             [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

/// True if a variable of this name holds a place, such as TOKEN_FILE.
[[nodiscard]] inline bool NamesPlace(std::string_view name) {
  return name.ends_with("_URL") || name.ends_with("_FILE") || name.ends_with("_PATH") ||
         name.ends_with("_DIR");
}

/// True for a small number, a version and a word that switches something.
[[nodiscard]] inline bool IsSwitch(std::string_view value) {
  static constexpr std::array<std::string_view, 6> kSwitches = {"on", "off", "true", "false", "yes", "no"};
  constexpr std::size_t kMostDigits = 4;  // a longer number can be a password
  if (value.find_first_not_of("0123456789.") == std::string_view::npos)
    return value.size() <= kMostDigits || value.find('.') != std::string_view::npos;
  return std::ranges::find(kSwitches, ToLower(value)) != kSwitches.end();
}

/// True if a variable holds a secret: its name has a word for one, not as part of a longer word (TOKENIZERS)
/// and not for a place (TOKEN_FILE). A small number or switch does not count (USE_OAUTH=1).
[[nodiscard]] inline bool HoldsSecret(std::string_view name, std::string_view value) {
  if (NamesPlace(name) || IsSwitch(value)) return false;
  const std::string lower = ToLower(name);
  const auto ends_a_word = [&](std::size_t end) {
    if (lower.compare(end, 1, "s") == 0) ++end;
    return end == lower.size() || std::isalpha(static_cast<unsigned char>(lower[end])) == 0;
  };
  for (const std::string_view word : kSecretWords) {
    for (std::size_t at = lower.find(word); at != std::string::npos; at = lower.find(word, at + 1)) {
      if (ends_a_word(at + word.size())) return true;
    }
  }
  return false;
}

}  // namespace ptpkg
