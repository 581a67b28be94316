#pragma once
// Uploads to anaconda.org and compatible servers. Layer: publish. The order of requests is anaconda-client's
// 1.16 (docs/publishing.md shows it).

#include "publish/remote.h"

namespace ptpkg::publish {

inline constexpr const char* kAnacondaOrg = "https://api.anaconda.org";

struct AnacondaPlace {
  std::string api = {};    ///< Base URL of the interface, without '/' at its end.
  std::string owner = {};  ///< User or organisation.
  std::string label = {};  ///< "" = the server's default, "main".
};

/// Errors: kInvalidInput (no URL).
Result<std::unique_ptr<Remote>> MakeAnaconda(Env& env, AnacondaPlace place);

}  // namespace ptpkg::publish
