// Statements of others are read, too, so unknown fields and predicates pass. Only the fields that
// verification needs are required: type, predicate type, and a subject with a digest.

#include "provenance/statement.h"

#include <array>
#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg::provenance {
namespace {

Error Malformed(const std::string& where, const std::string& what) {
  return Error(ErrorCode::kInvalidInput, fmt::format("{} {}", where, what));
}

Result<Subject> SubjectOf(const Json& json, const std::string& where) {
  Subject subject;
  PTPKG_TRY(subject.name, JsonStringOr(json, "name", "", where));
  if (!json.contains("digest") || !json["digest"].is_object() || json["digest"].empty())
    return Malformed(where, "has a subject without a digest");
  PTPKG_TRY(subject.sha256, JsonStringOr(json["digest"], "sha256", "", where));
  return subject;
}

/// The value at "a.b.c"; null when there is none.
const Json* At(const Json& object, const std::string& path) {
  const Json* at = &object;
  for (const std::string& part : Split(path, '.')) {
    if (!at->is_object() || !at->contains(part)) return nullptr;
    at = &(*at)[part];
  }
  return at;
}

}  // namespace

std::string StatementText(const Subject& subject, std::string_view predicate_type, const Json& predicate) {
  const Json about = {{"name", subject.name}, {"digest", {{"sha256", subject.sha256}}}};
  return DumpJsonPython({{"_type", kStatementType},
                         {"subject", Json::array({about})},
                         {"predicateType", predicate_type},
                         {"predicate", predicate}});
}

Result<Statement> ParseStatement(std::string_view text, const std::string& where) {
  PTPKG_TRY(const Json json, ParseJson(text, where));
  if (!json.is_object()) return Malformed(where, "is not an object");
  Statement statement;
  PTPKG_TRY(statement.type, JsonString(json, "_type", where));
  // A later version can have other fields. The caller reports the type, which explains more than a missing
  // field.
  if (statement.type != kStatementType) return statement;
  PTPKG_TRY(statement.predicate_type, JsonString(json, "predicateType", where));
  if (!json.contains("subject") || !json["subject"].is_array() || json["subject"].empty())
    return Malformed(where, "has no subject");
  for (const Json& item : json["subject"]) {
    PTPKG_TRY(Subject subject, SubjectOf(item, where));
    statement.subjects.push_back(std::move(subject));
  }
  if (json.contains("predicate")) statement.predicate = json["predicate"];
  return statement;
}

std::string MissingSlsaField(const Json& predicate) {
  constexpr std::array<const char*, 2> kTexts = {"buildDefinition.buildType", "runDetails.builder.id"};
  for (const char* const path : kTexts) {
    const Json* const at = At(predicate, path);
    if (at == nullptr || !at->is_string() || at->get_ref<const std::string&>().empty()) return path;
  }
  constexpr const char* kParameters = "buildDefinition.externalParameters";
  const Json* const parameters = At(predicate, kParameters);
  return parameters != nullptr && parameters->is_object() ? "" : kParameters;
}

std::string SubjectMismatch(const Statement& statement, const Subject& file) {
  // PEP 740 and CEP 27 also demand one subject, and ptpkg writes one statement for each file.
  if (statement.subjects.size() != 1)
    return fmt::format("is about {} files, not about '{}' alone", statement.subjects.size(), file.name);
  const Subject& subject = statement.subjects.front();
  if (subject.name != file.name) return fmt::format("is about '{}', not '{}'", subject.name, file.name);
  if (subject.sha256 == file.sha256) return "";
  return fmt::format("is about another '{}': its sha256 is {}, the file's is {}", file.name,
                     subject.sha256.empty() ? "unknown" : subject.sha256, file.sha256);
}

}  // namespace ptpkg::provenance
