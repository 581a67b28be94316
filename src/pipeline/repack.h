#pragma once
// The plan of repacking: an artifact of one family from a finished artifact of the other. Layer: pipeline.

#include <optional>
#include <set>
#include <string>

#include "graph/plan.h"
#include "model/artifact.h"
#include "pipeline/summary.h"
#include "support/env.h"

namespace ptpkg::pipeline {

struct RepackRequest {
  AbsPath input = AbsPath::Literal("/nonexistent");   ///< .whl, .conda or .tar.bz2
  AbsPath output = AbsPath::Literal("/nonexistent");  ///< As for Build.
  std::set<ArtifactFormat> formats;                   ///< Empty: all of the target family.
  std::string layout;        ///< Name of a built-in search-path layout; "" = chosen by the distribution.
  std::string build_string;  ///< Conda: "" = derived.
  std::uint64_t build_number = 0;
  std::string distribution;     ///< Wheel: which of several .dist-info; "" = the only one.
  std::string python = "3.11";  ///< Conda: version whose site-packages take a wheel that fits several (abi3).
  bool force = false;
  bool keep_work = false;
  bool dry_run = false;
  std::optional<AbsPath> sign_key = {};  ///< As of BuildRequest.
};

/// The family that the input is repacked into follows from its name: a .whl becomes conda packages, a package
/// a wheel. The input is hashed; nothing is written. Errors: kNotFound, kIo; kUsage for formats that are not
/// of the target family, and for a `python` that is none.
Result<graph::Plan> PlanRepack(Env& env, const RepackRequest& request);

/// Plans and runs. Errors: those of PlanRepack and RunPlan.
Result<BuildSummary> Repack(Env& env, const RepackRequest& request);

}  // namespace ptpkg::pipeline
