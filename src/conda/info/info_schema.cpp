// Schemas of index.json, run_exports.json, about.json and link.json. Layer: conda.
//
// One table per document, with a predicate for each field. The strictest reader sets the types: rattler reads
// documents into typed structures. One record with a wrong type in repodata.json makes all packages of that
// name unreadable (docs/findings/conda-index-invalid.md). Unknown fields pass, because later CEPs add some.

#include "conda/info/info_schema.h"

#include <algorithm>
#include <fmt/core.h>
#include <limits>
#include <span>

#include "support/text/json.h"
#include "versions/entry_point.h"

namespace ptpkg::conda {
namespace {

Error WrongIn(std::string_view where, std::string_view why) {
  return {ErrorCode::kInvalidInput, fmt::format("{}: {}", where, why)};
}

bool IsText(const Json& value) { return value.is_string(); }
bool IsTextOrNull(const Json& value) { return value.is_string() || value.is_null(); }
bool IsTexts(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), IsText);
}
bool IsCount(const Json& value) {
  return value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
}
bool IsCountOrNull(const Json& value) { return IsCount(value) || value.is_null(); }
bool IsTextOrTexts(const Json& value) { return IsText(value) || IsTexts(value); }
bool IsTextOrTextsOrNull(const Json& value) { return IsTextOrTexts(value) || value.is_null(); }
bool IsObject(const Json& value) { return value.is_object(); }

/// A text, a list whose items may be null, or null.
bool IsUrls(const Json& value) {
  return IsTextOrNull(value) || (value.is_array() && std::all_of(value.begin(), value.end(), IsTextOrNull));
}

bool IsHexOrNull(const Json& value, std::size_t digits) {
  if (value.is_null()) return true;
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.size() == digits && text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
}
bool IsMd5OrNull(const Json& value) { return IsHexOrNull(value, 32); }
bool IsSha256OrNull(const Json& value) { return IsHexOrNull(value, 64); }

/// Milliseconds, or seconds of old packages; a date of the years -9999 to 9999.
bool IsTimestampOrNull(const Json& value) {
  constexpr std::int64_t kFirstSecond = -377'705'023'201;
  constexpr std::int64_t kLastSecond = 253'402'207'200;
  constexpr std::int64_t kSecondsUpTo = 253'402'300'799;  // what is above counts milliseconds
  if (value.is_null()) return true;
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    return false;
  const auto time = value.get<std::int64_t>();
  if (time > kSecondsUpTo) return time / 1000 <= kLastSecond;
  return time >= kFirstSecond && time <= kLastSecond;
}

/// true is "generic" of packages before 2017, "" is what Artifactory writes for none.
bool IsNoarch(const Json& value) {
  if (value.is_null() || value.is_boolean()) return true;
  return value == "python" || value == "generic" || value == "";
}

bool IsGroups(const Json& value) {
  return value.is_object() && std::all_of(value.begin(), value.end(), IsTexts);
}

/// "pkg:type/name": the parts that every reader asks for.
bool IsPurl(const Json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  const std::size_t slash = text.find('/');
  if (!text.starts_with("pkg:") || slash == std::string::npos || slash == 4 || slash + 1 == text.size())
    return false;
  const auto is_type = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '+' || c == '-';
  };
  return std::all_of(text.begin() + 4, text.begin() + static_cast<std::ptrdiff_t>(slash), is_type);
}
bool IsPurlsOrNull(const Json& value) {
  return value.is_null() || (value.is_array() && std::all_of(value.begin(), value.end(), IsPurl));
}

bool IsRunExports(const Json& value);
bool IsRunExportsOrNull(const Json& value) { return value.is_null() || IsRunExports(value); }

struct Field {
  std::string_view key;
  bool (*is_right)(const Json&);
  std::string_view expected;
  bool required = false;
};

constexpr std::string_view kText = "text";
constexpr std::string_view kTextOrNull = "text or null";
constexpr std::string_view kTextList = "a list of texts";
constexpr std::string_view kCount = "an integer from 0 to 2^64 - 1";
constexpr std::string_view kUrl = "a URL, a list of URLs or null";

constexpr Field kIndexFields[] = {
    {"name", IsText, kText, true},
    {"version", IsText, kText, true},
    {"build", IsText, kText, true},
    {"build_number", IsCount, kCount, true},
    {"depends", IsTexts, kTextList},
    {"constrains", IsTexts, kTextList},
    {"subdir", IsText, kText},
    {"arch", IsTextOrNull, kTextOrNull},
    {"platform", IsTextOrNull, kTextOrNull},
    {"noarch", IsNoarch, "\"python\", \"generic\", true, false or null"},
    {"license", IsTextOrNull, kTextOrNull},
    {"license_family", IsTextOrNull, kTextOrNull},
    {"timestamp", IsTimestampOrNull, "milliseconds since 1970, up to the year 9999"},
    {"indexed_timestamp", IsTimestampOrNull, "milliseconds since 1970, up to the year 9999"},
    {"features", IsTextOrNull, kTextOrNull},
    {"track_features", IsTextOrTexts, "text or a list of texts"},
    {"flags", IsTexts, kTextList},
    {"purls", IsPurlsOrNull, "a list of package URLs 'pkg:type/name', or null"},
    {"python_site_packages_path", IsTextOrNull, kTextOrNull},
    {"extra_depends", IsGroups, "an object of lists of texts"},
    {"run_exports", IsRunExportsOrNull, "an object of lists of texts, or null"},
    {"legacy_bz2_md5", IsMd5OrNull, "32 hexadecimal digits or null"},
    {"legacy_bz2_size", IsCountOrNull, kCount},
    {"attestations_sha256", IsSha256OrNull, "64 hexadecimal digits or null"},
    {"repodata_revision", IsCountOrNull, kCount},
};

constexpr Field kRunExportsFields[] = {
    {"weak", IsTexts, kTextList},
    {"strong", IsTexts, kTextList},
    {"noarch", IsTexts, kTextList},
    {"weak_constrains", IsTexts, kTextList},
    {"strong_constrains", IsTexts, kTextList},
};

constexpr Field kAboutFields[] = {
    {"channels", IsTexts, kTextList},
    {"description", IsTextOrTextsOrNull, "text, a list of texts or null"},
    {"dev_url", IsUrls, kUrl},
    {"doc_url", IsUrls, kUrl},
    {"extra", IsObject, "an object"},
    {"home", IsUrls, kUrl},
    {"license", IsTextOrNull, kTextOrNull},
    {"license_family", IsTextOrNull, kTextOrNull},
    {"source_url", IsTextOrNull, kTextOrNull},
    {"summary", IsTextOrTextsOrNull, "text, a list of texts or null"},
};

bool IsRunExports(const Json& value) {
  return value.is_object() &&
         std::all_of(std::begin(kRunExportsFields), std::end(kRunExportsFields), [&](const Field& field) {
           const auto found = value.find(field.key);
           return found == value.end() || field.is_right(*found);
         });
}

Result<void> CheckFields(const Json& document, std::span<const Field> fields, std::string_view where) {
  if (!document.is_object()) return WrongIn(where, "is not a JSON object");
  for (const Field& field : fields) {
    const auto found = document.find(field.key);
    if (found == document.end()) {
      if (field.required) return WrongIn(where, fmt::format("'{}' is missing", field.key));
    } else if (!field.is_right(*found)) {
      return WrongIn(where, fmt::format("'{}' must be {}", field.key, field.expected));
    }
  }
  return Ok();
}

}  // namespace

Result<void> CheckIndexSchema(const Json& index, std::string_view where) {
  PTPKG_CHECK(CheckFields(index, kIndexFields, where));
  // These become parts of file names and URLs.
  for (const char* key : {"name", "version", "build"}) {
    const auto& text = index[key].get_ref<const std::string&>();
    if (text.empty() || text.find('/') != std::string::npos) {
      return WrongIn(where, fmt::format("'{}' is empty or has a '/'", key));
    }
  }
  return Ok();
}

Result<void> CheckRunExportsSchema(const Json& run_exports, std::string_view where) {
  return CheckFields(run_exports, kRunExportsFields, where);
}

Result<void> CheckAboutSchema(const Json& about, std::string_view where) {
  return CheckFields(about, kAboutFields, where);
}

Result<LinkDocument> ParseLinkJson(const Json& link, std::string_view where) {
  constexpr Field kFields[] = {{"package_metadata_version", IsCount, kCount, true},
                               {"noarch", IsObject, "an object", true}};
  constexpr Field kNoarchFields[] = {{"type", IsText, kText, true}, {"entry_points", IsTexts, kTextList}};
  PTPKG_CHECK(CheckFields(link, kFields, where));
  if (link["package_metadata_version"] != 1) return WrongIn(where, "package_metadata_version is not 1");
  const Json& noarch = link["noarch"];
  PTPKG_CHECK(CheckFields(noarch, kNoarchFields, where));
  LinkDocument document{.type = noarch["type"].get<std::string>(), .entry_points = {}};
  if (document.type != "python" && document.type != "generic") {
    return WrongIn(where, fmt::format("noarch type '{}' is unknown", document.type));
  }
  PTPKG_TRY(document.entry_points, JsonStringsOr(noarch, "entry_points", {}, where));
  for (const std::string& text : document.entry_points) {
    // Installers make a program of each. A name with '/' could write anywhere: rattler refuses the
    // installation.
    const auto point = versions::ParseEntryPoint(text);
    if (!point) return WrongIn(where, point.error().message());
  }
  return document;
}

}  // namespace ptpkg::conda
