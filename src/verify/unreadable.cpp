#include "verify/unreadable.h"

namespace ptpkg::verify {

Result<void> UnreadableFinding(Error error, std::vector<Finding>& findings) {
  switch (error.code()) {
    case ErrorCode::kCorrupt:
    case ErrorCode::kInvalidInput:
    case ErrorCode::kUnsupported:
    case ErrorCode::kHashMismatch:
      // The container's own check may have said so.
      std::erase_if(findings, [&](const Finding& other) { return other.message == error.message(); });
      findings.push_back({"artifact-unreadable", Severity::kError, "", error.message(),
                          "fetch or rebuild the artifact; don't install it"});
      return Ok();
    default:
      return error;
  }
}

}  // namespace ptpkg::verify
