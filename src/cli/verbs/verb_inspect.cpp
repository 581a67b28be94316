// ptpkg inspect and diff. Layer: cli. Both make one document for --json, and text and page are views of it.
// Findings of inspect don't change its exit code: it shows what is there, and 'ptpkg check' judges.

#include <fmt/core.h>
#include <memory>
#include <optional>
#include <set>

#include "cli/output/findings.h"
#include "cli/output/inspect_text.h"
#include "cli/output/page_file.h"
#include "cli/verbs/verbs.h"
#include "pipeline/commands/inspect.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

constexpr std::string_view kOnPage = "size map, library graph, tables";

struct InspectFlags {
  std::vector<std::string> artifacts;
  std::optional<std::string> html;
  bool graph = false;
  std::uint64_t rows = 10;
  pipeline::InspectRequest request;
  std::set<std::string> given;  ///< Long names of the options on the command line.
};

void PrintInspection(Context& context, const InspectFlags& flags, const Json& document, Report report) {
  // Text has paths as people type them. Documents have absolute ones, which hold in any directory.
  report.subject = context.Shown(report.subject);
  context.Print(report.subject);
  for (const std::string& line : InspectLines(document, {.rows = flags.rows, .graph = flags.graph})) {
    context.Print(line);
  }
  // A quick look checks nothing, and 'no findings' would be a claim.
  if (!flags.request.quick) context.Print("findings: " + CountFindings({report}));
  PrintFindings(context, {report});
}

/// Errors: kUsage for a flag that has no meaning beside --quick.
Result<void> CheckQuick(const InspectFlags& flags) {
  if (!flags.request.quick) return Ok();
  for (const char* name : {"--graph", "--device-code", "--allow-unresolved", "--dependency"}) {
    if (!flags.given.contains(name)) continue;
    return Error(ErrorCode::kUsage, fmt::format("{} needs ELF files, which --quick does not read", name))
        .WithHint(fmt::format("leave out --quick or {}", name));
  }
  return Ok();
}

Result<ExitCode> RunInspect(Context& context, const InspectFlags& flags) {
  PTPKG_CHECK(CheckQuick(flags));
  pipeline::InspectRequest request = flags.request;
  PTPKG_TRY(request.artifacts, ResolveEach(context, flags.artifacts));
  PTPKG_TRY(const std::optional<AbsPath> page, PageFile(context, flags.html));
  PTPKG_TRY(pipeline::InspectSummary summary, pipeline::Inspect(context.env(), request));
  Json list = Json::array();
  for (pipeline::InspectOutcome& outcome : summary.outcomes) {
    if (!context.json()) PrintInspection(context, flags, *outcome.document, outcome.report);
    Json item = std::move(*outcome.document);
    // Null, and not an empty list: nobody has looked.
    item["findings"] = request.quick ? Json(nullptr) : FindingsToJson({outcome.report});
    list.push_back(std::move(item));
  }
  if (summary.failure) {  // the others were looked at
    if (!list.empty()) context.SetErrorDetails({{"outcomes", std::move(list)}});
    return *std::move(summary.failure);
  }
  // Before the result, so that a page that can't be written leaves one document on stdout: the error.
  PTPKG_CHECK(WritePage(context, page, list));
  if (context.json()) context.PrintJson(list);
  return kDone;
}

struct DiffFlags {
  std::string before;
  std::string after;
  std::optional<std::string> html;
  std::uint64_t rows = 10;
};

Result<ExitCode> RunDiff(Context& context, const DiffFlags& flags) {
  PTPKG_TRY(const AbsPath before, ResolveInput(context, flags.before));
  PTPKG_TRY(const AbsPath after, ResolveInput(context, flags.after));
  PTPKG_TRY(const std::optional<AbsPath> page, PageFile(context, flags.html));
  PTPKG_TRY(const pipeline::DiffOutcome outcome, pipeline::Diff(context.env(), before, after));
  // As diff(1): 1 for any difference, even one that no installer sees. A script that compares two builds
  // needs that.
  const ExitCode code = outcome.identical ? kDone : kCheckFound;
  PTPKG_CHECK(WritePage(context, page, *outcome.document));
  if (context.json()) {
    context.PrintJson(*outcome.document);
    return code;
  }
  for (const std::string& line : DiffLines(*outcome.document, {.rows = flags.rows})) context.Print(line);
  // stdout stays empty for equal files, as with diff(1).
  if (outcome.identical) context.env().reporter.Note("the two files are identical");
  return code;
}

Option RowsOption(std::uint64_t& rows) {
  return {.names = "--rows",
          .value = "NUMBER",
          .help = "Show this many rows of each list",
          .target = Number{.value = &rows, .least = 1},
          .default_text = "10"};
}

}  // namespace

Verb InspectVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<InspectFlags>();
  pipeline::InspectRequest& request = flags->request;
  return {
      .name = "inspect",
      .summary = "Show the contents of packages, wheels and zips",
      .known_as = {"info", "list", "ls", "show"},
      .options =
          {{.names = "ARTIFACT", .help = ".conda, .tar.bz2, .whl or .zip file", .target = &flags->artifacts},
           {.names = "--quick", .help = "Read only the file list and the metadata", .target = &request.quick},
           {.names = "--graph",
            .help = "List every needed library and how ld.so finds it",
            .target = &flags->graph},
           RowsOption(flags->rows),
           HtmlOption(flags->html, kOnPage),
           {.names = "--device-code",
            .value = "LIST",
            .help = "Expect these GPU architectures; may be repeated",
            .target = &request.device_code,
            .default_text = "the package's own"},
           {.names = "--allow-unresolved",
            .value = "GLOB",
            .help = "Accept these libraries as provided; may be repeated",
            .target = &request.allow_unresolved},
           {.names = "--dependency",
            .value = "NAME",
            .help = "Add a dependency to the declared ones; may be repeated",
            .target = &request.dependencies}},
      .notes =
          "All sizes are unpacked sizes. Findings of ptpkg check are shown and do not "
          "change the exit code. --json lists all files, sections and libraries. --quick skips ELF "
          "files, GPU code and findings.",
      .examples = {"ptpkg inspect dist/wheels/*.whl --html wheels.html",
                   "ptpkg inspect --quick --json torch-2.15.0-*.whl",
                   "ptpkg inspect --graph --device-code '9.0;10.0+PTX' toy-1.0-0.conda"},
      .run = [flags](Context& context) { return RunInspect(context, *flags); },
      .given = &flags->given};
}

Verb DiffVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<DiffFlags>();
  return {.name = "diff",
          .summary = "Compare two packages, wheels or zips",
          .known_as = {"compare"},
          .options = {{.names = "OLD", .help = "First artifact", .target = &flags->before},
                      {.names = "NEW", .help = "Second artifact, of any format", .target = &flags->after},
                      RowsOption(flags->rows),
                      HtmlOption(flags->html, kOnPage)},
          .notes =
              "Files are paired by path, then by content, then by name without hash and version; "
              "a wheel and a conda package are paired by installed path. Changed text files have a "
              "unified diff. Changed ELF files list their differing sections, header fields, embedded "
              "paths and symbols. Exit codes: 0 identical, 1 different (even if only in packaging), "
              "3 not an artifact, 4 no such file.",
          .examples = {"ptpkg diff old/toy-1.0-0.conda dist/conda/linux-64/toy-1.0-0.conda",
                       "ptpkg diff --json torch-2.14.1-*.whl torch-2.15.0-*.whl"},
          .run = [flags](Context& context) { return RunDiff(context, *flags); }};
}

}  // namespace ptpkg::cli
