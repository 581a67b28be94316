// Idea: depth-first search with backtracking over package names in the order in which they are demanded;
// candidates of a name are tried newest first. Taking a package adds its dependencies as wants; a want that
// no remaining package of its name can meet ends the branch. A trail records what a choice added, so that
// undoing it costs only that.
// Invariants: `constrains` counts only for names that something else demands; the first conflict, that of
// the newest packages, is the one that is reported; the number of choices is limited.

#include "index/conda_channel/local_resolver.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "versions/constraint.h"
#include "versions/gpu_slice.h"

namespace ptpkg::index {
namespace {

// A channel of one's own holds hundreds of packages at most, and most requests are met by the first choice
// for each name. Whoever needs more needs a solver.
constexpr int kMaxChoices = 10'000;
constexpr std::size_t kListedInHint = 10;

/// One constraint on the packages of a name.
struct Want {
  versions::MatchSpec spec;
  versions::Constraint constraint;
  std::string asker;
  bool demands = true;  ///< False for `constrains`: it counts only if something else demands the name.

  [[nodiscard]] std::string str() const { return fmt::format("'{}' (required by {})", spec.str(), asker); }
};

Result<Want> ReadWant(const versions::MatchSpec& spec, const std::string& asker, bool demands) {
  PTPKG_TRY(versions::Constraint constraint, versions::Constraint::Of(spec),
            fmt::format("while reading {}", asker));
  return Want{.spec = spec, .constraint = std::move(constraint), .asker = asker, .demands = demands};
}

struct Package {
  const Candidate* candidate = nullptr;
  versions::Choice choice;
  std::optional<std::vector<Want>> wants;  ///< Read when the package is first looked at.
};

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

/// The packages that may be chosen, by name.
class Catalog {
 public:
  Catalog(const std::vector<Candidate>& candidates, const std::string& subdir) {
    std::set<std::string> planned;
    for (const Candidate& candidate : candidates) {
      if (!candidate.planned_by.empty()) planned.insert(candidate.Stem());
    }
    for (const Candidate& candidate : candidates) {
      const bool fits = subdir == "noarch" || candidate.subdir == subdir || candidate.subdir == "noarch";
      const bool superseded = candidate.planned_by.empty() && planned.contains(candidate.Stem());
      if (fits && !superseded)
        names_[candidate.name].push_back({.candidate = &candidate, .choice = {}, .wants = {}});
    }
    for (auto& [name, packages] : names_) {
      std::stable_sort(packages.begin(), packages.end(), [](const Package& left, const Package& right) {
        return ComesBefore(*left.candidate, *right.candidate);
      });
      // If there are two formats, the first, .conda, stays.
      const auto same = [](const Package& left, const Package& right) {
        return left.candidate->Stem() == right.candidate->Stem();
      };
      packages.erase(std::unique(packages.begin(), packages.end(), same), packages.end());
      for (Package& package : packages) {
        package.choice = {versions::Version::AnyText(package.candidate->version), package.candidate->build};
      }
    }
  }

  /// Null for a name without packages.
  std::vector<Package>* Find(const std::string& name) {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, std::vector<Package>> names_;
};

/// Depth-first search over the names in the order in which they are demanded, newest package first.
class Search {
 public:
  Search(const std::vector<Candidate>& candidates, const Request& request)
      : request_(request), catalog_(candidates, request.subdir) {}

  Result<Resolution> Run() {
    PTPKG_TRY(const bool possible, AddRequest());
    PTPKG_TRY(const bool found, possible ? Descend() : Result<bool>(false));
    if (!found) return Failure();
    return Finish();
  }

 private:
  /// Length of the lists before a package was taken.
  struct Mark {
    std::size_t order = 0;
    std::size_t trail = 0;
  };
  struct Frame {
    Mark mark;
    std::size_t next = 0;  ///< The package to try next.
  };

  /// False when the request collides with itself.
  Result<bool> AddRequest() {
    for (const versions::MatchSpec& spec : request_.host) {
      PTPKG_TRY(Want want, ReadWant(spec, "requirements.host", true));
      request_wants_.push_back(std::move(want));
    }
    for (const versions::MatchSpec& spec : request_.build) {
      build_names_.insert(spec.name);
      if (catalog_.Find(spec.name) == nullptr) continue;
      PTPKG_TRY(Want want, ReadWant(spec, "requirements.build", true));
      request_wants_.push_back(std::move(want));
    }
    return std::all_of(request_wants_.begin(), request_wants_.end(),
                       [&](const Want& want) { return Push(want); });
  }

  Result<bool> Descend() {
    std::vector<Frame> frames = {Frame{.mark = {order_.size(), trail_.size()}}};
    while (frames.size() <= order_.size()) {
      Frame& frame = frames.back();
      const std::string name = order_[frames.size() - 1];
      Undo(frame.mark, name);
      PTPKG_TRY(const bool taken, TakeNext(frame, name));
      if (taken) {
        frames.push_back(Frame{.mark = {order_.size(), trail_.size()}});
      } else {
        frames.pop_back();
        if (frames.empty()) return false;
      }
    }
    return true;
  }

  Result<bool> TakeNext(Frame& frame, const std::string& name) {
    std::vector<Package>& packages = *catalog_.Find(name);
    while (frame.next < packages.size()) {
      Package& package = packages[frame.next++];
      if (!AllAdmit(name, package)) continue;
      if (++choices_ > kMaxChoices) return SearchLimitError();
      if (!package.candidate->damage.empty()) return Damaged(*package.candidate);
      PTPKG_TRY(const std::vector<Want>* wants, WantsOf(package));
      chosen_[name] = &package;
      if (std::all_of(wants->begin(), wants->end(), [&](const Want& want) { return Push(want); }))
        return true;
      Undo(frame.mark, name);
    }
    return false;
  }

  void Undo(const Mark& mark, const std::string& name) {
    chosen_.erase(name);
    for (; trail_.size() > mark.trail; trail_.pop_back()) wants_[trail_.back()].pop_back();
    for (; order_.size() > mark.order; order_.pop_back()) demanded_.erase(order_.back());
  }

  [[nodiscard]] bool AllAdmit(const std::string& name, const Package& package) {
    const std::vector<const Want*>& wants = wants_[name];
    return std::all_of(wants.begin(), wants.end(),
                       [&](const Want* want) { return want->constraint.Admits(package.choice); });
  }

  /// Adds a constraint. False, with the reason kept, when it cannot hold with the others.
  bool Push(const Want& want) {
    const std::string& name = want.spec.name;
    wants_[name].push_back(&want);
    trail_.push_back(name);
    const std::vector<Package>* packages = catalog_.Find(name);
    if (packages == nullptr) return CanBeMetElsewhere(name);
    if (want.demands && demanded_.insert(name).second) order_.push_back(name);
    if (!demanded_.contains(name)) return true;
    if (const auto chosen = chosen_.find(name); chosen != chosen_.end()) {
      if (want.constraint.Admits(chosen->second->choice)) return true;
      ExplainChosen(*chosen->second, want);
    }
    if (std::any_of(packages->begin(), packages->end(),
                    [&](const Package& package) { return AllAdmit(name, package); })) {
      return !chosen_.contains(name);
    }
    ExplainNone(name, *packages);
    return false;
  }

  /// True if a package outside the channel could satisfy all constraints on `name`.
  bool CanBeMetElsewhere(const std::string& name) {
    const std::vector<versions::Constraint> constraints = ConstraintsOn(name);
    if (constraints.size() < 2 || versions::CanBeSatisfied(constraints)) return true;
    Explain(name, versions::FindCollision(constraints), "");
    return false;
  }

  std::vector<versions::Constraint> ConstraintsOn(const std::string& name) {
    std::vector<versions::Constraint> constraints;
    for (const Want* want : wants_[name]) constraints.push_back(want->constraint);
    return constraints;
  }

  void ExplainNone(const std::string& name, const std::vector<Package>& packages) {
    std::vector<versions::Choice> choices;
    std::vector<std::string> stems;
    for (const Package& package : packages) {
      choices.push_back(package.choice);
      stems.push_back(package.candidate->Stem());
    }
    const std::size_t rest = stems.size() - std::min(stems.size(), kListedInHint);
    stems.resize(stems.size() - rest);
    std::string hint = fmt::format("the channel has {}", fmt::join(stems, ", "));
    if (rest > 0) hint += fmt::format(" and {} more", rest);
    Explain(name, versions::FindCollision(ConstraintsOn(name), choices), std::move(hint));
  }

  /// Keeps the first reason: that of the newest packages, which the user expects to be taken. `hint`: "" for
  /// a name that the channel does not have.
  void Explain(const std::string& name, const std::optional<versions::Collision>& collision,
               std::string hint) {
    if (reason_) return;
    const std::vector<const Want*>& wants = wants_[name];
    const std::string_view where = hint.empty() ? "" : ": no package of the output channel satisfies both";
    std::string message;
    if (!collision) {
      std::vector<std::string> all;
      for (const Want* want : wants) all.push_back(want->str());
      message = fmt::format("no package satisfies {} together", fmt::join(all, ", "));
    } else if (collision->first == collision->second) {
      const Want& want = *wants[collision->first];
      message =
          fmt::format("no package{} satisfies {}", hint.empty() ? "" : " of the output channel", want.str());
    } else {
      message = fmt::format("{} and {} exclude each other{}", wants[collision->first]->str(),
                            wants[collision->second]->str(), where);
    }
    reason_ = Error(ErrorCode::kNotFound, std::move(message));
    if (!hint.empty()) reason_ = std::move(*reason_).WithHint(std::move(hint));
  }

  /// Weaker than Explain: another package might have been taken instead.
  void ExplainChosen(const Package& chosen, const Want& want) {
    if (weak_reason_) return;
    weak_reason_ = Error(ErrorCode::kNotFound,
                         fmt::format("{} excludes {}, which {} requires", want.str(),
                                     chosen.candidate->Stem(), wants_[want.spec.name].front()->str()));
  }

  [[nodiscard]] Error Failure() const {
    if (reason_) return *reason_;
    if (weak_reason_) return *weak_reason_;
    return {ErrorCode::kNotFound, "the requirements exclude each other"};
  }

  [[nodiscard]] static Error SearchLimitError() {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("found no compatible packages in the output channel after {} choices",
                             kMaxChoices))
        .WithHint("pin exact versions in requirements.host, or use a conda client (--env conda)");
  }

  [[nodiscard]] static Error Damaged(const Candidate& candidate) {
    return Error(ErrorCode::kCorrupt, fmt::format("cannot use '{}' of the output channel: {}",
                                                  candidate.file_name, candidate.damage))
        .WithHint("remove the file, or build the package again");
  }

  Result<const std::vector<Want>*> WantsOf(Package& package) {
    if (package.wants) return &*package.wants;
    const Candidate& candidate = *package.candidate;
    std::vector<Want> wants;
    PTPKG_CHECK(ReadWants(candidate.depends, candidate.Stem(), true, wants));
    PTPKG_CHECK(ReadWants(candidate.constrains, candidate.Stem(), false, wants));
    if (build_names_.contains(candidate.name)) {
      PTPKG_CHECK(ReadWants(ExportsOf(candidate, "strong"),
                            fmt::format("the strong run exports of {}", candidate.Stem()), true, wants));
    }
    package.wants = std::move(wants);
    return &*package.wants;
  }

  Result<void> ReadWants(const std::vector<std::string>& texts, const std::string& asker, bool demands,
                         std::vector<Want>& wants) {
    for (const std::string& text : texts) {
      Result<versions::MatchSpec> spec = versions::MatchSpec::Parse(text);
      if (!spec) {
        // Whoever provides a name that the channel does not have may understand more than we do.
        if (catalog_.Find(std::string(versions::MatchSpecName(text))) == nullptr) continue;
        return std::move(spec).error().WithContext(
            fmt::format("while reading the dependencies of {}", asker));
      }
      PTPKG_TRY(Want want, ReadWant(*spec, asker, demands));
      wants.push_back(std::move(want));
    }
    return Ok();
  }

  /// Run exports of one kind that are not ignored.
  [[nodiscard]] std::vector<std::string> ExportsOf(const Candidate& candidate,
                                                   const std::string& kind) const {
    const auto has = [](const std::vector<std::string>& names, std::string_view name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    std::vector<std::string> exports;
    const auto found = candidate.run_exports.find(kind);
    if (found == candidate.run_exports.end() || has(request_.ignore_from_package, candidate.name))
      return exports;
    for (const std::string& text : found->second) {
      if (!has(request_.ignore_by_name, versions::MatchSpecName(text))) exports.push_back(text);
    }
    return exports;
  }

  void Export(const Candidate& candidate, const std::vector<std::string>& kinds,
              std::vector<std::string>& into) {
    for (const std::string& kind : kinds) {
      for (std::string& text : ExportsOf(candidate, kind)) {
        if (std::find(into.begin(), into.end(), text) == into.end()) into.push_back(std::move(text));
      }
    }
  }

  Resolution Finish() {
    std::set<std::string> host_names;
    for (const versions::MatchSpec& spec : request_.host) host_names.insert(spec.name);
    Resolution resolution;
    for (const std::string& name : order_) {
      const Candidate& candidate = *chosen_.at(name)->candidate;
      resolution.packages.push_back(candidate);
      const bool host = host_names.contains(name);
      if (request_.subdir == "noarch") {
        if (host) Export(candidate, {"noarch"}, resolution.run_exports);
        continue;
      }
      if (host) Export(candidate, {"weak"}, resolution.run_exports);
      if (host) Export(candidate, {"weak_constrains"}, resolution.run_constrains);
      if (!host && !build_names_.contains(name)) continue;
      Export(candidate, {"strong"}, resolution.run_exports);
      Export(candidate, {"strong_constrains"}, resolution.run_constrains);
    }
    return resolution;
  }

  const Request& request_;
  Catalog catalog_;
  std::vector<Want> request_wants_;
  std::set<std::string> build_names_;
  std::map<std::string, std::vector<const Want*>> wants_;  ///< Of the request and chosen packages, by name.
  std::vector<std::string> trail_;                         ///< The names to which a want was added, in order.
  std::vector<std::string> order_;                         ///< The names that are demanded, in order.
  std::set<std::string> demanded_;                         ///< The same.
  std::map<std::string, const Package*> chosen_;
  int choices_ = 0;
  std::optional<Error> reason_;
  std::optional<Error> weak_reason_;
};

}  // namespace

Result<Resolution> Resolve(const std::vector<Candidate>& candidates, const Request& request) {
  return Search(candidates, request).Run();
}

}  // namespace ptpkg::index
