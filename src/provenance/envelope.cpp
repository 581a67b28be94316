// DSSE signs a text that is built from type and payload (PAE, "pre-authentication encoding"), and not the
// JSON document. So a verifier needs no canonical JSON, and white space in the envelope does not count.

#include "provenance/envelope.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/digest/base64.h"
#include "support/text/text.h"

namespace ptpkg::provenance {
namespace {

/// The bytes that are signed: the type and the lengths keep one document from being taken for another.
std::string SignedBytes(std::string_view payload_type, std::string_view payload) {
  return fmt::format("DSSEv1 {} {} {} {}", payload_type.size(), payload_type, payload.size(), payload);
}

Result<std::string> Decoded(const Json& object, const std::string& field, const std::string& where) {
  PTPKG_TRY(const std::string text, JsonString(object, field, where));
  // The protocol allows both alphabets.
  Result<std::string> bytes = DecodeBase64(ReplaceAll(ReplaceAll(text, "-", "+"), "_", "/"));
  if (bytes) return bytes;
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' of {} is not base64", field, where));
}

}  // namespace

/// All signatures are tried: `keyid` is a hint that nobody signs, so it must not decide (DSSE, protocol.md).
bool Envelope::IsSignedBy(const PublicKey& key) const {
  const std::string text = SignedBytes(payload_type, payload);
  return std::any_of(signatures.begin(), signatures.end(),
                     [&](const Signature& signature) { return key.Fits(text, signature.bytes); });
}

Result<std::string> SignEnvelope(const SigningKey& key, std::string_view payload_type,
                                 std::string_view payload) {
  PTPKG_TRY(const std::string signature, key.Sign(SignedBytes(payload_type, payload)));
  const Json by_key = {{"keyid", key.id()}, {"sig", Base64(AsBytes(signature))}};
  const Json envelope = {{"payload", Base64(AsBytes(payload))},
                         {"payloadType", payload_type},
                         {"signatures", Json::array({by_key})}};
  // One line, because readers of .intoto.jsonl take one envelope per line.
  return DumpJsonPython(envelope) + "\n";
}

Result<Envelope> ParseEnvelope(const Json& json, const std::string& where) {
  Envelope envelope;
  PTPKG_TRY(envelope.payload_type, JsonString(json, "payloadType", where));
  PTPKG_TRY(envelope.payload, Decoded(json, "payload", where));
  if (!json.contains("signatures") || !json["signatures"].is_array() || json["signatures"].empty())
    return Error(ErrorCode::kInvalidInput, fmt::format("{} has no signatures", where));
  for (const Json& item : json["signatures"]) {
    Signature signature;
    PTPKG_TRY(signature.key_id, JsonStringOr(item, "keyid", "", where));
    PTPKG_TRY(signature.bytes, Decoded(item, "sig", where));
    envelope.signatures.push_back(std::move(signature));
  }
  return envelope;
}

}  // namespace ptpkg::provenance
