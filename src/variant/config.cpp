// Each file is read on its own and merged into the result of the earlier ones: keys, groups of keys and pins.
// The merged keys become axes, at the place of the first key of their group. Settings narrow the axes last,
// so they win over all files. Layer: variant.

#include "variant/config.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "recipe/document/document.h"
#include "recipe/document/typed_reader.h"
#include "support/limits.h"
#include "support/secret_name.h"
#include "support/text/text.h"
#include "variant/selectors.h"

namespace ptpkg::variant {
namespace {

using recipe::Node;
using recipe::Value;

Error Invalid(std::string message, const SourceSpan& span) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

/// Conditions in a variant file see the platform only.
class NoVariants final : public recipe::VariantValues {
 public:
  std::optional<Value> Read(const std::string& /*key*/) override { return std::nullopt; }
  void NoteBuiltin(const std::string& /*key*/, const Value& /*value*/) override {}
  [[nodiscard]] std::vector<std::string> Keys() const override { return {}; }
};

struct KeyValues {
  std::string key;
  std::vector<Value> values;  ///< Empty when every item's condition is false on this platform.
};

struct ZipKey {
  std::string key;
  SourceSpan span;
};

/// Keys whose values change together.
struct ZipGroup {
  std::vector<ZipKey> keys;
  bool lenient = false;  ///< A group of conda-build, which may name keys without values.
};

using RunPins = std::map<std::string, versions::PinBounds>;

/// The content of one file.
struct VariantFile {
  std::vector<std::string> extended = {};  ///< extend_keys
  std::vector<KeyValues> keys = {};
  std::optional<std::vector<ZipGroup>> zip_groups = {};
  RunPins run_pins = {};
};

/// How one file is read.
struct FileSyntax {
  recipe::Reader& reader;
  bool conda_build = false;  ///< The rules of conda_build_config.yaml hold.
};

/// The nodes of the values of a key.
Result<std::vector<const Node*>> ValueNodes(const FileSyntax& syntax, const recipe::Entry& entry) {
  const Node& value = entry.value;
  if (syntax.conda_build && value.kind == Node::Kind::kNull) return std::vector<const Node*>();
  if (syntax.conda_build && value.kind == Node::Kind::kScalar) return std::vector<const Node*>{&value};
  if (value.kind != Node::Kind::kSequence) {
    return Invalid(fmt::format("expected a list of values for '{}', found {}", entry.key, value.KindName()),
                   value.span)
        .WithHint(fmt::format("write '{}: [value, …]'", entry.key));
  }
  if (value.items.empty() && !syntax.conda_build) {
    return Invalid(fmt::format("'{}' has no values", entry.key), value.span).WithHint("remove the key");
  }
  return syntax.reader.ReadItems(value);
}

/// The command line chooses the platform. Variant files of channels only list the platforms that they are
/// for.
Result<void> CheckPlatform(const FileSyntax& syntax, const recipe::Entry& entry) {
  PTPKG_TRY(const std::vector<const Node*> items, ValueNodes(syntax, entry));
  std::vector<std::string> platforms;
  for (const Node* item : items) platforms.push_back(item->raw);
  const std::string& platform = syntax.reader.scope().target_platform();
  const bool here = std::ranges::find(platforms, platform) != platforms.end();
  if (here || platforms.empty()) return Ok();
  return Error(ErrorCode::kUnsupported, fmt::format("this file is for {}, and packages are built for {}",
                                                    Join(platforms, ", "), platform))
      .At(entry.key_span)
      .WithHint(fmt::format("name the variant file of the channel for {}", platform));
}

bool ParsesAsNumber(const std::string& text) {
  return recipe::ParseInteger(text).has_value() || recipe::LooksLikeReal(text);
}

/// "null" and "~" are text here, for rattler-build as well, and an item without text is empty text.
/// conda-build reads numbers as text.
Result<Value> ReadScalar(const FileSyntax& syntax, const Node& node) {
  if (node.kind == Node::Kind::kNull)
    return node.raw.empty() && syntax.conda_build ? Value() : Value(node.raw);
  if (syntax.conda_build && node.text.IsLiteral() && ParsesAsNumber(node.raw)) return Value(node.raw);
  return syntax.reader.ReadValue(node);
}

Result<std::vector<Value>> ReadValues(const FileSyntax& syntax, const recipe::Entry& entry) {
  PTPKG_TRY(const std::vector<const Node*> items, ValueNodes(syntax, entry));
  std::vector<Value> values;
  for (const Node* item : items) {
    const bool null = item->kind == Node::Kind::kNull;
    if (item->kind != Node::Kind::kScalar && !null) {
      return Invalid(fmt::format("expected text as a value of '{}', found {}", entry.key, item->KindName()),
                     item->span);
    }
    PTPKG_TRY(Value value, ReadScalar(syntax, *item));
    if (value.IsNone() && !null) continue;
    if (value.AsList() != nullptr) {
      return Invalid(fmt::format("a value of '{}' cannot be a list", entry.key), item->span);
    }
    values.push_back(std::move(value));
  }
  return values;
}

/// Adds the group that `node` lists; a group of conda-build with a single key is none.
Result<void> AddGroup(const FileSyntax& syntax, const Node& node, std::vector<ZipGroup>& groups) {
  ZipGroup group{.keys = {}, .lenient = syntax.conda_build};
  PTPKG_TRY(const std::vector<const Node*> items, syntax.reader.ReadItems(node));
  for (const Node* item : items) {
    if (item->kind != Node::Kind::kScalar) {
      return Invalid(fmt::format("expected a key in 'zip_keys', found {}", item->KindName()), item->span);
    }
    group.keys.push_back({recipe::NormalizedKey(item->raw), item->span});
  }
  if (group.keys.size() < 2 && syntax.conda_build) return Ok();
  if (group.keys.size() < 2) return Invalid("a group in 'zip_keys' needs at least two keys", node.span);
  groups.push_back(std::move(group));
  return Ok();
}

/// A list of keys, or a list of such lists.
Result<std::vector<ZipGroup>> ReadZipKeys(const FileSyntax& syntax, const Node& node) {
  if (node.kind != Node::Kind::kSequence) {
    return Invalid(fmt::format("expected a list for 'zip_keys', found {}", node.KindName()), node.span);
  }
  std::vector<ZipGroup> groups;
  PTPKG_TRY(const std::vector<const Node*> items, syntax.reader.ReadItems(node));
  const bool flat = std::all_of(items.begin(), items.end(),
                                [](const Node* item) { return item->kind == Node::Kind::kScalar; });
  if (flat && !items.empty()) {
    PTPKG_CHECK(AddGroup(syntax, node, groups));
    return groups;
  }
  for (const Node* item : items) {
    if (item->kind != Node::Kind::kSequence) {
      return Invalid(fmt::format("expected a list of keys in 'zip_keys', found {}", item->KindName()),
                     item->span);
    }
    PTPKG_CHECK(AddGroup(syntax, *item, groups));
  }
  return groups;
}

Result<RunPins> ReadRunPins(const FileSyntax& syntax, const Node& node) {
  if (node.kind != Node::Kind::kMapping) {
    return Invalid(fmt::format("expected a mapping for 'pin_run_as_build', found {}", node.KindName()),
                   node.span);
  }
  RunPins pins;
  for (const recipe::Entry& entry : node.entries) {
    if (entry.value.kind != Node::Kind::kMapping) {
      return Invalid(fmt::format("expected a mapping for '{}', found {}", entry.key, entry.value.KindName()),
                     entry.value.span);
    }
    versions::PinBounds bounds{"", ""};
    for (const recipe::Entry& bound : entry.value.entries) {
      const bool lower = bound.key == "min_pin";
      if ((!lower && bound.key != "max_pin") || bound.value.kind != Node::Kind::kScalar) {
        return Invalid(fmt::format("'{}' is not a bound of 'pin_run_as_build'", bound.key), bound.key_span)
            .WithHint("write 'min_pin: x.x' and 'max_pin: x.x'");
      }
      PTPKG_TRY((lower ? bounds.lower : bounds.upper), syntax.reader.ReadText(bound.value));
    }
    // Refuses a bound of the wrong form here, where its place is known.
    const Result<std::string> tried = versions::PinConstraint("1.0", bounds);
    if (!tried) return Error(tried.error()).At(entry.value.span);
    pins[entry.key] = bounds;
  }
  return pins;
}

Result<void> ReadEntry(const FileSyntax& syntax, const recipe::Entry& entry, VariantFile& file) {
  if (entry.key == "extend_keys") return Ok();
  if (entry.key == "zip_keys") {
    PTPKG_TRY(file.zip_groups, ReadZipKeys(syntax, entry.value));
    return Ok();
  }
  if (entry.key == "pin_run_as_build") {
    PTPKG_TRY(file.run_pins, ReadRunPins(syntax, entry.value));
    return Ok();
  }
  if (syntax.conda_build && (entry.key == "ignore_version" || entry.key == "ignore_build_only_deps")) {
    return Error(ErrorCode::kUnsupported, fmt::format("'{}' is not supported", entry.key))
        .At(entry.key_span)
        .WithHint("name the keys under 'build.variant.ignore_keys' of the recipe");
  }
  std::string key = recipe::NormalizedKey(entry.key);
  if (key == "target_platform" || key == "build_platform" || key == "host_platform") {
    return CheckPlatform(syntax, entry);
  }
  PTPKG_TRY(std::vector<Value> values, ReadValues(syntax, entry));
  file.keys.push_back({std::move(key), std::move(values)});
  return Ok();
}

Result<VariantFile> ReadRoot(const FileSyntax& syntax, const Node& root) {
  if (root.kind != Node::Kind::kMapping) {
    return Invalid(fmt::format("a variant file is a mapping, found {}", root.KindName()), root.span);
  }
  VariantFile file;
  if (const Node* extended = root.Find("extend_keys")) {
    PTPKG_TRY(const std::vector<std::string> keys, syntax.reader.ReadTexts(*extended));
    for (const std::string& key : keys) file.extended.push_back(recipe::NormalizedKey(key));
  }
  for (const recipe::Entry& entry : root.entries) PTPKG_CHECK(ReadEntry(syntax, entry, file));
  return file;
}

Result<VariantFile> ReadVariantFile(Fs& fs, const AbsPath& path, recipe::Reader& reader) {
  const FileSyntax syntax{.reader = reader, .conda_build = path.Name() == "conda_build_config.yaml"};
  const recipe::Scope& scope = reader.scope();
  PTPKG_TRY(std::string text, ReadFile(fs, path, limits::kRecipe));
  if (syntax.conda_build) {
    std::map<std::string, std::string> environment = scope.environment();
    std::erase_if(environment,
                  [](const auto& variable) { return HoldsSecret(variable.first, variable.second); });
    PTPKG_TRY(text, ApplySelectors(text, path.str(), scope.target_platform(), environment));
  }
  PTPKG_TRY(const YamlNode yaml, ParseYaml(text, path.str()));
  if (yaml.kind == YamlNode::Kind::kNull) return VariantFile{};
  PTPKG_TRY(const Node root, recipe::ParseNode(yaml, text));
  return ReadRoot(syntax, root);
}

/// The content of all files, merged.
struct MergedFiles {
  std::vector<KeyValues> keys = {};  ///< In the order in which the files name them first.
  std::vector<ZipGroup> zip_groups = {};
  std::set<std::string> extended = {};  ///< Keys to which later files add.
  RunPins run_pins = {};
};

/// nullptr: there is none.
template <class Keys>
auto FindValues(Keys& keys, const std::string& key) -> decltype(keys.data()) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const KeyValues& k) { return k.key == key; });
  return found == keys.end() ? nullptr : &*found;
}

void MergeFile(VariantFile file, MergedFiles& merged) {
  // First, because `extend_keys` also counts for the keys of its own file, wherever it stands there.
  merged.extended.insert(file.extended.begin(), file.extended.end());
  for (KeyValues& key : file.keys) {
    KeyValues* known = FindValues(merged.keys, key.key);
    if (known == nullptr) {
      merged.keys.push_back(std::move(key));
    } else if (merged.extended.contains(key.key)) {
      for (Value& value : key.values) {
        if (std::ranges::find(known->values, value) == known->values.end()) {
          known->values.push_back(std::move(value));
        }
      }
    } else {
      known->values = std::move(key.values);
    }
  }
  // A later file replaces all groups: half of an old group beside a new one would pair keys that nobody
  // paired.
  if (file.zip_groups) merged.zip_groups = *std::move(file.zip_groups);
  for (auto& [name, bounds] : file.run_pins) merged.run_pins.insert_or_assign(name, std::move(bounds));
}

Error UnknownZipKey(const ZipKey& member, const std::vector<KeyValues>& keys) {
  Error error = Invalid(fmt::format("'zip_keys' names '{}', which has no values", member.key), member.span);
  std::vector<std::string> known;
  known.reserve(keys.size());
  for (const KeyValues& key : keys) known.push_back(key.key);
  const std::optional<std::string> nearest = NearestMatch(member.key, known);
  return nearest ? std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest))
                 : std::move(error).WithHint(fmt::format("add '{}: […]'", member.key));
}

Result<void> CheckZipKeys(const std::vector<ZipGroup>& groups, const std::vector<KeyValues>& keys) {
  std::set<std::string> seen;
  for (const ZipGroup& group : groups) {
    const KeyValues* first = nullptr;
    for (const ZipKey& member : group.keys) {
      const KeyValues* values = FindValues(keys, member.key);
      // Selectors leave some keys of a group without values on this platform.
      if (group.lenient && (values == nullptr || values->values.empty())) continue;
      if (values == nullptr) return UnknownZipKey(member, keys);
      if (!seen.insert(member.key).second) {
        return Invalid(fmt::format("'zip_keys' names '{}' twice", member.key), member.span);
      }
      if (first == nullptr) first = values;
      if (first->values.size() != values->values.size()) {
        return Invalid(fmt::format("'{}' has {} values and '{}' has {}, but 'zip_keys' pairs them",
                                   first->key, first->values.size(), member.key, values->values.size()),
                       member.span)
            .WithHint("give both keys the same number of values");
      }
    }
  }
  return Ok();
}

/// The keys that move with `key`, itself included.
std::vector<std::string> GroupOf(const std::string& key, const std::vector<ZipGroup>& groups) {
  for (const ZipGroup& group : groups) {
    std::vector<std::string> members;
    members.reserve(group.keys.size());
    for (const ZipKey& member : group.keys) members.push_back(member.key);
    if (std::find(members.begin(), members.end(), key) != members.end()) return members;
  }
  return {key};
}

std::vector<Axis> AxesOf(const std::vector<KeyValues>& keys, const std::vector<ZipGroup>& groups) {
  std::vector<Axis> axes;
  std::set<std::string> done;
  for (const KeyValues& key : keys) {
    if (key.values.empty() || done.contains(key.key)) continue;
    Axis axis;
    for (const std::string& member : GroupOf(key.key, groups)) {
      const KeyValues* values = FindValues(keys, member);
      if (values == nullptr || values->values.empty()) continue;
      axis.columns.push_back({member, values->values});
      done.insert(member);
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

/// Texts of the values of a column, each once.
std::vector<std::string> ListedValues(const Axis::Column& column) {
  std::vector<std::string> listed;
  for (const Value& value : column.values) {
    const Result<std::string> text = value.ToText();
    if (text && std::ranges::find(listed, *text) == listed.end()) listed.push_back(*text);
  }
  return listed;
}

Error SeveralRows(const Axis& axis, const Axis::Column& column, const KeySetting& setting) {
  std::vector<std::string> others;
  for (const Axis::Column& other : axis.columns) {
    if (other.key != column.key) others.push_back("'" + other.key + "'");
  }
  return Error(ErrorCode::kUsage,
               fmt::format("{}: the variants list no '{}' of '{}', and pair its values with {}",
                           Join(setting.origins, ", "), setting.value, column.key, Join(others, ", ")))
      .WithHint(fmt::format("listed are {}; for another one set {}, too", Join(ListedValues(column), ", "),
                            Join(others, ", ")));
}

/// Leaves the rows that `settings` name. Each setting narrows the rows that the ones before it left. If none
/// of them has its value, the value replaces the column. This is possible only for a single row: of several
/// rows, nobody could say which values of the other columns go with the new one. If `settings` has all
/// columns, nothing is left to say.
Result<void> ApplySettings(const KeySettings& settings, Axis& axis) {
  std::vector<std::size_t> rows(axis.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::vector<Axis::Column*> unlisted;
  std::size_t given = 0;
  for (Axis::Column& column : axis.columns) {
    const auto setting = settings.find(column.key);
    if (setting == settings.end()) continue;
    ++given;
    std::vector<std::size_t> matching;
    std::ranges::copy_if(rows, std::back_inserter(matching), [&](std::size_t row) {
      const Result<std::string> text = column.values[row].ToText();
      return text && *text == setting->second.value;
    });
    if (matching.empty()) unlisted.push_back(&column);
    if (!matching.empty()) rows = std::move(matching);
  }
  if (!unlisted.empty()) {
    if (rows.size() > 1 && given < axis.columns.size())
      return SeveralRows(axis, *unlisted.front(), settings.at(unlisted.front()->key));
    rows.resize(1);
  }
  for (Axis::Column& column : axis.columns) {
    std::vector<Value> kept;
    for (const std::size_t row : rows) kept.push_back(column.values[row]);
    column.values = std::move(kept);
  }
  for (Axis::Column* column : unlisted) column->values = {Value(settings.at(column->key).value)};
  return Ok();
}

/// All axes with `settings`; a key that no file has gets an axis of its own.
Result<void> ApplySettings(const KeySettings& settings, std::vector<Axis>& axes) {
  std::set<std::string> known;
  for (Axis& axis : axes) {
    PTPKG_CHECK(ApplySettings(settings, axis));
    for (const Axis::Column& column : axis.columns) known.insert(column.key);
  }
  for (const auto& [key, setting] : settings) {
    if (!known.contains(key)) axes.push_back({.columns = {{key, {Value(setting.value)}}}});
  }
  return Ok();
}

}  // namespace

Result<VariantConfig> LoadVariantConfig(Fs& fs, const std::vector<AbsPath>& files,
                                        const std::string& target_platform,
                                        const std::map<std::string, std::string>& environment,
                                        const KeySettings& settings) {
  NoVariants no_variants;
  recipe::Scope scope(target_platform, no_variants, environment);
  recipe::Reader reader(scope);
  MergedFiles merged{.run_pins = {{"python", {"x.x", "x.x"}}}};
  for (const AbsPath& path : files) {
    PTPKG_TRY(VariantFile file, ReadVariantFile(fs, path, reader));
    MergeFile(std::move(file), merged);
  }
  PTPKG_CHECK(CheckZipKeys(merged.zip_groups, merged.keys));
  std::vector<Axis> axes = AxesOf(merged.keys, merged.zip_groups);
  PTPKG_CHECK(ApplySettings(settings, axes));
  return VariantConfig{.axes = std::move(axes), .run_pins = std::move(merged.run_pins)};
}

}  // namespace ptpkg::variant
