#pragma once
// A token or password. Layer: support.

#include <string>
#include <utility>

namespace ptpkg {

/// Text that no message, log or recording may show: it cannot be formatted or compared, and whoever needs it
/// says Reveal(). Wiped when it goes; copies that libcurl and messages
/// to a server make of it are not.
class Secret {
 public:
  explicit Secret(std::string text = "") : text_(std::move(text)) {}
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
