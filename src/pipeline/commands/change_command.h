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

// Only the artifacts that the request names are changed, and only those whose digest is the named one. All
// stand as the change wants them, or are found to be fit for it, or nothing is changed. What is so already is
// success. One that fails is told in its item, and does not keep back others. Errors: kUsage, kNotFound,
// kInvalidInput, kRefused, kAlreadyExists, kNetwork: nothing was changed; kCancelled.

/// Adds the other label to them, or copies them to the other channel.
Result<ChangeSummary> Promote(Env& env, const ChangeRequest& request);
/// Keeps installers from choosing them, but for those that pin them.
Result<ChangeSummary> Yank(Env& env, const ChangeRequest& request);
/// For good, and for everybody. What is not there is success.
Result<ChangeSummary> Remove(Env& env, const ChangeRequest& request);

}  // namespace ptpkg::pipeline
