#pragma once
// Immutable text shared by its copies. Layer: support.

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace ptpkg {

/// Immutable text; a copy costs a reference count, whatever the length. For what many values repeat: the
/// file and the line of every node of a recipe. Threads may copy one object at the same time.
class SharedText {
 public:
  SharedText() = default;
  // Implicit on purpose: it stands where a std::string would.
  // NOLINTNEXTLINE(google-explicit-constructor): see above
  SharedText(std::string text) {
    if (!text.empty()) text_ = std::make_shared<const std::string>(std::move(text));  // shared by its copies
  }
  // NOLINTNEXTLINE(google-explicit-constructor): see above
  SharedText(std::string_view text) : SharedText(std::string(text)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): see above
  SharedText(const char* text) : SharedText(std::string(text)) {}

  [[nodiscard]] std::string_view view() const {
    return text_ ? std::string_view(*text_) : std::string_view();
  }
  [[nodiscard]] std::string str() const { return std::string(view()); }
  [[nodiscard]] std::size_t size() const { return view().size(); }
  [[nodiscard]] bool empty() const { return text_ == nullptr; }

  friend bool operator==(const SharedText& left, const SharedText& right) {
    return left.text_ == right.text_ || left.view() == right.view();
  }

 private:
  std::shared_ptr<const std::string> text_;  // shared by all copies; null for ""
};

}  // namespace ptpkg
