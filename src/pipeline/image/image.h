#pragma once
// Runs `ptpkg image`. Layer: pipeline.

#include <optional>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::pipeline {

struct ImageRequest {
  std::vector<AbsPath> inputs = {};  ///< Wheels and conda packages, or one recipe.
  /// Image description; nullopt: image.yaml beside the recipe, or one image that is named after the first
  /// artifact.
  std::optional<AbsPath> file = {};
  std::optional<std::string> base = {};  ///< In place of the description's.
  std::string engine = "auto";           ///< See Engine::Find.
  std::optional<AbsPath> context = {};   ///< Write the Containerfile and its files here; build nothing.
  std::optional<AbsPath> extract = {};   ///< Copy the wheels and packages here.
};

struct BuiltImage {
  std::string name;
  std::string id;                        ///< sha256, hexadecimal.
  std::vector<std::string> layers = {};  ///< Digests of the uncompressed layers.
  std::string run = {};                  ///< Command that runs it.
};

struct ImageOutcome {
  std::vector<std::string> artifacts = {};  ///< File names; empty: the build stage makes them.
  std::vector<BuiltImage> images = {};      ///< Empty with ImageRequest::context.
};

/// Checks the description, the base and the artifacts, then writes a build context or builds every image.
/// The build stage of a recipe runs once for all images. The images get their names once all are built. An
/// error leaves no new name, container or directory, except for `extract`, which is complete.
/// Exception: buildah 1.28 leaves its working container after a full disk.
/// Errors: as LoadImageFile, CheckBase, CheckTimeZones and Engine.
/// kUsage: inputs that don't go together.
/// kInvalidInput: no base, a build stage without a wheel.
/// kAlreadyExists: `context` or `extract` has content.
Result<ImageOutcome> MakeImages(Env& env, const ImageRequest& request);

}  // namespace ptpkg::pipeline
