// ptpkg check and index. Layer: cli.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "cli/verbs.h"
#include "pipeline/check.h"

namespace ptpkg::cli {

namespace {

Result<std::vector<AbsPath>> ResolveAll(const Context& context, const std::vector<std::string>& texts) {
  std::vector<AbsPath> paths;
  for (const std::string& text : texts) {
    PTPKG_TRY(AbsPath path, context.Path(text));
    paths.push_back(std::move(path));
  }
  return paths;
}

Result<ExitCode> RunCheck(Context& context, const std::vector<std::string>& texts) {
  PTPKG_TRY(const std::vector<AbsPath> paths, ResolveAll(context, texts));
  PTPKG_TRY(const std::vector<Report> reports, pipeline::Check(context.env(), paths));
  if (context.json()) {
    PrintResult(FindingsToJson(reports).dump(2));
  } else {
    PrintFindings(reports);
    for (const Report& report : reports) {
      PrintResult(fmt::format("{}: {}", report.subject, report.HasErrors() ? "errors" : "ok"));
    }
  }
  const bool errors =
      std::any_of(reports.begin(), reports.end(), [](const Report& report) { return report.HasErrors(); });
  return errors ? kCheckFound : kDone;
}

Result<ExitCode> RunIndex(Context& context, const std::string& text) {
  PTPKG_TRY(const AbsPath folder, context.Path(text));
  PTPKG_TRY(const pipeline::IndexOutcome outcome, pipeline::Index(context.env(), folder));
  if (context.json()) {
    Json written = Json::array();
    for (const AbsPath& path : outcome.written) written.push_back(path.str());
    PrintResult(Json({{"packages", outcome.packages}, {"written", written}}).dump(2));
    return kDone;
  }
  for (const AbsPath& path : outcome.written) PrintResult(path.str());
  context.env().reporter.Note(
      fmt::format("{} packages, {} index files written", outcome.packages, outcome.written.size()));
  return kDone;
}

}  // namespace

void AddCheckVerb(CLI::App& app, Action& action) {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto paths = std::make_shared<std::vector<std::string>>();
  CLI::App* verb =
      app.add_subcommand("check", "Check packages, wheels or folders as their consumers read them");
  verb->add_option("A", *paths, ".conda, .tar.bz2 and .whl files, or folders of files")->required();
  verb->footer(
      "Flags of every verb: see ptpkg --help\n\nExample:\n  ptpkg check dist/wheels/*.whl "
      "dist/conda/linux-64/*.conda");
  verb->callback(
      [&action, paths] { action = [paths](Context& context) { return RunCheck(context, *paths); }; });
}

void AddIndexVerb(CLI::App& app, Action& action) {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto folder = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("index", "Write the index of a conda channel or of a folder of wheels");
  verb->add_option("DIR", *folder, "Folder with conda subdirs, or with wheels")->required();
  verb->footer("Flags of every verb: see ptpkg --help\n\nExample:\n  ptpkg index dist/conda");
  verb->callback(
      [&action, folder] { action = [folder](Context& context) { return RunIndex(context, *folder); }; });
}

}  // namespace ptpkg::cli
