#pragma once
// Runs `ptpkg promote`, `yank` and `remove`. Layer: pipeline.

#include <optional>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::pipeline {

struct ChangeRequest {
  std::vector<AbsPath> paths =
      {};  ///< Artifacts, or output directories: what is there must have their digests.
  std::vector<std::string> names = {};  ///< "linux-64/toy-1.0-0.conda[#sha256=…]": their names there.
  std::string from = {};                ///< See publish::StoreOptions; the next two as well.
  std::string to = {};
  std::string server = {};
  std::string reason = {};  ///< For Yank.
  bool move = false;        ///< For Promote: remove from the old place.
  bool undo = false;        ///< For Yank.
  bool any_digest = false;  ///< For Remove: accept names without a digest.
  bool dry_run = false;     ///< Read everything, change nothing.
};

struct ChangedItem {
  std::string name;
  std::string sha256;                      ///< Digest of the affected file; "" = not known.
  std::string result;                      ///< ChangeResultName(); "" in a dry run.
  std::optional<Error> error = {};         ///< Why it failed.
  std::vector<std::string> requests = {};  ///< In a dry run: "DELETE https://…".
};

struct ChangeSummary {
  std::string target;  ///< For people.
  std::vector<ChangedItem> items;
};

// Each function changes only the artifacts that the request names, and only if their digest matches. All of
// them must be ready for the change, or already changed, before the first is changed; already changed counts
// as success. A failure is reported in its item and does not stop the others. Errors before any change:
// kUsage, kNotFound, kInvalidInput, kRefused, kAlreadyExists, kNetwork. Also kCancelled.

/// Adds the other label to them, or copies them to the other channel.
Result<ChangeSummary> Promote(Env& env, const ChangeRequest& request);
/// Keeps installers from choosing them, unless a requirement pins them.
Result<ChangeSummary> Yank(Env& env, const ChangeRequest& request);
/// Removes them permanently for all users. A missing artifact counts as success.
Result<ChangeSummary> Remove(Env& env, const ChangeRequest& request);

}  // namespace ptpkg::pipeline
