// Variants of wheels (PEP 825): reads, writes and merges the document that maps a label to its properties.
// The reader refuses unknown keys and other versions of the format. Values are sorted and unique, so that
// equal properties compare as equal.
// Merging the wheels of one version needs three things, or installers could not choose: one label has the
// same properties everywhere, two labels never have the same ones, and one list of namespaces begins with the
// other. The longer list wins.

#include "wheel/variant.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::wheel {
namespace {

constexpr std::string_view kSchemaBegin = "https://variants-schema.wheelnext.dev/peps/825/v";
constexpr std::string_view kSchemaEnd = ".json";

std::string SchemaOf(std::string_view format) {
  return std::string(kSchemaBegin) + std::string(format) + std::string(kSchemaEnd);
}

bool HasOnly(std::string_view text, std::string_view more) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || more.find(c) != std::string_view::npos;
  });
}

bool IsKey(std::string_view text) { return HasOnly(text, "_"); }
bool IsValue(std::string_view text) { return HasOnly(text, "_."); }

class DocumentReader {
 public:
  explicit DocumentReader(const std::string& where) : where_(where) {}

  Result<VariantDocument> Read(const Json& json) const {
    if (!json.is_object()) return Wrong("is not an object");
    PTPKG_TRY(const std::string schema, JsonString(json, "$schema", where_));
    if (schema != SchemaOf(kVariantFormat)) {
      return Error(ErrorCode::kUnsupported,
                   fmt::format("{}: the format '{}' is not supported", where_, schema))
          .WithHint(fmt::format("PEP 825, format {}, is: its schema is '{}'", kVariantFormat,
                                SchemaOf(kVariantFormat)));
    }
    // After the schema: a document of another version has other keys, and its version is the better message.
    PTPKG_CHECK(RefuseUnknownKeys(json, {"$schema", "default-priorities", "variants"}, ""));
    VariantDocument document;
    PTPKG_TRY(document.namespaces, ReadNamespaces(json));
    const auto variants = json.find("variants");
    if (variants == json.end() || !variants->is_object()) return Wrong("has no object 'variants'");
    for (const auto& [label, properties] : variants->items()) {
      if (!IsVariantLabel(label)) return Wrong(fmt::format("'{}' is not a label", label));
      PTPKG_TRY(VariantProperties read, ReadProperties(label, properties));
      PTPKG_CHECK(Check(label, read, document.namespaces));
      document.variants.emplace(label, std::move(read));
    }
    return document;
  }

 private:
  [[nodiscard]] Error Wrong(std::string_view what) const {
    return Error(ErrorCode::kInvalidInput, fmt::format("{}: {}", where_, what))
        .WithHint("rebuild the wheel; PEP 825 defines the format");
  }

  [[nodiscard]] Result<void> RefuseUnknownKeys(const Json& object, const std::set<std::string>& known,
                                               std::string_view above) const {
    for (const auto& [key, value] : object.items()) {
      if (!known.contains(key)) return Wrong(fmt::format("the key '{}{}' is not of this format", above, key));
    }
    return Ok();
  }

  [[nodiscard]] Result<std::vector<std::string>> ReadNamespaces(const Json& json) const {
    const auto priorities = json.find("default-priorities");
    if (priorities == json.end() || !priorities->is_object())
      return Wrong("has no object 'default-priorities'");
    if (!priorities->contains("namespace")) return Wrong("has no list 'default-priorities.namespace'");
    PTPKG_CHECK(RefuseUnknownKeys(*priorities, {"namespace"}, "default-priorities."));
    PTPKG_TRY(std::vector<std::string> names, JsonStringsOr(*priorities, "namespace", {}, where_));
    if (names.empty()) return Wrong("the list of namespaces is empty");
    std::set<std::string> seen;
    for (const std::string& name : names) {
      if (!IsKey(name) || !seen.insert(name).second)
        return Wrong(fmt::format("'{}' in the list of namespaces", name));
    }
    return names;
  }

  [[nodiscard]] Result<VariantProperties> ReadProperties(const std::string& label, const Json& json) const {
    VariantProperties properties;
    if (!json.is_object()) return Wrong(fmt::format("the variant '{}' is not an object", label));
    for (const auto& [space, features] : json.items()) {
      if (!IsKey(space) || !features.is_object()) return Wrong(fmt::format("'{}' is not a namespace", space));
      for (const auto& [feature, values] : features.items()) {
        if (!IsKey(feature)) return Wrong(fmt::format("'{}' is not a feature", feature));
        PTPKG_TRY(std::vector<std::string> texts, JsonStringsOr(features, feature, {}, where_));
        const bool sound = !texts.empty() && std::all_of(texts.begin(), texts.end(), IsValue);
        if (!sound) return Wrong(fmt::format("'{} :: {}' has no values, or wrong ones", space, feature));
        std::sort(texts.begin(), texts.end());
        texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
        properties[space].emplace(feature, std::move(texts));
      }
    }
    return properties;
  }

  [[nodiscard]] Result<void> Check(const std::string& label, const VariantProperties& properties,
                                   const std::vector<std::string>& namespaces) const {
    // "null" is the variant that fits every system, so it alone has no properties (PEP 825).
    if (properties.empty() != (label == kNullVariant)) {
      return Wrong(
          fmt::format("the variant '{}' has {} properties", label, properties.empty() ? "no" : "some"));
    }
    for (const auto& [space, features] : properties) {
      if (std::find(namespaces.begin(), namespaces.end(), space) == namespaces.end())
        return Wrong(fmt::format("the namespace '{}' is not in 'default-priorities'", space));
    }
    return Ok();
  }

  const std::string& where_;
};

bool Begins(const std::vector<std::string>& some, const std::vector<std::string>& all) {
  return some.size() <= all.size() && std::equal(some.begin(), some.end(), all.begin());
}

}  // namespace

bool IsVariantLabel(std::string_view text) { return IsValue(text); }

Result<VariantDocument> ParseVariantDocument(std::string_view text, const std::string& where) {
  PTPKG_TRY(const Json json, ParseJson(text, where));
  return DocumentReader(where).Read(json);
}

Result<VariantDocument> ParseWheelVariant(std::string_view text, const std::string& label,
                                          const std::string& where) {
  const auto wrong = [&](const std::string& what) {
    return Error(ErrorCode::kInvalidInput, fmt::format("{}: {}", where, what))
        .WithHint("rebuild the wheel; renaming cannot add or remove a label");
  };
  if (text.empty()) return wrong(fmt::format("the variant '{}' has no {}", label, kVariantDocument));
  PTPKG_TRY(VariantDocument document, ParseVariantDocument(text, where));
  if (document.variants.size() == 1 && document.variants.contains(label)) return document;
  std::vector<std::string> labels;
  for (const auto& [name, properties] : document.variants) labels.push_back("'" + name + "'");
  return wrong(fmt::format("it lists the variants {}, but the file name has '{}'",
                           labels.empty() ? "none" : Join(labels, ", "), label));
}

std::string FormatVariantDocument(const VariantDocument& document) {
  Json variants = Json::object();
  for (const auto& [label, properties] : document.variants) {
    variants[label] = Json::object();
    for (const auto& [space, features] : properties) {
      for (const auto& [feature, values] : features) variants[label][space][feature] = values;
    }
  }
  return DumpJson({{"$schema", SchemaOf(kVariantFormat)},
                   {"default-priorities", {{"namespace", document.namespaces}}},
                   {"variants", variants}});
}

Result<void> MergeVariants(VariantDocument& all, const VariantDocument& one, std::string_view where) {
  const auto differs = [&](std::string_view what) {
    return Error(ErrorCode::kInvalidInput, fmt::format("{}: {}", where, what))
        .WithHint("all wheels of a version must describe a variant alike: rebuild them together");
  };
  for (const auto& [label, properties] : one.variants) {
    for (const auto& [known, others] : all.variants) {
      if (known == label && others != properties)
        return differs(fmt::format("the variant '{}' has other properties than in another wheel", label));
      if (known != label && others == properties)
        return differs(fmt::format("the variants '{}' and '{}' have the same properties", label, known));
    }
  }
  if (!Begins(one.namespaces, all.namespaces) && !Begins(all.namespaces, one.namespaces)) {
    return differs(fmt::format("the order of namespaces is {}, another wheel has {}",
                               Join(one.namespaces, ", "), Join(all.namespaces, ", ")));
  }
  if (one.namespaces.size() > all.namespaces.size()) all.namespaces = one.namespaces;
  all.variants.insert(one.variants.begin(), one.variants.end());
  return Ok();
}

std::string VariantsFileName(std::string_view stem) { return std::string(stem) + "-variants.json"; }

}  // namespace ptpkg::wheel
