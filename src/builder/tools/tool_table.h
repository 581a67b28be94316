#pragma once
// Maps requirement names to programs and packages of the machine. Layer: builder. The only place that knows
// program names and Debian packages; extend the table, not the code.

#include <optional>
#include <string>
#include <string_view>

namespace ptpkg::builder {

enum class ProviderKind : std::uint8_t {
  kProgram,        ///< `probes`: program names; the first on PATH serves.
  kHeader,         ///< `probes`: header files below an include directory; all must exist.
  kToolkit,        ///< Like kHeader, in the include directory of the CUDA toolkit that nvcc belongs to.
  kPython,         ///< The interpreter.
  kPythonPackage,  ///< `probes`: the name of the distribution, which pip can install.
  kAlways,         ///< Part of every system that can run ptpkg.
};

struct Provider {
  ProviderKind kind = ProviderKind::kAlways;
  std::string_view requirement;
  std::string_view probes;    ///< Separated by blanks.
  std::string_view debian;    ///< Package that provides it; "" if none does.
  std::string_view variable;  ///< Environment variable that names the program to build scripts; "" = none.
};

/// "gxx" of "gxx_linux-64" and "gxx": the platform says nothing that this machine does not.
std::string_view StripPlatformSuffix(std::string_view requirement);

/// The row for a requirement. A compiler's platform is left out: "gxx_linux-64" is found as "gxx". Names
/// that begin with "__" are virtual packages, always there. nullopt for an unknown name.
std::optional<Provider> FindProvider(std::string_view requirement);

}  // namespace ptpkg::builder
