#pragma once
// What a check found. Layer: model. Many problems at once are a Report, never an Error.

#include <cstdint>
#include <string>
#include <vector>

namespace ptpkg {

enum class Severity : std::uint8_t { kInfo, kWarning, kError };

struct Finding {
  std::string id;  ///< Stable, kebab-case: "elf-unresolved-needed". docs/findings/<id>.md explains it.
  Severity severity = Severity::kError;
  std::string file;     ///< Member path, or "" for the artifact as a whole.
  std::string message;  ///< What is wrong, one sentence.
  std::string fix;      ///< What to do, one sentence.

  auto operator<=>(const Finding&) const = default;
};

struct Report {
  std::string subject;
  std::vector<Finding> findings;

  [[nodiscard]] bool HasErrors() const {
    for (const Finding& finding : findings) {
      if (finding.severity == Severity::kError) return true;
    }
    return false;
  }
};

}  // namespace ptpkg
