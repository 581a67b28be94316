#pragma once
// Applies changes to a store exactly once. Layer: publish.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "publish/artifact_store.h"
#include "support/error.h"

namespace ptpkg::publish {

enum class ChangeResult : std::uint8_t {
  kMade,      ///< Since this run.
  kWasSo,     ///< No change was needed.
  kNotThere,  ///< The file to remove does not exist.
  kFailed,
  kNotTried,  ///< The user interrupted.
};

/// "promoted", "moved", "yanked", "unyanked", "removed" for kMade; "already so", "not there", "failed", "not
/// tried".
std::string_view ChangeResultName(ChangeResult result, Action action);

struct ChangeOutcome {
  std::string name;    ///< ArtifactId::ChannelPath.
  std::string sha256;  ///< Digest of the affected file; "" = not known.
  ChangeResult result = ChangeResult::kNotTried;
  std::optional<Error> error = {};
};

struct ChangeOptions {
  /// Remove files even if they are named without a digest.
  bool any_digest = false;
  int at_once = 4;
};

/// Checks the store's rules for all changes, then the credentials, then the state of every artifact. An error
/// there ends the call before anything is changed, with a cause for each. So does a digest that differs from
/// the change's, and an absent file unless it was to be removed. Then come Store::Edit and the changes. A
/// failed attempt is repeated, at most kAttempts times, and only after a new query of the store. If another
/// file takes the name of a removed one meanwhile, it is left alone. Returns one outcome for each change, in
/// order. Errors: kCancelled, and before anything is changed kRefused, kAlreadyExists, kNotFound, kNetwork.
Result<std::vector<ChangeOutcome>> ChangeAll(Env& env, Store& store, std::vector<Change> changes,
                                             const ChangeOptions& options);

}  // namespace ptpkg::publish
