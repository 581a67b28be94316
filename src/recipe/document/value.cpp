// Values of recipe expressions. Layer: recipe.
//
// A scalar in YAML has no type here until it is read: `plain` text may become a boolean or whole number,
// quoted text never does. Reals and numbers with a leading zero stay text, because they are usually versions:
// 3.10 must not become 3.1, and 007 not 7. Numbers of several kinds compare by value, as in Python.
//
// Bytes and BytesWithMappings measure values for the limits of an evaluation (Scope::Spend). Mappings are
// shared and immutable, so copies cost nothing and are counted once, where they are made.

#include "recipe/document/value.h"

#include <charconv>
#include <fmt/core.h>
#include <limits>
#include <numeric>

#include "support/assert.h"
#include "support/text/json.h"

namespace ptpkg::recipe {

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  // from_chars takes no '+' and no white space, so "+5" and " 5" stay text.
  if (status != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

bool LooksLikeReal(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  bool digit = false;
  bool point_or_exponent = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      digit = true;
    } else if (c == '.' && !point_or_exponent) {
      point_or_exponent = true;
    } else if ((c == 'e' || c == 'E') && digit) {
      std::string_view exponent = text.substr(i + 1);
      if (exponent.starts_with('+')) exponent.remove_prefix(1);
      return ParseInteger(exponent).has_value();
    } else {
      return false;
    }
  }
  return digit && point_or_exponent;
}

Value Value::FromPlainScalar(const std::string& text) {
  if (text == "true" || text == "True" || text == "TRUE") return Value(true);
  if (text == "false" || text == "False" || text == "FALSE") return Value(false);
  // A leading zero carries meaning in versions and dates ("2024", but "007"): such text stays text.
  const std::string_view digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
  if (digits.size() > 1 && digits.front() == '0') return Value(text);
  if (const std::optional<std::int64_t> integer = ParseInteger(text)) return Value(*integer);
  return Value(text);
}

Value::Value(Map value) : data_(std::make_shared<const Map>(std::move(value))) {}  // as SharedMap says

const Value::Map* Value::AsMap() const {
  const auto* shared = std::get_if<SharedMap>(&data_);
  return shared != nullptr ? shared->get() : nullptr;
}

double Value::Number() const {
  PTPKG_ASSERT(IsNumber());
  const std::int64_t* integer = AsInteger();
  return integer != nullptr ? static_cast<double>(*integer) : *AsReal();
}

bool Value::Truthy() const {
  if (const bool* boolean = AsBool()) return *boolean;
  if (IsNumber()) return Number() != 0.0;
  if (const std::string* text = AsText()) return !text->empty();
  if (const List* list = AsList()) return !list->empty();
  if (const Map* map = AsMap()) return !map->empty();
  return false;
}

const char* Value::KindName() const {
  if (AsBool() != nullptr) return "a boolean";
  if (IsNumber()) return "a number";
  if (AsText() != nullptr) return "text";
  if (AsMap() != nullptr) return "a mapping";
  return AsList() != nullptr ? "a list" : "nothing";
}

Result<std::string> Value::ToText() const {
  if (const bool* boolean = AsBool()) return std::string(*boolean ? "true" : "false");
  if (const std::int64_t* integer = AsInteger()) return std::to_string(*integer);
  if (const double* real = AsReal()) {
    std::string text = fmt::format("{}", *real);
    // A real keeps its point, as in Python: 3.0 must not be read as a whole number later.
    if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
    return text;
  }
  if (const std::string* text = AsText()) return *text;
  if (IsNone()) return std::string();
  if (AsMap() != nullptr) {
    return Error(ErrorCode::kInvalidInput, "a mapping cannot be put into text")
        .WithHint("use one of its keys, as in ${{ table.key }}");
  }
  return Error(ErrorCode::kInvalidInput, "a list cannot be put into text")
      .WithHint("join it, as in ${{ names | join(' ') }}");
}

std::size_t Value::Bytes() const {
  if (const std::string* text = AsText()) return text->size();
  const List* list = AsList();
  if (list == nullptr) return AsMap() != nullptr ? sizeof(Value) : 0;
  return std::accumulate(list->begin(), list->end(), list->size() * sizeof(Value),
                         [](std::size_t sum, const Value& item) { return sum + item.Bytes(); });
}

std::size_t Value::BytesWithMappings() const {
  std::size_t bytes = sizeof(Value);
  if (const std::string* text = AsText()) bytes += text->size();
  if (const List* list = AsList()) {
    for (const Value& item : *list) bytes += item.BytesWithMappings();
  }
  if (const Map* map = AsMap()) {
    // A node of the tree has some pointers besides, which the limit need not count exactly.
    for (const auto& [key, item] : *map)
      bytes += sizeof(Map::value_type) + key.size() + item.BytesWithMappings();
  }
  return bytes;
}

Json Value::ToJson() const {
  if (const bool* boolean = AsBool()) return *boolean;
  if (const std::int64_t* integer = AsInteger()) return *integer;
  if (const double* real = AsReal()) return *real;
  if (const std::string* text = AsText()) return *text;
  if (const List* list = AsList()) {
    Json array = Json::array();
    for (const Value& item : *list) array.push_back(item.ToJson());
    return array;
  }
  if (const Map* map = AsMap()) {
    Json object = Json::object();
    for (const auto& [key, item] : *map) object[key] = item.ToJson();
    return object;
  }
  return nullptr;
}

std::partial_ordering CompareNumbers(const Value& left, const Value& right) {
  PTPKG_ASSERT(left.IsNumber() && right.IsNumber());
  static_assert(std::numeric_limits<long double>::digits >= 63, "holds each integer and each double");
  const auto exact = [](const Value& value) {
    const std::int64_t* integer = value.AsInteger();
    return integer != nullptr ? static_cast<long double>(*integer)
                              : static_cast<long double>(*value.AsReal());
  };
  return exact(left) <=> exact(right);
}

bool operator==(const Value& left, const Value& right) {
  // Booleans are not numbers here: true == 1 is false, unlike in Python.
  if (left.IsNumber() && right.IsNumber()) return CompareNumbers(left, right) == 0;
  if (left.AsMap() != nullptr && right.AsMap() != nullptr) return *left.AsMap() == *right.AsMap();
  return left.data_ == right.data_;
}

}  // namespace ptpkg::recipe
