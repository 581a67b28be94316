#include "pipeline/commands/ci_workflow.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "pipeline/commands/render.h"
#include "pipeline/plan/variant_groups.h"
#include "publish/publish_target.h"
#include "recipe/document/document.h"
#include "source/override.h"
#include "support/digest/hash.h"
#include "support/reporter.h"
#include "support/text/display_text.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace ptpkg::pipeline {
namespace {

constexpr std::size_t kIdLength = 60;

/// Letters, digits, '.', '_' and '-' only.
std::string IdText(std::string_view text) {
  std::string id;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("._-").find(c) != std::string_view::npos;
    id += plain ? c : '_';
  }
  return id;
}

std::string CommonName(const std::vector<recipe::Recipe>& recipes) {
  const recipe::Recipe& first = recipes.front();
  if (!first.recipe_name.empty()) return first.recipe_name;
  const bool one = std::all_of(recipes.begin(), recipes.end(),
                               [&](const recipe::Recipe& recipe) { return recipe.name == first.name; });
  return one ? first.name : std::string(first.recipe_dir.Name());
}

bool Fits(const CiRule& rule, const std::vector<recipe::Recipe>& recipes, const VariantGroup& group) {
  return rule.key.empty() || std::any_of(group.recipes.begin(), group.recipes.end(), [&](std::size_t i) {
           const auto found = recipes[i].variant.find(rule.key);
           return found != recipes[i].variant.end() && found->second == rule.value;
         });
}

Result<void> CheckImage(const std::string& image) {
  constexpr std::string_view kDigest = "@sha256:";
  const std::size_t at = image.find(kDigest);
  if (at != std::string::npos && at > 0 && Sha256::FromHex(image.substr(at + kDigest.size()))) return Ok();
  return Error(ErrorCode::kUsage, fmt::format("--image '{}' has no digest", image))
      .WithHint("write NAME@sha256:…, because tags move; get the digest from 'docker images --digests'");
}

class Planner {
 public:
  Planner(Env& env, const CiRequest& request, const AbsPath& root)
      : env_(env), request_(request), root_(root) {}

  Result<PlannedCi> Plan() {
    PTPKG_CHECK(CheckRequest());
    PTPKG_TRY(common_, CommonArguments());
    for (const AbsPath& path : request_.build.recipes) PTPKG_CHECK(AddRecipe(path));
    PTPKG_CHECK(CheckSources(request_.build, rendered_));
    PTPKG_CHECK(CheckRules("--image", request_.images));
    PTPKG_CHECK(CheckRules("--runner", request_.runners));
    ci::Workflow& workflow = planned_.workflow;
    workflow.name = IdText(workflow.stages.back().recipe);
    workflow.branch = request_.branch;
    workflow.timeout_minutes = request_.timeout_minutes;
    workflow.cache_size = request_.cache_size;
    workflow.image = ForAll(request_.images);
    workflow.labels = LabelsOf(ForAll(request_.runners));
    if (request_.to) {
      PTPKG_TRY(workflow.publication, PublicationOf(*request_.to));
    }
    PTPKG_TRY(workflow.arguments, CommandArguments());
    PTPKG_CHECK(CheckWords(workflow));
    return std::move(planned_);
  }

 private:
  Result<void> CheckRequest() const {
    for (const auto& [option, rules] :
         {std::pair{"--image", &request_.images}, {"--runner", &request_.runners}}) {
      for (const CiRule& rule : *rules) {
        for (const std::string* part : {&rule.key, &rule.value, &rule.text})
          PTPKG_CHECK(CheckSingleLine(option, *part));
      }
    }
    for (const CiRule& rule : request_.images) PTPKG_CHECK(CheckImage(rule.text));
    PTPKG_CHECK(CheckSingleLine("--branch", request_.branch));
    for (const auto& [option, url] :
         {std::pair{"--server", &request_.server}, {"--check-url", &request_.check_url}}) {
      PTPKG_CHECK(CheckSingleLine(option, *url));
      if (CredentialsIn(*url).empty()) continue;
      return Error(ErrorCode::kUsage,
                   fmt::format("{} '{}' contains a user name or password, and workflows are public", option,
                               MaskCredentials(*url)))
          .WithHint("remove it; 'ptpkg explain ci' names the CI variable for the token");
    }
    if (!ParseBytes(request_.cache_size)) {
      return Error(ErrorCode::kUsage, fmt::format("--cache-size '{}' is not a size", request_.cache_size))
          .WithHint("for example 5G");
    }
    return Ok();
  }

  /// Whatever a word was put together from: the last look before it is written.
  static Result<void> CheckWords(const ci::Workflow& workflow) {
    for (const std::string& word : workflow.arguments) PTPKG_CHECK(CheckSingleLine("the argument", word));
    for (const ci::Stage& stage : workflow.stages) {
      for (const ci::Job& job : stage.jobs) {
        PTPKG_CHECK(CheckSingleLine("the title", job.title));
        for (const std::string& word : job.arguments) PTPKG_CHECK(CheckSingleLine("the argument", word));
      }
    }
    return Ok();
  }

  /// Arguments of `ptpkg build` in all jobs.
  Result<std::vector<std::string>> CommonArguments() const {
    std::vector<std::string> words;
    for (const AbsPath& file : request_.build.variant_files) {
      PTPKG_TRY(const std::string word, CommandWord(file, root_));
      words.push_back("--variants=" + word);
    }
    std::vector<std::string> formats;
    for (const ArtifactFormat format : request_.build.formats)
      formats.emplace_back(ArtifactFormatName(format));
    if (!formats.empty()) words.push_back("--format=" + Join(formats, ","));
    constexpr std::array kHostEnvs = {std::pair{builder::HostEnv::kSystem, "--env=system"},
                                      std::pair{builder::HostEnv::kConda, "--env=conda"},
                                      std::pair{builder::HostEnv::kWheels, "--env=wheels"}};
    for (const auto& [host_env, word] : kHostEnvs) {
      if (request_.build.host_env == host_env) words.emplace_back(word);
    }
    if (!request_.build.test) words.emplace_back("--test=skip");
    return words;
  }

  Result<void> AddRecipe(const AbsPath& path) {
    PTPKG_TRY(std::vector<recipe::Recipe> recipes,
              Render(env_, {.recipes = {path},
                            .variant_files = request_.build.variant_files,
                            .select = request_.build.select}));
    const bool skipped =
        std::all_of(recipes.begin(), recipes.end(), [](const recipe::Recipe& recipe) { return recipe.skip; });
    if (skipped) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' makes no package, so there is no job", path.str()))
          .WithHint("list its variants: ptpkg render");
    }
    PTPKG_TRY(const recipe::Document document, recipe::LoadDocument(env_.fs, recipes.front().recipe_file));
    PTPKG_TRY(const std::vector<VariantGroup> groups,
              GroupVariants(recipes, document.root.Find("outputs") != nullptr));
    for (const recipe::Recipe& recipe : recipes) PTPKG_CHECK(LookAtSources(recipe));
    PTPKG_TRY(const std::string word, CommandWord(path, root_));
    recipe_words_.push_back(word);
    ci::Stage stage{.recipe = CommonName(recipes), .jobs = {}};
    PTPKG_CHECK(CheckSingleLine("the recipe's name", stage.recipe));
    for (const VariantGroup& group : groups) {
      PTPKG_TRY(ci::Job job, JobOf(stage.recipe, recipes, group, word));
      stage.jobs.push_back(std::move(job));
    }
    planned_.workflow.stages.push_back(std::move(stage));
    std::move(recipes.begin(), recipes.end(), std::back_inserter(rendered_));
    return Ok();
  }

  /// A job has what the repository has.
  Result<void> LookAtSources(const recipe::Recipe& recipe) {
    for (const recipe::Recipe* part = &recipe; part != nullptr; part = part->inherited.get()) {
      for (const recipe::Source& source : part->sources) {
        const bool replaced = &source == &part->sources.front() && IsReplaced(*part);
        if (source.path.empty() || replaced) continue;
        PTPKG_TRY(const AbsPath path, AbsPath::Resolve(part->recipe_dir, source.path));
        if (!told_.insert(path).second) continue;
        PTPKG_CHECK(CommandWord(path, root_), fmt::format("while looking for a source of '{}'", part->name));
        planned_.workflow.builds_checkout |= path == root_;
        PTPKG_TRY(const bool there, Exists(env_.fs, path));
        if (there) continue;
        env_.reporter.Warn(fmt::format(
            "the source '{}' of '{}' does not exist here: jobs need it in the repository, or --source",
            path.str(), part->name));
      }
    }
    return Ok();
  }

  [[nodiscard]] bool IsReplaced(const recipe::Recipe& recipe) const {
    return std::any_of(request_.sources.begin(), request_.sources.end(), [&](const auto& source) {
      return source.first == recipe.name || source.first == recipe.recipe_name ||
             source.first == recipe.recipe_dir.Name();
    });
  }

  Result<ci::Job> JobOf(const std::string& recipe_name, const std::vector<recipe::Recipe>& recipes,
                        const VariantGroup& group, const std::string& word) {
    ci::Job job{.id = "",
                .title = recipe_name,
                .arguments = {word},
                .image = ForAll(request_.images),
                .labels = LabelsOf(ForAll(request_.runners))};
    job.arguments.insert(job.arguments.end(), common_.begin(), common_.end());
    std::string id = fmt::format("{}-{}", planned_.workflow.stages.size() + 1, IdText(recipe_name));
    for (const auto& [key, value] : group.select) {
      PTPKG_CHECK(CheckSingleLine("the variant key", key));
      PTPKG_CHECK(CheckSingleLine(fmt::format("the value of the variant key '{}'", key), value));
      job.title += fmt::format(" {}={}", key, value);
      job.arguments.push_back(fmt::format("--select={}={}", key, value));
      id += "-" + IdText(value);
    }
    for (const auto& [key, values] : request_.build.select) {
      if (group.select.contains(key)) continue;
      for (const std::string& value : values) {
        PTPKG_CHECK(CheckSingleLine("--select", value));
        job.arguments.push_back(fmt::format("--select={}={}", key, value));
      }
    }
    PTPKG_CHECK(AddSources(recipes, group, job.arguments));
    // Not only where it is too long: other values may look the same.
    if (id.size() > kIdLength || ids_.contains(id)) {
      id = id.substr(0, kIdLength) + "-" + HashText(Join(job.arguments, "\n")).Hex().substr(0, 8);
    }
    ids_.insert(id);
    job.id = id;
    for (const CiRule& rule : request_.images) {
      if (!Fits(rule, recipes, group)) continue;
      job.image = rule.text;
      used_.insert(&rule);
    }
    for (const CiRule& rule : request_.runners) {
      if (!Fits(rule, recipes, group)) continue;
      job.labels = LabelsOf(rule.text);
      used_.insert(&rule);
    }
    CiJob told{.id = id, .arguments = job.arguments, .packages = {}};
    for (const std::size_t i : group.recipes) told.packages.push_back(recipes[i].FileStem());
    planned_.jobs.push_back(std::move(told));
    return job;
  }

  /// Adds the --source arguments for this job: `ptpkg build` takes no others.
  Result<void> AddSources(const std::vector<recipe::Recipe>& recipes, const VariantGroup& group,
                          std::vector<std::string>& arguments) const {
    std::vector<recipe::Recipe> own;
    if (!request_.sources.empty()) {
      for (const std::size_t i : group.recipes) own.push_back(recipes[i]);
    }
    for (const auto& [name, value] : request_.sources) {
      BuildRequest one;
      PTPKG_CHECK(AddSource(env_, name, value, one));
      if (!CheckSources(one, own)) continue;
      PTPKG_TRY(const std::string word, SourceWord(name, value));
      arguments.push_back(word);
    }
    return Ok();
  }

  /// "--source=NAME=VALUE", VALUE being one that a job finds.
  Result<std::string> SourceWord(const std::string& name, const std::string& value) const {
    PTPKG_CHECK(CheckSingleLine("--source", fmt::format("{}={}", name, value)));
    PTPKG_TRY(const source::Override taken, source::ParseOverride(env_, value));
    if (const auto* path = std::get_if<AbsPath>(&taken)) {
      PTPKG_TRY(const std::string word, CommandWord(*path, root_));
      return fmt::format("--source={}={}", name, word);
    }
    if (value.find("://") == std::string::npos) {
      return Error(ErrorCode::kUsage, fmt::format("--source '{}' is a repository on this machine", value))
          .WithHint("use one that jobs can reach: git+https://…@TAG");
    }
    if (!CredentialsIn(value).empty()) {
      return Error(ErrorCode::kUsage,
                   fmt::format("--source '{}' contains a user name or password, and workflows are public",
                               MaskCredentials(value)))
          .WithHint("remove it: git uses its credential helper");
    }
    return fmt::format("--source={}={}", name, value);
  }

  Result<void> CheckRules(const char* option, const std::vector<CiRule>& rules) const {
    for (const CiRule& rule : rules) {
      if (used_.contains(&rule)) continue;
      return Error(ErrorCode::kUsage,
                   fmt::format("{} '{}={}:{}' matches no variant", option, rule.key, rule.value, rule.text))
          .WithHint("list the keys and values of each variant: ptpkg render");
    }
    return Ok();
  }

  static std::string ForAll(const std::vector<CiRule>& rules) {
    std::string text;
    for (const CiRule& rule : rules) {
      if (rule.key.empty()) text = rule.text;
    }
    return text;
  }

  static std::vector<std::string> LabelsOf(const std::string& text) {
    return text.empty() ? std::vector<std::string>() : Split(text, ',');
  }

  Result<ci::Publication> PublicationOf(const std::string& to) const {
    PTPKG_CHECK(CheckSingleLine("--to", to));
    // A job has neither the variables nor the files of this user.
    Env bare = env_;
    bare.variables.clear();
    PTPKG_TRY(
        const publish::Target target,
        publish::MakeTarget(bare, {.to = to, .server = request_.server, .check_url = request_.check_url}));
    static_cast<void>(target);
    ci::Publication publication{.arguments = {"--to=" + to}};
    if (!request_.server.empty()) publication.arguments.push_back("--server=" + request_.server);
    if (!request_.check_url.empty()) publication.arguments.push_back("--check-url=" + request_.check_url);
    publication.on_branch = request_.publish_on_branch;
    const std::string kind = to.substr(0, to.find(':'));
    const bool own_server = !request_.server.empty();
    publication.identity = ci::Identity::kToken;
    if (kind == "anaconda") publication.secrets = {"ANACONDA_API_TOKEN"};
    if (kind == "prefix") publication.secrets = {"PREFIX_API_KEY"};
    if (kind == "quetz") publication.secrets = {"QUETZ_API_KEY"};
    if (kind == "artifactory") publication.secrets = {"ARTIFACTORY_TOKEN"};
    if (kind == "file") {
      PTPKG_CHECK(CheckFolder(to));
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

  /// The directory is on the runner: one that stays, and no image has it.
  [[nodiscard]] Result<void> CheckFolder(const std::string& to) const {
    if (ForAll(request_.runners).empty()) {
      return Error(ErrorCode::kUsage,
                   fmt::format("--to {} needs --runner: hosted machines are deleted after the job", to))
          .WithHint("give the labels of the machine that has the directory: --runner LABELS");
    }
    if (request_.service == CiService::kGithub || ForAll(request_.images).empty()) return Ok();
    return Error(
               ErrorCode::kUsage,
               fmt::format(
                   "--to {} cannot be combined with --image: GitLab deletes the container after the job", to))
        .WithHint("remove --image, or limit it to the variants that need it: KEY=VALUE:NAME@sha256:…");
  }

  /// This command, from the root of any checkout.
  Result<std::vector<std::string>> CommandArguments() const {
    std::vector<std::string> words = {request_.service == CiService::kGithub ? "github" : "gitlab"};
    words.insert(words.end(), recipe_words_.begin(), recipe_words_.end());
    words.insert(words.end(), common_.begin(), common_.end());
    for (const auto& [key, values] : request_.build.select) {
      for (const std::string& value : values) words.push_back(fmt::format("--select={}={}", key, value));
    }
    for (const auto& [name, value] : request_.sources) {
      PTPKG_TRY(std::string word, SourceWord(name, value));
      words.push_back(std::move(word));
    }
    if (planned_.workflow.publication) {
      const std::vector<std::string>& target = planned_.workflow.publication->arguments;
      words.insert(words.end(), target.begin(), target.end());
    }
    const CiRequest usual;
    if (request_.publish_on_branch) words.emplace_back("--publish-on=branch");
    if (request_.branch != usual.branch) words.push_back("--branch=" + request_.branch);
    for (const auto& [option, rules] :
         {std::pair{"--image", &request_.images}, {"--runner", &request_.runners}}) {
      for (const CiRule& rule : *rules) {
        words.push_back(rule.key.empty()
                            ? fmt::format("{}={}", option, rule.text)
                            : fmt::format("{}={}={}:{}", option, rule.key, rule.value, rule.text));
      }
    }
    if (request_.timeout_minutes != usual.timeout_minutes)
      words.push_back(fmt::format("--timeout={}", request_.timeout_minutes));
    if (request_.cache_size != usual.cache_size) words.push_back("--cache-size=" + request_.cache_size);
    return words;
  }

  Env& env_;
  const CiRequest& request_;
  const AbsPath& root_;
  PlannedCi planned_;
  std::vector<std::string> common_;
  std::vector<std::string> recipe_words_;
  std::vector<recipe::Recipe> rendered_;
  std::set<std::string> ids_;
  std::set<AbsPath> told_;  ///< Sources that were looked at.
  std::set<const CiRule*> used_;
};

}  // namespace

Result<PlannedCi> PlanCi(Env& env, const CiRequest& request, const AbsPath& root) {
  return Planner(env, request, root).Plan();
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
