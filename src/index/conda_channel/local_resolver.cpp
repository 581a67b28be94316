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

#include "index/conda_channel/resolver_catalog.h"

namespace ptpkg::index {
namespace {

// A channel of one's own holds hundreds of packages at most, and most requests are met by the first choice
// for each name. Whoever needs more needs a solver.
constexpr int kMaxChoices = 10'000;
constexpr std::size_t kListedInHint = 10;

/// Wants of the request itself.
struct RequestWants {
  std::vector<Want> wants;
  std::set<std::string> build_names;
};

Result<RequestWants> ReadRequestWants(const Request& request, Catalog& catalog) {
  RequestWants read;
  for (const versions::MatchSpec& spec : request.host) {
    PTPKG_TRY(Want want, ReadWant(spec, "requirements.host", true));
    read.wants.push_back(std::move(want));
  }
  for (const versions::MatchSpec& spec : request.build) {
    read.build_names.insert(spec.name);
    if (!catalog.Has(spec.name)) continue;
    PTPKG_TRY(Want want, ReadWant(spec, "requirements.build", true));
    read.wants.push_back(std::move(want));
  }
  return read;
}

/// Run exports of one kind that the request does not ignore.
std::vector<std::string> ExportsOf(const Candidate& candidate, const std::string& kind,
                                   const Request& request) {
  const auto has = [](const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<std::string> exports;
  const auto found = candidate.run_exports.find(kind);
  if (found == candidate.run_exports.end() || has(request.ignore_from_package, candidate.name))
    return exports;
  for (const std::string& text : found->second) {
    if (!has(request.ignore_by_name, versions::MatchSpecName(text))) exports.push_back(text);
  }
  return exports;
}

/// Appends the wants that `texts` say.
Result<void> ReadWants(const std::vector<std::string>& texts, const std::string& asker, bool demands,
                       Catalog& catalog, std::vector<Want>& wants) {
  for (const std::string& text : texts) {
    Result<versions::MatchSpec> spec = versions::MatchSpec::Parse(text);
    if (!spec) {
      // Whoever provides a name that the channel does not have may understand more than we do.
      if (!catalog.Has(std::string(versions::MatchSpecName(text)))) continue;
      return std::move(spec).error().WithContext(fmt::format("while reading the dependencies of {}", asker));
    }
    PTPKG_TRY(Want want, ReadWant(*spec, asker, demands));
    wants.push_back(std::move(want));
  }
  return Ok();
}

/// Wants of a package. `is_build`: a build requirement names it, so its strong run exports count.
Result<std::vector<Want>> ReadPackageWants(const Candidate& candidate, bool is_build, const Request& request,
                                           Catalog& catalog) {
  std::vector<Want> wants;
  const std::string stem = candidate.Stem();
  PTPKG_CHECK(ReadWants(candidate.depends, stem, true, catalog, wants));
  PTPKG_CHECK(ReadWants(candidate.constrains, stem, false, catalog, wants));
  if (is_build) {
    PTPKG_CHECK(ReadWants(ExportsOf(candidate, "strong", request),
                          fmt::format("the strong run exports of {}", stem), true, catalog, wants));
  }
  return wants;
}

/// All wants on one name.
using WantsOnName = std::vector<const Want*>;

bool AllAdmit(const WantsOnName& wants, const CatalogPackage& package) {
  return std::all_of(wants.begin(), wants.end(),
                     [&](const Want* want) { return want->constraint.Admits(package.choice); });
}

std::vector<versions::Constraint> ConstraintsOf(const WantsOnName& wants) {
  std::vector<versions::Constraint> constraints;
  constraints.reserve(wants.size());
  for (const Want* want : wants) constraints.push_back(want->constraint);
  return constraints;
}

/// `packages`: the hint that lists the packages of the name; "" for a name that the channel does not have.
Error CollisionError(const WantsOnName& wants, const std::optional<versions::Collision>& collision,
                     std::string packages) {
  const std::string_view where = packages.empty() ? "" : ": no package of the output channel satisfies both";
  std::string message;
  if (!collision) {
    std::vector<std::string> all;
    for (const Want* want : wants) all.push_back(want->str());
    message = fmt::format("no package satisfies {} together", fmt::join(all, ", "));
  } else if (collision->first == collision->second) {
    message = fmt::format("no package{} satisfies {}", packages.empty() ? "" : " of the output channel",
                          wants[collision->first]->str());
  } else {
    message = fmt::format("{} and {} exclude each other{}", wants[collision->first]->str(),
                          wants[collision->second]->str(), where);
  }
  Error error(ErrorCode::kNotFound, std::move(message));
  if (packages.empty()) return error;
  return std::move(error).WithHint(std::move(packages));
}

/// REQUIRES: no package admits all of `wants`.
Error NoPackageError(const WantsOnName& wants, const std::vector<CatalogPackage>& packages) {
  std::vector<versions::Choice> choices;
  std::vector<std::string> stems;
  for (const CatalogPackage& package : packages) {
    choices.push_back(package.choice);
    stems.push_back(package.candidate->Stem());
  }
  const std::size_t rest = stems.size() - std::min(stems.size(), kListedInHint);
  stems.resize(stems.size() - rest);
  std::string hint = fmt::format("the channel has {}", fmt::join(stems, ", "));
  if (rest > 0) hint += fmt::format(" and {} more", rest);
  return CollisionError(wants, versions::FindCollision(ConstraintsOf(wants), choices), std::move(hint));
}

/// Why the search failed.
class FailureReason {
 public:
  /// Keeps the first reason: the one for the newest packages, which the user expects.
  template <class MakeError>
  void Explain(const MakeError& make) {
    if (!reason_) reason_ = make();
  }
  /// Weaker than Explain: another package might have been taken instead.
  template <class MakeError>
  void ExplainWeakly(const MakeError& make) {
    if (!weak_reason_) weak_reason_ = make();
  }
  [[nodiscard]] Error Get() const {
    if (reason_) return *reason_;
    if (weak_reason_) return *weak_reason_;
    return {ErrorCode::kNotFound, "the requirements exclude each other"};
  }

 private:
  std::optional<Error> reason_;
  std::optional<Error> weak_reason_;
};

/// The packages chosen so far, and the wants that they and the request have. A want is undone with the choice
/// that brought it.
class Selection {
 public:
  /// Length of the lists before a package was taken.
  struct Mark {
    std::size_t order = 0;
    std::size_t trail = 0;
  };

  explicit Selection(Catalog& catalog) : catalog_(catalog) {}

  /// Adds a constraint. False, with the reason in `reason`, when it cannot hold with the others.
  bool Push(const Want& want, FailureReason& reason) {
    const std::string& name = want.spec.name;
    WantsOnName& wants = wants_[name];
    wants.push_back(&want);
    trail_.push_back(name);
    const std::vector<CatalogPackage>* packages = catalog_.Find(name);
    if (packages == nullptr) return CanBeMetElsewhere(wants, reason);
    if (want.demands && demanded_.insert(name).second) order_.push_back(name);
    if (!demanded_.contains(name)) return true;
    const auto chosen = chosen_.find(name);
    if (chosen != chosen_.end()) {
      if (want.constraint.Admits(chosen->second->choice)) return true;
      reason.ExplainWeakly([&] {
        return Error(ErrorCode::kNotFound,
                     fmt::format("{} excludes {}, which {} requires", want.str(),
                                 chosen->second->candidate->Stem(), wants.front()->str()));
      });
    }
    if (std::any_of(packages->begin(), packages->end(),
                    [&](const CatalogPackage& package) { return AllAdmit(wants, package); })) {
      return chosen == chosen_.end();
    }
    reason.Explain([&] { return NoPackageError(wants, *packages); });
    return false;
  }

  bool PushAll(const std::vector<Want>& wants, FailureReason& reason) {
    return std::all_of(wants.begin(), wants.end(), [&](const Want& want) { return Push(want, reason); });
  }

  /// True if the package meets all constraints on its name.
  [[nodiscard]] bool Admits(const CatalogPackage& package) const {
    const auto wants = wants_.find(package.candidate->name);
    return wants == wants_.end() || AllAdmit(wants->second, package);
  }

  void Choose(const std::string& name, const CatalogPackage& package) { chosen_[name] = &package; }

  [[nodiscard]] Mark Now() const { return {.order = order_.size(), .trail = trail_.size()}; }

  /// Takes back the choice for `name` and all that was added since `mark`.
  void Undo(const Mark& mark, const std::string& name) {
    chosen_.erase(name);
    for (; trail_.size() > mark.trail; trail_.pop_back()) wants_[trail_.back()].pop_back();
    for (; order_.size() > mark.order; order_.pop_back()) demanded_.erase(order_.back());
  }

  /// The names that are demanded, in order.
  [[nodiscard]] const std::vector<std::string>& order() const { return order_; }
  /// REQUIRES: a package of the name is chosen.
  [[nodiscard]] const Candidate& Chosen(const std::string& name) const {
    return *chosen_.at(name)->candidate;
  }

 private:
  /// True if a package outside the channel could satisfy all of `wants`.
  static bool CanBeMetElsewhere(const WantsOnName& wants, FailureReason& reason) {
    const std::vector<versions::Constraint> constraints = ConstraintsOf(wants);
    if (constraints.size() < 2 || versions::CanBeSatisfied(constraints)) return true;
    reason.Explain([&] { return CollisionError(wants, versions::FindCollision(constraints), ""); });
    return false;
  }

  Catalog& catalog_;
  std::map<std::string, WantsOnName> wants_;  ///< Of the request and chosen packages, by name.
  std::vector<std::string> trail_;            ///< The names to which a want was added, in order.
  std::vector<std::string> order_;
  std::set<std::string> demanded_;  ///< The names in `order_`.
  std::map<std::string, const CatalogPackage*> chosen_;
};

Error SearchLimitError() {
  return Error(
             ErrorCode::kUnsupported,
             fmt::format("found no compatible packages in the output channel after {} choices", kMaxChoices))
      .WithHint("pin exact versions in requirements.host, or use a conda client (--env conda)");
}

Error DamagedCandidateError(const Candidate& candidate) {
  return Error(ErrorCode::kCorrupt, fmt::format("cannot use '{}' of the output channel: {}",
                                                candidate.file_name, candidate.damage))
      .WithHint("remove the file, or build the package again");
}

/// Depth-first search over the names in the order in which they are demanded, newest package first.
class Search {
 public:
  /// All are borrowed.
  Search(const Request& request, const RequestWants& wanted, Catalog& catalog)
      : request_(request), wanted_(wanted), catalog_(catalog), selection_(catalog) {}

  /// Errors: kNotFound if no selection meets all constraints.
  Result<Selection> Run() && {
    if (!selection_.PushAll(wanted_.wants, reason_)) return reason_.Get();
    std::vector<Frame> frames = {Frame{.mark = selection_.Now()}};
    while (frames.size() <= selection_.order().size()) {
      Frame& frame = frames.back();
      const std::string name = selection_.order()[frames.size() - 1];
      selection_.Undo(frame.mark, name);
      PTPKG_TRY(const bool taken, TakeNext(frame, name));
      if (taken) {
        frames.push_back(Frame{.mark = selection_.Now()});
      } else {
        frames.pop_back();
        if (frames.empty()) return reason_.Get();
      }
    }
    return std::move(selection_);
  }

 private:
  struct Frame {
    Selection::Mark mark;
    std::size_t next = 0;  ///< The package to try next.
  };

  Result<bool> TakeNext(Frame& frame, const std::string& name) {
    std::vector<CatalogPackage>& packages = *catalog_.Find(name);
    while (frame.next < packages.size()) {
      CatalogPackage& package = packages[frame.next++];
      if (!selection_.Admits(package)) continue;
      if (++choices_ > kMaxChoices) return SearchLimitError();
      const Candidate& candidate = *package.candidate;
      if (!candidate.damage.empty()) return DamagedCandidateError(candidate);
      if (!package.wants) {
        PTPKG_TRY(package.wants, ReadPackageWants(candidate, wanted_.build_names.contains(candidate.name),
                                                  request_, catalog_));
      }
      selection_.Choose(name, package);
      if (selection_.PushAll(*package.wants, reason_)) return true;
      selection_.Undo(frame.mark, name);
    }
    return false;
  }

  const Request& request_;
  const RequestWants& wanted_;
  Catalog& catalog_;
  Selection selection_;
  FailureReason reason_;
  int choices_ = 0;
};

/// Appends the run exports of `kind` that `into` does not have yet.
void AddExports(const Candidate& candidate, const std::string& kind, const Request& request,
                std::vector<std::string>& into) {
  for (std::string& text : ExportsOf(candidate, kind, request)) {
    if (std::find(into.begin(), into.end(), text) == into.end()) into.push_back(std::move(text));
  }
}

Resolution MakeResolution(const Request& request, const std::set<std::string>& build_names,
                          const Selection& selection) {
  std::set<std::string> host_names;
  for (const versions::MatchSpec& spec : request.host) host_names.insert(spec.name);
  Resolution resolution;
  for (const std::string& name : selection.order()) {
    const Candidate& candidate = selection.Chosen(name);
    resolution.packages.push_back(candidate);
    const bool host = host_names.contains(name);
    if (request.subdir == "noarch") {
      if (host) AddExports(candidate, "noarch", request, resolution.run_exports);
      continue;
    }
    if (host) AddExports(candidate, "weak", request, resolution.run_exports);
    if (host) AddExports(candidate, "weak_constrains", request, resolution.run_constrains);
    if (!host && !build_names.contains(name)) continue;
    AddExports(candidate, "strong", request, resolution.run_exports);
    AddExports(candidate, "strong_constrains", request, resolution.run_constrains);
  }
  return resolution;
}

}  // namespace

Result<Resolution> Resolve(const std::vector<Candidate>& candidates, const Request& request) {
  Catalog catalog(candidates, request.subdir);
  PTPKG_TRY(const RequestWants wanted, ReadRequestWants(request, catalog));
  PTPKG_TRY(const Selection selection, Search(request, wanted, catalog).Run());
  return MakeResolution(request, wanted.build_names, selection);
}

}  // namespace ptpkg::index
