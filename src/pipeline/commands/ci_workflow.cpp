#include "pipeline/commands/ci_workflow.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <iterator>
#include <set>

#include "pipeline/commands/ci_jobs.h"
#include "publish/publish_target.h"
#include "support/digest/hash.h"
#include "support/text/display_text.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace ptpkg::pipeline {
namespace {

Result<void> CheckImage(const std::string& image) {
  constexpr std::string_view kDigest = "@sha256:";
  const std::size_t at = image.find(kDigest);
  if (at != std::string::npos && at > 0 && Sha256::FromHex(image.substr(at + kDigest.size()))) return Ok();
  return Error(ErrorCode::kUsage, fmt::format("--image '{}' has no digest", image))
      .WithHint("write NAME@sha256:…, because tags move; get the digest from 'docker images --digests'");
}

Result<void> CheckCiRequest(const CiRequest& request) {
  for (const auto& [option, rules] :
       {std::pair{"--image", &request.images}, {"--runner", &request.runners}}) {
    for (const CiRule& rule : *rules) {
      for (const std::string* part : {&rule.key, &rule.value, &rule.text})
        PTPKG_CHECK(CheckSingleLine(option, *part));
    }
  }
  for (const CiRule& rule : request.images) PTPKG_CHECK(CheckImage(rule.text));
  PTPKG_CHECK(CheckSingleLine("--branch", request.branch));
  for (const auto& [option, url] :
       {std::pair{"--server", &request.server}, {"--check-url", &request.check_url}}) {
    PTPKG_CHECK(CheckSingleLine(option, *url));
    if (CredentialsIn(*url).empty()) continue;
    return Error(ErrorCode::kUsage,
                 fmt::format("{} '{}' contains a user name or password, and workflows are public", option,
                             MaskCredentials(*url)))
        .WithHint("remove it; 'ptpkg explain ci' names the CI variable for the token");
  }
  if (!ParseBytes(request.cache_size)) {
    return Error(ErrorCode::kUsage, fmt::format("--cache-size '{}' is not a size", request.cache_size))
        .WithHint("for example 5G");
  }
  return Ok();
}

/// Whatever a word was put together from: the last look before it is written.
Result<void> CheckWords(const ci::Workflow& workflow) {
  for (const std::string& word : workflow.arguments) PTPKG_CHECK(CheckSingleLine("the argument", word));
  for (const ci::Stage& stage : workflow.stages) {
    for (const ci::Job& job : stage.jobs) {
      PTPKG_CHECK(CheckSingleLine("the title", job.title));
      for (const std::string& word : job.arguments) PTPKG_CHECK(CheckSingleLine("the argument", word));
    }
  }
  return Ok();
}

/// Refuses a rule that fits no job.
Result<void> CheckRules(const char* option, const std::vector<CiRule>& rules,
                        const std::set<const CiRule*>& used) {
  for (const CiRule& rule : rules) {
    if (used.contains(&rule)) continue;
    return Error(ErrorCode::kUsage,
                 fmt::format("{} '{}={}:{}' matches no variant", option, rule.key, rule.value, rule.text))
        .WithHint("list the keys and values of each variant: ptpkg render");
  }
  return Ok();
}

/// The directory is on the runner: one that stays, and no image has it.
Result<void> CheckFolder(const CiRequest& request, const std::string& to) {
  if (TextForAll(request.runners).empty()) {
    return Error(ErrorCode::kUsage,
                 fmt::format("--to {} needs --runner: hosted machines are deleted after the job", to))
        .WithHint("give the labels of the machine that has the directory: --runner LABELS");
  }
  if (request.service == CiService::kGithub || TextForAll(request.images).empty()) return Ok();
  return Error(ErrorCode::kUsage,
               fmt::format(
                   "--to {} cannot be combined with --image: GitLab deletes the container after the job", to))
      .WithHint("remove --image, or limit it to the variants that need it: KEY=VALUE:NAME@sha256:…");
}

Result<ci::Publication> PublicationOf(const Env& env, const CiRequest& request, const std::string& to) {
  PTPKG_CHECK(CheckSingleLine("--to", to));
  // A job has neither the variables nor the files of this user.
  Env bare = env;
  bare.variables.clear();
  PTPKG_TRY(const publish::Target target,
            publish::MakeTarget(bare, {.to = to, .server = request.server, .check_url = request.check_url}));
  static_cast<void>(target);
  ci::Publication publication{.arguments = {"--to=" + to}};
  if (!request.server.empty()) publication.arguments.push_back("--server=" + request.server);
  if (!request.check_url.empty()) publication.arguments.push_back("--check-url=" + request.check_url);
  publication.on_branch = request.publish_on_branch;
  const std::string kind = to.substr(0, to.find(':'));
  const bool own_server = !request.server.empty();
  publication.identity = ci::Identity::kToken;
  if (kind == "anaconda") publication.secrets = {"ANACONDA_API_TOKEN"};
  if (kind == "prefix") publication.secrets = {"PREFIX_API_KEY"};
  if (kind == "quetz") publication.secrets = {"QUETZ_API_KEY"};
  if (kind == "artifactory") publication.secrets = {"ARTIFACTORY_TOKEN"};
  if (kind == "file") {
    PTPKG_CHECK(CheckFolder(request, to));
    publication.identity = ci::Identity::kNone;
  }
  if (kind == "s3") publication.secrets = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"};
  if (kind == "s3") publication.variables = {"AWS_REGION"};
  if (kind == "s3" && !own_server) publication.identity = ci::Identity::kRole;
  if (kind == "pypi") publication.secrets = {"UV_PUBLISH_TOKEN"};
  if (!own_server && (to == "pypi:pypi" || to == "pypi:testpypi")) {
    publication.identity = ci::Identity::kIndex;
    publication.audience = to.substr(to.find(':') + 1);
    publication.secrets = {to == "pypi:pypi" ? "PYPI_ID_TOKEN" : "TESTPYPI_ID_TOKEN"};
  }
  return publication;
}

/// This command, from the root of any checkout. `recipes`: the paths of the recipes. `target`: arguments of
/// `ptpkg publish`.
Result<std::vector<std::string>> CommandArguments(const CiInputs& inputs,
                                                  const std::vector<std::string>& recipes,
                                                  const std::vector<std::string>& target) {
  const CiRequest& request = inputs.request;
  std::vector<std::string> words = {request.service == CiService::kGithub ? "github" : "gitlab"};
  words.insert(words.end(), recipes.begin(), recipes.end());
  words.insert(words.end(), inputs.common.begin(), inputs.common.end());
  PTPKG_TRY(const std::vector<std::string> choices,
            ChoiceArguments(inputs.env, request.build.select, request.sources, inputs.root));
  words.insert(words.end(), choices.begin(), choices.end());
  words.insert(words.end(), target.begin(), target.end());
  const CiRequest usual;
  if (request.publish_on_branch) words.emplace_back("--publish-on=branch");
  if (request.branch != usual.branch) words.push_back("--branch=" + request.branch);
  for (const auto& [option, rules] :
       {std::pair{"--image", &request.images}, {"--runner", &request.runners}}) {
    for (const CiRule& rule : *rules) {
      words.push_back(rule.key.empty() ? fmt::format("{}={}", option, rule.text)
                                       : fmt::format("{}={}={}:{}", option, rule.key, rule.value, rule.text));
    }
  }
  if (request.timeout_minutes != usual.timeout_minutes)
    words.push_back(fmt::format("--timeout={}", request.timeout_minutes));
  if (request.cache_size != usual.cache_size) words.push_back("--cache-size=" + request.cache_size);
  return words;
}

/// The recipes of the request, planned one by one.
struct PlannedStages {
  PlannedCi planned;                      ///< Stages and jobs; the rest of the workflow is missing.
  std::vector<std::string> recipe_words;  ///< Paths of the recipes.
  std::vector<recipe::Recipe> rendered;   ///< All variants.
  std::set<const CiRule*> used;           ///< Rules that fit a job.
};

Result<PlannedStages> PlanStages(const CiInputs& inputs) {
  PlannedStages all;
  ci::Workflow& workflow = all.planned.workflow;
  std::set<std::string> ids;
  std::set<AbsPath> sources;
  for (const AbsPath& path : inputs.request.build.recipes) {
    PTPKG_TRY(CiRecipe recipe, ReadCiRecipe(inputs, path, sources));
    PTPKG_TRY(PlannedStage stage, PlanStage(inputs, recipe, workflow.stages.size() + 1, ids));
    workflow.stages.push_back(std::move(stage.stage));
    std::ranges::move(stage.jobs, std::back_inserter(all.planned.jobs));
    std::ranges::move(recipe.recipes, std::back_inserter(all.rendered));
    all.recipe_words.push_back(std::move(recipe.word));
    all.used.merge(stage.used);
  }
  workflow.builds_checkout = sources.contains(inputs.root);
  return all;
}

}  // namespace

Result<PlannedCi> PlanCi(Env& env, const CiRequest& request, const AbsPath& root) {
  PTPKG_CHECK(CheckCiRequest(request));
  CiInputs inputs{.env = env, .request = request, .root = root, .common = {}};
  PTPKG_TRY(inputs.common, CommonArguments(request.build, root));
  PTPKG_TRY(PlannedStages stages, PlanStages(inputs));
  PTPKG_CHECK(CheckSources(request.build, stages.rendered));
  PTPKG_CHECK(CheckRules("--image", request.images, stages.used));
  PTPKG_CHECK(CheckRules("--runner", request.runners, stages.used));
  ci::Workflow& workflow = stages.planned.workflow;
  workflow.name = IdText(workflow.stages.back().recipe);
  workflow.branch = request.branch;
  workflow.timeout_minutes = request.timeout_minutes;
  workflow.cache_size = request.cache_size;
  workflow.image = TextForAll(request.images);
  PTPKG_TRY(workflow.labels, ParseLabels(TextForAll(request.runners)));
  std::vector<std::string> target;
  if (request.to) {
    PTPKG_TRY(workflow.publication, PublicationOf(env, request, *request.to));
    target = workflow.publication->arguments;
  }
  PTPKG_TRY(workflow.arguments, CommandArguments(inputs, stages.recipe_words, target));
  PTPKG_CHECK(CheckWords(workflow));
  return std::move(stages.planned);
}

Result<AbsPath> RepositoryOf(Env& env, const AbsPath& recipe) {
  for (AbsPath folder = recipe;; folder = folder.Parent()) {
    PTPKG_TRY(const bool found, Exists(env.fs, folder / ".git"));
    if (found) return folder;
    if (folder == folder.Parent()) return env.cwd;
  }
}

Result<std::vector<std::string>> ChoiceArguments(
    Env& env, const std::map<std::string, std::vector<std::string>>& select,
    const std::vector<std::pair<std::string, std::string>>& sources, const AbsPath& root) {
  std::vector<std::string> words;
  for (const auto& [key, values] : select) {
    for (const std::string& value : values) words.push_back(fmt::format("--select={}={}", key, value));
  }
  for (const auto& [name, value] : sources) {
    PTPKG_TRY(std::string word, SourceWord(env, root, name, value));
    words.push_back(std::move(word));
  }
  return words;
}

Result<std::vector<std::string>> CommonArguments(const BuildRequest& build, const AbsPath& root) {
  std::vector<std::string> words;
  for (const AbsPath& file : build.variant_files) {
    PTPKG_TRY(const std::string word, CommandWord(file, root));
    words.push_back("--variants=" + word);
  }
  std::vector<std::string> formats;
  for (const ArtifactFormat format : build.formats) formats.emplace_back(ArtifactFormatName(format));
  if (!formats.empty()) words.push_back("--format=" + Join(formats, ","));
  constexpr std::array kHostEnvs = {std::pair{builder::HostEnv::kSystem, "--env=system"},
                                    std::pair{builder::HostEnv::kConda, "--env=conda"},
                                    std::pair{builder::HostEnv::kWheels, "--env=wheels"}};
  for (const auto& [host_env, word] : kHostEnvs) {
    if (build.host_env == host_env) words.emplace_back(word);
  }
  if (!build.test) words.emplace_back("--test=skip");
  return words;
}

Result<std::string> CommandWord(const AbsPath& path, const AbsPath& root) {
  if (path == root) return std::string(".");
  const Result<RelPath> below = path.RelativeTo(root);
  if (!below) {
    return Error(ErrorCode::kUsage, fmt::format("'{}' is outside the repository '{}', so jobs don't have it",
                                                path.str(), root.str()))
        .WithHint("move it into the repository");
  }
  PTPKG_CHECK(CheckSingleLine("the path", below->str()));
  return (below->str().starts_with('-') ? "./" : "") + below->str();
}

Result<void> CheckSingleLine(const std::string& what, const std::string& text) {
  bool breaks = !IsUtf8(text) || HasControlCharacter(text);
  // Line separators of YAML 1.1, and the mark that is taken away at the start of a text.
  for (const char* mark : {"\u2028", "\u2029", "\uFEFF"}) breaks |= text.find(mark) != std::string::npos;
  if (!breaks) return Ok();
  return Error(ErrorCode::kInvalidInput,
               fmt::format("{} '{}' is not a single line of text", what, Printable(text)))
      .WithHint("remove control characters and line breaks");
}

}  // namespace ptpkg::pipeline
