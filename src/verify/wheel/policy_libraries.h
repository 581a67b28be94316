#pragma once
// System libraries allowed by platform tags. Layer: verify. Source: PEP 600, PEP 656;
// data/policy_libraries.yaml.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/text/yaml.h"
#include "verify/wheel/platform_policies.h"

namespace ptpkg::verify {

class PolicyLibraries {
 public:
  /// Errors: kInvalidInput with the place in `name` (not a table of this shape).
  static Result<PolicyLibraries> Parse(std::string_view text, const std::string& name);
  /// The table built into the program.
  static Result<PolicyLibraries> BuiltIn();

  /// True if every system that satisfies `policy` has `library`. nullopt: the newest policy.
  [[nodiscard]] bool IsOfManylinux(std::string_view library, const std::optional<GlibcVersion>& policy) const;
  [[nodiscard]] bool IsOfMusllinux(std::string_view library) const;
  /// The oldest policy that lists `library`; nullopt: none does.
  [[nodiscard]] std::optional<GlibcVersion> OldestManylinux(std::string_view library) const;

  /// Symbols of `library` outside its interface that some policy forbids, sorted.
  [[nodiscard]] std::vector<std::string> InternalSymbols(const std::string& library) const;
  /// Result of FindForbiddenSymbol: whether policies forbid a symbol, and until which one.
  struct Forbidden {
    bool forbidden = false;                  ///< False: no policy forbids it.
    std::optional<GlibcVersion> until = {};  ///< The oldest policy that admits it; nullopt: none does.
  };
  [[nodiscard]] Forbidden FindForbiddenSymbol(const std::string& library, const std::string& symbol,
                                              bool musl) const;

 private:
  /// Library → symbol → the oldest policy that admits it.
  using Symbols = std::map<std::string, std::map<std::string, std::optional<GlibcVersion>>>;
  static Result<Symbols> ParseSymbols(const YamlNode* table);

  std::map<GlibcVersion, std::vector<std::string>> manylinux_;  // globs, by the oldest policy
  std::vector<std::string> musllinux_;
  Symbols internal_manylinux_;
  Symbols internal_musllinux_;
};

}  // namespace ptpkg::verify
