#include "model/stage_time.h"

#include "support/text/json.h"

namespace ptpkg {

Json StageTimeToJson(const StageTime& time) {
  Json json = {{"stage", time.stage},
               {"subject", time.subject},
               {"ran", time.ran},
               {"reason", time.reason},
               {"begin_seconds", time.begin_seconds},
               {"seconds", time.seconds}};
  if (!time.counts.empty()) json["counts"] = time.counts;
  return json;
}

}  // namespace ptpkg
