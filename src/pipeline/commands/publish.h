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
  std::vector<AbsPath> paths = {};  ///< Artifacts, or output directories.
  std::string to = {};              ///< See publish::TargetOptions; the next two as well.
  std::string server = {};
  std::string check_url = {};
  bool force = false;    ///< Replace other files under the same names.
  bool dry_run = false;  ///< Read and check everything, send nothing.
  /// Gets the findings of all artifacts, which include no errors, before anything is sent.
  std::function<void(const std::vector<Report>&)> on_checked = {};
};

struct PublishedItem {
  std::string name;
  std::string sha256;
  std::string result;                      ///< UploadResultName(); "" in a dry run.
  std::string remote_sha256 = {};          ///< Digest of the file there now; "" = no file, or not known.
  std::optional<Error> error = {};         ///< Why it failed.
  std::vector<std::string> requests = {};  ///< In a dry run: "POST https://…".
};

struct PublishOutcome {
  std::string target;  ///< For people.
  std::vector<PublishedItem> items;
};

/// Uploads artifacts. Before anything is sent, every artifact is read again and checked the way the target's
/// readers read it, and the target's rules are applied. From an output directory, publishes the artifacts in
/// its manifest that the target accepts; other files are reported. Equal files with one name, for example
/// from several output directories, are one artifact. A failure is reported in its item and does not stop the
/// others. Errors with nothing sent: kUsage (`to`), kNotFound, kInvalidInput, kCheckFailed, kRefused,
/// kAlreadyExists, kNetwork. Also kCancelled.
Result<PublishOutcome> Publish(Env& env, const PublishRequest& request);

/// The forms of `to`, a line each, for --help.
std::string PublishTargets();

}  // namespace ptpkg::pipeline
