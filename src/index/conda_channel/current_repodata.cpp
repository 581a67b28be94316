// Selects rows in three steps, each on the result of the one before: newest versions, packages for
// dependencies that these leave open, packages without features.
//
// The order of the packages of a name is conda's (resolve.py, version_key), and so are the matches: "=1.2"
// includes 1.2rc1 and 1.2.0.

#include "index/conda_channel/current_repodata.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "index/conda_channel/conda_documents.h"
#include "support/text/json.h"
#include "versions/constraint.h"
#include "versions/match_spec.h"

namespace ptpkg::index {
namespace {

struct Row {
  std::string file_name;
  const Json* json = nullptr;
  versions::Choice choice = {};
};
/// The packages of a name, newest first.
using Group = std::vector<Row>;
using Groups = std::map<std::string, Group>;
using Kept = std::set<const Row*>;

bool IsNewerRow(const Row& left, const Row& right) {
  if (const auto order = left.choice.version <=> right.choice.version; order != 0) return order > 0;
  const auto key = [](const Row& row) {
    return std::tuple(RowInteger(*row.json, "build_number"), RowTimestampMs(*row.json), row.choice.build);
  };
  return key(left) > key(right);
}

Groups GroupRows(const Json& repodata) {
  Groups groups;
  const auto add = [&](const std::string& file_name, const Json& row) {
    groups[RowText(row, "name")].push_back(
        {.file_name = file_name,
         .json = &row,
         .choice = {versions::Version::AnyText(RowText(row, "version")), RowText(row, "build")}});
  };
  std::set<std::string> replaced;
  for (const auto& [file_name, row] : repodata.at("packages.conda").items()) {
    add(file_name, row);
    replaced.insert(LegacyName(file_name));
  }
  for (const auto& [file_name, row] : repodata.at("packages").items()) {
    if (!replaced.contains(file_name)) add(file_name, row);
  }
  for (auto& [name, group] : groups) std::stable_sort(group.begin(), group.end(), IsNewerRow);
  return groups;
}

/// Keeps the packages with the version of `newest`, as conda matches "name=version".
void KeepVersion(const Group& group, const Row& newest, Kept& kept) {
  const std::string& version = newest.choice.version.str();
  const auto like = versions::VersionSpec::Parse("=" + version);
  for (const Row& row : group) {
    const bool matches =
        like ? like->Matches(row.choice.version) : row.choice.version == newest.choice.version;
    if (matches) kept.insert(&row);
  }
}

bool HasFeatures(const Row& row) {
  return std::ranges::any_of(std::array{"track_features", "features"}, [&](const char* key) {
    const auto value = row.json->find(key);
    if (value == row.json->end()) return false;
    return value->is_array() ? !value->empty() : !RowText(*row.json, key).empty();
  });
}

std::optional<versions::Constraint> ReadSpec(const std::string& text) {
  const auto spec = versions::MatchSpec::Parse(text);
  if (!spec) return std::nullopt;
  auto constraint = versions::Constraint::Of(*spec);
  return constraint ? std::optional(*std::move(constraint)) : std::nullopt;
}

/// Keeps in `added` what satisfies the dependency `text`, unless a package of `kept` does.
void KeepDependency(const Groups& groups, const std::string& text, const Kept& kept, Kept& added) {
  const auto group = groups.find(std::string(versions::MatchSpecName(text)));
  if (group == groups.end()) return;  // of another channel, or virtual
  const auto constraint = ReadSpec(text);
  const Row* newest = nullptr;
  for (const Row& row : group->second) {
    if (!constraint) {
      added.insert(&row);
    } else if (constraint->Admits(row.choice)) {
      if (kept.contains(&row)) return;
      if (newest == nullptr) newest = &row;
    }
  }
  if (newest != nullptr) KeepVersion(group->second, *newest, added);
}

void KeepDependencies(const Groups& groups, Kept& kept) {
  std::set<std::string> specs;
  for (const Row* row : kept) {
    const auto depends = JsonStringsOr(*row->json, "depends", {}, row->file_name);
    if (depends) specs.insert(depends->begin(), depends->end());
  }
  Kept added;
  for (const std::string& spec : specs) KeepDependency(groups, spec, kept, added);
  kept.merge(added);
}

/// A solver that avoids the features needs a package without them.
void KeepFeatureless(const Groups& groups, Kept& kept) {
  for (const auto& [name, group] : groups) {
    const bool has_features =
        std::ranges::any_of(group, [&](const Row& row) { return kept.contains(&row) && HasFeatures(row); });
    if (!has_features) continue;
    const auto plain = std::ranges::find_if_not(group, HasFeatures);
    if (plain != group.end()) kept.insert(&*plain);
  }
}

}  // namespace

Json MakeCurrentRepodata(const Json& repodata) {
  const Groups groups = GroupRows(repodata);
  Kept kept;
  for (const auto& [name, group] : groups) KeepVersion(group, group.front(), kept);
  KeepDependencies(groups, kept);
  KeepFeatureless(groups, kept);
  Json packages = Json::object();
  Json conda_packages = Json::object();
  const Json& legacy = repodata.at("packages");
  for (const Row* row : kept) {
    if (!row->file_name.ends_with(".conda")) {
      packages[row->file_name] = *row->json;
      continue;
    }
    const auto counterpart = legacy.find(LegacyName(row->file_name));
    Json& listed = conda_packages[row->file_name];
    listed = *row->json;
    listed["legacy_bz2_md5"] = counterpart == legacy.end() ? Json() : Json(RowText(*counterpart, "md5"));
  }
  Json current = Json::object();
  for (const auto& [key, value] : repodata.items()) {
    if (key != "packages" && key != "packages.conda") current[key] = value;
  }
  current["packages"] = std::move(packages);
  current["packages.conda"] = std::move(conda_packages);
  return current;
}

}  // namespace ptpkg::index
