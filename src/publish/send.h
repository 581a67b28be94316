#pragma once
// Uploads artifacts exactly once. Layer: publish.

#include <optional>
#include <string>
#include <vector>

#include "publish/remote.h"

namespace ptpkg::publish {

enum class UploadResult : std::uint8_t {
  kSent,      ///< The server has it, with this digest, since this run.
  kWasThere,  ///< The server had it already, with this digest.
  kConflict,  ///< The server has another file under the name.
  kFailed,
  kNotTried,  ///< The user interrupted.
};

/// "sent", "there already", "conflict", "failed", "not tried".
std::string_view UploadResultName(UploadResult result);

struct SendOutcome {
  std::string name;
  std::string sha256;  ///< Digest of the local artifact.
  UploadResult result = UploadResult::kNotTried;
  std::string remote_sha256 = {};  ///< Digest on the server; "" = none, or not known.
  std::optional<Error> error = {};
};

/// kAlreadyExists with both digests. `remote`: "sha256 …" of the server's file, or what else is known of it.
/// `title`: of the place that has the other file.
Error ConflictOf(const Upload& upload, const std::string& remote, const std::string& title);

struct SendOptions {
  bool force = false;  ///< Other files under the names are replaced, where the server can.
  int at_once = 4;     ///< Files under way at the same time.
};

/// The rules of the server (Remote::CheckRules) for all uploads. Errors: kRefused, with a cause for each that
/// breaks one.
Result<void> CheckRules(const Remote& remote, const std::vector<Upload>& uploads);

/// REQUIRES: CheckRules succeeded. In this order: the credentials; what the server has of all, and whether it
/// has room for the rest. An error or a conflict there ends the call before anything is sent, with a cause
/// for each. Then the rest is sent. A try that failed on the way is repeated only after the server was asked
/// again, at most kAttempts times; what it has at the end is compared with the artifact's digest. One that
/// fails does not keep back others. Last the server finishes those that it has (Remote::Finish); where it
/// cannot, they count as failed. Returns one outcome for each upload, in order. Errors: those before anything
/// is sent (kRefused, kAlreadyExists naming both digests, kNetwork), kCancelled.
Result<std::vector<SendOutcome>> SendAll(Env& env, Remote& remote, const std::vector<Upload>& uploads,
                                         const SendOptions& options);

}  // namespace ptpkg::publish
