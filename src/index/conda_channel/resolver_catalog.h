#pragma once
// Packages of the output channel as the resolver sees them. Layer: index.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "index/conda_channel/candidates.h"
#include "versions/constraint.h"
#include "versions/match_spec.h"

namespace ptpkg::index {

/// One constraint on the packages of a name.
struct Want {
  versions::MatchSpec spec;
  versions::Constraint constraint;
  std::string asker;    ///< For messages: "requirements.host", or the stem of a package.
  bool demands = true;  ///< False for `constrains`: it counts only if something else demands the name.

  [[nodiscard]] std::string str() const;
};

/// Errors: as versions::Constraint::Of.
Result<Want> ReadWant(const versions::MatchSpec& spec, const std::string& asker, bool demands);

/// A package that the resolver can choose.
struct CatalogPackage {
  const Candidate* candidate = nullptr;
  versions::Choice choice;
  std::optional<std::vector<Want>> wants;  ///< Read when the package is first looked at.
};

/// The packages that may be chosen, by name. A name is looked up when it is first asked for: a plan asks a
/// few names of each of its packages.
class Catalog {
 public:
  /// Takes the candidates for `subdir`, and of equal ones the planned one, or the .conda. Borrows them.
  Catalog(const std::vector<Candidate>& candidates, std::string subdir)
      : candidates_(candidates), subdir_(std::move(subdir)) {}

  /// The packages of a name, newest first; null if there are none.
  std::vector<CatalogPackage>* Find(const std::string& name);
  [[nodiscard]] bool Has(const std::string& name) { return Find(name) != nullptr; }

 private:
  [[nodiscard]] std::vector<CatalogPackage> PackagesOf(const std::string& name) const;

  const std::vector<Candidate>& candidates_;
  std::string subdir_;
  std::map<std::string, std::vector<CatalogPackage>> names_;  ///< Names that Find has looked up.
};

}  // namespace ptpkg::index
