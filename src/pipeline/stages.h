#pragma once
// The stages that plans are made of. Layer: pipeline. What a stage reads of its node is said here; a place or
// input that is missing is an error that names it.
//
// stage         makes                          needs                     inputs
// build         tree/ and licenses/            "package NAME"…           recipe (NativeBuild), script,
// source,
//                                                                        recipe folder, packages, env, tools
// conda         .conda, .tar.bz2               "staged tree"             recipe, recipe file, recipe folder,
//                                                                        formats, run exports
// wheel         .whl                           "staged tree"             recipe, wanted
// repack-conda  .conda, .tar.bz2 of a wheel                              artifact, formats, layout, …
// repack-wheel  .whl of a conda package                                  artifact, layout, distribution
// check         nothing; findings              "artifacts"               allow unresolved, prefix may stay
// test          nothing; findings              "artifacts", "package …"  recipe, recipe folder, packages,
//                                                                        env, tools
// publish       names in the output folder     all of a variant
// index         index files                    all publications
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
