#pragma once
// Writes Containerfiles. Layer: pipeline.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/image/base_facts.h"
#include "pipeline/image/image_file.h"

namespace ptpkg::pipeline {

/// A wheel or conda package of the context.
struct ImageArtifact {
  std::string file_name;
  std::string conda_spec = {};  ///< "toy=1.0=h1_0"; "": a wheel.
  std::string sha256;           ///< Hexadecimal.
};

struct ContainerfileInput {
  const ImageFile& file;
  /// File names of root file systems in the context; "": file.base and file.build_base are references.
  std::string base_rootfs = {};
  std::string build_rootfs = {};
  bool runs_recipe = false;                   ///< A build stage makes the wheels: `artifacts` is empty.
  std::string recipe_file = {};               ///< File in the recipe's directory; "": the directory itself.
  std::vector<ImageArtifact> artifacts = {};  ///< Files of the context's directory `artifacts`.
  std::optional<GlibcNeed> need = {};
  std::int64_t epoch = 0;
};

/// The stages: base, build-base and builder (for a recipe), artifacts (only the wheels and packages), common
/// (what all images share), and one for each image. Equal inputs give equal text. REQUIRES: `file` comes from
/// ParseImageFile.
std::string ContainerfileText(const ContainerfileInput& input);

/// Every image has this label: a JSON object with the sha256 of each artifact by file name.
inline constexpr const char* kArtifactsLabel = "org.ptpkg.artifacts";

}  // namespace ptpkg::pipeline
