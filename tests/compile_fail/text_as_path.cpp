// Text from outside becomes a path only through Parse(), which refuses "..", NUL and the like.
// expected: private within this context

#include <string>

#include "support/path.h"

namespace ptpkg {
Result<RelPath> Name(const std::string& text) {
#ifdef MUST_NOT_COMPILE
  return RelPath(text);
#else
  return RelPath::Parse(text);
#endif
}
}  // namespace ptpkg
