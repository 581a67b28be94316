// A name inside an archive is not a place on this machine: it has to be joined to one.
// expected: could not convert

#include "support/path.h"

namespace ptpkg {
void Write(AbsPath place);

void Extract(const AbsPath& folder, const RelPath& member) {
#ifdef MUST_NOT_COMPILE
  static_cast<void>(folder);
  Write(member);
#else
  Write(folder / member);
#endif
}
}  // namespace ptpkg
