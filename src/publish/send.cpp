// Sends artifacts to a server, and judges the result by the server's digests afterwards.
//
// 1. Log in, and look up every artifact. The same digest is success without a request, another digest is a
//    conflict, and any conflict ends the run before the first upload.
// 2. Ask for room for all bytes together.
// 3. Send in parallel. Every outcome is read back: success means that the server shows this digest.
// 4. Complete the index. Without it, no reader finds the artifacts, so all count as failed.
// 5. Roll back what a failed upload created, last of all: another upload of the run may use it.
//
// A lost answer leaves it open whether the file arrived, so the server is queried before the next try.
// docs/decisions/0015-publishing.md compares other clients. Replacing with --force remembers the replaced
// digest: if that one is still shown, the index is behind, and any third digest is a conflict.

#include "publish/send.h"

#include <algorithm>
#include <fmt/core.h>

#include "publish/http/exchange.h"
#include "publish/join_errors.h"
#include "support/process/parallel.h"
#include "support/reporter.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

constexpr int kLooks = 6;  // a quarter of a minute, pauses and all

std::string KnownContent(const RemoteFile& file) {
  return file.sha256.empty() ? file.words : "sha256 " + file.sha256;
}

class Sender {
 public:
  Sender(Env& env, Remote& remote, const std::vector<Upload>& uploads, const SendOptions& options)
      : env_(env), remote_(remote), uploads_(uploads), options_(options), replaced_(uploads.size()) {
    for (const Upload& upload : uploads)
      outcomes_.push_back({.name = upload.Name(), .sha256 = upload.digests.sha256.Hex()});
  }

  Result<std::vector<SendOutcome>> Run() {
    PTPKG_CHECK(remote_.LogIn());
    auto outcomes = RunLoggedIn();
    if (const auto ended = remote_.LogOut(); !ended) {
      env_.reporter.Warn(fmt::format("cannot revoke the token of this run: {}", ended.error().message()));
    }
    return outcomes;
  }

 private:
  Result<std::vector<SendOutcome>> RunLoggedIn() {
    PTPKG_CHECK(QueryAll());
    PTPKG_CHECK(CheckRoom());
    const auto send = [&](std::size_t i) -> Result<void> {
      // Each has its outcome: an error of one ends none of the others.
      if (outcomes_[i].result == UploadResult::kNotTried && !env_.cancel.cancelled()) SendNumber(i);
      return Ok();
    };
    PTPKG_CHECK(ParallelFor(options_.at_once, uploads_.size(), send));
    Finish();
    // Last: what one of them made may hold another one's file.
    for (std::size_t i = 0; i < uploads_.size(); ++i) {
      if (outcomes_[i].error) CleanUp(uploads_[i]);
    }
    return std::move(outcomes_);
  }

  Result<void> CheckRoom() {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < uploads_.size(); ++i) {
      if (outcomes_[i].result == UploadResult::kNotTried) bytes += uploads_[i].digests.size_bytes;
    }
    return bytes == 0 ? Ok() : remote_.CheckRoom(bytes);
  }

  Result<void> QueryAll() {
    std::vector<std::optional<Error>> wrong(uploads_.size());
    const auto look = [&](std::size_t i) -> Result<void> {
      const auto found = remote_.Find(uploads_[i]);
      if (!found) {
        const ErrorCode code = found.error().code();
        if (code == ErrorCode::kNetwork || code == ErrorCode::kCancelled) return found.error();
        wrong[i] = found.error();
        return Ok();
      }
      const std::optional<RemoteFile>& there = *found;
      if (!there) return Ok();
      SendOutcome& outcome = outcomes_[i];
      outcome.remote_sha256 = there->sha256;
      if (there->sha256 == outcome.sha256) {
        outcome.result = UploadResult::kWasThere;
      } else if (!options_.force || !remote_.CanReplace()) {
        outcome.result = UploadResult::kConflict;
        wrong[i] = Conflict(i, KnownContent(*there));
      } else {
        replaced_[i] = *there;
      }
      return Ok();
    };
    PTPKG_CHECK(ParallelFor(options_.at_once, uploads_.size(), look));
    std::vector<Error> errors;
    for (std::optional<Error>& error : wrong) {
      if (error) errors.push_back(*std::move(error));
    }
    if (errors.empty()) return Ok();
    return JoinErrors(errors, "nothing was sent");
  }

  [[nodiscard]] Error Conflict(std::size_t i, const std::string& remote) const {
    Error conflict = ConflictOf(uploads_[i], remote, remote_.Title());
    if (remote_.CanReplace()) return conflict;
    return std::move(conflict).WithHint("raise the build number: the server does not allow replacing files");
  }

  void SendNumber(std::size_t i) {
    SendOutcome& outcome = outcomes_[i];
    Task task(env_.reporter,
              {.stage = "publish", .subject = outcome.name, .total_bytes = uploads_[i].digests.size_bytes});
    Result<void> sent = SendWithRetry(i, task);
    if (sent) {
      outcome.result = UploadResult::kSent;
      task.Done(remote_.Title());
      return;
    }
    if (outcome.result != UploadResult::kConflict) outcome.result = UploadResult::kFailed;
    outcome.error = std::move(sent).error();
  }

  /// An artifact that no reader finds is not published: where the index could not be made, all have failed.
  void Finish() {
    std::vector<const Upload*> there;
    for (std::size_t i = 0; i < uploads_.size(); ++i) {
      if (IsKnownPresent(outcomes_[i])) there.push_back(&uploads_[i]);
    }
    // After an interrupted run, the next one makes the index.
    if (there.empty() || env_.cancel.cancelled()) return;
    const Result<void> finished = remote_.Finish(there);
    if (finished) return;
    for (SendOutcome& outcome : outcomes_) {
      if (!IsKnownPresent(outcome)) continue;
      outcome.result = UploadResult::kFailed;
      outcome.error = finished.error();
    }
  }

  static bool IsKnownPresent(const SendOutcome& outcome) {
    return outcome.result == UploadResult::kSent || outcome.result == UploadResult::kWasThere;
  }

  void CleanUp(const Upload& upload) {
    const Result<void> cleaned = remote_.CleanUp(upload);
    if (cleaned) return;
    env_.reporter.Warn(
        fmt::format("cannot roll back the upload of '{}': {}", upload.Name(), cleaned.error().message()));
  }

  /// After a try with an unknown result, the server is queried before the next one.
  Result<void> SendWithRetry(std::size_t i, Task& task) {
    std::uint64_t told = 0;
    const auto on_sent = [&](std::uint64_t bytes) {
      // A form is longer than the file in it, and a second try sends the same bytes again.
      const std::uint64_t of_file = std::min(bytes, uploads_[i].digests.size_bytes);
      if (of_file <= told) return;
      task.Advance(of_file - told);
      told = of_file;
    };
    for (int attempt = 1;; ++attempt) {
      Result<void> sent = remote_.Send(uploads_[i], replaced_[i].has_value(), on_sent);
      if (!sent && !MayHaveArrived(sent.error())) return RefusedUnlessPresent(i, sent);
      PTPKG_TRY(const bool there, IsThere(i, sent.has_value()));
      if (there) return Ok();
      if (sent) return NotShown(i);
      if (attempt == kAttempts) return sent;
      PTPKG_CHECK(WaitBeforeRetry(env_.clock, attempt + 1, env_.cancel));
    }
  }

  /// A server may refuse to overwrite what another run has just sent (Artifactory: 403).
  Result<void> RefusedUnlessPresent(std::size_t i, const Result<void>& failed) {
    if (failed.error().code() != ErrorCode::kRefused) return failed;
    const Result<bool> there = IsThere(i, false);
    if (there && *there) return Ok();
    return outcomes_[i].result == UploadResult::kConflict ? Result<void>(there.error()) : failed;
  }

  /// An answer that never came, and a name that is taken: perhaps by a try of ours.
  static bool MayHaveArrived(const Error& error) {
    return error.code() == ErrorCode::kNetwork || error.code() == ErrorCode::kAlreadyExists;
  }

  /// Compares what the server has. An index may show some seconds later what it took: one that was `taken` is
  /// looked for longer. A file that was to go and is gone is forgotten.
  Result<bool> IsThere(std::size_t i, bool taken) {
    SendOutcome& outcome = outcomes_[i];
    for (int look = 1;; ++look) {
      PTPKG_TRY(const std::optional<RemoteFile> there, remote_.Find(uploads_[i]));
      outcome.remote_sha256 = there ? there->sha256 : "";
      if (there && there->sha256 == outcome.sha256) return true;
      // The old file is still shown: the index may be behind, so this is not a conflict yet.
      const bool old = there && replaced_[i] && there->sha256 == replaced_[i]->sha256;
      if (there && !old) {
        outcome.result = UploadResult::kConflict;
        return Conflict(i, KnownContent(*there));
      }
      if (!there) replaced_[i].reset();
      if (!taken || look == kLooks) return false;
      PTPKG_CHECK(WaitBeforeRetry(env_.clock, look + 1, env_.cancel));
    }
  }

  Error NotShown(std::size_t i) {
    if (replaced_[i]) {
      outcomes_[i].result = UploadResult::kConflict;
      return Conflict(i, KnownContent(*replaced_[i]));
    }
    return Error(ErrorCode::kNetwork, fmt::format("{} accepted '{}' but does not show it yet",
                                                  remote_.Title(), uploads_[i].Name()))
        .WithHint("publish again in some minutes: files that are there by then are skipped");
  }

  Env& env_;
  Remote& remote_;
  const std::vector<Upload>& uploads_;
  const SendOptions& options_;
  std::vector<SendOutcome> outcomes_;
  std::vector<std::optional<RemoteFile>> replaced_;  // the file to replace, while the server shows it
};

}  // namespace

Error ConflictOf(const Upload& upload, const std::string& remote, const std::string& title) {
  return Error(ErrorCode::kAlreadyExists,
               fmt::format("{} has a different '{}': {} there, sha256 {} here", title, upload.Name(), remote,
                           upload.digests.sha256.Hex()))
      .WithHint(upload.beside.empty()
                    ? "raise the build number, or replace the server's file with --force"
                    : "publish the same signed file everywhere, or replace the server's file with --force");
}

std::string_view UploadResultName(UploadResult result) {
  switch (result) {
    case UploadResult::kSent:
      return "sent";
    case UploadResult::kWasThere:
      return "there already";
    case UploadResult::kConflict:
      return "conflict";
    case UploadResult::kFailed:
      return "failed";
    case UploadResult::kNotTried:
      break;
  }
  return "not tried";
}

Result<void> CheckRules(const Remote& remote, const std::vector<Upload>& uploads) {
  std::vector<Error> errors;
  for (const Upload& upload : uploads) {
    Result<void> checked = remote.CheckRules(upload);
    if (!checked) errors.push_back(std::move(checked).error());
  }
  if (errors.empty()) return Ok();
  return JoinErrors(errors,
                    fmt::format("{} would refuse {}", remote.Title(), Plural(errors.size(), "artifact")));
}

Result<std::vector<SendOutcome>> SendAll(Env& env, Remote& remote, const std::vector<Upload>& uploads,
                                         const SendOptions& options) {
  return Sender(env, remote, uploads, options).Run();
}

}  // namespace ptpkg::publish
