#include "support/process/core_dumps.h"

#include <sys/prctl.h>

#include "support/assert.h"

namespace ptpkg {

void ForbidCoreDumps() {
  // The call fails only for values other than 0 and 1.
  const int forbidden = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  PTPKG_ASSERT(forbidden == 0);
}

}  // namespace ptpkg
