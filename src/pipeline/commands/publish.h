#pragma once
// Runs `ptpkg publish`. Layer: pipeline.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/finding.h"
#include "support/env.h"

namespace ptpkg::pipeline {

struct PublishRequest {
  std::vector<AbsPath> paths = {};  ///< Artifacts, or output folders.
  std::string to = {};              ///< As publish::TargetOptions has it, and the next two.
  std::string server = {};
  std::string check_url = {};
  bool force = false;    ///< Replace other files under the same names.
  bool dry_run = false;  ///< Read and check everything, send nothing.
  /// Gets the findings of all artifacts, none of which is an error, before anything is sent.
  std::function<void(const std::vector<Report>&)> on_checked = {};
};

struct PublishedItem {
  std::string name;
  std::string sha256;
  std::string fate;                        ///< As UploadResultName() calls it; "" in a dry run.
  std::string remote_sha256 = {};          ///< Of what is there now; "" = nothing, or not known.
  std::optional<Error> error = {};         ///< Why it failed.
  std::vector<std::string> requests = {};  ///< Of a dry run: "POST https://…".
};

struct PublishOutcome {
  std::string target;  ///< For people.
  std::vector<PublishedItem> items;
};

/// Every artifact is read again and checked as the target's readers will read it, and the target's rules are
/// applied, before anything is sent. Of an output folder what its manifest lists, as far as the target takes
/// that kind; what is left out is told. Equal files of one name, as from several output folders, are one
/// artifact. One that fails is told in its item, and does not keep back others. Errors: kUsage (`to`),
/// kNotFound, kInvalidInput, kCheckFailed, kRefused, kAlreadyExists, kNetwork: nothing was sent; kCancelled.
Result<PublishOutcome> Publish(Env& env, const PublishRequest& request);

/// The forms of `to`, a line each, for --help.
std::string PublishTargets();

}  // namespace ptpkg::pipeline
