#pragma once
// Attestations in the forms of Sigstore's clients. Their signatures are of nobody: who verifies them asks
// Sigstore.

#include "provenance/statement.h"
#include "support/digest/base64.h"

namespace ptpkg::provenance {

inline constexpr const char* kPypiPublish = "https://docs.pypi.org/attestations/publish/v1";
inline constexpr const char* kCep27Publish = "https://schemas.conda.org/attestations-publish-1.schema.json";

/// A PEP 740 attestation object.
inline Json PythonSample(const Subject& subject, std::string_view predicate_type = kPypiPublish) {
  const std::string statement = StatementText(subject, predicate_type, Json());
  return {{"version", 1},
          {"verification_material",
           {{"certificate", Base64(AsBytes("a certificate"))},
            {"transparency_entries", Json::array({Json{{"logIndex", "1"}}})}}},
          {"envelope",
           {{"statement", Base64(AsBytes(statement))}, {"signature", Base64(AsBytes("a signature"))}}}};
}

/// A Sigstore bundle around a statement of CEP 27.
inline Json CondaSample(const Subject& subject, const Json& predicate,
                        std::string_view type = kCep27Publish) {
  const std::string statement = StatementText(subject, type, predicate);
  return {{"mediaType", "application/vnd.dev.sigstore.bundle.v0.3+json"},
          {"verificationMaterial", {{"certificate", {{"rawBytes", Base64(AsBytes("a certificate"))}}}}},
          {"dsseEnvelope",
           {{"payload", Base64(AsBytes(statement))},
            {"payloadType", "application/vnd.in-toto+json"},
            {"signatures", Json::array({Json{{"sig", Base64(AsBytes("a signature"))}}})}}}};
}

}  // namespace ptpkg::provenance
