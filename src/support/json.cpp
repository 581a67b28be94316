#include "support/json.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <vector>

namespace ptpkg {

JsonBox::JsonBox() : value_(std::make_unique<Json>(Json::object())) {}
JsonBox::JsonBox(Json value) : value_(std::make_unique<Json>(std::move(value))) {}
JsonBox::JsonBox(const JsonBox& other) : value_(std::make_unique<Json>(*other)) {}
JsonBox::JsonBox(JsonBox&& other) noexcept = default;
JsonBox& JsonBox::operator=(JsonBox other) noexcept {
  value_ = std::move(other.value_);
  return *this;
}
JsonBox::~JsonBox() = default;

namespace {

/// nlohmann keeps the last of equal keys without a word; a callback sees each key as it comes.
class DuplicateKeys {
 public:
  bool operator()(int /*depth*/, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
        open_.emplace_back();
        break;
      case Json::parse_event_t::object_end:
        open_.pop_back();
        break;
      case Json::parse_event_t::key:
        if (!open_.back().insert(parsed.get<std::string>()).second && duplicate.empty()) {
          duplicate = parsed.get<std::string>();
        }
        break;
      default:
        break;
    }
    return true;
  }

  std::string duplicate;

 private:
  std::vector<std::set<std::string>> open_;
};

SourceSpan SpanAt(std::string_view text, std::string_view name, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const std::size_t line_start = before.rfind('\n') + 1;
  SourceSpan span;
  span.file = name;
  span.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  span.column = 1 + static_cast<int>(before.size() - line_start);
  // A minified file is one line of megabytes: no excerpt then.
  const std::string_view line = text.substr(line_start, text.find('\n', line_start) - line_start);
  if (line.size() <= 200) span.excerpt = line;
  return span;
}

Error WrongType(const std::string& key, std::string_view expected, std::string_view where) {
  return {ErrorCode::kInvalidInput, fmt::format("'{}' in {} must be {}", key, where, expected)};
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view name) {
  DuplicateKeys keys;
  try {
    Json value = Json::parse(text, std::ref(keys));
    if (!keys.duplicate.empty()) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("key '{}' occurs twice in one object of {}", keys.duplicate, name));
    }
    return value;
  } catch (const Json::parse_error& failure) {
    return Error(ErrorCode::kInvalidInput, fmt::format("{} is not valid JSON", name))
        .At(SpanAt(text, name, failure.byte == 0 ? 0 : failure.byte - 1));
  }
}

std::string DumpJson(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string DumpJsonPython(const Json& value) {
  if (value.is_object()) {
    std::vector<std::string> members;
    for (const auto& [key, member] : value.items()) {
      members.push_back(Json(key).dump(-1, ' ', true) + ": " + DumpJsonPython(member));
    }
    return fmt::format("{{{}}}", fmt::join(members, ", "));
  }
  if (value.is_array()) {
    std::vector<std::string> items;
    for (const Json& item : value) items.push_back(DumpJsonPython(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Result<std::string> JsonString(const Json& object, const std::string& key, std::string_view where) {
  if (!object.is_object() || !object.contains(key)) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is missing in {}", key, where));
  }
  if (!object[key].is_string()) return WrongType(key, "text", where);
  return object[key].get<std::string>();
}

Result<std::int64_t> JsonInteger(const Json& object, const std::string& key, std::string_view where) {
  if (!object.is_object() || !object.contains(key)) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is missing in {}", key, where));
  }
  if (!object[key].is_number_integer()) return WrongType(key, "an integer", where);
  return object[key].get<std::int64_t>();
}

Result<std::string> JsonStringOr(const Json& object, const std::string& key, std::string_view fallback,
                                 std::string_view where) {
  if (!object.is_object() || !object.contains(key) || object[key].is_null()) return std::string(fallback);
  return JsonString(object, key, where);
}

Result<std::vector<std::string>> JsonStringsOr(const Json& object, const std::string& key,
                                               std::vector<std::string> fallback, std::string_view where) {
  if (!object.is_object() || !object.contains(key) || object[key].is_null()) return fallback;
  if (!object[key].is_array()) return WrongType(key, "a list of texts", where);
  std::vector<std::string> texts;
  for (const Json& item : object[key]) {
    if (!item.is_string()) return WrongType(key, "a list of texts", where);
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

}  // namespace ptpkg
