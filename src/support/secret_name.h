#pragma once
// Words for secrets in names of variables, keys and URL parameters. Layer: support.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "support/text/text.h"

namespace ptpkg {

// docs/environment.md has the same words.
inline constexpr std::array<std::string_view, 15> kSecretWords = {
    "token",         "secret",      "passw",   "passphrase", "credential",
    "authorization", "apikey",      "api_key", "accesskey",  "access_key",
    "privatekey",    "private_key", "jwt",     "bearer",     "oauth"};

/// True if the name contains such a word, in any case and with '-' for '_': "API_TOKEN", "api-key".
[[nodiscard]] inline bool NamesSecret(std::string_view name) {
  const std::string lower = ReplaceAll(ToLower(name), "-", "_");
  return std::ranges::any_of(kSecretWords,
                             [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

}  // namespace ptpkg
