#pragma once
// Findings of checks. Layer: model. Many problems at once are a Report, never an Error.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ptpkg {

enum class Severity : std::uint8_t { kInfo, kWarning, kError };
std::string_view SeverityName(Severity severity);  ///< "info", "warning", "error".

struct Finding {
  std::string id;  ///< Stable, kebab-case: "elf-unresolved-needed". docs/findings/<id>.md explains it.
  Severity severity = Severity::kError;
  std::string file;     ///< Member path, or "" for the artifact as a whole.
  std::string message;  ///< The defect, one sentence.
  std::string fix;      ///< The remedy, one sentence.
  /// In the finding that ends a list: number of unlisted findings with its id and severity. Else 0.
  std::uint64_t more = 0;

  auto operator<=>(const Finding&) const = default;
};

/// Findings of that severity, those included that are only counted.
std::uint64_t CountFindings(const std::vector<Finding>& findings, Severity severity);

/// Adds findings to a list, which it borrows: of each id and severity the first limits::kFindingsOfAKind, and
/// one that counts the rest. For loops over what a hostile artifact may hold by the million.
class LimitedFindings {
 public:
  explicit LimitedFindings(std::vector<Finding>& findings) : findings_(findings) {}
  void Add(Finding finding);

 private:
  struct Kind {
    std::size_t listed = 0;
    std::optional<std::size_t> rest = {};  // its place in the list
  };
  std::vector<Finding>& findings_;
  std::map<std::pair<std::string, Severity>, Kind> kinds_;
};

/// Limits a whole list; the counting findings go to its end.
void LimitFindings(std::vector<Finding>& findings);

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
