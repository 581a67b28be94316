#pragma once
// An artifact of one family from a finished artifact of the other. Layer: pipeline.

#include <optional>
#include <set>
#include <string>

#include "pipeline/build.h"
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
};

struct RepackSummary {
  BuildSummary build;
  std::vector<std::string> unknown_requirements;  ///< Kept under their own names.
};

/// `.conda` and `.tar.bz2` of a wheel: files where pip would install them, dependencies by
/// data/conda_names.yaml, search paths by layout. Errors: those of the stages.
Result<RepackSummary> WheelToConda(Env& env, const RepackRequest& request);

/// A wheel of a conda package that holds a Python distribution with METADATA and WHEEL.
Result<RepackSummary> CondaToWheel(Env& env, const RepackRequest& request);

}  // namespace ptpkg::pipeline
