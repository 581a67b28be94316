#pragma once
// Registers all stages. Layer: pipeline. This file lists the inputs that each stage reads from its node. A
// missing place or input is an error that names it.
//
// - build: tree/ and licenses/. Needs "package NAME" for packages that the plan itself makes. Inputs: recipe
//   (NativeBuild), script, recipe directory, source, tools, env, packages, source_date_epoch. Option: sources
//   (plan_sources.h). A staging output leaves prefix.tar and work.tar instead, and its heirs need it as
//   "staging".
// - outputs: warnings about files that several outputs of a staging output hold, and files that none holds.
//   Needs "staging" and the builds that inherit it. Inputs: packages, zips (ZipOutput of the builds that have
//   a zip and no wheel)
// - conda: .conda, .tar.bz2. Needs "staged tree". Inputs: output (CondaOutput), recipe file, recipe
//   directory, formats, run exports, source_date_epoch
// - wheel: .whl. Needs "staged tree". Inputs: output (WheelOutput), wanted, materials (provenance.h),
//   source_date_epoch
// - zip: .zip. Needs "staged tree". Inputs: output (ZipOutput), source_date_epoch
// - repack-conda: .conda, .tar.bz2 of a wheel. Inputs: artifact, formats, layout, build string, build number,
//   python, source_date_epoch
// - repack-wheel: .whl of a conda package. Inputs: artifact, layout, distribution, source_date_epoch
// - repack-tree: .whl of a directory. Inputs: tree, layout, distribution, source_date_epoch
// - slice: conda packages and wheels for one GPU each. Needs "artifacts". Inputs: slices (gpus, ptx, allow;
//   for wheels variant, cuda), count (of artifacts), source_date_epoch
// - sign: signed statements, and signatures. Needs "artifacts", and "package …" for packages that the plan
//   itself makes and the build uses. Inputs: key (its id), definition, count (of artifacts). Place: sign key
// - check: findings. Needs "artifacts", "staged tree", "package NAME". Inputs: allow unresolved, prefix may
//   stay, packages (dependencies of a conda package)
// - test: findings. Needs "artifacts", "package NAME". Inputs: recipe, recipe directory, tools, env, packages
// - publish: names in the output directory. Needs the artifacts of one variant, its checks and tests
// - index: index files. Needs all publications
//
// Stages that write wheels also have the inputs of wheel_form.h: compression, platform, deflater; a zip has
// deflater, and so have slices of wheels.
//
// A stage that packs returns {"artifacts": [ArtifactRecord…], "forbidden": […], "unknown_requirements": […]}.
// Its files are directly in its directory, and a record's `path` is the path below the output directory.
// "forbidden" holds texts that no file of the artifacts may hold. Only repacking fills it, because a build
// returns them with its staged tree.

#include "graph/stage.h"

namespace ptpkg::pipeline {

void AddBuildStage(graph::StageTable& stages);
void AddOutputsStages(graph::StageTable& stages);
void AddPackStages(graph::StageTable& stages);    ///< conda, wheel, zip
void AddRepackStages(graph::StageTable& stages);  ///< repack-conda, repack-wheel, repack-tree
void AddSliceStage(graph::StageTable& stages);
void AddSignStage(graph::StageTable& stages);
void AddPublishStages(graph::StageTable& stages);  ///< check, test, publish, index

/// Makes all stages.
graph::StageTable MakeStages();

}  // namespace ptpkg::pipeline
