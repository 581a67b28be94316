#pragma once
// What is remembered of an artifact after its making: manifest.json and the stage store say it in this form.
// Layer: model.

#include <cstdint>
#include <map>
#include <string>

#include "support/json_fwd.h"
#include "support/result.h"

namespace ptpkg {

struct ArtifactRecord {
  std::string path = {};  ///< Below the output folder.
  std::string format = {};
  std::string sha256 = {};
  std::string md5 = {};
  std::uint64_t size_bytes = 0;
  std::uint64_t unpacked_bytes = 0;  ///< As of Artifact; 0 in records of versions that did not tell.
  std::map<std::string, std::string> inputs = {};  ///< Input name → digest.
};

/// Errors: kInvalidInput naming `where`, also for a path that is absolute or leaves the folder.
Result<ArtifactRecord> ArtifactRecordFromJson(const Json& json, std::string_view where);
Json ArtifactRecordToJson(const ArtifactRecord& record);

}  // namespace ptpkg
