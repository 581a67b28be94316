// Every stage that plans may name. Layer: pipeline.

#include "pipeline/stages/stages.h"

namespace ptpkg::pipeline {

graph::StageTable MakeStages() {
  graph::StageTable stages;
  AddBuildStage(stages);
  AddOutputsStages(stages);
  AddPackStages(stages);
  AddRepackStages(stages);
  AddSliceStage(stages);
  AddSignStage(stages);
  AddPublishStages(stages);
  return stages;
}

}  // namespace ptpkg::pipeline
