#pragma once
// Times and reasons of stage runs. Layer: model.

#include <cstdint>
#include <map>
#include <string>

#include "support/text/json_fwd.h"

namespace ptpkg {

struct StageTime {
  std::string stage;
  std::string subject;
  bool ran = false;
  std::string reason = {};   ///< Why it ran, or why not.
  double begin_seconds = 0;  ///< After the run's begin; 0 if it did not run.
  double seconds = 0;
  std::map<std::string, std::uint64_t> counts =
      {};  ///< Counters of the stage: {"ccache_hits": 88, "ccache_misses": 2}.
};

Json StageTimeToJson(const StageTime& time);

}  // namespace ptpkg
