#include "pipeline/plan/first_failure.h"

#include <algorithm>
#include <array>

namespace ptpkg::pipeline {

bool FirstFailure::Add(Env& env, Error error) {
  constexpr std::array<ErrorCode, 4> kOfOneArtifact = {ErrorCode::kInvalidInput, ErrorCode::kCorrupt,
                                                       ErrorCode::kUnsupported, ErrorCode::kNotFound};
  const bool go_on =
      std::find(kOfOneArtifact.begin(), kOfOneArtifact.end(), error.code()) != kOfOneArtifact.end();
  if (!first_) {
    first_ = std::move(error);
  } else {
    env.reporter.Warn(error.message());
  }
  return go_on;
}

}  // namespace ptpkg::pipeline
