#pragma once
// Values of a choice on some axes of the matrix. Layer: variant.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "recipe/document/value.h"
#include "recipe/expression/scope.h"
#include "variant/config.h"

namespace ptpkg::variant {

/// Axis → index of the value chosen on it.
using Choice = std::map<std::size_t, std::size_t>;

/// The values that an evaluation sees for a choice. Records the keys that it reads, and the axes that it
/// reads without a choice on them; there it sees the first value.
class ChosenValues final : public recipe::VariantValues {
 public:
  /// Both are borrowed.
  ChosenValues(const std::vector<Axis>& axes, const Choice& choice) : axes_(axes), choice_(choice) {}

  std::optional<recipe::Value> Read(const std::string& key) override;
  void NoteBuiltin(const std::string& key, const recipe::Value& value) override;
  [[nodiscard]] std::vector<std::string> Keys() const override;

  /// Axes that were read without a choice on them. The evaluation means nothing unless this is empty.
  [[nodiscard]] const std::set<std::size_t>& open() const { return open_; }
  /// Adds axes that another output read without a choice.
  void Open(const std::set<std::size_t>& axes) { open_.insert(axes.begin(), axes.end()); }
  [[nodiscard]] std::map<std::string, recipe::Value>& used() { return used_; }
  /// Outputs that are pinned exactly. Each counts as a variant key (CEP 14).
  [[nodiscard]] std::map<std::string, recipe::Value>& pins() { return pins_; }

 private:
  const std::vector<Axis>& axes_;
  const Choice& choice_;
  std::set<std::size_t> open_;
  std::map<std::string, recipe::Value> used_;
  std::map<std::string, recipe::Value> pins_;
};

}  // namespace ptpkg::variant
