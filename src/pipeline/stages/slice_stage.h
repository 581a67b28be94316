#pragma once
// Slices packages as requested by extra.ptpkg.slices. Layer: pipeline. They are made by the code of `ptpkg
// slice` (pipeline/slice/slice.h).

#include <set>
#include <string>

#include "graph/stage.h"
#include "recipe/recipe.h"

namespace ptpkg::pipeline {

/// True if artifacts of `pack` can be sliced: conda packages and wheels.
bool CanSlice(const graph::Node& pack);

/// Adds the node that makes `slices` of the artifacts of `pack`, once `after` have passed. Returns its id.
/// REQUIRES: `pack` is in the plan, CanSlice, and `slices.gpus` is not empty.
std::string AddSlicing(const graph::StageTable& stages, const recipe::GpuSlices& slices,
                       const std::string& pack, std::set<std::string> after, graph::Plan& plan);

/// The node that packs what `id` slices; of another node, itself. REQUIRES: it is in the plan.
const graph::Node& WholeOf(const graph::Plan& plan, const std::string& id);

}  // namespace ptpkg::pipeline
