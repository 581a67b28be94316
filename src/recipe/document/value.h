#pragma once
// Value of a recipe expression. Layer: recipe.

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "support/result.h"
#include "support/text/json_fwd.h"

namespace ptpkg::recipe {

/// Nothing, bool, integer, real, text, a list or a mapping. "Nothing" is `none`, and `x if c` where c is
/// false. Copies of a mapping share it.
class Value {
 public:
  using List = std::vector<Value>;
  using Map = std::map<std::string, Value>;

  Value() = default;
  explicit Value(bool value) : data_(value) {}
  explicit Value(std::int64_t value) : data_(value) {}
  explicit Value(double value) : data_(value) {}
  explicit Value(std::string value) : data_(std::move(value)) {}
  explicit Value(const char* value) : data_(std::string(value)) {}
  explicit Value(List value) : data_(std::move(value)) {}
  explicit Value(Map value);

  /// Value of an unquoted scalar: true, false and integers; anything else, reals too, stays text, so
  /// that a version keeps its digits.
  static Value FromPlainScalar(const std::string& text);

  [[nodiscard]] bool IsNone() const { return std::holds_alternative<std::monostate>(data_); }
  [[nodiscard]] const bool* AsBool() const { return std::get_if<bool>(&data_); }
  [[nodiscard]] const std::int64_t* AsInteger() const { return std::get_if<std::int64_t>(&data_); }
  [[nodiscard]] const double* AsReal() const { return std::get_if<double>(&data_); }
  [[nodiscard]] const std::string* AsText() const { return std::get_if<std::string>(&data_); }
  [[nodiscard]] const List* AsList() const { return std::get_if<List>(&data_); }
  [[nodiscard]] const Map* AsMap() const;
  [[nodiscard]] bool IsNumber() const { return AsInteger() != nullptr || AsReal() != nullptr; }
  /// REQUIRES: IsNumber().
  [[nodiscard]] double Number() const;

  /// False for nothing, false, 0, "" and an empty list or mapping.
  [[nodiscard]] bool Truthy() const;
  /// "nothing", "a boolean", "a number", "text", "a list" or "a mapping": for diagnostics.
  [[nodiscard]] const char* KindName() const;
  /// The value in text: "true", "12", "1.5". Nothing is "". Errors: kInvalidInput for a list and a
  /// mapping.
  [[nodiscard]] Result<std::string> ToText() const;
  /// Approximate memory use: 40 bytes for each item of a list, and the texts. A mapping counts as
  /// one item: its content is shared.
  [[nodiscard]] std::size_t Bytes() const;
  /// Bytes() with the content of all mappings, which values otherwise share: the cost of a new one.
  [[nodiscard]] std::size_t BytesWithMappings() const;
  /// The JSON value that enters a build hash. Nothing is null.
  [[nodiscard]] Json ToJson() const;

  /// Numbers compare as in CompareNumbers; values of different kinds are unequal.
  friend bool operator==(const Value& left, const Value& right);

 private:
  // Shared by the copies of a mapping, which never change it.
  using SharedMap = std::shared_ptr<const Map>;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, SharedMap> data_;
};

/// Compares by value, whatever the kinds, and exactly: whole numbers above 2^53 too. REQUIRES: both
/// IsNumber().
std::partial_ordering CompareNumbers(const Value& left, const Value& right);

/// The integer that all of `text` spells in decimal, with an optional '-'; nullopt if it spells none
/// or does not fit.
std::optional<std::int64_t> ParseInteger(std::string_view text);

/// True if YAML 1.2 reads `text` as a real number with a point or exponent: "1.10", "2e3", not "3".
bool LooksLikeReal(std::string_view text);

}  // namespace ptpkg::recipe
