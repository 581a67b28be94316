#pragma once
// Where the repository lies on this machine. Only paths.cpp is compiled with it, so that a compiler cache
// serves every other test source in any clone.

#include "support/path.h"

namespace ptpkg::test {

/// The root of the source tree.
AbsPath Repository();
/// Its directory "fixtures".
AbsPath Fixtures();

}  // namespace ptpkg::test
