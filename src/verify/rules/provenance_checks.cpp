// The statement is verified first, then the signature of the artifact. The first fault ends the check,
// because later ones follow from it. A changed artifact, for instance, differs from its statement and from
// its signature. The signature of an envelope comes before its content. A statement that the key has not
// signed can say anything.

#include "verify/rules/provenance_checks.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>

#include "provenance/envelope.h"
#include "provenance/statement.h"
#include "support/digest/hash.h"
#include "support/text/text.h"

namespace ptpkg::verify {
namespace {

constexpr const char* kAskPublisher =
    "fetch the artifact and its sidecar files again from where they were published";

Finding Wrong(std::string id, std::string message, std::string fix) {
  return {.id = std::move(id),
          .severity = Severity::kError,
          .file = "",
          .message = std::move(message),
          .fix = std::move(fix)};
}

/// nullopt: not there.
Result<std::optional<std::string>> SidecarText(Env& env, const AbsPath& file) {
  PTPKG_TRY(const bool there, Exists(env.fs, file));
  if (!there) return std::optional<std::string>();
  PTPKG_TRY(std::string text, ReadFile(env.fs, file, limits::kStatement));
  return std::optional(std::move(text));
}

Finding Missing(const AbsPath& artifact, const std::string& what, std::string_view ending) {
  return Wrong("provenance-missing", fmt::format("its {} is missing: '{}{}'", what, artifact.Name(), ending),
               "build it with --sign-key, or fetch the published sidecar files");
}

Finding Unreadable(const std::string& why) { return Wrong("provenance-unreadable", why, kAskPublisher); }

/// "signed by other keys: a1b2…", as far as envelopes tell; "" when they name this one.
std::string OtherKeys(const provenance::Envelope& envelope, const PublicKey& key) {
  std::vector<std::string> others;
  for (const provenance::Signature& signature : envelope.signatures) {
    if (signature.key_id == key.id()) return "";
    if (!signature.key_id.empty()) others.push_back(signature.key_id.substr(0, 64));
  }
  return Join(others, ", ");
}

std::optional<Finding> NotSigned(const provenance::Envelope& envelope, const PublicKey& key) {
  if (envelope.IsSignedBy(key)) return std::nullopt;
  const std::string others = OtherKeys(envelope, key);
  if (!others.empty()) {
    return Wrong("provenance-signature",
                 fmt::format("its statement is signed by a different key: {}, not {}", others, key.id()),
                 "verify with the publisher's public key; if this is that key, don't install the artifact");
  }
  return Wrong(
      "provenance-signature",
      "the signature of its statement is invalid: the statement was changed, or a different key signed it",
      kAskPublisher);
}

/// Reports a wrong statement in a signed envelope.
std::optional<Finding> WrongStatement(const provenance::Envelope& envelope, const provenance::Subject& file) {
  constexpr const char* kFix = "verify other statements with the tool that made them";
  if (envelope.payload_type != provenance::kStatementPayload) {
    return Wrong("provenance-type",
                 fmt::format("its signed sidecar file is not a statement but '{}'", envelope.payload_type),
                 kFix);
  }
  const auto statement = provenance::ParseStatement(envelope.payload, "its statement");
  if (!statement) return Unreadable(statement.error().message());
  if (statement->type != provenance::kStatementType)
    return Wrong("provenance-type", fmt::format("its statement is of the unknown type '{}'", statement->type),
                 kFix);
  if (statement->predicate_type != provenance::kSlsaProvenance) {
    return Wrong("provenance-type",
                 fmt::format("its statement is not SLSA provenance but '{}'", statement->predicate_type),
                 kFix);
  }
  const std::string lacking = provenance::MissingSlsaField(statement->predicate);
  if (!lacking.empty())
    return Wrong("provenance-type", fmt::format("its statement has no '{}'", lacking), kAskPublisher);
  const std::string other = provenance::SubjectMismatch(*statement, file);
  if (other.empty()) return std::nullopt;
  return Wrong("provenance-subject", "its statement " + other, kAskPublisher);
}

std::optional<Finding> WrongLine(const std::string& line, const provenance::Subject& file,
                                 const PublicKey& key) {
  const Result<Json> json = ParseJson(line, "its statement");
  if (!json) return Unreadable(json.error().message());
  const auto envelope = provenance::ParseEnvelope(*json, "the envelope of its statement");
  if (!envelope) return Unreadable(envelope.error().message());
  std::optional<Finding> found = NotSigned(*envelope, key);
  return found ? found : WrongStatement(*envelope, file);
}

std::optional<Finding> WrongEnvelopes(const std::string& text, const provenance::Subject& file,
                                      const PublicKey& key) {
  std::optional<Finding> first;
  for (const std::string& line : SplitLines(text)) {
    if (Trim(line).empty()) continue;
    // One good envelope is enough. Other lines can be statements of other publishers.
    std::optional<Finding> found = WrongLine(line, file, key);
    if (!found) return std::nullopt;
    if (!first) first = std::move(found);
  }
  return first ? first : Unreadable("the file of its statement is empty");
}

}  // namespace

Result<std::vector<Finding>> CheckProvenance(Env& env, const AbsPath& artifact, const PublicKey& key) {
  const std::string name(artifact.Name());
  const auto beside = [&](std::string_view ending) {
    return artifact.Parent() / (name + std::string(ending));
  };
  const auto text = SidecarText(env, beside(provenance::kStatementEnding));
  if (!text && text.error().code() == ErrorCode::kInvalidInput)
    return std::vector{Unreadable(text.error().message())};
  PTPKG_CHECK(text);
  if (!*text) return std::vector{Missing(artifact, "signed statement", provenance::kStatementEnding)};
  // From the file itself: a manifest next to it can be exchanged together with the file.
  PTPKG_TRY(const Digests digests, HashFile(env.fs, artifact));
  const provenance::Subject file{.name = name, .sha256 = digests.sha256.Hex()};
  if (std::optional<Finding> found = WrongEnvelopes(**text, file, key)) return std::vector{*std::move(found)};
  const auto signature = SidecarText(env, beside(provenance::kSignatureEnding));
  if (!signature && signature.error().code() == ErrorCode::kInvalidInput)
    return std::vector{Unreadable(signature.error().message())};
  PTPKG_CHECK(signature);
  if (!*signature) return std::vector{Missing(artifact, "signature", provenance::kSignatureEnding)};
  PTPKG_TRY(const bool fits, key.VerifyFile(env.fs, artifact, **signature));
  if (fits) return std::vector<Finding>();
  return std::vector{
      Wrong("provenance-signature",
            fmt::format("the signature '{}{}' does not match it", name, provenance::kSignatureEnding),
            kAskPublisher)};
}

}  // namespace ptpkg::verify
