// JSON for files and answers of unknown origin, on the SAX parser of nlohmann. Its own tree builder keeps the
// last of equal keys silently, and a document of deep nesting ends the process by recursion. Builder
// therefore refuses duplicate keys, and limits depth and number of values while it reads. Differences between
// readers are refused or kept: a byte order mark and NUL bytes are errors, "-0" stays a float. DumpJsonPython
// writes the form of json.dumps, because build hashes of conda are taken over that text.

#include "support/text/json.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>
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

/// Builds the value from the parser's events. nlohmann's own builder keeps the last of equal keys without a
/// word and takes any depth: 100,000 nested lists end the process in a recursion over them.
class Builder {
 public:
  Builder(std::string_view name, const JsonLimits& limits) : name_(name), limits_(limits) {}

  // The interface that nlohmann's SAX parser calls; false ends the parsing.
  bool null() { return Put(nullptr); }
  bool boolean(bool value) { return Put(value); }
  /// Only numbers with a sign come here. "-0" is not an integer: Rust's readers see a float, Python's a zero.
  bool number_integer(std::int64_t value) { return value == 0 ? Put(-0.0) : Put(value); }
  bool number_unsigned(std::uint64_t value) { return Put(value); }
  bool number_float(double value, const std::string& /*text*/) { return Put(value); }
  bool string(std::string& value) { return Put(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) { return false; }  // JSON text has none
  bool start_object(std::size_t /*size*/) { return Open(Json::object()); }
  bool start_array(std::size_t /*size*/) { return Open(Json::array()); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool key(std::string& key) {
    // std::map: the address of a member stays valid while later keys are added.
    auto& object = open_.back()->get_ref<Json::object_t&>();
    const auto [place, is_new] = object.emplace(std::move(key), nullptr);
    if (!is_new) return Fail(fmt::format("key '{}' occurs twice in one object of {}", place->first, name_));
    member_ = &place->second;
    return Count();
  }
  bool parse_error(std::size_t byte, const std::string& /*token*/, const Json::exception& /*failure*/) {
    // nlohmann counts bytes from 1.
    bad_byte_ = byte == 0 ? 0 : byte - 1;
    return false;
  }

  /// Error other than one of syntax.
  [[nodiscard]] std::optional<Error> TakeError() { return std::move(error_); }
  [[nodiscard]] std::size_t bad_byte() const { return bad_byte_; }
  [[nodiscard]] Json TakeRoot() { return std::move(root_); }

 private:
  bool Fail(std::string message) {
    error_.emplace(ErrorCode::kInvalidInput, std::move(message));
    return false;
  }

  bool Count() {
    if (++count_ <= limits_.values) return true;
    return Fail(fmt::format("{} holds more than {} values", name_, limits_.values));
  }

  Json* Place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_object()) {
      *member_ = std::move(value);
      return member_;
    }
    return &open_.back()->get_ref<Json::array_t&>().emplace_back(std::move(value));
  }

  bool Put(Json value) {
    Place(std::move(value));
    return Count();
  }

  bool Open(Json value) {
    if (open_.size() == limits_.depth)
      return Fail(fmt::format("{} is nested deeper than {} levels", name_, limits_.depth));
    // An array moves its elements when it grows. open_ holds the address of none of them: only the
    // newest element of an open array can be open itself.
    open_.push_back(Place(std::move(value)));
    return Count();
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  std::string_view name_;
  JsonLimits limits_;
  Json root_;
  std::vector<Json*> open_;  // the values around the next one; none of them moves while it is open
  Json* member_ = nullptr;   // of the innermost object, where its next value goes
  std::size_t count_ = 0;
  std::size_t bad_byte_ = 0;
  std::optional<Error> error_;
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

Result<Json> ParseJson(std::string_view text, std::string_view name, const JsonLimits& limits) {
  // nlohmann skips a byte order mark, and takes a NUL byte for the end of the text.
  const std::size_t foreign = text.starts_with("\xEF\xBB\xBF") ? 0 : text.find('\0');
  if (foreign != std::string_view::npos) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("{} is not valid JSON: it {}", name,
                             foreign == 0 && text.front() != '\0' ? "begins with a byte order mark"
                                                                  : "contains a NUL byte"))
        .At(SpanAt(text, name, foreign));
  }
  Builder builder(name, limits);
  if (Json::sax_parse(text, &builder)) return builder.TakeRoot();
  if (std::optional<Error> error = builder.TakeError()) return *std::move(error);
  return Error(ErrorCode::kInvalidInput, fmt::format("{} is not valid JSON", name))
      .At(SpanAt(text, name, builder.bad_byte()));
}

std::string DumpJson(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string DumpJsonPython(const Json& value) {
  if (value.is_object()) {
    std::vector<std::string> members;
    for (const auto& [key, member] : value.items()) {
      // The map is sorted by bytes. sort_keys of Python sorts by code points, which is the same order in
      // UTF-8.
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
  // A larger number would wrap around in get().
  const bool fits = !object[key].is_number_unsigned() ||
                    object[key].get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
  if (!object[key].is_number_integer() || !fits) return WrongType(key, "an integer", where);
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
