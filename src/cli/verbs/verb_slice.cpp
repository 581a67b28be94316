// ptpkg slice. Layer: cli. The report explains sizes: bytes by file and architecture, before and after, and
// the reason for each file that a slice does not change. Notes and tables go to stderr, the paths of the
// slices to stdout.

#include <fmt/core.h>
#include <memory>
#include <set>

#include "cli/output/page_file.h"
#include "cli/output/size_table.h"
#include "cli/verbs/verbs.h"
#include "pipeline/slice/slice.h"
#include "support/text/json.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

struct SliceFlags {
  std::string artifact;
  std::string output;
  std::string ptx = "drop";
  std::optional<std::string> html;
  pipeline::SliceRun run;
};

Json ReasonJson(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json CodeJson(const pipeline::CodeSizes& code) {
  Json sizes = Json::object();
  for (const auto& [name, size_bytes] : code) sizes[name] = size_bytes;
  return sizes;
}

Json SliceJson(const pipeline::SliceOfArtifact& slice, bool dry_run) {
  Json files = Json::array();
  for (const pipeline::FileInSlice& file : slice.files) {
    Json gaps = Json::object();
    for (const auto& [gpu, containers] : file.gaps) gaps[gpu] = containers;
    Json whole = Json::array();
    for (const pipeline::WholeContainer& one : file.whole) {
      whole.push_back({{"member", ReasonJson(one.member)},
                       {"section", one.section},
                       {"offset", one.offset},
                       {"code", CodeJson(one.code)},
                       {"gpus", one.gpus}});
    }
    files.push_back({{"path", file.path},
                     {"size", file.size_bytes},
                     {"code", CodeJson(file.code)},
                     {"form", ReasonJson(file.form)},
                     // Two reasons: in place although --compact was given, and unchanged.
                     {"not_compact", ReasonJson(file.not_compact)},
                     {"kept_because", ReasonJson(file.kept_because)},
                     {"gaps", gaps},
                     {"whole", whole}});
  }
  return {{"gpus", slice.gpus},
          {"to", slice.to.str()},
          // The size of a package is known once it is packed, which a dry run does not do.
          {"size", dry_run ? Json(nullptr) : Json(slice.size_bytes)},
          {"files", files}};
}

Json SliceOutcomeJson(const pipeline::SliceOutcome& outcome, bool dry_run) {
  Json files = Json::array();
  for (const pipeline::SliceableFile& file : outcome.files) {
    files.push_back({{"path", file.path},
                     {"size", file.size_bytes},
                     {"code", CodeJson(file.code)},
                     {"kept_because", ReasonJson(file.kept_because)}});
  }
  Json slices = Json::array();
  for (const pipeline::SliceOfArtifact& slice : outcome.slices) slices.push_back(SliceJson(slice, dry_run));
  Json fallback = nullptr;
  if (outcome.fallback) fallback = SliceJson(*outcome.fallback, dry_run);
  return {{"from", outcome.from.str()},
          {"size", outcome.size_bytes},
          {"files", files},
          {"slices", slices},
          {"fallback", fallback}};
}

/// One row for each architecture that the file has, or had.
std::vector<SizeRow> CodeRows(const pipeline::CodeSizes& before, const pipeline::CodeSizes& after) {
  std::vector<SizeRow> rows;
  // By the original: a slice never gains an architecture.
  for (const auto& [name, size_bytes] : before) {
    // An architecture that is gone still has a row: its bytes are the gain.
    const auto kept = after.find(name);
    rows.push_back(
        {.name = "    " + name,
         .cells = {HumanBytes(size_bytes), "->", kept == after.end() ? "0 B" : HumanBytes(kept->second)}});
  }
  return rows;
}

/// "libtoy.a(a.o), .nv_fatbin at 1024 (sm_75, sm_80)"
std::string PlaceOf(const pipeline::WholeContainer& whole) {
  // A container has no name. Section and offset find it, and in an archive its member.
  std::vector<std::string> names;
  for (const auto& [name, size_bytes] : whole.code) names.push_back(name);
  return fmt::format("{}{} at {} ({})",
                     whole.member.empty() ? "" : fmt::format("member '{}', ", whole.member), whole.section,
                     whole.offset, Join(names, ", "));
}

/// GPUs of the slice that lack machine code and PTX in some containers. These stay whole, so that programs
/// that ran before still run. The user should know, because they explain the size.
void NoteGaps(Reporter& reporter, const pipeline::FileInSlice& file) {
  constexpr std::size_t kNamed = 3;  // all of them are in the JSON
  for (const auto& [gpu, containers] : file.gaps) {
    reporter.Note(
        fmt::format("    kept whole, without code for {}: {}", gpu, Plural(containers, "container")));
  }
  for (std::size_t i = 0; i < std::min(kNamed, file.whole.size()); ++i)
    reporter.Note("      " + PlaceOf(file.whole[i]));
  if (file.whole.size() > kNamed) reporter.Note(fmt::format("      and {} more", file.whole.size() - kNamed));
}

void NoteFile(Reporter& reporter, const pipeline::SliceableFile& before, const pipeline::FileInSlice& after) {
  // An unchanged file needs its reason and no numbers, which would be equal.
  if (!after.kept_because.empty()) {
    reporter.Note(fmt::format("  {} stays as it is: {}", after.path, after.kept_because));
    NoteGaps(reporter, after);
    return;
  }
  const std::string title = fmt::format("  {}: {} -> {}, {}", after.path, HumanBytes(before.size_bytes),
                                        HumanBytes(after.size_bytes), after.form);
  for (const std::string& line : SizeTable(title, CodeRows(before.code, after.code))) reporter.Note(line);
  if (!after.not_compact.empty()) reporter.Note("    not compact: " + after.not_compact);
  NoteGaps(reporter, after);
}

void PrintSlices(Context& context, const pipeline::SliceOutcome& outcome, bool dry_run) {
  Reporter& reporter = context.env().reporter;
  for (const pipeline::SliceOfArtifact& slice : outcome.slices) {
    reporter.Note(fmt::format(
        "for {}:{}", Join(slice.gpus, " and "),
        dry_run ? std::string()
                : fmt::format(" {} -> {}", HumanBytes(outcome.size_bytes), HumanBytes(slice.size_bytes))));
    // A slice has the files of the artifact in the same order, changed or not.
    for (std::size_t i = 0; i < slice.files.size(); ++i) NoteFile(reporter, outcome.files[i], slice.files[i]);
    context.Print(slice.to.str());
  }
  // The null variant: the artifact itself, for machines that no slice fits.
  if (outcome.fallback) context.Print(outcome.fallback->to.str());
  reporter.Note(
      fmt::format("{} {}", Plural(outcome.slices.size(), "slice"), dry_run ? "would be written" : "written"));
}

Result<ExitCode> RunSlice(Context& context, const SliceFlags& flags) {
  pipeline::SliceRun run = flags.run;
  PTPKG_TRY(run.artifact, ResolveInput(context, flags.artifact));
  if (!flags.output.empty()) {
    PTPKG_TRY(run.output, context.Path(flags.output));
  }
  run.keep_ptx = flags.ptx == "keep";
  // Before the slices are made, and in a dry run too: there the page is a plan to read.
  PTPKG_TRY(const std::optional<AbsPath> page, PageFile(context, flags.html));
  PTPKG_TRY(const pipeline::SliceOutcome outcome, pipeline::Slice(context.env(), run));
  const Json document = SliceOutcomeJson(outcome, run.dry_run);
  // First: after a failure, the error is the only document on stdout.
  PTPKG_CHECK(WritePage(context, page, document));
  if (context.json()) {
    context.PrintJson(document);
  } else {
    PrintSlices(context, outcome, run.dry_run);
  }
  return kDone;
}

std::vector<Option> GpuOptions(SliceFlags& flags) {
  const std::string group = "GPUs";
  return {
      {.names = "--gpu",
       .value = "GPU",
       .help = "Make a slice for 9.0, or one for 8.0+8.6; may be repeated",
       .target = &flags.run.gpus,
       .group = group},
      {.names = "--all-archs",
       .help = "Make a slice for each GPU with machine code",
       .target = &flags.run.each,
       .group = group},
      {.names = "--ptx",
       .help = "Keep or drop the latest PTX, which later GPUs compile",
       .target = &flags.ptx,
       .choices = {"keep", "drop"},
       .default_text = "drop",
       .group = group},
      {.names = "--compact",
       .help = "Shrink linked files instead of writing zeros",
       .target = &flags.run.compact,
       .group = group},
      {.names = "--allow",
       .value = "GLOB",
       .help = "Also slice these NVIDIA libraries; may be repeated",
       .target = &flags.run.allow,
       .group = group},
  };
}

}  // namespace

Verb SliceVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<SliceFlags>();
  std::vector<Option> options = {{.names = "ARTIFACT",
                                  .help = "Wheel, conda package, library, object or static archive",
                                  .target = &flags->artifact}};
  for (Option& option : GpuOptions(*flags)) options.push_back(std::move(option));
  const std::vector<Option> rest = {
      {.names = "-o,--output",
       .value = "DIR",
       .help = "Write the slices to DIR",
       .target = &flags->output,
       .default_text = "beside the artifact"},
      {.names = "--variant",
       .help = "Write variant wheels (PEP 825 draft) and a null variant",
       .target = &flags->run.variant},
      {.names = "--cuda",
       .value = "VERSION",
       .help = "State this lowest CUDA version in variants: 13.0",
       .target = &flags->run.cuda,
       .default_text = "from the local version",
       .needs = "--variant"},
      {.names = "--force", .help = "Replace existing files", .target = &flags->run.force},
      {.names = "--dry-run",
       .help = "Show what would be done; write only --html",
       .target = &flags->run.dry_run},
      HtmlOption(flags->html, "sizes by slice, file, architecture")};
  options.insert(options.end(), rest.begin(), rest.end());
  return {.name = "slice",
          .summary = "Split a multi-GPU package into packages for one GPU each",
          .options = std::move(options),
          .notes =
              "Each fatbin keeps only the code that the target GPU can run: machine code of the same "
              "major and the highest minor number that is not above its own, else PTX. A fatbin "
              "without either stays whole and is listed. Each slice is compared with the original. "
              "NVIDIA's licence forbids changes to its libraries, so they stay unchanged.\n"
              "\n"
              "Names: the wheel toy-1.0+cu130 becomes toy-1.0+cu130.sm90, the conda package "
              "toy-1.0-h1_0 becomes toy-1.0-h1_0_sm90, a library goes to sm90/.\n"
              "\n"
              "Exit codes: 0 done, 1 new errors in a slice, 2 wrong command line, 3 damaged artifact, 4 no "
              "such file, 6 read or write error, 7 no code for a GPU, existing file, or changed input.",
          .examples = {"ptpkg slice torch-2.15.0+cu130-*.whl --gpu 9.0 --gpu 8.0+8.6 -o slices",
                       "ptpkg slice dist/conda/linux-64/toy-1.0-h1_0.conda --all-archs --ptx keep",
                       "ptpkg slice torch-2.15.0+cu130-*.whl --all-archs --dry-run --html slices.html",
                       "ptpkg slice libtoy.so --gpu 12.0 --dry-run --json"},
          .run = [flags](Context& context) { return RunSlice(context, *flags); }};
}

}  // namespace ptpkg::cli
