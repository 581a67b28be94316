// ptpkg ci. Layer: cli. Its recipe flags are read as for a build, because the workflow has a job for each
// variant that a build would make. Options of publishing are refused without --to: a workflow that drops them
// would publish nothing, and pass.

#include <algorithm>
#include <fmt/core.h>
#include <iterator>
#include <memory>
#include <set>

#include "cli/verbs/recipe_flags.h"
#include "cli/verbs/verbs.h"
#include "pipeline/commands/ci.h"
#include "pipeline/commands/publish.h"
#include "support/text/json.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

struct CiFlags {
  std::string service;
  RecipeFlags recipe;
  std::vector<std::string> formats;
  std::vector<std::string> images;
  std::vector<std::string> runners;
  std::string publish_on = "tag";
  std::string test = "run";
  std::string output;
  pipeline::CiRequest request;  ///< Fields that the parser fills itself.
  std::set<std::string> given;  ///< Long names of the options on the command line.
};

Result<std::vector<pipeline::CiRule>> RulesOf(const char* flag, const std::vector<std::string>& texts) {
  std::vector<pipeline::CiRule> rules;
  for (const std::string& text : texts) {
    PTPKG_TRY(pipeline::CiRule rule, pipeline::CiRule::Parse(flag, text));
    rules.push_back(std::move(rule));
  }
  return rules;
}

Result<pipeline::CiRequest> CiRequestOf(Context& context, const CiFlags& flags) {
  pipeline::CiRequest request = flags.request;
  request.service = flags.service == "github" ? pipeline::CiService::kGithub : pipeline::CiService::kGitlab;
  PTPKG_TRY(request.build, RequestOf(context, flags.recipe));
  PTPKG_TRY(request.build.formats, ParseFormats(flags.formats));
  request.build.test = flags.test == "run";
  // The sources twice: parsed for planning here, and as typed for the jobs, which parse them in their
  // checkout.
  PTPKG_TRY(request.sources, SplitAssignments("--source", flags.recipe.sources));
  PTPKG_TRY(request.images, RulesOf("--image", flags.images));
  PTPKG_TRY(request.runners, RulesOf("--runner", flags.runners));
  request.publish_on_branch = flags.publish_on == "branch";
  request.print = flags.output == "-";
  if (request.print) {
    for (const char* name : {"--check", "--dry-run", "--force"}) {
      if (!flags.given.contains(name)) continue;
      return Error(ErrorCode::kUsage,
                   "--check, --dry-run and --force need a file, but '--output -' writes to stdout");
    }
    request.check = request.dry_run = request.force = false;  // settings of a configuration file
  }
  if (!flags.output.empty() && !request.print) {
    PTPKG_TRY(request.output, context.Path(flags.output));
  }
  return request;
}

Json CiOutcomeToJson(const pipeline::CiOutcome& outcome, bool written) {
  Json jobs = Json::array();
  for (const pipeline::CiJob& job : outcome.jobs) {
    jobs.push_back({{"id", job.id}, {"arguments", job.arguments}, {"packages", job.packages}});
  }
  return {{"file", outcome.file ? Json(outcome.file->str()) : Json(nullptr)},
          {"written", written},
          // True if the file now has this text. A dry run of a new file has not written it.
          {"current", outcome.file && (written || !outcome.differs)},
          {"jobs", jobs},
          {"text", outcome.text}};
}

Result<ExitCode> RunCi(Context& context, const CiFlags& flags) {
  PTPKG_TRY(const pipeline::CiRequest request, CiRequestOf(context, flags));
  PTPKG_TRY(const pipeline::CiOutcome outcome, pipeline::WriteCi(context.env(), request));
  // With --check a difference is an error, so this point is not reached.
  const bool written = outcome.differs && !request.dry_run;
  if (context.json()) {
    context.PrintJson(CiOutcomeToJson(outcome, written));
    return kDone;
  }
  // With '--output -' the workflow is the result, and nothing else may be on stdout.
  if (!outcome.file) {
    context.Print(outcome.text.substr(0, outcome.text.size() - 1));  // Print adds the last line break
    return kDone;
  }
  context.Print(context.Shown(outcome.file->str()));
  context.env().reporter.Note(fmt::format("{}; {}", Plural(outcome.jobs.size(), "build job"),
                                          written           ? "written"
                                          : outcome.differs ? "would be written"
                                                            : "up to date"));
  return kDone;
}

/// The options of a recipe that decide what its jobs are.
std::vector<Option> VariantOptions(RecipeFlags& flags) {
  // The others name tools and directories of this machine, which a runner does not have.
  const std::set<std::string> taken = {"--variants", "--select", "--source", "--env"};
  std::vector<Option> options = RecipeOptions(flags, "");
  std::erase_if(options, [&](const Option& option) { return !taken.contains(option.names); });
  return options;
}

/// Options of publishing need --to by themselves (`needs`), so CLI11 refuses them without it.
std::vector<Option> CiOptions(CiFlags& flags) {
  pipeline::CiRequest& request = flags.request;
  std::vector<Option> options = {{.names = "SERVICE",
                                  .help = "CI service to write for",
                                  .target = &flags.service,
                                  .choices = {"github", "gitlab"}},
                                 {.names = "RECIPE",
                                  .help = "recipe.yaml or its directory, dependencies first",
                                  .target = &flags.recipe.recipes}};
  std::ranges::move(VariantOptions(flags.recipe), std::back_inserter(options));
  const std::vector<Option> own = {
      FormatOption(flags.formats),
      TestOption(flags.test),
      {.names = "--to",
       .value = "TARGET",
       .help = "Publish to TARGET once all jobs pass",
       .target = &request.to,
       .default_text = "nowhere"},
      {.names = "--server",
       .value = "URL",
       .help = "Publish to the server at URL",
       .target = &request.server,
       .needs = "--to"},
      {.names = "--check-url",
       .value = "URL",
       .help = "Look up uploaded files in the simple index at URL",
       .target = &request.check_url,
       .needs = "--to"},
      {.names = "--publish-on",
       .help = "Publish tags, or each push to the default branch",
       .target = &flags.publish_on,
       .choices = {"tag", "branch"},
       .default_text = "tag",
       .needs = "--to"},
      {.names = "--branch",
       .value = "NAME",
       .help = "Name the default branch; GitLab needs no name",
       .target = &request.branch,
       .default_text = "main"},
      {.names = "--image",
       .value = "IMAGE",
       .help = "Run jobs in this image with ptpkg; may be repeated",
       .target = &flags.images,
       .default_text = "CI variable PTPKG_IMAGE"},
      {.names = "--runner",
       .value = "LABELS",
       .help = "Run jobs on runners with these labels; may be repeated",
       .target = &flags.runners,
       .default_text = "ubuntu-24.04 on GitHub"},
      // The job ends later than its build, so that its cache is saved and the next run resumes (docs/ci.md).
      {.names = "--timeout",
       .value = "MINUTES",
       .help = "Stop a build after MINUTES, its job 25 later",
       .target = Number{.value = &request.timeout_minutes, .least = 1, .most = 100000},
       .default_text = "330"},
      {.names = "--cache-size",
       .value = "SIZE",
       .help = "Clean the cache of a job down to SIZE",
       .target = &request.cache_size,
       .default_text = "5G"},
      {.names = "-o,--output",
       .value = "FILE",
       .help = "Write the workflow to FILE, or to stdout with -",
       .target = &flags.output,
       .default_text = "the service's usual file"},
      // For the first job of the workflow itself: a new variant has no job until somebody writes the file
      // again.
      {.names = "--check", .help = "Fail if the file is outdated", .target = &request.check},
      {.names = "--dry-run", .help = "Show what would be written", .target = &request.dry_run},
      // ptpkg knows an edited file by the digest in its first line.
      {.names = "--force", .help = "Replace a file that was edited by hand", .target = &request.force}};
  options.insert(options.end(), own.begin(), own.end());
  return options;
}

}  // namespace

Verb CiVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<CiFlags>();
  return {.name = "ci",
          .summary = "Write a CI workflow that builds, tests and publishes a recipe",
          .options = CiOptions(*flags),
          .notes =
              "The workflow has one job for each variant that 'ptpkg render' shows. IMAGE is "
              "NAME@sha256:…, or KEY=VALUE:NAME@sha256:… for variants with this value; likewise "
              "LABELS is label,label or KEY=VALUE:label. 'ptpkg explain ci' describes the image "
              "and the set-up of each service.\n"
              "\n"
              "Targets of --to:\n" +
              pipeline::PublishTargets(),
          .examples = {"ptpkg ci github fixtures/toytorch --to pypi:testpypi --output -",
                       "ptpkg ci gitlab recipes/magma --to anaconda:me --check"},
          .run = [flags](Context& context) { return RunCi(context, *flags); },
          .given = &flags->given};
}

}  // namespace ptpkg::cli
