// A manifest outlives the ptpkg that wrote it, so fields that came later have a default. Fields without a
// value are not written. Path, format, digests and size are required, since no record is useful without them.

#include "model/artifact_record.h"

#include "support/path.h"

namespace ptpkg {

Result<ArtifactRecord> ArtifactRecordFromJson(const Json& json, std::string_view where) {
  ArtifactRecord record;
  PTPKG_TRY(record.path, JsonString(json, "path", where));
  // Paths of a manifest are opened and removed below the output directory. An edited manifest must not lead
  // out.
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
  PTPKG_TRY(record.deflater, JsonStringOr(json, "deflater", "", where));
  PTPKG_TRY(record.key, JsonStringOr(json, "key", "", where));
  PTPKG_TRY(record.checks, JsonStringsOr(json, "checks", {}, where));
  PTPKG_TRY(record.publication, JsonStringOr(json, "publication", "", where));
  PTPKG_TRY(record.variant, JsonStringOr(json, "variant", "", where));
  PTPKG_TRY(record.siblings, JsonStringOr(json, "siblings", "", where));
  if (json.contains("publication_size")) {
    PTPKG_TRY(const std::int64_t count, JsonInteger(json, "publication_size", where));
    record.publication_size = static_cast<std::uint64_t>(count);
  }
  if (json.contains("mtime_ns")) {
    PTPKG_TRY(record.mtime_ns, JsonInteger(json, "mtime_ns", where));
  }
  if (json.contains("inputs") && json["inputs"].is_object()) {
    for (const auto& [name, digest] : json["inputs"].items()) {
      if (digest.is_string()) record.inputs.emplace(name, digest.get<std::string>());
    }
  }
  return record;
}

Json ArtifactRecordToJson(const ArtifactRecord& record) {
  Json json = {{"path", record.path},       {"format", record.format},
               {"sha256", record.sha256},   {"md5", record.md5},
               {"size", record.size_bytes}, {"unpacked_size", record.unpacked_bytes},
               {"inputs", record.inputs}};
  if (!record.deflater.empty()) json["deflater"] = record.deflater;
  if (!record.key.empty()) json["key"] = record.key;
  if (!record.checks.empty()) json["checks"] = record.checks;
  if (!record.publication.empty()) {
    json["publication"] = record.publication;
    json["publication_size"] = record.publication_size;
  }
  if (!record.variant.empty()) json["variant"] = record.variant;
  if (!record.siblings.empty()) json["siblings"] = record.siblings;
  if (record.mtime_ns != 0) json["mtime_ns"] = record.mtime_ns;
  return json;
}

Result<Digests> DigestsOf(const ArtifactRecord& record) {
  Digests digests;
  digests.size_bytes = record.size_bytes;
  PTPKG_TRY(digests.sha256, Sha256::FromHex(record.sha256));
  PTPKG_TRY(digests.md5, Md5::FromHex(record.md5));
  return digests;
}

}  // namespace ptpkg
