#include "pipeline/resolve.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "conda/names.h"
#include "conda/package.h"
#include "conda/package_info.h"
#include "spec/build_string.h"
#include "spec/version_spec.h"
#include "support/json.h"
#include "support/text.h"

namespace ptpkg::pipeline {

namespace {

struct Candidate {
  conda::DistName dist;
  AbsPath path = AbsPath::Literal("/nonexistent");
};

/// All packages of the channel's folders for `subdir` and noarch, by name.
Result<std::map<std::string, std::vector<Candidate>>> ListChannel(Env& env, const AbsPath& channel,
                                                                  const std::string& subdir) {
  std::map<std::string, std::vector<Candidate>> by_name;
  for (const std::string& folder : {subdir, std::string("noarch")}) {
    const AbsPath path = channel / folder;
    PTPKG_TRY(const bool there, Exists(env.fs, path));
    if (!there) continue;
    PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(path));
    for (const std::string& name : names) {
      auto dist = conda::DistName::Parse(name);
      if (!dist) continue;  // index files
      by_name[dist->name].push_back({.dist = *dist, .path = path / name});
    }
    if (subdir == "noarch") break;
  }
  return by_name;
}

/// Build number as the last field of a build string, "py311h1234567_3"; 0 if it has none.
long BuildNumberOf(const std::string& build) {
  const std::string digits = build.substr(build.rfind('_') + 1);
  return digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos
             ? 0
             : std::stol(digits);
}

bool IsNewer(const Candidate& left, const Candidate& right) {
  const auto order = spec::CompareVersions(left.dist.version, right.dist.version);
  if (order != 0) return order > 0;
  const long left_number = BuildNumberOf(left.dist.build);
  const long right_number = BuildNumberOf(right.dist.build);
  if (left_number != right_number) return left_number > right_number;
  if (left.dist.build != right.dist.build) return left.dist.build > right.dist.build;
  return left.dist.format == ArtifactFormat::kConda && right.dist.format != ArtifactFormat::kConda;
}

Result<const Candidate*> BestOf(const std::vector<Candidate>& candidates, const recipe::MatchSpec& spec) {
  const Candidate* best = nullptr;
  std::set<std::string> seen;
  for (const Candidate& candidate : candidates) {
    seen.insert(candidate.dist.Stem());
    PTPKG_TRY(const bool version, spec::VersionMatches(candidate.dist.version, spec.version));
    if (!version || !spec::WildcardMatches(candidate.dist.build, spec.build.empty() ? "*" : spec.build))
      continue;
    if (best == nullptr || IsNewer(candidate, *best)) best = &candidate;
  }
  if (best == nullptr) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("no package of the output channel satisfies '{}'", spec.str()))
        .WithHint(fmt::format("the channel has {}", fmt::join(seen, ", ")));
  }
  return best;
}

class Resolver {
 public:
  Resolver(Env& env, std::map<std::string, std::vector<Candidate>> channel)
      : env_(env), channel_(std::move(channel)) {}

  /// Adds the package for `spec`, and what it depends on. `exported`: collect its run_exports.
  Result<void> Add(const recipe::MatchSpec& spec, const std::vector<std::string>& exported) {
    const auto found = channel_.find(spec.name);
    if (found == channel_.end() || !chosen_.insert(spec.name).second) return Ok();
    PTPKG_TRY(const Candidate* best, BestOf(found->second, spec));
    PTPKG_TRY(const Digests digests, HashFile(env_.fs, best->path));
    PTPKG_TRY(const conda::PackageInfo info, conda::ReadPackageInfo(env_, best->path));
    result_.packages.push_back({.name = spec.name, .path = best->path, .sha256 = digests.sha256});
    for (const std::string& kind : exported) {
      PTPKG_TRY(const std::vector<std::string> specs,
                JsonStringsOr(info.run_exports, kind, {}, best->path.str() + " run_exports"));
      result_.run_exports.insert(result_.run_exports.end(), specs.begin(), specs.end());
    }
    PTPKG_TRY(const std::vector<std::string> depends,
              JsonStringsOr(info.index, "depends", {}, best->path.str() + " index.json"));
    for (const std::string& text : depends) {
      const std::vector<std::string> fields = Split(text, ' ');
      PTPKG_CHECK(Add({.name = fields[0],
                       .version = fields.size() > 1 ? fields[1] : "",
                       .build = fields.size() > 2 ? fields[2] : ""},
                      {}));
    }
    return Ok();
  }

  Resolution Finish() && { return std::move(result_); }

 private:
  Env& env_;
  std::map<std::string, std::vector<Candidate>> channel_;
  std::set<std::string> chosen_;
  Resolution result_;
};

}  // namespace

Result<Resolution> ResolveLocal(Env& env, const recipe::Recipe& recipe, const AbsPath& channel) {
  PTPKG_TRY(auto packages, ListChannel(env, channel, recipe.subdir));
  Resolver resolver(env, std::move(packages));
  for (const recipe::MatchSpec& spec : recipe.requirements.host) {
    PTPKG_CHECK(resolver.Add(spec, {"weak", "strong"}));
  }
  for (const recipe::MatchSpec& spec : recipe.requirements.build) PTPKG_CHECK(resolver.Add(spec, {"strong"}));
  return std::move(resolver).Finish();
}

namespace {

/// Depth-first visit; `open` holds the path from the start, to name a cycle.
class Orderer {
 public:
  explicit Orderer(std::vector<recipe::Recipe> recipes)
      : recipes_(std::move(recipes)), done_(recipes_.size()) {}

  Result<std::vector<recipe::Recipe>> Run() {
    for (std::size_t i = 0; i < recipes_.size(); ++i) PTPKG_CHECK(Visit(i));
    return std::move(ordered_);
  }

 private:
  Result<void> Visit(std::size_t index) {
    if (done_[index]) return Ok();
    const std::string& name = recipes_[index].name;
    if (std::find(open_.begin(), open_.end(), name) != open_.end()) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the recipes require each other: {} → {}", fmt::join(open_, " → "), name));
    }
    open_.push_back(name);
    const recipe::Requirements& requirements = recipes_[index].requirements;
    for (const auto* specs : {&requirements.build, &requirements.host}) {
      for (const recipe::MatchSpec& spec : *specs) {
        for (std::size_t other = 0; other < recipes_.size(); ++other) {
          if (other != index && recipes_[other].name == spec.name) PTPKG_CHECK(Visit(other));
        }
      }
    }
    open_.pop_back();
    done_[index] = true;
    ordered_.push_back(recipes_[index]);
    return Ok();
  }

  std::vector<recipe::Recipe> recipes_;
  std::vector<bool> done_;
  std::vector<std::string> open_;
  std::vector<recipe::Recipe> ordered_;
};

}  // namespace

Result<std::vector<recipe::Recipe>> OrderByRequirements(std::vector<recipe::Recipe> recipes) {
  return Orderer(std::move(recipes)).Run();
}

}  // namespace ptpkg::pipeline
