#pragma once
// Estimates the remaining time of a script that counts steps. Layer: builder.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "builder/script/step_count.h"
#include "support/env.h"

namespace ptpkg::builder {

/// Distribution of one run's time over its steps. The steps of a build differ: PyTorch's take from 1 to 60 s,
/// and the long ones are spread unevenly.
struct StepRecord {
  struct Part {
    std::uint64_t steps = 0;
    double start = 0;    ///< Seconds from the start of the script to its first step.
    double seconds = 0;  ///< From there to its last step.
    /// 21 shares of `seconds`, rising from 0 to 1: the share of it that had passed when 0, 5, … 100 % of the
    /// steps were done.
    std::vector<double> curve = {};
  };
  double seconds = 0;  ///< The whole script.
  int jobs = 1;        ///< Number of jobs that the script got.
  std::vector<Part> parts = {};
};

/// The record of the last run of `subject` ("NAME-VERSION-BUILD"), else of the newest run of another version
/// or build of NAME. nullopt when there is none, or it is damaged. The record is in the cache, at
/// stages/records/<subject>/build-steps.json; it affects only numbers that people read.
std::optional<StepRecord> ReadStepRecord(Env& env, const std::string& subject);
/// Warns when it cannot write the record.
void WriteStepRecord(Env& env, const std::string& subject, const StepRecord& record);

class StepEstimate {
 public:
  StepEstimate(std::optional<StepRecord> last, int jobs) : last_(std::move(last)), jobs_(jobs) {}

  /// Progress to report `seconds` after the start of the script. Times never go back.
  StepProgress At(const StepCount::State& state, double seconds);

  /// The record of this run, which has succeeded after `seconds`. nullopt when it would be a worse guess than
  /// the last one: it counted nothing, or under half of the steps, like a resumed build.
  [[nodiscard]] std::optional<StepRecord> Finish(double seconds) const;

 private:
  struct Sample {
    double seconds;
    std::uint64_t done;
  };
  struct RunningPart {
    std::uint64_t total = 0;
    std::vector<Sample> samples = {};
  };
  void Remember(const StepCount::State& state, double seconds);
  [[nodiscard]] double PerMinute() const;
  [[nodiscard]] std::optional<double> SecondsLeft(const StepCount::State& state, double seconds) const;
  [[nodiscard]] std::optional<double> SecondsLeftByRecord(const StepCount::State& state,
                                                          double seconds) const;
  [[nodiscard]] std::optional<double> SecondsLeftByRate(const StepCount::State& state, double seconds) const;

  std::optional<StepRecord> last_;
  int jobs_;
  std::vector<RunningPart> parts_;
  std::deque<Sample> minute_;  // of the running part
  double share_ = 0;
};

}  // namespace ptpkg::builder
