#include "pipeline/plan/first_failure.h"

#include <algorithm>
#include <array>

namespace ptpkg::pipeline {

bool FirstFailure::Add(Env& env, Error error) {
  // The next artifact can be sound. Any other error (disk, network, interrupt) would meet it as well.
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
