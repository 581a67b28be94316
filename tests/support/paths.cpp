#include "support/paths.h"

namespace ptpkg::test {

AbsPath Repository() { return AbsPath::Literal(PTPKG_REPOSITORY); }
AbsPath Fixtures() { return Repository() / "fixtures"; }

}  // namespace ptpkg::test
