#pragma once
// Tables of libraries and their providers. Layer: verify.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptpkg::verify {

/// Globs of names that every Linux machine offers: the C library, the compiler's run-time libraries, and the
/// libraries that manylinux policies let wheels take from the system (PEP 600, auditwheel's policy file).
std::span<const std::string_view> SystemLibraries();

/// Globs of the libraries of glibc and GCC that give a version to every symbol: a file binds each symbol that
/// it uses to one version.
std::span<const std::string_view> VersionedLibraries();

/// Globs of names that a graphics driver installs: present on a machine with that hardware, never in a
/// package.
std::span<const std::string_view> DriverLibraries();

/// Globs of OpenMP run-time libraries: two different ones in one process oversubscribe or deadlock.
std::span<const std::string_view> OpenMpLibraries();

struct Provider {
  std::string_view package;    ///< Conda or Python name, normalised (PEP 503).
  std::string_view libraries;  ///< Globs, separated by spaces; "" when it brings none.
};

/// Libraries of well-known dependencies; a package may occur more than once.
std::span<const Provider> Providers();

/// known: one of `packages` (normalised names), or a package that is known to be installed with them,
/// provides a library. possible: one of `packages` that is not in the table might provide it.
struct Provided {
  bool known = false;
  bool possible = false;
};
Provided FindProvider(const std::vector<std::string>& packages, std::string_view library);
/// The same for any version of `library`, whose name has none ("libx.so"); only known providers.
bool ProvidesSomeVersion(const std::vector<std::string>& packages, std::string_view library);

}  // namespace ptpkg::verify
