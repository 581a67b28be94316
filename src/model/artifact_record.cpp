#include "model/artifact_record.h"

#include "support/json.h"
#include "support/path.h"

namespace ptpkg {

Result<ArtifactRecord> ArtifactRecordFromJson(const Json& json, std::string_view where) {
  ArtifactRecord record;
  PTPKG_TRY(record.path, JsonString(json, "path", where));
  PTPKG_TRY([[maybe_unused]] const RelPath parsed, RelPath::Parse(record.path));
  PTPKG_TRY(record.format, JsonString(json, "format", where));
  PTPKG_TRY(record.sha256, JsonString(json, "sha256", where));
  PTPKG_TRY(record.md5, JsonString(json, "md5", where));
  PTPKG_TRY(const std::int64_t size, JsonInteger(json, "size", where));
  record.size_bytes = static_cast<std::uint64_t>(size);
  if (json.contains("unpacked_size")) {
    PTPKG_TRY(const std::int64_t unpacked, JsonInteger(json, "unpacked_size", where));
    record.unpacked_bytes = static_cast<std::uint64_t>(unpacked);
  }
  if (json.contains("inputs") && json["inputs"].is_object()) {
    for (const auto& [name, digest] : json["inputs"].items()) {
      if (digest.is_string()) record.inputs.emplace(name, digest.get<std::string>());
    }
  }
  return record;
}

Json ArtifactRecordToJson(const ArtifactRecord& record) {
  return {{"path", record.path},    {"format", record.format},   {"sha256", record.sha256},
          {"md5", record.md5},      {"size", record.size_bytes}, {"unpacked_size", record.unpacked_bytes},
          {"inputs", record.inputs}};
}

}  // namespace ptpkg
