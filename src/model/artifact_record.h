#pragma once
// Persistent record of a published artifact. Layer: model.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/digest/hash.h"
#include "support/text/json.h"

namespace ptpkg {

// Formats of sidecar files, which go wherever their artifacts go.
inline constexpr std::string_view kStatementFormat = "provenance";     ///< provenance/envelope.h
inline constexpr std::string_view kSignatureFormat = "signature";      ///< Signature of the artifact's bytes.
inline constexpr std::string_view kAttestationFormat = "attestation";  ///< provenance/attestation.h

struct ArtifactRecord {
  std::string path = {};  ///< Below the output directory.
  std::string format = {};
  std::string sha256 = {};
  std::string md5 = {};
  std::uint64_t size_bytes = 0;
  std::uint64_t unpacked_bytes = 0;  ///< See Artifact; 0 in records of versions that did not write it.
  std::map<std::string, std::string> inputs = {};  ///< Input name → digest.
  std::string deflater = {};                       ///< Compressor of a wheel or zip: "libdeflate 1.14".
  std::string key = {};                            ///< Key of the plan's node that made it.
  std::vector<std::string> checks = {};            ///< Keys of the checks and tests that it passed.
  std::string publication = {};                    ///< Key of the publication that it appeared with,
  std::uint64_t publication_size = 0;              ///< and how many artifacts that had.
  std::string variant = {};                        ///< Variant of that publication: "toy-1.0-py311_0".
  std::string siblings = {};  ///< Digest of the publications of all variants that were planned with it.
  std::int64_t mtime_ns = 0;  ///< Published file's; while it and the size stay, the file is not reread.

  /// True for a sidecar: a file about an artifact, not an artifact itself.
  [[nodiscard]] bool IsSidecar() const {
    return format == kStatementFormat || format == kSignatureFormat || format == kAttestationFormat;
  }
};

/// Errors: kInvalidInput naming `where`, also for a path that is absolute or leaves the directory.
Result<ArtifactRecord> ArtifactRecordFromJson(const Json& json, std::string_view where);
Json ArtifactRecordToJson(const ArtifactRecord& record);

/// Errors: any from FromHex, if the record lacks one.
Result<Digests> DigestsOf(const ArtifactRecord& record);

}  // namespace ptpkg
