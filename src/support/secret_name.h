#pragma once
// Names of environment variables that hold secrets. Layer: support.

#include <algorithm>
#include <array>
#include <string_view>

namespace ptpkg {

// docs/environment.md has the same words.
inline constexpr std::array<std::string_view, 9> kSecretNames = {
    "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "API_KEY", "APIKEY", "ACCESS_KEY", "CREDENTIAL"};

/// True if the name contains a word for a secret, such as TOKEN or API_KEY. Upper case only.
[[nodiscard]] inline bool NamesSecret(std::string_view name) {
  return std::ranges::any_of(
      kSecretNames, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

}  // namespace ptpkg
