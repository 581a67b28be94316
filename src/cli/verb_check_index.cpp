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

struct CheckFlags {
  std::vector<std::string> paths;
  pipeline::CheckRequest request;
};

/// Per path: its findings, and what its ELF files need (docs/cli/check.md has the fields).
Json ToJson(const std::vector<pipeline::CheckOutcome>& outcomes) {
  Json list = Json::array();
  for (const pipeline::CheckOutcome& outcome : outcomes) {
    Json item = outcome.facts;
    item["subject"] = outcome.report.subject;
    item["profile"] = outcome.profile;
    item["ok"] = !outcome.report.HasErrors();
    item["findings"] = FindingsToJson({outcome.report});
    list.push_back(std::move(item));
  }
  return list;
}

Result<ExitCode> RunCheck(Context& context, const CheckFlags& flags) {
  pipeline::CheckRequest request = flags.request;
  PTPKG_TRY(request.paths, ResolveAll(context, flags.paths));
  PTPKG_TRY(const std::vector<pipeline::CheckOutcome> outcomes, pipeline::Check(context.env(), request));
  if (context.json()) {
    PrintResult(ToJson(outcomes).dump(2));
  } else {
    for (const pipeline::CheckOutcome& outcome : outcomes) {
      PrintFindings({outcome.report});
      PrintResult(
          fmt::format("{}: {}", outcome.report.subject, outcome.report.HasErrors() ? "errors" : "ok"));
      if (!outcome.floor.empty()) PrintResult(fmt::format("  {}", outcome.floor));
    }
  }
  const bool errors = std::any_of(outcomes.begin(), outcomes.end(),
                                  [](const auto& outcome) { return outcome.report.HasErrors(); });
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
  auto flags = std::make_shared<CheckFlags>();
  pipeline::CheckRequest& request = flags->request;
  CLI::App* verb =
      app.add_subcommand("check", "Check packages, wheels or folders as their consumers read them");
  verb->add_option("A", flags->paths, ".conda, .tar.bz2 and .whl files, or folders of files")->required();
  verb->add_option("--profile", request.profile,
                   "Where the artifacts go, which decides severities; by default what each name suggests")
      ->check(CLI::IsMember(pipeline::ProfileNames()));
  verb->add_option("--allow-unresolved", request.allow_unresolved,
                   "Library names that the environment provides; may be repeated")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  verb->add_option("--forbid-path", request.forbidden_paths, "Text that no file may hold; may be repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  verb->add_option("--dependency", request.dependencies,
                   "Package that the artifacts depend on, besides those they declare; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  verb->footer(
      "Exit codes: 0 no errors found, 1 errors found, 2 wrong command line, 3 not an artifact. Warnings do "
      "not\nchange it. docs/findings/<id>.md explains a finding.\nFlags of every verb: see ptpkg "
      "--help\n\nExample:\n  ptpkg check dist/wheels/*.whl dist/conda/linux-64/*.conda\n  ptpkg check "
      "--profile "
      "pytorch-index --dependency nvidia-cudnn-cu13 site-packages/torch");
  verb->callback(
      [&action, flags] { action = [flags](Context& context) { return RunCheck(context, *flags); }; });
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
