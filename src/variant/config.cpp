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
  explicit ConfigReader(const std::string& target_platform)
      : scope_(target_platform, no_variants_, no_environment_), reader_(scope_) {
    config_.run_pins["python"] = {"x.x", "x.x"};
  }

  Result<void> AddFile(Fs& fs, const AbsPath& file) {
    if (file.Name() == "conda_build_config.yaml") {
      return Error(ErrorCode::kUnsupported,
                   fmt::format("'{}' is a variant file in the old format", file.str()))
          .WithHint("move its keys to variants.yaml, with 'if' and 'then' instead of selector comments");
    }
    PTPKG_TRY(const std::string text, ReadFile(fs, file, limits::kRecipe));
    PTPKG_TRY(const YamlNode yaml, ParseYaml(text, file.str()));
    if (yaml.kind == YamlNode::Kind::kNull) return Ok();
    PTPKG_TRY(const Node root, recipe::ParseNode(yaml, text));
    if (root.kind != Node::Kind::kMapping) {
      return Invalid(fmt::format("a variant file is a mapping, found {}", root.KindName()), root.span);
    }
    for (const recipe::Entry& entry : root.entries) {
      if (entry.key == "zip_keys") {
        PTPKG_CHECK(ReadZipKeys(entry.value));
      } else if (entry.key == "pin_run_as_build") {
        PTPKG_CHECK(ReadRunPins(entry.value));
      } else {
        PTPKG_CHECK(ReadValues(entry));
      }
    }
    return Ok();
  }

  Result<VariantConfig> Finish() {
    PTPKG_CHECK(CheckZipKeys());
    std::set<std::string> done;
    for (const KeyValues& key : keys_) {
      if (key.values.empty() || done.contains(key.key)) continue;
      Axis axis;
      for (const std::string& member : GroupOf(key.key)) {
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

  Result<void> ReadValues(const recipe::Entry& entry) {
    const std::string key = recipe::NormalizedKey(entry.key);
    if (key == "target_platform" || key == "build_platform" || key == "host_platform") {
      return Invalid(fmt::format("'{}' cannot be a variant key", entry.key), entry.key_span)
          .WithHint("the platform is chosen when the recipe is rendered");
    }
    if (entry.value.kind != Node::Kind::kSequence) {
      return Invalid(fmt::format("expected a list of values for '{}', found {}", entry.key,
                                 entry.value.KindName()),
                     entry.value.span)
          .WithHint(fmt::format("write '{}: [value, …]'", entry.key));
    }
    if (entry.value.items.empty()) {
      return Invalid(fmt::format("'{}' has no values", entry.key), entry.value.span)
          .WithHint("remove the key");
    }
    std::vector<Value> values;
    PTPKG_TRY(const std::vector<const Node*> items, reader_.ReadItems(entry.value));
    for (const Node* item : items) {
      if (item->kind != Node::Kind::kScalar) {
        return Invalid(fmt::format("expected text as a value of '{}', found {}", entry.key, item->KindName()),
                       item->span);
      }
      PTPKG_TRY(Value value, reader_.ReadValue(*item));
      if (value.IsNone()) continue;
      if (value.AsList() != nullptr) {
        return Invalid(fmt::format("a value of '{}' cannot be a list", entry.key), item->span);
      }
      values.push_back(std::move(value));
    }
    if (KeyValues* known = Find(key)) {
      known->values = std::move(values);
    } else {
      keys_.push_back({key, std::move(values)});
    }
    return Ok();
  }

  /// A list of keys, or a list of such lists.
  Result<void> ReadZipKeys(const Node& node) {
    zip_groups_.clear();
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
    if (group.size() < 2) return Invalid("a group in 'zip_keys' needs at least two keys", node.span);
    zip_groups_.push_back(std::move(group));
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
    for (const std::vector<ZipKey>& group : zip_groups_) {
      const KeyValues* first = nullptr;
      for (const ZipKey& member : group) {
        const KeyValues* values = Find(member.key);
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
  std::map<std::string, std::string> no_environment_;
  recipe::Scope scope_;
  recipe::Reader reader_;
  std::vector<KeyValues> keys_;
  std::vector<std::vector<ZipKey>> zip_groups_;
  VariantConfig config_;
};

}  // namespace

Result<VariantConfig> LoadVariantConfig(Fs& fs, const std::vector<AbsPath>& files,
                                        const std::string& target_platform) {
  ConfigReader reader(target_platform);
  for (const AbsPath& file : files) {
    PTPKG_CHECK(reader.AddFile(fs, file));
  }
  return reader.Finish();
}

}  // namespace ptpkg::variant
