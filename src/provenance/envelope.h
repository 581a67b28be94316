#pragma once
// Signs and parses DSSE envelopes. Layer: provenance. Source: Dead Simple Signing Envelope
// (secure-systems-lab/dsse), protocol.md and envelope.md, version 1.0.

#include <string>
#include <vector>

#include "support/digest/signing.h"
#include "support/text/json.h"

namespace ptpkg::provenance {

/// The payload type of in-toto statements (in-toto Envelope v1).
inline constexpr std::string_view kStatementPayload = "application/vnd.in-toto+json";

struct Signature {
  std::string key_id = {};  ///< From the envelope, unverified. May be "".
  std::string bytes;
};

struct Envelope {
  std::string payload_type;
  std::string payload;
  std::vector<Signature> signatures;  ///< At least one.

  /// True if one of the signatures was made with this key.
  [[nodiscard]] bool IsSignedBy(const PublicKey& key) const;
};

/// One line of JSON, with its line break.
Result<std::string> SignEnvelope(const SigningKey& key, std::string_view payload_type,
                                 std::string_view payload);

/// Unknown fields are allowed, as the format has it. Errors: kInvalidInput naming `where`.
Result<Envelope> ParseEnvelope(const Json& json, const std::string& where);

}  // namespace ptpkg::provenance
