#include "model/stage_time.h"

#include "support/json.h"

namespace ptpkg {

Json StageTimeToJson(const StageTime& time) {
  return {{"stage", time.stage},
          {"subject", time.subject},
          {"ran", time.ran},
          {"reason", time.reason},
          {"seconds", time.seconds}};
}

}  // namespace ptpkg
