// A Result with a value cannot be dropped.
// expected: ignoring returned value of type

#include "support/result.h"

namespace ptpkg {
Result<int> Count();

void Drop() {
#ifdef MUST_NOT_COMPILE
  Count();
#else
  static_cast<void>(Count());
#endif
}
}  // namespace ptpkg
