#pragma once
// Sets a machine up for a benchmark, and puts the settings back. Layer: pipeline. Needs root.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "pipeline/bench/machine_settings.h"

namespace ptpkg::pipeline {

/// The settings of a machine during a benchmark. One at a time on a machine.
class StableMachine {
 public:
  /// Sets what ReadCpuKnobs lists and, with `gpu_mhz`, locks the SM clock of all GPUs. The earlier values are
  /// on the disk before the first change. On an error everything is back. Errors:
  /// - kRefused: another run is active, a killed run left its settings, or a GPU's clock is limited already
  /// - kNotFound: no nvidia-smi, or no GPU
  /// - kIo: no permission, a full disk, or a value that does not take
  static Result<StableMachine> Set(Env& env, const std::set<int>& cpus, std::optional<std::uint64_t> gpu_mhz);

  /// Puts everything back, also after a cancellation. Errors: kIo; the record stays for RestoreMachine.
  Result<void> Restore() &&;
  [[nodiscard]] const std::vector<Knob>& changed() const { return changed_; }

 private:
  StableMachine(Env& env, std::unique_ptr<File> lock) : env_(&env), lock_(std::move(lock)) {}

  Env* env_;
  std::unique_ptr<File> lock_;
  std::vector<Knob> changed_;
};

/// Puts back what a killed run left; returns it. Empty: there was nothing, or the machine has been restarted
/// since. Errors: kRefused (a run is active), kIo, kInvalidInput (the record is damaged).
Result<std::vector<Knob>> RestoreMachine(Env& env);

}  // namespace ptpkg::pipeline
