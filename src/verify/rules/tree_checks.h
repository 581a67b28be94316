#pragma once
// Runs all ELF checks of a tree. Layer: verify.

#include "verify/check_artifact.h"
#include "verify/rules/note_checks.h"
#include "verify/wheel/declared_platform.h"

namespace ptpkg::verify {

struct ElfSubject {
  AbsPath root = AbsPath::Literal("/nonexistent");
  const ElfTree* tree = nullptr;  ///< Borrowed; null: `root` is read.
  /// Platform by the artifact's name or metadata; nullopt: by the tree itself.
  std::optional<DeclaredPlatform> promise = {};
  NotePlaces notes = {};
};

/// Appends to examination.report.findings and fills files and highest. `env`: one in which
/// the files of the tree can be opened. Errors: kIo, kNotFound, kCancelled.
Result<void> CheckElfFiles(Env& env, const ElfSubject& subject, const CheckOptions& options,
                           Examination& examination);

}  // namespace ptpkg::verify
