#pragma once
// Runs `ptpkg ci`. Layer: pipeline.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/plan/build_plan.h"
#include "support/env.h"

namespace ptpkg::pipeline {

enum class CiService : std::uint8_t { kGithub, kGitlab };

/// A value for all jobs, or for those with a variant whose `key` has this value.
struct CiRule {
  std::string key = {};    ///< "": all.
  std::string value = {};  ///< Value of the key.
  std::string text = {};

  /// "TEXT", or "KEY=VALUE:TEXT". Errors: kUsage naming `flag` for an empty part.
  static Result<CiRule> Parse(const std::string& flag, const std::string& text);
};

struct CiRequest {
  CiService service = CiService::kGithub;
  /// Build settings: recipes in dependency order, variant files, selection, formats, where libraries come
  /// from, whether tests run. Its sources are also in `sources`, as given on the command line.
  BuildRequest build = {};
  std::vector<std::pair<std::string, std::string>> sources = {};
  /// See PublishRequest; the next two as well. nullopt: nothing is published.
  std::optional<std::string> to = {};
  std::string server = {};
  std::string check_url = {};
  bool publish_on_branch = false;
  std::string branch = "main";
  std::vector<CiRule> images = {};   ///< The last one that fits counts, here and below.
  std::vector<CiRule> runners = {};  ///< Labels, separated by commas.
  std::uint64_t timeout_minutes = 330;
  std::string cache_size = "5G";
  std::optional<AbsPath> output = {};  ///< Default: where the service looks for it.
  bool print = false;                  ///< Write no file.
  bool force = false;                  ///< Replace a file that others wrote or edited.
  bool check = false;                  ///< Write nothing: the file must be there as it would be written.
  bool dry_run = false;                ///< Write nothing.
};

struct CiJob {
  std::string id;
  std::vector<std::string> arguments;  ///< Arguments of `ptpkg build`.
  std::vector<std::string> packages;   ///< FileStem() of each.
};

struct CiOutcome {
  std::string text;             ///< The workflow.
  std::optional<AbsPath> file;  ///< nullopt with `print`.
  bool differs = false;         ///< The file was, or would be, written; false: it is up to date.
  std::vector<CiJob> jobs;
};

/// Renders the recipes, makes a job of each group of variants (variant_groups.h), and writes the file by
/// rename. Its paths are relative to the repository: the nearest directory above the first recipe that
/// contains `.git`, else the working directory. Errors: any from Render, GroupVariants and MakeTarget,
/// kCheckFailed with `check`, kAlreadyExists for a file that others wrote or edited, kIo, and these:
///
/// - kUsage: an image without a digest, a rule or source that matches nothing, a path outside the checkout, a
///   password in a URL, a publication directory that vanishes with the runner
/// - kInvalidInput: a key or value that is not one line of text
Result<CiOutcome> WriteCi(Env& env, const CiRequest& request);

}  // namespace ptpkg::pipeline
