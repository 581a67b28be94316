// Checks the form of attestations, and their subject, without network access. A signature by Sigstore can be
// verified only with its certificates and the transparency log, which is the server's task. These checks find
// the faults for which a server would refuse an upload, before the upload begins. Python (PEP 740) and conda
// (CEP 27) wrap the same in-toto statement in different documents. Only CEP 27 uses a DSSE envelope; PEP 740
// has an object of its own.

#include "provenance/attestation.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "provenance/envelope.h"
#include "support/digest/base64.h"
#include "support/text/text.h"

namespace ptpkg::provenance {
namespace {

constexpr std::array<std::string_view, 2> kPythonPredicates = {
    "https://docs.pypi.org/attestations/publish/v1", kSlsaProvenance};
constexpr std::string_view kCondaPublish = "https://schemas.conda.org/attestations-publish-1.schema.json";
constexpr std::string_view kBundle = "application/vnd.dev.sigstore.bundle";

Error NotAttestation(const std::string& where, const std::string& what) {
  return Error(ErrorCode::kInvalidInput, fmt::format("{} {}", where, what));
}

/// `object[field]`, an object.
Result<Json> Object(const Json& object, const char* field, const std::string& where) {
  if (object.is_object() && object.contains(field) && object[field].is_object()) return object[field];
  return NotAttestation(where, fmt::format("has no object '{}'", field));
}

Result<std::string> Base64Field(const Json& object, const char* field, const std::string& where) {
  PTPKG_TRY(const std::string text, JsonString(object, field, where));
  // In 2024, pypi-attestations with pydantic before 2.10 broke lines.
  Result<std::string> bytes = DecodeBase64(ReplaceAll(text, "\n", ""));
  if (bytes && !bytes->empty()) return bytes;
  return NotAttestation(where, fmt::format("has no base64 in '{}'", field));
}

/// Common part of both kinds of attestations.
Result<Statement> ParseSingleSubject(const std::string& text, const std::string& where) {
  const std::string inside = fmt::format("the statement in {}", where);
  PTPKG_TRY(Statement statement, ParseStatement(text, inside));
  if (statement.type != kStatementType)
    return NotAttestation(inside, fmt::format("is of the type '{}', not in-toto's v1", statement.type));
  if (statement.subjects.size() != 1)
    return NotAttestation(inside, fmt::format("has {} subjects, not one", statement.subjects.size()));
  return statement;
}

}  // namespace

Result<Statement> ReadPythonAttestation(const std::string& text, const std::string& where) {
  PTPKG_TRY(const Json json, ParseJson(text, where));
  if (!json.is_object()) return NotAttestation(where, "is not an object");
  PTPKG_TRY(const std::int64_t version, JsonInteger(json, "version", where));
  if (version != 1) return NotAttestation(where, fmt::format("is of version {}, not 1", version));
  PTPKG_TRY(const Json material, Object(json, "verification_material", where));
  // The content is not judged: only its presence in the right form can be checked offline.
  PTPKG_TRY([[maybe_unused]] const std::string certificate, Base64Field(material, "certificate", where));
  const auto entries = material.find("transparency_entries");
  const bool logged =
      entries != material.end() && entries->is_array() && !entries->empty() &&
      std::all_of(entries->begin(), entries->end(), [](const Json& e) { return e.is_object(); });
  if (!logged) return NotAttestation(where, "has no entry of a transparency log");
  PTPKG_TRY(const Json envelope, Object(json, "envelope", where));
  PTPKG_TRY([[maybe_unused]] const std::string signature, Base64Field(envelope, "signature", where));
  PTPKG_TRY(const std::string payload, Base64Field(envelope, "statement", where));
  PTPKG_TRY(Statement statement, ParseSingleSubject(payload, where));
  const bool known = std::find(kPythonPredicates.begin(), kPythonPredicates.end(),
                               statement.predicate_type) != kPythonPredicates.end();
  if (known) return statement;
  return NotAttestation(where, fmt::format("has the predicate type '{}', which indexes do not accept",
                                           statement.predicate_type));
}

Result<Statement> ReadCondaAttestation(const std::string& text, const std::string& where) {
  PTPKG_TRY(const Json json, ParseJson(text, where));
  if (!json.is_object()) return NotAttestation(where, "is not an object");
  PTPKG_TRY(const std::string media_type, JsonString(json, "mediaType", where));
  if (!media_type.starts_with(kBundle))
    return NotAttestation(
        where, fmt::format("has the type '{}', but a Sigstore bundle has '{}…'", media_type, kBundle));
  PTPKG_TRY([[maybe_unused]] const Json material, Object(json, "verificationMaterial", where));
  PTPKG_TRY(const Json wrapped, Object(json, "dsseEnvelope", where));
  PTPKG_TRY(const Envelope envelope, ParseEnvelope(wrapped, where));
  if (envelope.payload_type != kStatementPayload)
    return NotAttestation(where, fmt::format("has a payload of the type '{}'", envelope.payload_type));
  PTPKG_TRY(Statement statement, ParseSingleSubject(envelope.payload, where));
  if (statement.predicate_type != kCondaPublish) {
    return NotAttestation(where, fmt::format("has the predicate type '{}', but CEP 27 requires '{}'",
                                             statement.predicate_type, kCondaPublish));
  }
  const Json& predicate = statement.predicate;
  const bool fits = predicate.is_null() ||
                    (predicate.is_object() &&
                     (!predicate.contains("targetChannel") || predicate["targetChannel"].is_string()));
  if (fits) return statement;
  return NotAttestation(where, "has a predicate that CEP 27 does not know");
}

std::string TargetChannelOf(const Statement& statement) {
  if (!statement.predicate.is_object() || !statement.predicate.contains("targetChannel")) return "";
  std::string channel = statement.predicate["targetChannel"].get<std::string>();
  // URLs with and without a '/' at the end mean the same channel.
  while (channel.ends_with('/')) channel.pop_back();
  return channel;
}

}  // namespace ptpkg::provenance
