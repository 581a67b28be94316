// ptpkg inspect and diff. Layer: cli.

#include <fmt/core.h>
#include <memory>
#include <optional>

#include "cli/output/findings.h"
#include "cli/output/inspect_text.h"
#include "cli/output/page_file.h"
#include "cli/verbs/verbs.h"
#include "pipeline/commands/inspect.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

constexpr std::string_view kOnPage = "size map, graph of libraries, tables";

struct InspectFlags {
  std::vector<std::string> artifacts;
  std::optional<std::string> html;
  bool graph = false;
  std::uint64_t rows = 10;
  pipeline::InspectRequest request;
};

void PrintInspection(Context& context, const InspectFlags& flags, const Json& document, Report report) {
  report.subject = context.Shown(report.subject);
  context.Print(report.subject);
  for (const std::string& line : InspectLines(document, {.rows = flags.rows, .graph = flags.graph})) {
    context.Print(line);
  }
  if (!flags.request.quick) context.Print("findings: " + CountFindings({report}));
  PrintFindings(context, {report});
}

/// Errors: kUsage for a flag that has no meaning beside --quick.
Result<void> CheckQuick(const InspectFlags& flags) {
  const pipeline::InspectRequest& request = flags.request;
  if (!request.quick) return Ok();
  for (const auto& [name, given] :
       {std::pair("--graph", flags.graph), std::pair("--device-code", !request.device_code.empty()),
        std::pair("--allow-unresolved", !request.allow_unresolved.empty()),
        std::pair("--dependency", !request.dependencies.empty())}) {
    if (!given) continue;
    return Error(ErrorCode::kUsage,
                 fmt::format("{} has no meaning with --quick, which reads no ELF files and GPU code", name))
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
    item["findings"] = request.quick ? Json(nullptr) : FindingsToJson({outcome.report});
    list.push_back(std::move(item));
  }
  if (summary.failure) {  // the others were looked at
    if (!list.empty()) context.SetErrorDetails({{"outcomes", std::move(list)}});
    return *std::move(summary.failure);
  }
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
  PTPKG_TRY(const AbsPath before, context.Path(flags.before));
  PTPKG_TRY(const AbsPath after, context.Path(flags.after));
  PTPKG_TRY(const std::optional<AbsPath> page, PageFile(context, flags.html));
  PTPKG_TRY(const pipeline::DiffOutcome outcome, pipeline::Diff(context.env(), before, after));
  const ExitCode code = outcome.identical ? kDone : kCheckFound;
  PTPKG_CHECK(WritePage(context, page, *outcome.document));
  if (context.json()) {
    context.PrintJson(*outcome.document);
    return code;
  }
  for (const std::string& line : DiffLines(*outcome.document, {.rows = flags.rows})) context.Print(line);
  if (outcome.identical) context.env().reporter.Note("the two are equal, byte by byte");
  return code;
}

Option RowsOption(std::uint64_t& rows) {
  return {.names = "--rows",
          .value = "NUMBER",
          .help = "Rows of each list (default: 10)",
          .target = Number{.value = &rows, .least = 1}};
}

}  // namespace

Verb InspectVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<InspectFlags>();
  pipeline::InspectRequest& request = flags->request;
  return {
      .name = "inspect",
      .summary = "Show what is in packages, wheels and zips, and where their size comes from",
      .known_as = {"info", "list", "ls", "show"},
      .options =
          {{.names = "ARTIFACT",
            .help = ".conda, .tar.bz2, .whl and .zip files",
            .target = &flags->artifacts},
           {.names = "--quick",
            .help = "Read the directory and the metadata alone: no ELF files, GPU code and findings",
            .target = &request.quick},
           {.names = "--graph",
            .help = "List every library that each file needs, and the rule by which ld.so finds it",
            .target = &flags->graph},
           RowsOption(flags->rows),
           HtmlOption(flags->html, kOnPage),
           {.names = "--device-code",
            .value = "LIST",
            .help = "GPU architectures that are compared with those of each file, as of ptpkg check; may be "
                    "repeated (default: what the package says)",
            .target = &request.device_code},
           {.names = "--allow-unresolved",
            .value = "GLOB",
            .help = "Library names that the environment provides; may be repeated",
            .target = &request.allow_unresolved},
           {.names = "--dependency",
            .value = "NAME",
            .help =
                "Package that the artifacts depend on, in addition to those they declare; may be repeated",
            .target = &request.dependencies}},
      .notes =
          "Sizes are those of the unpacked files. Findings are those of ptpkg check, and do\n"
          "not change the exit code. With --json all files, sections and libraries are\n"
          "listed. A .tar.bz2 has no directory: --quick decompresses it up to the end of\n"
          "info/, and takes sizes from info/paths.json, as of a .conda.",
      .examples = {"ptpkg inspect dist/wheels/*.whl --html wheels.html",
                   "ptpkg inspect --quick --json torch-2.15.0-*.whl",
                   "ptpkg inspect --graph --device-code '9.0;10.0+PTX' toy-1.0-0.conda"},
      .run = [flags](Context& context) { return RunInspect(context, *flags); }};
}

Verb DiffVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<DiffFlags>();
  return {.name = "diff",
          .summary = "Compare two packages, wheels or zips",
          .known_as = {"compare"},
          .options = {{.names = "OLD", .help = "Artifact", .target = &flags->before, .words = 1},
                      {.names = "NEW", .help = "Artifact, also of another format", .target = &flags->after},
                      RowsOption(flags->rows),
                      HtmlOption(flags->html, kOnPage)},
          .notes =
              "Files are paired by path, then by content, then by name without hash and\n"
              "version; a wheel and a conda package are paired by installed path. Each changed\n"
              "text file has a unified diff. Each changed ELF file has a list of its sections,\n"
              "header fields, embedded paths and symbols that differ. File modes count as\n"
              "installers set them. Exit codes: 0 identical; 1 different, if only in packaging;\n"
              "3 not an artifact; 4 no such file.",
          .examples = {"ptpkg diff old/toy-1.0-0.conda dist/conda/linux-64/toy-1.0-0.conda",
                       "ptpkg diff --json torch-2.14.1-*.whl torch-2.15.0-*.whl"},
          .run = [flags](Context& context) { return RunDiff(context, *flags); }};
}

}  // namespace ptpkg::cli
