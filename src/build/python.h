#pragma once
// The Python interpreter that a build runs with. Layer: build.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::build {

struct Python {
  AbsPath executable = AbsPath::Literal("/nonexistent");  ///< As it calls itself (sys.executable).
  std::string version;                                    ///< "3.11.2"
  /// Where `pip install --prefix P` puts packages, below P: "lib/python3.11/site-packages".
  std::string site_packages;
  std::map<std::string, std::string> packages;  ///< Normalised names of what was asked for → version.

  /// "3.11" of "3.11.2".
  [[nodiscard]] std::string MinorVersion() const;
};

/// Asks an interpreter about itself and about the distributions `packages`; those that are not installed
/// are left out. Errors: kCommandFailed when it cannot answer, kCorrupt when the answer makes no sense.
Result<Python> ProbePython(Env& env, const AbsPath& executable, const std::vector<std::string>& packages);

/// The interpreters to try: those of PTPKG_PYTHON (colon-separated paths or names) and nothing else if it
/// is set; otherwise python<wanted>, python3 and python on PATH, as far as they exist. `wanted`: "3.11" or
/// "".
std::vector<AbsPath> PythonCandidates(const Env& env, const std::string& wanted);

/// True if `version` begins with the components of `wanted` ("3.11.2" with "3.11", any with "").
bool IsPythonVersion(std::string_view version, std::string_view wanted);

}  // namespace ptpkg::build
