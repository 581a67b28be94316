#pragma once
// The stages that plans are made of. Layer: pipeline. What a stage reads of its node is said here; a place or
// input that is missing is an error that names it.
//
//   build         tree/ and licenses/. Needs "package NAME" of what the plan makes itself. Inputs: recipe
//                 (NativeBuild), script, recipe folder, source, tools, env, packages, source_date_epoch
//   conda         .conda, .tar.bz2. Needs "staged tree". Inputs: recipe, recipe file, recipe folder,
//                 formats, run exports
//   wheel         .whl. Needs "staged tree". Inputs: recipe, wanted
//   repack-conda  .conda, .tar.bz2 of a wheel. Inputs: artifact, formats, layout, build string, python
//   repack-wheel  .whl of a conda package. Inputs: artifact, layout, distribution
//   check         findings. Needs "artifacts", "staged tree". Inputs: allow unresolved, prefix may stay
//   test          findings. Needs "artifacts", "package NAME". Inputs: recipe, recipe folder, tools, env,
//                 packages
//   publish       names in the output folder. Needs the artifacts of one variant, its checks and tests
//   index         index files. Needs all publications
//
// A stage that packs returns {"artifacts": [ArtifactRecord…]}, and one that repacks also {"forbidden": [texts
// that no file of them may hold]}, which the build stage returns with its staged tree; with the record's
// `path` as the place below the output folder, and the files flat in its folder.

#include "graph/stage.h"

namespace ptpkg::pipeline {

void AddBuildStage(graph::StageTable& stages);
void AddPackStages(graph::StageTable& stages);     ///< conda, wheel
void AddRepackStages(graph::StageTable& stages);   ///< repack-conda, repack-wheel
void AddPublishStages(graph::StageTable& stages);  ///< check, test, publish, index

/// All of them.
graph::StageTable MakeStages();

}  // namespace ptpkg::pipeline
