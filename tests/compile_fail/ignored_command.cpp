// A command that may fail cannot be dropped either.
// expected: ignoring returned value of type

#include "support/result.h"

namespace ptpkg {
Result<void> Remove();

Result<void> Drop() {
#ifdef MUST_NOT_COMPILE
  Remove();
#else
  PTPKG_CHECK(Remove());
#endif
  return Ok();
}
}  // namespace ptpkg
