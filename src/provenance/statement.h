#pragma once
// Creates and parses in-toto statements. Layer: provenance. Source: in-toto Attestation Framework, Statement
// v1; SLSA 1.0, Provenance.

#include <string>
#include <string_view>
#include <vector>

#include "support/text/json.h"

namespace ptpkg::provenance {

inline constexpr std::string_view kStatementType = "https://in-toto.io/Statement/v1";
/// Name endings of sidecar files: a sidecar's name is the artifact's name plus one of these.
inline constexpr std::string_view kStatementEnding = ".intoto.jsonl";  ///< A signed statement (envelope.h).
inline constexpr std::string_view kSignatureEnding = ".sig";  ///< A signature of the artifact's bytes alone.
/// Predicate type: how an artifact was made.
inline constexpr std::string_view kSlsaProvenance = "https://slsa.dev/provenance/v1";

/// Subject of a statement.
struct Subject {
  std::string name = {};  ///< File name, without directories; may be "" in foreign statements.
  std::string sha256;     ///< Lower-case hexadecimal; "": the statement has another digest alone.
};

// NOLINTNEXTLINE(bugprone-exception-escape): the destructor of Json only looks as if it could throw
struct Statement {
  std::string type;  ///< kStatementType, unless it is of another version.
  std::vector<Subject> subjects = {};
  std::string predicate_type = {};
  Json predicate = {};  ///< null when there is none.
};

/// The text of a statement on one file, keys sorted.
std::string StatementText(const Subject& subject, std::string_view predicate_type, const Json& predicate);

/// Parses a statement; for another `type` nothing else is read. Errors: kInvalidInput naming `where`.
Result<Statement> ParseStatement(std::string_view text, const std::string& where);

/// Name of a field that a predicate of kSlsaProvenance lacks: "buildDefinition.buildType"; "": none.
std::string MissingSlsaField(const Json& predicate);

/// Why the statement is not about this file alone, as the end of a sentence; "": it is.
std::string SubjectMismatch(const Statement& statement, const Subject& file);

}  // namespace ptpkg::provenance
