#pragma once
// Reads attestations that others made with Sigstore, without network access: their form, and whether they are
// about the file next to them. The server checks who signed them. Layer: provenance.

#include <string>

#include "provenance/statement.h"

namespace ptpkg::provenance {

/// A PEP 740 attestation object, version 1. Returns its statement, with kStatementType, one subject and one
/// of the predicate types that PyPI takes. Source: PyPA "Index hosted attestations", pypi_attestations.
/// Errors: kInvalidInput naming `where`.
Result<Statement> ReadPythonAttestation(const std::string& text, const std::string& where);

/// A Sigstore bundle of version 0.3 that holds a publish attestation of CEP 27. Returns its statement, with
/// kStatementType, one subject and the CEP's predicate. Errors: kInvalidInput naming `where`.
Result<Statement> ReadCondaAttestation(const std::string& text, const std::string& where);

/// The channel that a CEP 27 statement names, without a '/' at its end; "": none.
std::string TargetChannelOf(const Statement& statement);

}  // namespace ptpkg::provenance
