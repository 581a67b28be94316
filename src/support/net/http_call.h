#pragma once
// One request with any method, by libcurl. Layer: support, private to it.

#include "support/net/http.h"

namespace ptpkg {

/// Http::Call, and its errors.
Result<HttpAnswer> CallByCurl(const HttpCall& call, const HttpLimits& limits);

}  // namespace ptpkg
