// load_from_file() reads a file once per path, however many expressions load it. Values of YAML follow the
// rules of recipes: plain scalars may be booleans and whole numbers, reals stay text, since they are mostly
// versions. JSON has types of its own, and a whole number above the signed 64-bit range becomes text.

#include "recipe/document/data_files.h"

#include <cstdint>
#include <fmt/core.h>
#include <limits>

#include "support/limits.h"
#include "support/text/json.h"
#include "support/text/yaml.h"

namespace ptpkg::recipe {
namespace {

Value ValueOfYaml(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return {};
    case YamlNode::Kind::kScalar:
      return node.plain ? Value::FromPlainScalar(node.scalar) : Value(node.scalar);
    case YamlNode::Kind::kSequence: {
      Value::List list;
      for (const YamlNode& item : node.items) list.push_back(ValueOfYaml(item));
      return Value(std::move(list));
    }
    case YamlNode::Kind::kMapping:
      break;
  }
  Value::Map map;
  for (const YamlEntry& entry : node.entries) map.emplace(entry.key, ValueOfYaml(entry.value));
  return Value(std::move(map));
}

Value ValueOfJson(const Json& json) {
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    return Value(json.dump());  // as a version or name that only looks like a number
  }
  if (json.is_number_integer()) return Value(json.get<std::int64_t>());
  if (json.is_number()) return Value(json.get<double>());
  if (json.is_string()) return Value(json.get<std::string>());
  if (json.is_array()) {
    Value::List list;
    for (const Json& item : json) list.push_back(ValueOfJson(item));
    return Value(std::move(list));
  }
  if (!json.is_object()) return {};
  Value::Map map;
  for (const auto& [key, item] : json.items()) map.emplace(key, ValueOfJson(item));
  return Value(std::move(map));
}

}  // namespace

Result<Value> DataFiles::Load(const std::string& name) {
  if (name.starts_with('/')) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not relative to the recipe", name));
  }
  if (name.ends_with(".toml")) {
    return Error(ErrorCode::kUnsupported, fmt::format("'{}': TOML files are not supported", name))
        .WithHint("write the values into a .yaml or .json file beside the recipe");
  }
  // ".." is allowed, because recipes next to each other share tables.
  PTPKG_TRY(const AbsPath path, AbsPath::Resolve(folder_, name));
  if (const auto found = loaded_.find(path.str()); found != loaded_.end()) return found->second;
  PTPKG_TRY(Value value, Read(name, path));
  return loaded_.emplace(path.str(), std::move(value)).first->second;
}

Result<Value> DataFiles::Read(const std::string& name, const AbsPath& path) {
  const std::string context = fmt::format("while loading '{}'", name);
  PTPKG_TRY(const FileStat stat, fs_.Stat(path), context);
  if (stat.size_bytes > limits::kRecipe) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is larger than {} MiB", name, limits::kRecipe >> 20U));
  }
  PTPKG_TRY(std::string text, ReadFile(fs_, path), context);
  if (name.ends_with(".yaml") || name.ends_with(".yml")) {
    PTPKG_TRY(const YamlNode yaml, ParseYaml(text, path.str()));
    return ValueOfYaml(yaml);
  }
  if (!name.ends_with(".json")) return Value(std::move(text));
  PTPKG_TRY(const Json json, ParseJson(text, path.str()));
  return ValueOfJson(json);
}

}  // namespace ptpkg::recipe
