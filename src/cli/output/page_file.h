#pragma once
// The flag --html of `ptpkg inspect`, `diff` and `slice`. Layer: cli.

#include <optional>
#include <string>
#include <string_view>

#include "cli/command_line.h"
#include "cli/context.h"
#include "support/text/json_fwd.h"

namespace ptpkg::cli {

/// `shows`: what is on the page: "size map, tables".
Option HtmlOption(std::optional<std::string>& html, std::string_view shows);

/// The file that --html names, if it is given and may be written: asked before the work. Errors: kUsage,
/// those of pipeline::CheckPageFile.
Result<std::optional<AbsPath>> PageFile(Context& context, const std::optional<std::string>& flag);

/// Writes the page of `document` where `file` is given, and says so. Errors: those of
/// pipeline::WriteHtmlPage.
Result<void> WritePage(Context& context, const std::optional<AbsPath>& file, const Json& document);

}  // namespace ptpkg::cli
