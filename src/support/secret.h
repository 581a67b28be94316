#pragma once
// A token or password, and its masking in text. Layer: support.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace ptpkg {

inline constexpr std::size_t kShortestSecret = 4;

/// From now on MaskSecrets() hides `value`, for the life of the process. Any thread may call it.
/// Values of fewer than kShortestSecret bytes are ignored: masking them would garble every message.
void RememberSecret(std::string_view value);

/// Remembers the password, or the token in its place, and the secret query values of a URL.
void RememberSecretsOf(std::string_view url);

/// `text` with "****" in place of each remembered secret, also where it is percent-encoded, escaped for JSON
/// or HTML, or part of a base64 text. A secret of fewer than 8 bytes is masked only where no letter, digit or
/// '_' touches it.
std::string MaskSecrets(std::string_view text);

/// MaskSecrets, and MaskCredentials (text/display_text.h) for URLs whose secrets nobody has remembered.
std::string MaskAllSecrets(std::string_view text);

/// Text that no message, log or recording may show: it cannot be formatted or compared, and whoever needs it
/// says Reveal(). It is remembered (RememberSecret), so that what a server or child process repeats of it is
/// masked. Wiped when it goes; the remembered copy, and those that libcurl and messages to a server make of
/// it, are not.
class Secret {
 public:
  explicit Secret(std::string text = "") : text_(std::move(text)) { RememberSecret(text_); }
  Secret(const Secret&) = default;
  Secret(Secret&&) = default;
  Secret& operator=(const Secret&) = default;
  Secret& operator=(Secret&&) = default;
  ~Secret() {
    volatile char* byte = text_.data();
    for (std::size_t i = 0; i < text_.size(); ++i) byte[i] = '\0';
  }

  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] const std::string& Reveal() const { return text_; }

 private:
  std::string text_;
};

}  // namespace ptpkg
