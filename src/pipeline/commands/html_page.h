#pragma once
// Writes the --html page of `inspect`, `diff` and `slice`. Layer: pipeline.

#include "support/env.h"
#include "support/text/json_fwd.h"

namespace ptpkg::pipeline {

/// Checks before the work that WriteHtmlPage can write to `file`. Errors: kAlreadyExists for a file that
/// is something else than an earlier page, kInvalidInput for a directory, kIo.
Result<void> CheckPageFile(Env& env, const AbsPath& file);

/// Writes the page of `document` (inspect::HtmlPage), whole or not at all; makes the directories above it.
/// Errors: as CheckPageFile.
Result<void> WriteHtmlPage(Env& env, const AbsPath& file, const Json& document);

}  // namespace ptpkg::pipeline
