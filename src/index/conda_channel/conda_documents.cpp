// Builds repodata.json and run_exports.json, and adds or removes single rows in documents that others
// wrote. A row with another digest than the expected one stays: another publisher may have replaced the
// package under its name. Unknown keys of a document stay.

#include "index/conda_channel/conda_documents.h"

#include <algorithm>
#include <fmt/core.h>

namespace ptpkg::index {
namespace {

constexpr int kRepodataVersion = 1;
constexpr int kRunExportsVersion = 1;

/// The object of a document that lists files of this name's kind.
Result<Json*> RowsOf(Json& document, const std::string& file_name) {
  const char* key = file_name.ends_with(".conda") ? "packages.conda" : "packages";
  if (document.is_object()) {
    Json& rows = document[key];
    if (rows.is_null()) rows = Json::object();
    if (rows.is_object()) return &rows;
  }
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' of the index is not an object", key));
}

}  // namespace

Json EmptyRepodata(const std::string& subdir) {
  return {{"info", {{"subdir", subdir}}},
          {"packages", Json::object()},
          {"packages.conda", Json::object()},
          {"removed", Json::array()},
          {"repodata_version", kRepodataVersion}};
}

Json EmptyRunExports(const std::string& subdir) {
  return {{"info", {{"subdir", subdir}, {"version", kRunExportsVersion}}},
          {"packages", Json::object()},
          {"packages.conda", Json::object()}};
}

Result<void> AddToRepodata(Json& repodata, const CondaRecords& records) {
  for (const auto& [name, record] : records) {
    PTPKG_TRY(Json* const rows, RowsOf(repodata, name));
    (*rows)[name] = record.repodata;
  }
  return Ok();
}

Result<void> AddToRunExports(Json& run_exports, const CondaRecords& records) {
  for (const auto& [name, record] : records) {
    PTPKG_TRY(Json* const rows, RowsOf(run_exports, name));
    (*rows)[name] = {{"run_exports", record.run_exports}};
  }
  return Ok();
}

Result<void> RemoveRows(Json& document, const std::map<std::string, std::string>& digests) {
  for (const auto& [name, sha256] : digests) {
    PTPKG_TRY(Json* const rows, RowsOf(document, name));
    const auto row = rows->find(name);
    if (row == rows->end()) continue;
    const bool has_digest = row->is_object() && row->contains("sha256") && row->at("sha256").is_string();
    const std::string told = has_digest ? row->at("sha256").get<std::string>() : "";
    if (sha256.empty() || told.empty() || told == sha256) rows->erase(row);
  }
  return Ok();
}

std::int64_t RowInteger(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::string RowText(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t RowTimestampMs(const Json& row) {
  const std::int64_t time = std::max<std::int64_t>(RowInteger(row, "timestamp"), 0);
  return time > kLastSecondOf9999 ? time : time * 1000;
}

std::string LegacyName(const std::string& file_name) {
  constexpr std::string_view kExtension = ".conda";
  if (!file_name.ends_with(kExtension)) return file_name;
  return file_name.substr(0, file_name.size() - kExtension.size()) + ".tar.bz2";
}

std::string CompactJson(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ptpkg::index
