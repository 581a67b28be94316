#pragma once
// Uploads to PyPI-compatible package indexes. Layer: publish. Sources: PyPI's upload API documentation, PEP
// 503, PEP 691. twine 7.0 and uv 0.13 send the same form.

#include "publish/remote.h"

namespace ptpkg::publish {

struct IndexPlace {
  std::string name = {};    ///< The user's name for it: a section of ~/.pypirc.
  std::string upload = {};  ///< URL that files are posted to.
  std::string simple = {};  ///< Base URL of its simple index, without '/' at its end.
};

/// Errors: kInvalidInput (not a URL).
Result<std::unique_ptr<Remote>> MakePackageIndex(Env& env, IndexPlace place);

}  // namespace ptpkg::publish
