#pragma once
// Notes one stage of one subject in the summary, with its time and the reason. Layer: pipeline.

#include <chrono>
#include <string>

#include "pipeline/build.h"
#include "support/env.h"

namespace ptpkg::pipeline {

class StageTimer {
 public:
  StageTimer(Env& env, BuildSummary& summary, std::string stage, std::string subject)
      : env_(env),
        summary_(summary),
        stage_(std::move(stage)),
        subject_(std::move(subject)),
        start_(env.clock.Now()) {}

  void Ran(std::string reason) { Add(true, std::move(reason)); }
  void Skipped(std::string reason) {
    // Stages that run report themselves as tasks; a stage that does not run is told here.
    Task(env_.reporter, {.stage = stage_, .subject = subject_}).Skipped(reason);
    Add(false, std::move(reason));
  }

 private:
  void Add(bool ran, std::string reason) {
    const std::chrono::duration<double> elapsed = env_.clock.Now() - start_;
    summary_.stages.push_back({.stage = stage_,
                               .subject = subject_,
                               .ran = ran,
                               .reason = std::move(reason),
                               .seconds = elapsed.count()});
  }

  Env& env_;
  BuildSummary& summary_;
  std::string stage_;
  std::string subject_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace ptpkg::pipeline
