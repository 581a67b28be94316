#pragma once
// Collects errors of independent artifacts and returns the first. Layer: pipeline.

#include <optional>

#include "support/env.h"

namespace ptpkg::pipeline {

/// One artifact that cannot be looked at does not keep the others from it: the first failure is what the run
/// ends with, and the later ones are warned of.
class FirstFailure {
 public:
  /// Returns true if the next artifact is to be examined: unless the run was cancelled, or the machine fails.
  bool Add(Env& env, Error error);

  /// nullopt: there was none.
  [[nodiscard]] std::optional<Error> Take() && { return std::move(first_); }

 private:
  std::optional<Error> first_;
};

}  // namespace ptpkg::pipeline
