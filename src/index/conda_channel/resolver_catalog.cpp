#include "index/conda_channel/resolver_catalog.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "versions/gpu_slice.h"

namespace ptpkg::index {
namespace {

/// A package for some GPUs (docs/slices.md).
bool IsSlice(const Candidate& candidate) {
  // Asked in every comparison: what costs no memory comes first.
  return std::any_of(
             candidate.depends.begin(), candidate.depends.end(),
             [](const std::string& depends) { return depends.starts_with(versions::kCudaArchPackage); }) &&
         versions::WithoutLabel(candidate.build, '_') != candidate.build;
}

/// Newer first. A slice has a build number that puts it before its package where it is installed; what is
/// built with it is for all GPUs.
bool ComesBefore(const Candidate& left, const Candidate& right) {
  const auto version = versions::CompareVersions(left.version, right.version);
  if (version != std::strong_ordering::equal) return version > 0;
  if (IsSlice(left) != IsSlice(right)) return IsSlice(right);
  if (left.build_number != right.build_number) return left.build_number > right.build_number;
  if (left.build != right.build) return left.build > right.build;
  // "1.0" and "1.0.0" are equal versions, but not the same package.
  if (left.version != right.version) return left.version > right.version;
  if (left.format != right.format) return left.format == ArtifactFormat::kConda;
  return left.subdir != "noarch" && right.subdir == "noarch";
}

}  // namespace

std::string Want::str() const { return fmt::format("'{}' (required by {})", spec.str(), asker); }

Result<Want> ReadWant(const versions::MatchSpec& spec, const std::string& asker, bool demands) {
  PTPKG_TRY(versions::Constraint constraint, versions::Constraint::Of(spec),
            fmt::format("while reading {}", asker));
  return Want{.spec = spec, .constraint = std::move(constraint), .asker = asker, .demands = demands};
}

std::vector<CatalogPackage> Catalog::PackagesOf(const std::string& name) const {
  std::set<std::string> planned;
  for (const Candidate& candidate : candidates_) {
    if (candidate.name == name && !candidate.planned_by.empty()) planned.insert(candidate.Stem());
  }
  std::vector<CatalogPackage> packages;
  for (const Candidate& candidate : candidates_) {
    if (candidate.name != name) continue;
    const bool fits = subdir_ == "noarch" || candidate.subdir == subdir_ || candidate.subdir == "noarch";
    const bool superseded = candidate.planned_by.empty() && planned.contains(candidate.Stem());
    if (fits && !superseded) packages.push_back({.candidate = &candidate, .choice = {}, .wants = {}});
  }
  std::stable_sort(packages.begin(), packages.end(),
                   [](const CatalogPackage& left, const CatalogPackage& right) {
                     return ComesBefore(*left.candidate, *right.candidate);
                   });
  // If there are two formats, the first, .conda, stays.
  const auto same = [](const CatalogPackage& left, const CatalogPackage& right) {
    return left.candidate->Stem() == right.candidate->Stem();
  };
  packages.erase(std::unique(packages.begin(), packages.end(), same), packages.end());
  for (CatalogPackage& package : packages)
    package.choice = {versions::Version::AnyText(package.candidate->version), package.candidate->build};
  return packages;
}

std::vector<CatalogPackage>* Catalog::Find(const std::string& name) {
  auto found = names_.find(name);
  if (found == names_.end()) found = names_.emplace(name, PackagesOf(name)).first;
  return found->second.empty() ? nullptr : &found->second;
}

}  // namespace ptpkg::index
