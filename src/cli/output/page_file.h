#pragma once
// The flag --html of `ptpkg inspect`, `diff` and `slice`. Layer: cli.

#include <optional>
#include <string>
#include <string_view>

#include "cli/command_line.h"
#include "cli/context.h"
#include "support/text/json_fwd.h"

namespace ptpkg::cli {

/// `shows`: the content of the page: "size map, tables".
Option HtmlOption(std::optional<std::string>& html, std::string_view shows);

/// The file of --html, if given and writable; checked before the work. Errors: kUsage, and as
/// pipeline::CheckPageFile.
Result<std::optional<AbsPath>> PageFile(Context& context, const std::optional<std::string>& flag);

/// Writes the page of `document` if `file` is given, and reports it. Errors: as pipeline::WriteHtmlPage.
Result<void> WritePage(Context& context, const std::optional<AbsPath>& file, const Json& document);

}  // namespace ptpkg::cli
