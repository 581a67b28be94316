// Filters of expressions. Layer: recipe. Names and results are Jinja's, except replace_words.
//
// Recipes may come from anybody, so no filter may use memory or time without bound. The evaluator counts each
// result, but only once it exists. So filters whose result can be much larger than their input (join,
// replace) compute its size first. `unique` compares values other than text pairwise, and limits their
// number. `slice` limits the number of its lists.
//
// The table at the end is the interface: arguments are counted there, and only the last argument of a filter
// may be named.

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>
#include <numeric>
#include <set>

#include "recipe/expression/functions.h"
#include "support/assert.h"
#include "support/limits.h"
#include "support/text/text.h"
#include "support/text/utf8.h"
#include "versions/build_string.h"

namespace ptpkg::recipe {
namespace {

using Arguments = std::vector<Value>;

Error Invalid(std::string message) { return {ErrorCode::kInvalidInput, std::move(message)}; }

Error WrongInput(std::string_view filter, std::string_view expected, const Value& value) {
  return Invalid(fmt::format("'{}' works on {}, not on {}", filter, expected, value.KindName()));
}

Result<std::string> InputText(std::string_view filter, const Value& value) {
  if (value.AsText() != nullptr) return *value.AsText();
  return WrongInput(filter, "text", value);
}

/// For results whose size is known before they are made; the evaluator counts all others.
Result<void> CheckSize(std::size_t bytes) {
  if (bytes <= limits::kValue) return Ok();
  return Invalid(fmt::format("the value grows above {} MiB", limits::kValue >> 20U));
}

/// The items of a list, the keys of a mapping, or the characters of a text.
Result<Value::List> Items(std::string_view filter, const Value& value) {
  if (const Value::List* list = value.AsList()) return *list;
  if (const Value::Map* map = value.AsMap()) {
    Value::List keys;
    for (const auto& [key, item] : *map) keys.emplace_back(key);
    return keys;
  }
  if (const std::string* text = value.AsText()) {
    Value::List characters;
    for (const std::string_view c : Utf8Characters(*text)) characters.emplace_back(std::string(c));
    return characters;
  }
  return WrongInput(filter, "a list or text", value);
}

/// Sorts numbers or texts. Errors: kInvalidInput when they are mixed, or anything else.
Result<Value::List> Sorted(std::string_view filter, const Value& value) {
  PTPKG_TRY(Value::List items, Items(filter, value));
  const bool numbers = std::all_of(items.begin(), items.end(), [](const Value& v) { return v.IsNumber(); });
  const bool texts =
      std::all_of(items.begin(), items.end(), [](const Value& v) { return v.AsText() != nullptr; });
  // Python 3 has no order between numbers and text either.
  if (!numbers && !texts)
    return Invalid(fmt::format("'{}' needs items that are all numbers or all text", filter));
  std::stable_sort(items.begin(), items.end(), [&](const Value& a, const Value& b) {
    return numbers ? CompareNumbers(a, b) < 0 : *a.AsText() < *b.AsText();
  });
  return items;
}

Result<Value> Abs(const Arguments& arguments) {
  const Value& input = arguments[0];
  if (const double* real = input.AsReal()) return Value(*real < 0 ? -*real : *real);
  const std::int64_t* integer = input.AsInteger();
  if (integer == nullptr) return WrongInput("abs", "a number", input);
  // Its opposite is one above the largest number.
  if (*integer == INT64_MIN) return Invalid("the result is too large for a number");
  return Value(*integer < 0 ? -*integer : *integer);
}

Result<Value> Bool(const Arguments& arguments) { return Value(arguments[0].Truthy()); }

/// default(value, true) replaces what is empty or false too.
Result<Value> Default(const Arguments& arguments) {
  const bool falsy_too = arguments.size() > 2 && arguments[2].Truthy();
  // An undefined name arrives as none (Evaluator::Filter), so a value that is none is replaced too.
  return arguments[0].IsNone() || (falsy_too && !arguments[0].Truthy()) ? arguments[1] : arguments[0];
}

Result<Value> First(const Arguments& arguments) {
  PTPKG_TRY(const Value::List items, Items("first", arguments[0]));
  if (items.empty()) return Invalid("'first' works on a value with at least one item");
  return items.front();
}

Result<Value> Last(const Arguments& arguments) {
  PTPKG_TRY(const Value::List items, Items("last", arguments[0]));
  if (items.empty()) return Invalid("'last' works on a value with at least one item");
  return items.back();
}

Result<Value> Int(const Arguments& arguments) {
  const Value& input = arguments[0];
  if (const bool* boolean = input.AsBool()) return Value(std::int64_t{*boolean ? 1 : 0});
  if (input.AsInteger() != nullptr) return input;
  if (const double* real = input.AsReal()) {
    // Below 2^63: beyond the range of the integer, the conversion is undefined.
    constexpr double kLimit = 9.0e18;
    if (std::isnan(*real)) return Invalid("'int' works on a number, not on the result of 'inf - inf'");
    if (*real < -kLimit || *real > kLimit) return Invalid("the result is too large for a number");
    return Value(static_cast<std::int64_t>(*real));
  }
  if (const std::string* text = input.AsText()) {
    if (const std::optional<std::int64_t> integer = ParseInteger(Trim(*text))) return Value(*integer);
    return Invalid(fmt::format("'{}' is not a whole number", *text));
  }
  return WrongInput("int", "a number or text", input);
}

Result<Value> JoinItems(const Arguments& arguments) {
  PTPKG_TRY(const Value::List items, Items("join", arguments[0]));
  std::vector<std::string> texts;
  for (const Value& item : items) {
    PTPKG_TRY(std::string text, item.ToText());
    texts.push_back(std::move(text));
  }
  std::string separator;
  if (arguments.size() > 1) {
    PTPKG_TRY(separator, InputText("join", arguments[1]));
  }
  PTPKG_CHECK(
      CheckSize(std::accumulate(texts.begin(), texts.end(), texts.size() * separator.size(),
                                [](std::size_t sum, const std::string& text) { return sum + text.size(); })));
  return Value(Join(texts, separator));
}

Result<Value> Length(const Arguments& arguments) {
  // Characters of a text, not bytes.
  PTPKG_TRY(const Value::List items, Items("length", arguments[0]));
  return Value(static_cast<std::int64_t>(items.size()));
}

Result<Value> List(const Arguments& arguments) {
  PTPKG_TRY(Value::List items, Items("list", arguments[0]));
  return Value(std::move(items));
}

Result<Value> Lower(const Arguments& arguments) {
  PTPKG_TRY(const std::string text, InputText("lower", arguments[0]));
  return Value(ToLower(text));
}

Result<Value> Upper(const Arguments& arguments) {
  PTPKG_TRY(std::string text, InputText("upper", arguments[0]));
  // ASCII only, like ToLower: names and versions have no other letters.
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return Value(std::move(text));
}

Result<Value> Max(const Arguments& arguments) {
  PTPKG_TRY(const Value::List items, Sorted("max", arguments[0]));
  if (items.empty()) return Invalid("'max' works on a value with at least one item");
  return items.back();
}

Result<Value> Min(const Arguments& arguments) {
  PTPKG_TRY(const Value::List items, Sorted("min", arguments[0]));
  if (items.empty()) return Invalid("'min' works on a value with at least one item");
  return items.front();
}

Result<Value> Replace(const Arguments& arguments) {
  PTPKG_TRY(const std::string input, arguments[0].ToText());
  PTPKG_TRY(const std::string from, InputText("replace", arguments[1]));
  PTPKG_TRY(const std::string to, InputText("replace", arguments[2]));
  if (from.empty()) return Invalid("'replace' needs a text to look for");
  std::size_t bytes = input.size();
  for (std::size_t at = input.find(from); at != std::string::npos; at = input.find(from, at + from.size())) {
    // An upper bound: shorter replacements don't lower it.
    bytes += to.size() - std::min(from.size(), to.size());
    PTPKG_CHECK(CheckSize(bytes));
  }
  return Value(ReplaceAll(input, from, to));
}

/// "9.0;8.0" of 'Hopper;8.0' and {Hopper: '9.0'}: whole words of a list, whose separators stay. ptpkg only.
Result<Value> ReplaceWords(const Arguments& arguments) {
  PTPKG_TRY(const std::string input, arguments[0].ToText());
  const Value::Map* table = arguments[1].AsMap();
  if (table == nullptr) {
    return Invalid(fmt::format("'replace_words' takes a mapping, not {}", arguments[1].KindName()));
  }
  constexpr std::string_view kSeparators = ";, \t\n";
  std::string replaced;
  std::string_view rest = input;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(kSeparators), rest.size());
    std::string word(rest.substr(0, end));
    if (const auto found = table->find(word); found != table->end()) {
      PTPKG_TRY(word, found->second.ToText());
    }
    replaced += word;
    replaced += rest.substr(end, 1);
    PTPKG_CHECK(CheckSize(replaced.size()));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return Value(std::move(replaced));
}

Result<Value> Reverse(const Arguments& arguments) {
  PTPKG_TRY(Value::List items, Items("reverse", arguments[0]));
  std::reverse(items.begin(), items.end());
  if (arguments[0].AsList() != nullptr) return Value(std::move(items));
  return JoinItems({Value(std::move(items))});
}

/// Jinja's slice: the items dealt into `n` lists, the longer ones first.
Result<Value> Slice(const Arguments& arguments) {
  PTPKG_TRY(const Value::List items, Items("slice", arguments[0]));
  const std::int64_t* wanted = arguments[1].AsInteger();
  if (wanted == nullptr || *wanted < 1 || *wanted > 1000)
    return Invalid("'slice' takes a number from 1 to 1000");
  const auto count = static_cast<std::size_t>(*wanted);
  Value::List slices;
  auto begin = items.begin();
  for (std::size_t i = 0; i < count; ++i) {
    // The first lists take one of the items that are left over each.
    const auto size = static_cast<std::ptrdiff_t>(items.size() / count + (i < items.size() % count ? 1 : 0));
    slices.emplace_back(Value::List(begin, begin + size));
    begin += size;
  }
  return Value(std::move(slices));
}

Result<Value> Sort(const Arguments& arguments) {
  PTPKG_TRY(Value::List items, Sorted("sort", arguments[0]));
  if (arguments.size() > 1 && arguments[1].Truthy()) std::ranges::reverse(items);
  return Value(std::move(items));
}

Result<Value> SplitText(const Arguments& arguments) {
  PTPKG_TRY(const std::string text, InputText("split", arguments[0]));
  std::string separator;
  if (arguments.size() > 1) {
    PTPKG_TRY(separator, InputText("split", arguments[1]));
    if (separator.empty()) return Invalid("'split' needs a separator that is not empty");
  }
  std::size_t most_cuts = SIZE_MAX;
  if (arguments.size() > 2) {
    PTPKG_TRY(const Value count, Int({arguments[2]}));
    // A negative number means no limit, as in Python.
    if (*count.AsInteger() >= 0) most_cuts = static_cast<std::size_t>(*count.AsInteger());
  }
  Value::List parts;
  std::size_t pos = 0;
  if (separator.empty()) {  // At runs of white space, as Python's str.split().
    constexpr std::string_view kSpace = " \t\r\n";
    while ((pos = text.find_first_not_of(kSpace, pos)) != std::string::npos) {
      const std::size_t end = std::min(text.find_first_of(kSpace, pos), text.size());
      parts.emplace_back(text.substr(pos, end - pos));
      pos = end;
    }
    return Value(std::move(parts));
  }
  for (std::size_t end = text.find(separator); end != std::string::npos && parts.size() < most_cuts;
       end = text.find(separator, pos)) {
    parts.emplace_back(text.substr(pos, end - pos));
    pos = end + separator.size();
  }
  parts.emplace_back(text.substr(pos));
  return Value(std::move(parts));
}

Result<Value> TrimText(const Arguments& arguments) {
  PTPKG_TRY(const std::string text, InputText("trim", arguments[0]));
  return Value(std::string(Trim(text)));
}

Result<Value> Unique(const Arguments& arguments) {
  constexpr std::size_t kMostCompared = 1000;  // each with each
  PTPKG_TRY(const Value::List items, Items("unique", arguments[0]));
  Value::List kept;
  Value::List others;  // items of `kept` that are not text
  std::set<std::string_view> texts;
  for (const Value& item : items) {
    const std::string* text = item.AsText();
    if (text != nullptr) {
      // Views into `items`, which outlives the set.
      if (texts.insert(*text).second) kept.push_back(item);
      continue;
    }
    if (std::find(others.begin(), others.end(), item) != others.end()) continue;
    if (others.size() == kMostCompared)
      return Invalid(fmt::format("'unique' works on at most {} items that are not text", kMostCompared));
    others.push_back(item);
    kept.push_back(item);
  }
  return Value(std::move(kept));
}

/// "3.11.2" → "311": the first two segments, as build strings show versions.
Result<Value> VersionToBuildString(const Arguments& arguments) {
  PTPKG_TRY(const std::string text, arguments[0].ToText());
  return Value(versions::VersionDigits(text, 2));
}

struct FilterEntry {
  std::string_view name;
  Result<Value> (*call)(const Arguments&);
  std::size_t least = 0;  ///< Arguments besides the input.
  std::size_t most = 0;
  std::string_view keyword = {};  ///< The last argument may be given by this name alone.
};

constexpr std::array<FilterEntry, 22> kFilters = {{
    {"abs", Abs},
    {"bool", Bool},
    {"default", Default, 1, 2, "boolean"},
    {"first", First},
    {"int", Int},
    {"join", JoinItems, 0, 1},
    {"last", Last},
    {"length", Length},
    {"list", List},
    {"lower", Lower},
    {"max", Max},
    {"min", Min},
    {"replace", Replace, 2, 2},
    {"replace_words", ReplaceWords, 1, 1},
    {"reverse", Reverse},
    {"slice", Slice, 1, 1},
    {"sort", Sort, 0, 1, "reverse"},
    {"split", SplitText, 0, 2, "maxsplit"},
    {"trim", TrimText},
    {"unique", Unique},
    {"upper", Upper},
    {"version_to_buildstring", VersionToBuildString},
}};

}  // namespace

std::vector<std::string> FilterNames() {
  std::vector<std::string> names;
  names.reserve(kFilters.size());
  for (const FilterEntry& filter : kFilters) names.emplace_back(filter.name);
  return names;
}

Result<Value> CallFilter(const std::string& name, const CallArguments& arguments) {
  const auto* filter =
      std::find_if(kFilters.begin(), kFilters.end(), [&](const FilterEntry& f) { return f.name == name; });
  PTPKG_ASSERT(filter != kFilters.end());
  Arguments values = arguments.positional;
  // The named argument is the last one, so all before it must be there by position.
  if (arguments.named.size() == 1 && arguments.named.front().first == filter->keyword &&
      values.size() == filter->most) {
    values.push_back(arguments.named.front().second);
  } else if (!arguments.named.empty()) {
    return Invalid(fmt::format("filter '{}' has no argument '{}'", name, arguments.named.front().first));
  }
  const std::size_t given = values.size() - 1;
  if (given < filter->least || given > filter->most) {
    const std::string range = filter->least == filter->most
                                  ? std::to_string(filter->least)
                                  : fmt::format("{} to {}", filter->least, filter->most);
    return Invalid(
        fmt::format("filter '{}' takes {} argument{} without names", name, range, range == "1" ? "" : "s"));
  }
  return filter->call(values);
}

}  // namespace ptpkg::recipe
