#pragma once
// The Python interpreter that a build runs with. Layer: builder.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::builder {

struct Python {
  AbsPath executable = AbsPath::Literal("/nonexistent");       ///< Its own sys.executable.
  std::string version;                                         ///< "3.11.2"
  AbsPath prefix = AbsPath::Literal("/nonexistent");           ///< sys.prefix: where it installs to.
  bool free_threaded = false;                                  ///< Built without the GIL (PEP 703).
  bool is_virtual = false;                                     ///< `prefix` is a virtual environment.
  AbsPath base_executable = AbsPath::Literal("/nonexistent");  ///< The interpreter behind the environment.
  std::vector<std::string> package_folders;     ///< Its search path for packages, without the user's own.
  bool externally_managed = false;              ///< pip refuses to install into it (PEP 668).
  std::map<std::string, std::string> packages;  ///< Names that the caller asked for → version.
  /// Directory of programs installed with its packages; searched after the prefix's own.
  AbsPath program_folder = AbsPath::Literal("/nonexistent");

  /// "3.11" of "3.11.2".
  [[nodiscard]] std::string MinorVersion() const;
  /// "3.11" of lib/python3.11; "3.13t" if free-threaded.
  [[nodiscard]] std::string LibraryVersion() const;
  /// "lib/python3.11/site-packages", as in every conda package.
  [[nodiscard]] std::string SitePackages() const;
  /// True if `version` begins with the components of `wanted`: "3.11.2" with "3.11", any with "". A
  /// free-threaded interpreter fits "3.13t" and not "3.13", any other the reverse: the ABIs differ.
  [[nodiscard]] bool Fits(std::string_view wanted) const;
};

/// Queries an interpreter for its properties and for the distributions `packages` (in any spelling).
/// Distributions that are not installed are left out. Works with Python 3.5 and later. Errors: kCommandFailed
/// when it cannot answer, kCorrupt when the answer makes no sense, kCancelled.
Result<Python> ProbePython(Env& env, const AbsPath& executable, const std::vector<std::string>& packages);

/// The interpreters to try. `named`: colon-separated paths or names; takes only the ones that exist. "" =
/// PTPKG_PYTHON of env.variables instead. Without either: python<wanted>, python3 and python on PATH.
/// `wanted`: "3.11", "3.13t" or "".
std::vector<AbsPath> PythonCandidates(const Env& env, const std::string& named, const std::string& wanted);

}  // namespace ptpkg::builder
