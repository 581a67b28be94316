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

/// The result in words, for reports: "sent" for kSent, "not tried" for kNotTried.
std::string_view UploadResultName(UploadResult result);

struct SendOutcome {
  std::string name;
  std::string sha256;  ///< Digest of the local artifact.
  UploadResult result = UploadResult::kNotTried;
  std::string remote_sha256 = {};  ///< Digest on the server; "" = none, or not known.
  std::optional<Error> error = {};
};

/// kAlreadyExists with both digests. `remote`: "sha256 …" of the server's file, or another description.
/// `title`: of the server that has the other file.
Error ConflictOf(const Upload& upload, const std::string& remote, const std::string& title);

struct SendOptions {
  bool force = false;  ///< Replace other files under the names, if the server can.
  int at_once = 4;     ///< Number of simultaneous uploads.
};

/// The rules of the server (Remote::CheckRules) for all uploads. Errors: kRefused, with a cause for each that
/// breaks one.
Result<void> CheckRules(const Remote& remote, const std::vector<Upload>& uploads);

/// REQUIRES: CheckRules succeeded. Checks the credentials, then which files the server has, then whether it
/// has room for the rest. An error or a conflict there ends the call before anything is sent, with a cause
/// for each. Then the rest is sent. A failed attempt is repeated, at most kAttempts times, and only after a
/// new query of the server. Finally the server's file is compared with the artifact's digest. A failure does
/// not stop the other uploads. Last, the server finishes those that it has (Remote::Finish); if it cannot,
/// they count as failed. Returns one outcome for each upload, in order. Errors: kCancelled, and before
/// anything is sent kRefused, kAlreadyExists naming both digests, kNetwork.
Result<std::vector<SendOutcome>> SendAll(Env& env, Remote& remote, const std::vector<Upload>& uploads,
                                         const SendOptions& options);

}  // namespace ptpkg::publish
