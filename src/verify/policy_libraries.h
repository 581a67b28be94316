#pragma once
// Which libraries platform tags let a wheel expect of the system. Layer: verify.
// Source: PEP 600, PEP 656; data/policy_libraries.yaml.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/platform_policies.h"

namespace ptpkg::verify {

class PolicyLibraries {
 public:
  /// Errors: kInvalidInput with the place in `name` (not a table of this shape).
  static Result<PolicyLibraries> Parse(std::string_view text, const std::string& name);
  /// The table built into the program.
  static Result<PolicyLibraries> BuiltIn();

  /// Whether every system that `policy` is for has `library`. nullopt: the newest policy.
  [[nodiscard]] bool IsOfManylinux(std::string_view library, const std::optional<GlibcVersion>& policy) const;
  [[nodiscard]] bool IsOfMusllinux(std::string_view library) const;

 private:
  std::map<GlibcVersion, std::vector<std::string>> manylinux_;  // globs, by the oldest policy
  std::vector<std::string> musllinux_;
};

}  // namespace ptpkg::verify
