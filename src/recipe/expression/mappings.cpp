// Methods of values, and tables of rows by version. Layer: recipe. Methods follow Python's dict and str.
//
// A table has one row per range of versions, and each row holds only the differences from the row before. The
// function row_for() merges rows in order, up to the row that the version fits. As in RFC 7386, null removes
// a key. So facts that stay true for many releases are written once.
//
// A pre-release sorts before its release, but has the release's facts. So 2.16.0rc1 is looked up as 2.16.0
// (ReleaseOf). A version outside of all rows is an error.

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/core.h>

#include "recipe/expression/functions.h"
#include "recipe/expression/value_tests.h"
#include "support/assert.h"
#include "support/text/text.h"
#include "versions/version_spec.h"

namespace ptpkg::recipe {
namespace {

Error InvalidTable(std::string message) { return {ErrorCode::kInvalidInput, std::move(message)}; }

Result<Value> Get(const std::vector<Value>& arguments) {
  PTPKG_TRY(const std::string key, arguments[1].ToText());
  const Value::Map& map = *arguments[0].AsMap();
  if (const auto found = map.find(key); found != map.end()) return found->second;
  return arguments.size() > 2 ? arguments[2] : Value();
}

Result<Value> Keys(const std::vector<Value>& arguments) {
  Value::List list;
  for (const auto& [key, value] : *arguments[0].AsMap()) list.emplace_back(key);
  return Value(std::move(list));
}

Result<Value> Values(const std::vector<Value>& arguments) {
  Value::List list;
  for (const auto& [key, value] : *arguments[0].AsMap()) list.push_back(value);
  return Value(std::move(list));
}

Result<Value> Pairs(const std::vector<Value>& arguments) {
  Value::List list;
  for (const auto& [key, value] : *arguments[0].AsMap()) list.emplace_back(Value::List{Value(key), value});
  return Value(std::move(list));
}

Result<Value> StartsWith(const std::vector<Value>& arguments) {
  PTPKG_TRY(const bool starts, RunValueTest("startingwith", arguments[0], {arguments[1]}));
  return Value(starts);
}

Result<Value> EndsWith(const std::vector<Value>& arguments) {
  PTPKG_TRY(const bool ends, RunValueTest("endingwith", arguments[0], {arguments[1]}));
  return Value(ends);
}

struct Method {
  std::string_view name;
  Result<Value> (*call)(const std::vector<Value>&);  ///< Null: the filter of this name.
  std::size_t least = 0;                             ///< Arguments besides the object.
  std::size_t most = 0;
  bool of_text = false;  ///< The object is text, not a mapping.
};

constexpr std::array<Method, 7> kMethods = {{
    {"endswith", EndsWith, 1, 1, true},
    {"get", Get, 1, 2},
    {"items", Pairs},
    {"keys", Keys},
    {"split", nullptr},
    {"startswith", StartsWith, 1, 1, true},
    {"values", Values},
}};

/// `row` over `base`: RFC 7386.
Value::Map MergeRow(Value::Map base, const Value::Map& row) {
  for (const auto& [key, value] : row) {
    if (value.IsNone()) {
      base.erase(key);
      continue;
    }
    const Value::Map* inner = value.AsMap();
    if (inner == nullptr) {
      base.insert_or_assign(key, value);
      continue;
    }
    const auto below = base.find(key);
    const Value::Map* old = below == base.end() ? nullptr : below->second.AsMap();
    base.insert_or_assign(key, Value(MergeRow(old == nullptr ? Value::Map() : *old, *inner)));
  }
  return base;
}

/// The constraint of a row. Errors: kInvalidInput for a row without.
Result<std::string> VersionsOf(const Value& row) {
  if (row.AsMap() == nullptr) {
    return InvalidTable(fmt::format("a row of the table is {}, not a mapping", row.KindName()));
  }
  const auto versions = row.AsMap()->find("versions");
  if (versions == row.AsMap()->end() || versions->second.AsText() == nullptr) {
    return InvalidTable("a row of the table has no 'versions'")
        .WithHint("write 'versions: \">=2.15,<2.16\"' into each row");
  }
  return *versions->second.AsText();
}

/// "2.16.0" of "2.16.0rc1", "2.16.0a0" and "2.16.0.dev1+cu130": facts of a release hold for its
/// pre-releases, though they sort into the range of the release before. "2.16.0.post1" stays.
std::string ReleaseOf(const std::string& version) {
  std::string release = version.substr(0, version.find('+'));
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const auto letter = std::find_if(release.begin(), release.end(), is_letter);
  if (letter == release.end() || std::string_view(letter, release.end()).starts_with("post")) return version;
  release.erase(letter, release.end());
  while (!release.empty() && std::string_view(".-_").find(release.back()) != std::string_view::npos)
    release.pop_back();
  return release.empty() ? version : release;
}

Error OutsideTable(const std::string& version, const std::vector<std::string>& covered) {
  const std::string ends =
      covered.size() == 1 ? covered.front() : fmt::format("{} to {}", covered.front(), covered.back());
  return InvalidTable(fmt::format("version '{}' is outside the table, which has rows for {}", version, ends))
      .WithHint(fmt::format("add a row with its 'versions' to the table, or choose a version that it has"));
}

}  // namespace

std::vector<std::string> MethodNames() {
  std::vector<std::string> names;
  names.reserve(kMethods.size());
  for (const Method& method : kMethods) names.emplace_back(method.name);
  return names;
}

Result<Value> CallMethod(const std::string& name, const CallArguments& arguments) {
  const auto* method =
      std::find_if(kMethods.begin(), kMethods.end(), [&](const Method& m) { return m.name == name; });
  PTPKG_ASSERT(method != kMethods.end());
  // A method that is also a filter takes the filter's arguments, the text being the first.
  if (method->call == nullptr) return CallFilter(name, arguments);
  const Value& object = arguments.positional.front();
  const bool fits = method->of_text ? object.AsText() != nullptr : object.AsMap() != nullptr;
  if (!fits) {
    return InvalidTable(fmt::format("'.{}()' works on {}, not on {}", name,
                                    method->of_text ? "text" : "a mapping", object.KindName()));
  }
  const std::size_t given = arguments.positional.size() - 1;
  if (!arguments.named.empty() || given < method->least || given > method->most) {
    std::string range = "no arguments";
    if (method->most > 0 && method->least == method->most) range = fmt::format("{} argument", method->most);
    if (method->least != method->most) range = fmt::format("{} or {} arguments", method->least, method->most);
    return InvalidTable(fmt::format("'.{}()' takes {} without names", name, range));
  }
  return method->call(arguments.positional);
}

Result<Value> RowFor(const Value& rows, const std::string& version) {
  const Value::List* list = rows.AsList();
  if (list == nullptr || list->empty()) {
    return InvalidTable(fmt::format("row_for() takes a list of rows, not {}",
                                    list == nullptr ? rows.KindName() : "an empty one"));
  }
  PTPKG_TRY(const versions::Version wanted, versions::Version::Parse(ReleaseOf(version)));
  Value::Map merged;
  std::vector<std::string> covered;
  for (const Value& row : *list) {
    // Rows that don't fit are merged as well: later rows hold only differences from them.
    PTPKG_TRY(covered.emplace_back(), VersionsOf(row));
    merged = MergeRow(std::move(merged), *row.AsMap());
    PTPKG_TRY(const versions::VersionSpec allowed, versions::VersionSpec::Parse(covered.back()));
    if (allowed.Matches(wanted)) return Value(std::move(merged));
  }
  return OutsideTable(version, covered);
}

}  // namespace ptpkg::recipe
