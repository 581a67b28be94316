#pragma once
// Plans conversions between wheels and conda packages. Layer: pipeline.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/plan.h"
#include "model/artifact.h"
#include "pipeline/edit_wheel/wheel_form.h"
#include "pipeline/plan/summary.h"
#include "support/env.h"

namespace ptpkg::pipeline {

struct RepackRequest {
  AbsPath input = AbsPath::Literal("/nonexistent");   ///< .whl, .conda or .tar.bz2 file, or a directory.
  AbsPath output = AbsPath::Literal("/nonexistent");  ///< See BuildRequest.
  std::set<ArtifactFormat> formats;                   ///< Empty: all of the target family.
  std::string layout;        ///< Name of a built-in search-path layout; "" = chosen by the distribution.
  std::string build_string;  ///< Conda: "" = derived.
  std::uint64_t build_number = 0;
  std::string distribution;  ///< Wheel: which of several .dist-info; "" = the only one.
  /// Conda: of a wheel that fits several Pythons (abi3), one package for each of these; empty: one for all.
  std::vector<std::string> pythons = {};
  WheelForm wheel_form = {};  ///< Form of the wheels.
  bool force = false;
  bool keep_work = false;
  bool dry_run = false;
  std::optional<AbsPath> sign_key = {};  ///< See BuildRequest.
};

/// True if `path` is a directory to convert to a wheel: one that holds a distribution
/// (convert/tree/tree_to_wheel.h) and no recipe.yaml. False if it does not exist. Errors: kIo.
Result<bool> IsWheelTree(Env& env, const AbsPath& path);

/// The name of the input decides the result: a .whl becomes conda packages, a package or a directory becomes
/// a wheel. Hashes the input and writes nothing. Errors: kNotFound, kIo. kUsage for formats of another
/// family, for an invalid entry in `pythons`, and for several `pythons` of a wheel without binaries.
Result<graph::Plan> PlanRepack(Env& env, const RepackRequest& request);

/// Compression names that ParseWheelForm accepts, the fastest first.
std::vector<std::string> CompressionNames();

/// Plans and runs. Errors: any from PlanRepack and RunPlan.
Result<BuildSummary> Repack(Env& env, const RepackRequest& request);

}  // namespace ptpkg::pipeline
