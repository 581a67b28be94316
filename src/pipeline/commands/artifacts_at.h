#pragma once
// Resolves paths of a command line to artifacts. Layer: pipeline.

#include <functional>
#include <string>
#include <vector>

#include "model/artifact.h"
#include "support/env.h"

namespace ptpkg::pipeline {

/// For whom they are.
struct ArtifactFilter {
  std::string title;  ///< For messages.
  std::function<bool(ArtifactFormat)> takes;
};

/// Files as they are named; of an output folder what its manifest lists, as far as the taker takes that kind:
/// what is left out is told. Errors: kNotFound (a file, a manifest, nothing at all), kHashMismatch (a file is
/// not what the manifest lists), kCorrupt, kIo.
Result<std::vector<AbsPath>> ResolveArtifacts(Env& env, const std::vector<AbsPath>& paths,
                                              const ArtifactFilter& taker);

}  // namespace ptpkg::pipeline
