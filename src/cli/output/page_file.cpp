// The flag --html of inspect, diff, slice and matrix. Their page shows the document of --json, so both have
// the same content (pipeline/commands/html_page.h). Layer: cli.

#include "cli/output/page_file.h"

#include <fmt/core.h>

#include "cli/verbs/verbs.h"
#include "pipeline/commands/html_page.h"

namespace ptpkg::cli {

Option HtmlOption(std::optional<std::string>& html, std::string_view shows) {
  return {.names = "--html",
          .value = "FILE",
          .help = fmt::format("Write an HTML page: {}", shows),
          .target = &html};
}

Result<std::optional<AbsPath>> PageFile(Context& context, const std::optional<std::string>& flag) {
  PTPKG_TRY(std::optional<AbsPath> file, ResolveFile(context, flag));
  // Before the work: reading large artifacts takes long, and the page comes last.
  if (file) PTPKG_CHECK(pipeline::CheckPageFile(context.env(), *file));
  return file;
}

Result<void> WritePage(Context& context, const std::optional<AbsPath>& file, const Json& document) {
  if (!file) return Ok();
  PTPKG_CHECK(pipeline::WriteHtmlPage(context.env(), *file, document));
  // A note on stderr, because stdout has the text or the document of the result.
  context.env().reporter.Note(fmt::format("'{}' written", context.Shown(file->str())));
  return Ok();
}

}  // namespace ptpkg::cli
