// ptpkg ci. Layer: cli.

#include <fmt/core.h>
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
  pipeline::CiRequest request;  ///< What the parser fills itself.
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
  for (const std::string& text : flags.recipe.sources) {
    PTPKG_TRY(auto assignment, SplitAssignment("--source", text));
    request.sources.push_back(std::move(assignment));
  }
  PTPKG_TRY(request.images, RulesOf("--image", flags.images));
  PTPKG_TRY(request.runners, RulesOf("--runner", flags.runners));
  request.publish_on_branch = flags.publish_on == "branch";
  request.print = flags.output == "-";
  if (request.print && (request.check || request.dry_run || request.force)) {
    return Error(ErrorCode::kUsage,
                 "'--output -' writes no file: --check, --dry-run and --force have no meaning with it");
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
          {"current", outcome.file && (written || !outcome.differs)},
          {"jobs", jobs},
          {"text", outcome.text}};
}

Result<ExitCode> RunCi(Context& context, const CiFlags& flags) {
  PTPKG_TRY(const pipeline::CiRequest request, CiRequestOf(context, flags));
  PTPKG_TRY(const pipeline::CiOutcome outcome, pipeline::WriteCi(context.env(), request));
  const bool written = outcome.differs && !request.dry_run;
  if (context.json()) {
    context.PrintJson(CiOutcomeToJson(outcome, written));
    return kDone;
  }
  if (!outcome.file) {
    context.Print(outcome.text.substr(0, outcome.text.size() - 1));  // Print adds the last line break
    return kDone;
  }
  context.Print(context.Shown(outcome.file->str()));
  context.env().reporter.Note(fmt::format("{}; {}", Plural(outcome.jobs.size(), "build job"),
                                          written           ? "written"
                                          : outcome.differs ? "would be written"
                                                            : "the file is current"));
  return kDone;
}

std::vector<Option> CiOptions(CiFlags& flags) {
  pipeline::CiRequest& request = flags.request;
  std::vector<Option> options = {
      {.names = "SERVICE",
       .help = "github or gitlab",
       .target = &flags.service,
       .choices = {"github", "gitlab"},
       .words = 1},
      {.names = "RECIPE",
       .help = "recipe.yaml, or its folder; of several, each may need those before it",
       .target = &flags.recipe.recipes}};
  const std::set<std::string> taken = {"--variants", "--select", "--source", "--env"};
  for (Option& option : RecipeOptions(flags.recipe, "")) {
    if (taken.contains(option.names)) options.push_back(std::move(option));
  }
  const std::vector<Option> own = {
      {.names = "--format",
       .value = "LIST",
       .help = "conda, tar.bz2, wheel, zip, separated by commas (default: what the recipe names)",
       .target = &flags.formats},
      {.names = "--test",
       .help = "Run the recipes' tests on the packages, or skip them (default: run)",
       .target = &flags.test,
       .choices = {"run", "skip"}},
      {.names = "--to",
       .value = "TARGET",
       .help = "Publish there what all jobs made, once all of them passed (default: publish nothing)",
       .target = &request.to},
      {.names = "--server",
       .value = "URL",
       .help = "As of 'ptpkg publish'",
       .target = &request.server,
       .needs = "--to"},
      {.names = "--check-url",
       .value = "URL",
       .help = "As of 'ptpkg publish'",
       .target = &request.check_url,
       .needs = "--to"},
      {.names = "--publish-on",
       .help = "Publish tags, or each push to the default branch (default: tag)",
       .target = &flags.publish_on,
       .choices = {"tag", "branch"},
       .needs = "--to"},
      {.names = "--branch",
       .value = "NAME",
       .help = "The default branch; GitLab knows it by itself (default: main)",
       .target = &request.branch},
      {.names = "--image",
       .value = "IMAGE",
       .help = "Image of the jobs, with ptpkg in it: NAME@sha256:…, or KEY=VALUE:NAME@sha256:… for the "
               "variants with this value; may be repeated (default: the CI variable PTPKG_IMAGE)",
       .target = &flags.images},
      {.names = "--runner",
       .value = "LABELS",
       .help = "Labels of the runner, separated by commas, or KEY=VALUE:LABELS for the variants with this "
               "value; may be repeated (default: ubuntu-24.04 at GitHub)",
       .target = &flags.runners},
      {.names = "--timeout",
       .value = "MINUTES",
       .help = "Of one build; its job has 25 more (default: 330)",
       .target = Number{.value = &request.timeout_minutes, .least = 1, .most = 100000}},
      {.names = "--cache-size",
       .value = "SIZE",
       .help = "What a job's cache is cleaned down to (default: 5G)",
       .target = &request.cache_size},
      {.names = "-o,--output",
       .value = "FILE",
       .help = "The workflow, or - for stdout (default: .github/workflows/NAME.yml or .gitlab-ci.yml of the "
               "repository)",
       .target = &flags.output},
      {.names = "--check",
       .help = "Write nothing; fail if the file is not current",
       .target = &request.check},
      {.names = "--dry-run", .help = "Write nothing; say what would be", .target = &request.dry_run},
      {.names = "--force",
       .help = "Replace a file that was edited by hand, or that ptpkg did not write",
       .target = &request.force}};
  options.insert(options.end(), own.begin(), own.end());
  return options;
}

}  // namespace

Verb CiVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<CiFlags>();
  return {.name = "ci",
          .summary = "Write the workflow of a CI service that builds, tests and publishes a recipe",
          .options = CiOptions(*flags),
          .notes = "One job for each variant that 'ptpkg render' shows. Targets of --to:\n" +
                   pipeline::PublishTargets() +
                   "\n'ptpkg explain ci' says what the jobs need: an image with ptpkg, and what\n"
                   "publishes.",
          .examples = {"ptpkg ci github fixtures/toytorch --to pypi:testpypi --output -",
                       "ptpkg ci gitlab recipes/magma --to anaconda:me --check"},
          .run = [flags](Context& context) { return RunCi(context, *flags); }};
}

}  // namespace ptpkg::cli
