#include "pipeline/commands/html_page.h"

#include <fmt/core.h>
#include <memory>
#include <span>
#include <string>

#include "inspect/document_page.h"
#include "support/text/json.h"

namespace ptpkg::pipeline {

Result<void> CheckPageFile(Env& env, const AbsPath& file) {
  PTPKG_TRY(const bool there, Exists(env.fs, file));
  if (!there) return Ok();
  PTPKG_TRY(const std::unique_ptr<File> old, env.fs.Open(file, OpenMode::kRead));
  std::string beginning(inspect::HtmlPageBeginning().size(), '\0');
  PTPKG_TRY(const std::size_t size, old->ReadAt(0, std::as_writable_bytes(std::span(beginning))));
  if (std::string_view(beginning).substr(0, size) == inspect::HtmlPageBeginning()) return Ok();
  return Error(ErrorCode::kAlreadyExists,
               fmt::format("'{}' is not a page written by ptpkg; it was not replaced", file.str()))
      .WithHint("choose another file with --html FILE, or remove this one");
}

Result<void> WriteHtmlPage(Env& env, const AbsPath& file, const Json& document) {
  PTPKG_CHECK(CheckPageFile(env, file));
  PTPKG_TRY(const std::string page, inspect::HtmlPage(document));
  PTPKG_CHECK(env.fs.MakeDirs(file.Parent()));
  return WriteFile(env.fs, file, page);
}

}  // namespace ptpkg::pipeline
