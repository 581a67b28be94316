// Promotes, moves, yanks and removes published artifacts.
//
// 1. Check every change against the rules of the store, without a request.
// 2. Log in, and look up every artifact. One that is missing, or has another digest than expected, ends the
//    run before anything changed.
// 3. Edit the index: rows of removed files go before the files, so that no reader finds a dead link.
// 4. Make the changes in parallel. Each has its own outcome, and one failure does not end the others.
// 5. Clean up, and warn of files that stay without an index entry.
//
// Invariants: after step 2 each change is bound to the digest found there: another file of the same name is
// never changed. A request with an unknown outcome is never repeated blindly. The store is queried first
// (docs/decisions/0015-publishing.md). A store that agreed may show the change some seconds later, so it is
// queried again for a while.

#include "publish/change_artifacts.h"

#include <fmt/core.h>

#include "publish/http/exchange.h"
#include "publish/join_errors.h"
#include "support/process/parallel.h"
#include "support/reporter.h"
#include "support/text/plural.h"

namespace ptpkg::publish {
namespace {

constexpr int kMostLooks = 6;  // a quarter of a minute, pauses and all

class Changer {
 public:
  Changer(Env& env, Store& store, std::vector<Change> changes, const ChangeOptions& options)
      : env_(env), store_(store), changes_(std::move(changes)), options_(options) {
    for (const Change& change : changes_)
      outcomes_.push_back({.name = change.artifact.ChannelPath(), .sha256 = change.sha256});
    standings_.resize(changes_.size());
  }

  Result<std::vector<ChangeOutcome>> Run() {
    PTPKG_CHECK(CheckAll());
    PTPKG_CHECK(store_.LogIn());
    PTPKG_CHECK(QueryAll());
    // An index entry can outlive its file, when an earlier run was interrupted.
    // Missing files may be listed all the same.
    std::vector<Change> left;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      const ChangeResult result = outcomes_[i].result;
      if (result == ChangeResult::kNotTried || result == ChangeResult::kNotThere) left.push_back(changes_[i]);
    }
    if (left.empty()) return std::move(outcomes_);
    PTPKG_CHECK(env_.cancel.Check());
    PTPKG_CHECK(store_.Edit(left));
    const auto make = [&](std::size_t i) -> Result<void> {
      // Each has its outcome: an error of one ends none of the others.
      if (outcomes_[i].result == ChangeResult::kNotTried && !env_.cancel.cancelled()) MakeNumber(i);
      return Ok();
    };
    PTPKG_CHECK(ParallelFor(options_.at_once, changes_.size(), make));
    if (const auto finished = store_.Finish(); !finished) {
      env_.reporter.Warn(fmt::format("cannot clean up {}: {}", store_.Title(), finished.error().message()));
    }
    WarnOfUnlisted();
    return std::move(outcomes_);
  }

 private:
  Result<void> CheckAll() {
    std::vector<Error> errors;
    for (const Change& change : changes_) {
      Result<void> checked = store_.Check(change);
      if (!checked) errors.push_back(std::move(checked).error());
    }
    return errors.empty() ? Ok() : Result<void>(JoinErrors(errors, "nothing was changed"));
  }

  /// Warns of removals that failed, or were not tried.
  void WarnOfUnlisted() {
    if (!store_.HasIndex()) return;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      const ChangeResult result = outcomes_[i].result;
      const bool stays = result == ChangeResult::kFailed || result == ChangeResult::kNotTried;
      if (stays && changes_[i].action == Action::kRemove) names.push_back(outcomes_[i].name);
    }
    if (names.empty()) return;
    env_.reporter.Warn(
        fmt::format("still there, but maybe no longer in the index of {}: {}; remove them again, or publish "
                    "again the ones to keep",
                    store_.Title(), FirstNames(names, 5)));
  }

  Result<void> QueryAll() {
    std::vector<std::optional<Error>> wrong(changes_.size());
    const auto look = [&](std::size_t i) -> Result<void> {
      auto standing = store_.QueryStatus(changes_[i]);
      auto judged = standing ? Judge(i, *standing) : Result<void>(standing.error());
      if (judged) return Ok();
      const ErrorCode code = judged.error().code();
      if (code == ErrorCode::kNetwork || code == ErrorCode::kCancelled) return judged;
      wrong[i] = judged.error();
      return Ok();
    };
    PTPKG_CHECK(ParallelFor(options_.at_once, changes_.size(), look));
    std::vector<Error> errors;
    for (std::optional<Error>& error : wrong) {
      if (error) errors.push_back(*std::move(error));
    }
    return errors.empty() ? Ok() : Result<void>(JoinErrors(errors, "nothing was changed"));
  }

  Result<void> Judge(std::size_t i, const RemoteStatus& standing) {
    Change& change = changes_[i];
    const std::string name = change.artifact.ChannelPath();
    if (standing.state == ChangeState::kAbsent) {
      if (change.action != Action::kRemove)
        return Error(ErrorCode::kNotFound, fmt::format("{} has no '{}'", store_.Title(), name));
      outcomes_[i].result = ChangeResult::kNotThere;
      return Ok();
    }
    if (!change.sha256.empty() && standing.sha256 != change.sha256) {
      return Error(ErrorCode::kAlreadyExists,
                   fmt::format("{} has a different '{}': {} there, sha256 {} here", store_.Title(), name,
                               standing.sha256.empty() ? "unknown sha256" : "sha256 " + standing.sha256,
                               change.sha256))
          .WithHint("nothing was changed; give the file that you mean");
    }
    if (change.action == Action::kRemove && change.sha256.empty() && !options_.any_digest) {
      return Error(ErrorCode::kRefused,
                   fmt::format("'{}' has the {} at {}: confirm that you want to remove it", name,
                               standing.sha256.empty() ? "unknown sha256" : "sha256 " + standing.sha256,
                               store_.Title()))
          .WithHint(standing.sha256.empty()
                        ? "remove it whatever its content: --yes"
                        : fmt::format("--artifact {}#sha256={}, or --yes to remove it whatever its content",
                                      name, standing.sha256));
    }
    // From here on it is this file, and no other one of the name.
    change.sha256 = standing.sha256;
    outcomes_[i].sha256 = standing.sha256;
    standings_[i] = standing;
    if (standing.state == ChangeState::kDone) outcomes_[i].result = ChangeResult::kWasSo;
    return Ok();
  }

  void MakeNumber(std::size_t i) {
    Task task(env_.reporter, {.stage = "change", .subject = outcomes_[i].name});
    const Result<void> made = ApplyWithRetry(i);
    outcomes_[i].result = made ? ChangeResult::kMade : ChangeResult::kFailed;
    if (made) {
      task.Done(store_.Title());
    } else {
      outcomes_[i].error = made.error();
    }
  }

  /// After a try with an unknown result, the store is queried before the next one.
  Result<void> ApplyWithRetry(std::size_t i) {
    for (int attempt = 1;; ++attempt) {
      Result<void> made = store_.Make(changes_[i], standings_[i]);
      if (!made && !MustQueryAgain(made.error())) return made;
      PTPKG_TRY(const bool so, IsDone(i, made.has_value()));
      if (so) return Ok();
      if (made) {
        return Error(ErrorCode::kNetwork,
                     fmt::format("{} accepted the change of '{}' but does not show it yet", store_.Title(),
                                 outcomes_[i].name))
            .WithHint("run the same command again in some minutes");
      }
      if (attempt == kAttempts) return made;
      PTPKG_CHECK(WaitBeforeRetry(env_.clock, attempt + 1, env_.cancel));
    }
  }

  static bool MustQueryAgain(const Error& error) {
    return error.code() == ErrorCode::kNetwork || error.code() == ErrorCode::kAlreadyExists ||
           error.code() == ErrorCode::kNotFound;
  }

  /// `agreed`: the store said that it did it, and may show that some seconds later.
  Result<bool> IsDone(std::size_t i, bool agreed) {
    const Change& change = changes_[i];
    for (int look = 1;; ++look) {
      PTPKG_TRY(standings_[i], store_.QueryStatus(change));
      const RemoteStatus& standing = standings_[i];
      const bool other = standing.sha256 != change.sha256;
      if (change.action == Action::kRemove) {
        // Another file under the name means that ours is gone, which is what was wanted.
        if (standing.state == ChangeState::kAbsent || other) return true;
      } else if (standing.state == ChangeState::kAbsent || other) {
        return Error(ErrorCode::kAlreadyExists, fmt::format("another client keeps changing '{}' at {}",
                                                            outcomes_[i].name, store_.Title()));
      }
      if (standing.state == ChangeState::kDone) return true;
      if (!agreed || look == kMostLooks) return false;
      PTPKG_CHECK(WaitBeforeRetry(env_.clock, look + 1, env_.cancel));
    }
  }

  Env& env_;
  Store& store_;
  std::vector<Change> changes_;
  const ChangeOptions& options_;
  std::vector<ChangeOutcome> outcomes_;
  std::vector<RemoteStatus> standings_;
};

std::string_view CompletedName(Action action) {
  switch (action) {
    case Action::kCopy:
      return "promoted";
    case Action::kMove:
      return "moved";
    case Action::kYank:
      return "yanked";
    case Action::kUnyank:
      return "unyanked";
    case Action::kRemove:
      break;
  }
  return "removed";
}

}  // namespace

std::string_view ChangeResultName(ChangeResult result, Action action) {
  switch (result) {
    case ChangeResult::kMade:
      return CompletedName(action);
    case ChangeResult::kWasSo:
      return "already so";
    case ChangeResult::kNotThere:
      return "not there";
    case ChangeResult::kFailed:
      return "failed";
    case ChangeResult::kNotTried:
      break;
  }
  return "not tried";
}

Result<std::vector<ChangeOutcome>> ChangeAll(Env& env, Store& store, std::vector<Change> changes,
                                             const ChangeOptions& options) {
  return Changer(env, store, std::move(changes), options).Run();
}

}  // namespace ptpkg::publish
