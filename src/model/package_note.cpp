// The note is part of a package's bytes. Names are sorted and unique, so that their order in a recipe does
// not count. Unknown keys are ignored, because a later ptpkg can have written the note.

#include "model/package_note.h"

#include <fmt/format.h>
#include <set>

#include "support/text/json.h"

namespace ptpkg {

std::string FormatPackageNote(const PackageNote& note) {
  const std::set<std::string> names(note.allow_unresolved.begin(), note.allow_unresolved.end());
  Json json = Json::object();
  if (!names.empty()) json["allow_unresolved"] = names;
  if (!note.device_code.empty()) json["device_code"] = note.device_code;
  return DumpJson(json);
}

Result<PackageNote> ParsePackageNote(std::string_view text, std::string_view where) {
  PTPKG_TRY(const Json json, ParseJson(text, where));
  if (!json.is_object()) {
    return Error(ErrorCode::kInvalidInput, fmt::format("{}: is not a JSON object", where));
  }
  PackageNote note;
  PTPKG_TRY(note.allow_unresolved, JsonStringsOr(json, "allow_unresolved", {}, where));
  PTPKG_TRY(note.device_code, JsonStringsOr(json, "device_code", {}, where));
  return note;
}

}  // namespace ptpkg
