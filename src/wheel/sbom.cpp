// CycloneDX 1.6 documents for wheels (PEP 770). The document must be reproducible: components are sorted and
// unique, there is no date, and the serial number is a UUID of version 8 from the digest of the document
// without it (RFC 9562).
// References between components are package URLs where there is one, with a number behind equal ones, since
// CycloneDX demands unique values.
// ParseSbomComponents reads the components that ComponentJson writes, so that a later step can take them
// over. A field in one of the two belongs in the other.

#include "wheel/sbom.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>

#include "support/net/url.h"
#include "support/text/json.h"
#include "support/text/json_utf8.h"

namespace ptpkg::wheel {
namespace {

// The part of CycloneDX's enumeration that wheels and builds can have.
constexpr std::array<std::string_view, 5> kComponentTypes = {"application", "framework", "library", "file",
                                                             "operating-system"};

struct HashKind {
  std::string_view name;
  std::size_t digits;
};
constexpr std::array<HashKind, 5> kHashKinds = {
    {{"MD5", 32}, {"SHA-1", 40}, {"SHA-256", 64}, {"SHA-512", 128}, {"BLAKE2b-256", 64}}};

bool IsLowerHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<void> CheckComponent(const SbomComponent& component) {
  if (component.name.empty()) {
    return Error(ErrorCode::kInvalidInput, "a component of a bill of materials has no name");
  }
  if (std::find(kComponentTypes.begin(), kComponentTypes.end(), component.type) == kComponentTypes.end()) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the component '{}' has the unknown type '{}'", component.name, component.type));
  }
  for (const SbomHash& hash : component.hashes) {
    const auto* const kind = std::find_if(kHashKinds.begin(), kHashKinds.end(),
                                          [&](const HashKind& k) { return k.name == hash.algorithm; });
    if (kind == kHashKinds.end() || hash.hex.size() != kind->digits || !IsLowerHex(hash.hex)) {
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a {} digest, in the component '{}'",
                                                         hash.hex, hash.algorithm, component.name));
    }
  }
  return Ok();
}

void SetUnlessEmpty(Json& object, const char* key, const std::string& value) {
  if (!value.empty()) object[key] = value;
}

Json HashesJson(const std::vector<SbomHash>& hashes) {
  Json list = Json::array();
  for (const SbomHash& hash : hashes) list.push_back({{"alg", hash.algorithm}, {"content", hash.hex}});
  return list;
}

/// Commits and patches: how the built sources differ from the release.
Json PedigreeJson(const SbomComponent& component) {
  Json pedigree = Json::object();
  if (!component.commit.empty()) {
    Json commit = {{"uid", component.commit}};
    SetUnlessEmpty(commit, "url", component.repository);
    pedigree["commits"] = Json::array({commit});
  }
  for (const std::string& patch : component.patches) {
    pedigree["patches"].push_back({{"type", "unofficial"}, {"diff", {{"url", PercentEncode(patch, "/")}}}});
  }
  return pedigree;
}

Json ComponentJson(const SbomComponent& component, const std::string& reference) {
  Json json = {{"type", component.type}, {"name", component.name}, {"bom-ref", reference}};
  SetUnlessEmpty(json, "version", component.version);
  SetUnlessEmpty(json, "description", component.description);
  SetUnlessEmpty(json, "purl", component.purl);
  if (!component.hashes.empty()) json["hashes"] = HashesJson(component.hashes);
  // Not every text that a project gives is an SPDX expression: as a name it is valid whatever it is.
  if (!component.license.empty())
    json["licenses"] = Json::array({{{"license", {{"name", component.license}}}}});
  Json references = Json::array();
  if (!component.download.empty())
    references.push_back({{"type", "distribution"}, {"url", component.download}});
  if (!component.repository.empty()) references.push_back({{"type", "vcs"}, {"url", component.repository}});
  if (!references.empty()) json["externalReferences"] = std::move(references);
  Json pedigree = PedigreeJson(component);
  if (!pedigree.empty()) json["pedigree"] = std::move(pedigree);
  for (const auto& [name, value] : component.properties)
    json["properties"].push_back({{"name", name}, {"value", value}});
  return json;
}

/// Names a component within the document.
class References {
 public:
  std::string For(const SbomComponent& component) {
    std::string base = component.purl;
    if (base.empty()) {
      base = component.name;
      if (!component.version.empty()) base += "@" + component.version;
      if (!component.hashes.empty()) base += "#" + component.hashes.front().hex.substr(0, 8);
    }
    std::string reference = base;
    for (int i = 2; !taken_.insert(reference).second; ++i) reference = fmt::format("{}-{}", base, i);
    return reference;
  }

 private:
  std::set<std::string> taken_;
};

Result<Json> ComponentsJson(std::vector<SbomComponent> components, References& references,
                            std::vector<std::string>& named) {
  // Equal components are written once. The order of the caller's list has no effect on the bytes.
  std::sort(components.begin(), components.end());
  components.erase(std::unique(components.begin(), components.end()), components.end());
  Json list = Json::array();
  for (const SbomComponent& component : components) {
    PTPKG_CHECK(CheckComponent(component));
    named.push_back(references.For(component));
    list.push_back(ComponentJson(component, named.back()));
  }
  return list;
}

/// Member `key` if it is a list, else an empty one.
Json ListIn(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_array() ? *found : Json::array();
}

std::string TextIn(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Json ObjectIn(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_object() ? *found : Json::object();
}

/// Reads the output of ComponentJson.
SbomComponent ComponentFrom(const Json& json) {
  SbomComponent component{.type = TextIn(json, "type"),
                          .name = TextIn(json, "name"),
                          .version = TextIn(json, "version"),
                          .description = TextIn(json, "description"),
                          .purl = TextIn(json, "purl")};
  for (const Json& hash : ListIn(json, "hashes"))
    component.hashes.push_back({TextIn(hash, "alg"), TextIn(hash, "content")});
  for (const Json& license : ListIn(json, "licenses"))
    component.license = TextIn(ObjectIn(license, "license"), "name");
  for (const Json& reference : ListIn(json, "externalReferences")) {
    const std::string type = TextIn(reference, "type");
    if (type == "distribution") component.download = TextIn(reference, "url");
    if (type == "vcs") component.repository = TextIn(reference, "url");
  }
  const Json pedigree = ObjectIn(json, "pedigree");
  for (const Json& commit : ListIn(pedigree, "commits")) component.commit = TextIn(commit, "uid");
  for (const Json& patch : ListIn(pedigree, "patches"))
    component.patches.push_back(PercentDecode(TextIn(ObjectIn(patch, "diff"), "url")));
  for (const Json& property : ListIn(json, "properties"))
    component.properties[TextIn(property, "name")] = TextIn(property, "value");
  return component;
}

/// A UUID of version 8 (RFC 9562: its bits are the maker's own) from the first half of the digest.
std::string UuidOf(const Sha256& digest) {
  std::string hex = digest.Hex().substr(0, 32);
  hex[12] = '8';
  constexpr std::string_view kVariant = "89ab";
  hex[16] = kVariant[digest.bytes[8] & 3U];
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4),
                     hex.substr(16, 4), hex.substr(20, 12));
}

}  // namespace

std::string PackageUrl(const PackageUrlParts& parts) {
  std::string url = fmt::format("pkg:{}/", parts.type);
  if (!parts.name_space.empty()) url += PercentEncode(parts.name_space, "/") + "/";
  url += PercentEncode(parts.name, ":");
  if (!parts.version.empty()) url += "@" + PercentEncode(parts.version, ":");
  char separator = '?';
  for (const auto& [key, value] : parts.qualifiers) {
    url += fmt::format("{}{}={}", separator, key, PercentEncode(value, ":/"));
    separator = '&';
  }
  return url;
}

std::string SbomName(std::string_view writer) { return fmt::format("sboms/{}.cdx.json", writer); }

Result<std::vector<SbomComponent>> ParseSbomComponents(std::string_view text, const std::string& name) {
  PTPKG_TRY(const Json document, ParseJson(text, name));
  const auto list = document.is_object() ? document.find("components") : document.end();
  if (list == document.end() || !list->is_array())
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' has no list of components", name));
  std::vector<SbomComponent> components;
  for (const Json& json : *list) {
    components.push_back(ComponentFrom(json));
    if (components.back().name.empty())
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' has a component without a name", name));
  }
  return components;
}

Result<std::string> FormatSbom(const Sbom& sbom) {
  PTPKG_CHECK(CheckComponent(sbom.subject));
  References references;
  const std::string subject = references.For(sbom.subject);
  std::vector<std::string> held;
  std::vector<std::string> used;
  Json document = {{"$schema", "http://cyclonedx.org/schema/bom-1.6.schema.json"},
                   {"bomFormat", "CycloneDX"},
                   {"specVersion", "1.6"},
                   {"version", 1},
                   {"metadata", {{"component", ComponentJson(sbom.subject, subject)}}}};
  for (const auto& [name, version] : sbom.tool) {
    document["metadata"]["tools"]["components"].push_back(
        {{"type", "application"}, {"name", name}, {"version", version}});
  }
  PTPKG_TRY(document["components"], ComponentsJson(sbom.components, references, held));
  document["dependencies"] = Json::array({{{"ref", subject}, {"dependsOn", held}}});
  if (!sbom.made_with.empty()) {
    PTPKG_TRY(Json tools, ComponentsJson(sbom.made_with, references, used));
    document["formulation"] = Json::array({{{"bom-ref", "build"}, {"components", std::move(tools)}}});
  }
  // Names of files and of sources can hold any bytes; JSON can't (RFC 8259).
  const Result<void> is_text = CheckUtf8(document, "a bill of materials");
  if (!is_text) return Error(ErrorCode::kInvalidInput, is_text.error().message());
  // Last, because it is a digest of all other fields.
  document["serialNumber"] = "urn:uuid:" + UuidOf(HashText(DumpJson(document)));
  return DumpJson(document);
}

}  // namespace ptpkg::wheel
