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
  /// Files may be removed that are named without a digest.
  bool any_digest = false;
  int at_once = 4;
};

/// In this order: the store's rules for all changes; the credentials; how all stand. An error there, another
/// digest than a change names, and an absent file that is not to be removed anyway end the call before
/// anything is changed, with a cause for each. Then Store::Edit, then the changes. A try that failed on the
/// way is repeated only after the store was asked again, at most kAttempts times. A file that takes the name
/// of one that is removed meanwhile is left alone. Returns one outcome for each change, in order. Errors:
/// those before anything is changed (kRefused, kAlreadyExists, kNotFound, kNetwork), kCancelled.
Result<std::vector<ChangeOutcome>> ChangeAll(Env& env, Store& store, std::vector<Change> changes,
                                             const ChangeOptions& options);

}  // namespace ptpkg::publish
