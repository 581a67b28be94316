// Variant files. Layer: variant.

#include "variant/config.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>
#include <set>

#include "recipe/document/document.h"
#include "recipe/document/typed_reader.h"
#include "support/limits.h"
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

class ConfigReader {
 public:
  ConfigReader(const std::string& target_platform, const std::map<std::string, std::string>& environment)
      : environment_(environment), scope_(target_platform, no_variants_, environment), reader_(scope_) {
    config_.run_pins["python"] = {"x.x", "x.x"};
  }

  Result<void> AddFile(Fs& fs, const AbsPath& file) {
    conda_build_ = file.Name() == "conda_build_config.yaml";
    PTPKG_TRY(std::string text, ReadFile(fs, file, limits::kRecipe));
    if (conda_build_) {
      PTPKG_TRY(text, ApplySelectors(text, file.str(), scope_.target_platform(), environment_));
    }
    PTPKG_TRY(const YamlNode yaml, ParseYaml(text, file.str()));
    if (yaml.kind == YamlNode::Kind::kNull) return Ok();
    PTPKG_TRY(const Node root, recipe::ParseNode(yaml, text));
    if (root.kind != Node::Kind::kMapping) {
      return Invalid(fmt::format("a variant file is a mapping, found {}", root.KindName()), root.span);
    }
    if (const Node* extended = root.Find("extend_keys")) {
      PTPKG_TRY(const std::vector<std::string> keys, reader_.ReadTexts(*extended));
      for (const std::string& key : keys) extended_.insert(recipe::NormalizedKey(key));
    }
    for (const recipe::Entry& entry : root.entries) PTPKG_CHECK(ReadEntry(entry));
    return Ok();
  }

  Result<VariantConfig> Finish() {
    PTPKG_CHECK(CheckZipKeys());
    std::set<std::string> done;
    for (const KeyValues& key : keys_) {
      if (key.values.empty() || done.contains(key.key)) continue;
      Axis axis;
      for (const std::string& member : GroupOf(key.key)) {
        if (Find(member) == nullptr || Find(member)->values.empty()) continue;
        axis.columns.push_back({member, Find(member)->values});
        done.insert(member);
      }
      config_.axes.push_back(std::move(axis));
    }
    return std::move(config_);
  }

 private:
  KeyValues* Find(const std::string& key) {
    const auto found =
        std::find_if(keys_.begin(), keys_.end(), [&](const KeyValues& k) { return k.key == key; });
    return found == keys_.end() ? nullptr : &*found;
  }

  /// The keys that move with `key`, itself included.
  [[nodiscard]] std::vector<std::string> GroupOf(const std::string& key) const {
    for (const std::vector<ZipKey>& group : zip_groups_) {
      std::vector<std::string> members;
      members.reserve(group.size());
      for (const ZipKey& member : group) members.push_back(member.key);
      if (std::find(members.begin(), members.end(), key) != members.end()) return members;
    }
    return {key};
  }

  Result<void> ReadEntry(const recipe::Entry& entry) {
    if (entry.key == "extend_keys") return Ok();
    if (entry.key == "zip_keys") return ReadZipKeys(entry.value);
    if (entry.key == "pin_run_as_build") return ReadRunPins(entry.value);
    if (conda_build_ && (entry.key == "ignore_version" || entry.key == "ignore_build_only_deps")) {
      return Error(ErrorCode::kUnsupported, fmt::format("'{}' is not supported", entry.key))
          .At(entry.key_span)
          .WithHint("name the keys under 'build.variant.ignore_keys' of the recipe");
    }
    const std::string key = recipe::NormalizedKey(entry.key);
    if (key == "target_platform" || key == "build_platform" || key == "host_platform") {
      return CheckPlatform(entry);
    }
    return ReadValues(entry, key);
  }

  /// The nodes of the values of a key.
  Result<std::vector<const Node*>> ValueNodes(const recipe::Entry& entry) {
    const Node& value = entry.value;
    if (conda_build_ && value.kind == Node::Kind::kNull) return std::vector<const Node*>();
    if (conda_build_ && value.kind == Node::Kind::kScalar) return std::vector<const Node*>{&value};
    if (value.kind != Node::Kind::kSequence) {
      return Invalid(fmt::format("expected a list of values for '{}', found {}", entry.key, value.KindName()),
                     value.span)
          .WithHint(fmt::format("write '{}: [value, …]'", entry.key));
    }
    if (value.items.empty() && !conda_build_) {
      return Invalid(fmt::format("'{}' has no values", entry.key), value.span).WithHint("remove the key");
    }
    return reader_.ReadItems(value);
  }

  /// A platform is chosen when the recipe is rendered: files of channels say for which one they are.
  Result<void> CheckPlatform(const recipe::Entry& entry) {
    PTPKG_TRY(const std::vector<const Node*> items, ValueNodes(entry));
    std::vector<std::string> platforms;
    for (const Node* item : items) platforms.push_back(item->raw);
    const bool here = std::ranges::find(platforms, scope_.target_platform()) != platforms.end();
    if (here || platforms.empty()) return Ok();
    return Error(ErrorCode::kUnsupported, fmt::format("this file is for {}, and packages are built for {}",
                                                      Join(platforms, ", "), scope_.target_platform()))
        .At(entry.key_span)
        .WithHint(fmt::format("name the variant file of the channel for {}", scope_.target_platform()));
  }

  Result<void> ReadValues(const recipe::Entry& entry, const std::string& key) {
    PTPKG_TRY(const std::vector<const Node*> items, ValueNodes(entry));
    std::vector<Value> values;
    for (const Node* item : items) {
      const bool null = item->kind == Node::Kind::kNull;
      if (item->kind != Node::Kind::kScalar && !null) {
        return Invalid(fmt::format("expected text as a value of '{}', found {}", entry.key, item->KindName()),
                       item->span);
      }
      PTPKG_TRY(Value value, ReadScalar(*item));
      if (value.IsNone() && !null) continue;
      if (value.AsList() != nullptr) {
        return Invalid(fmt::format("a value of '{}' cannot be a list", entry.key), item->span);
      }
      values.push_back(std::move(value));
    }
    KeyValues* known = Find(key);
    if (known == nullptr) {
      keys_.push_back({key, std::move(values)});
    } else if (extended_.contains(key)) {
      for (Value& value : values) {
        if (std::ranges::find(known->values, value) == known->values.end())
          known->values.push_back(std::move(value));
      }
    } else {
      known->values = std::move(values);
    }
    return Ok();
  }

  /// "null" and "~" are text here, for rattler-build as well, and an item without text is empty text.
  /// conda-build reads numbers as text.
  Result<Value> ReadScalar(const Node& node) {
    if (node.kind == Node::Kind::kNull) return node.raw.empty() && conda_build_ ? Value() : Value(node.raw);
    if (conda_build_ && node.text.IsLiteral() && ParsesAsNumber(node.raw)) return Value(node.raw);
    return reader_.ReadValue(node);
  }

  static bool ParsesAsNumber(const std::string& text) {
    return recipe::ParseInteger(text).has_value() || recipe::LooksLikeReal(text);
  }

  /// A list of keys, or a list of such lists.
  Result<void> ReadZipKeys(const Node& node) {
    zip_groups_.clear();
    lenient_groups_.clear();
    if (node.kind != Node::Kind::kSequence) {
      return Invalid(fmt::format("expected a list for 'zip_keys', found {}", node.KindName()), node.span);
    }
    PTPKG_TRY(const std::vector<const Node*> items, reader_.ReadItems(node));
    const bool flat = std::all_of(items.begin(), items.end(),
                                  [](const Node* item) { return item->kind == Node::Kind::kScalar; });
    if (flat && !items.empty()) return AddGroup(node);
    for (const Node* item : items) {
      if (item->kind != Node::Kind::kSequence) {
        return Invalid(fmt::format("expected a list of keys in 'zip_keys', found {}", item->KindName()),
                       item->span);
      }
      PTPKG_CHECK(AddGroup(*item));
    }
    return Ok();
  }

  Result<void> AddGroup(const Node& node) {
    std::vector<ZipKey> group;
    PTPKG_TRY(const std::vector<const Node*> items, reader_.ReadItems(node));
    for (const Node* item : items) {
      if (item->kind != Node::Kind::kScalar) {
        return Invalid(fmt::format("expected a key in 'zip_keys', found {}", item->KindName()), item->span);
      }
      group.push_back({recipe::NormalizedKey(item->raw), item->span});
    }
    if (group.size() < 2 && conda_build_) return Ok();
    if (group.size() < 2) return Invalid("a group in 'zip_keys' needs at least two keys", node.span);
    zip_groups_.push_back(std::move(group));
    if (conda_build_) lenient_groups_.insert(zip_groups_.size() - 1);
    return Ok();
  }

  Result<void> ReadRunPins(const Node& node) {
    if (node.kind != Node::Kind::kMapping) {
      return Invalid(fmt::format("expected a mapping for 'pin_run_as_build', found {}", node.KindName()),
                     node.span);
    }
    for (const recipe::Entry& entry : node.entries) {
      if (entry.value.kind != Node::Kind::kMapping) {
        return Invalid(
            fmt::format("expected a mapping for '{}', found {}", entry.key, entry.value.KindName()),
            entry.value.span);
      }
      versions::PinBounds bounds{"", ""};
      for (const recipe::Entry& bound : entry.value.entries) {
        const bool lower = bound.key == "min_pin";
        if ((!lower && bound.key != "max_pin") || bound.value.kind != Node::Kind::kScalar) {
          return Invalid(fmt::format("'{}' is not a bound of 'pin_run_as_build'", bound.key), bound.key_span)
              .WithHint("write 'min_pin: x.x' and 'max_pin: x.x'");
        }
        PTPKG_TRY((lower ? bounds.lower : bounds.upper), reader_.ReadText(bound.value));
      }
      // Refuses a bound of the wrong form here, where its place is known.
      const Result<std::string> tried = versions::PinConstraint("1.0", bounds);
      if (!tried) return Error(tried.error()).At(entry.value.span);
      config_.run_pins[entry.key] = bounds;
    }
    return Ok();
  }

  Result<void> CheckZipKeys() {
    std::set<std::string> seen;
    std::vector<std::string> known;
    known.reserve(keys_.size());
    for (const KeyValues& key : keys_) known.push_back(key.key);
    for (std::size_t i = 0; i < zip_groups_.size(); ++i) {
      const KeyValues* first = nullptr;
      for (const ZipKey& member : zip_groups_[i]) {
        const KeyValues* values = Find(member.key);
        if (lenient_groups_.contains(i) && (values == nullptr || values->values.empty())) continue;
        if (values == nullptr) {
          Error error =
              Invalid(fmt::format("'zip_keys' names '{}', which has no values", member.key), member.span);
          const std::optional<std::string> nearest = NearestMatch(member.key, known);
          return nearest ? std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest))
                         : std::move(error).WithHint(fmt::format("add '{}: […]'", member.key));
        }
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

  NoVariants no_variants_;
  const std::map<std::string, std::string>& environment_;
  recipe::Scope scope_;
  recipe::Reader reader_;
  std::vector<KeyValues> keys_;
  std::vector<std::vector<ZipKey>> zip_groups_;
  std::set<std::size_t> lenient_groups_;  ///< Groups of conda-build, which may name keys without values.
  std::set<std::string> extended_;        ///< Keys to which later files add.
  bool conda_build_ = false;              ///< The current file is one of conda-build.
  VariantConfig config_;
};

}  // namespace

Result<VariantConfig> LoadVariantConfig(Fs& fs, const std::vector<AbsPath>& files,
                                        const std::string& target_platform,
                                        const std::map<std::string, std::string>& environment) {
  ConfigReader reader(target_platform, environment);
  for (const AbsPath& file : files) {
    PTPKG_CHECK(reader.AddFile(fs, file));
  }
  return reader.Finish();
}

}  // namespace ptpkg::variant
