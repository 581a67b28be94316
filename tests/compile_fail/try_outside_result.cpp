// PTPKG_TRY passes the error on: a function that has no way to return one cannot use it.
// expected: return-statement with a value, in function returning 'void'

#include "support/result.h"

namespace ptpkg {
Result<int> Count();

#ifdef MUST_NOT_COMPILE
void Use() {
  PTPKG_TRY(const int count, Count());
  static_cast<void>(count);
}
#else
Result<int> Use() {
  PTPKG_TRY(const int count, Count());
  return count;
}
#endif
}  // namespace ptpkg
