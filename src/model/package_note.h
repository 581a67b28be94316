#pragma once
// Reads and writes ptpkg.json, ptpkg's note inside packages. Layer: model. Installers keep the file and give
// it no meaning.

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg {

inline constexpr std::string_view kPackageNoteName = "ptpkg.json";

struct PackageNote {
  /// Globs of library names that the recipe leaves to the machine (extra.ptpkg.allow_unresolved).
  std::vector<std::string> allow_unresolved = {};
  /// The architectures that the recipe asks for (extra.ptpkg.device_code), as it says it.
  std::vector<std::string> device_code = {};

  /// True if the note is empty, so that no file is written.
  [[nodiscard]] bool IsEmpty() const { return allow_unresolved.empty() && device_code.empty(); }
  bool operator==(const PackageNote&) const = default;
};

/// JSON, with the keys that say something; names of libraries sorted, each once.
std::string FormatPackageNote(const PackageNote& note);

/// Keys that this version does not know are passed over. Errors: kInvalidInput naming `where`.
Result<PackageNote> ParsePackageNote(std::string_view text, std::string_view where);

}  // namespace ptpkg
