#pragma once
// Runs `ptpkg promote`, `yank` and `remove`. Layer: pipeline.

#include <optional>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::pipeline {

struct ChangeRequest {
  std::vector<AbsPath> paths = {};  ///< Artifacts, or output folders: what is there must have their digests.
  std::vector<std::string> names = {};  ///< "linux-64/toy-1.0-0.conda[#sha256=…]": as they are called there.
  std::string from = {};                ///< As publish::StoreOptions has it, and the next two.
  std::string to = {};
  std::string server = {};
  std::string reason = {};  ///< Of Yank.
  bool move = false;        ///< Of Promote: no longer where they come from.
  bool undo = false;        ///< Of Yank.
  bool any_digest = false;  ///< Of Remove: names without a digest will do.
  bool dry_run = false;     ///< Read everything, change nothing.
};

struct ChangedItem {
  std::string name;
  std::string sha256;                      ///< Of the file that is meant; "" = not known.
  std::string fate;                        ///< As ChangeResultName() calls it; "" in a dry run.
  std::optional<Error> error = {};         ///< Why it failed.
  std::vector<std::string> requests = {};  ///< Of a dry run: "DELETE https://…".
};

struct ChangeSummary {
  std::string target;  ///< For people.
  std::vector<ChangedItem> items;
};

// Only the artifacts that the request names are changed, and only those whose digest is the named one. All
// stand as the change wants them, or are found to be fit for it, or nothing is changed. What is so already is
// success. One that fails is told in its item, and does not keep back others. Errors: kUsage, kNotFound,
// kInvalidInput, kRefused, kAlreadyExists, kNetwork: nothing was changed; kCancelled.

/// Gives them the other label, or copies them to the other channel.
Result<ChangeSummary> Promote(Env& env, const ChangeRequest& request);
/// Keeps installers from choosing them, but for those that pin them.
Result<ChangeSummary> Yank(Env& env, const ChangeRequest& request);
/// For good, and for everybody. What is not there is success.
Result<ChangeSummary> Remove(Env& env, const ChangeRequest& request);

}  // namespace ptpkg::pipeline
