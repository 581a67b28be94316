// `ptpkg doctor` runs the checks of a build without building, and never stops at the first problem. An error
// that would end a build (missing tools, unusable sources) becomes a finding here. Only cancellation and I/O
// errors end the command.
//
// The machine comes first, with facts of no recipe. Each recipe and staging output follows with its own
// facts. A finding that the machine already has is not repeated there.
//
// Tests take their tools from where the build takes its own, as in a build: otherwise doctor could pass what
// a build refuses, or the reverse.

#include "pipeline/develop/doctor.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "builder/resume/work_layout.h"
#include "builder/script/script.h"
#include "builder/test/package_test.h"
#include "pipeline/commands/render.h"
#include "pipeline/plan/input_output_overlap.h"
#include "pipeline/stages/detect.h"
#include "source/prepare.h"
#include "support/text/display_text.h"
#include "support/text/json.h"

namespace ptpkg::pipeline {

namespace {

using builder::PreflightFinding;

bool IsMachineFinding(const PreflightFinding& finding, const Diagnosis& machine) {
  return std::any_of(machine.findings.begin(), machine.findings.end(), [&](const PreflightFinding& said) {
    return said.finding.id == finding.finding.id && said.finding.message == finding.finding.message;
  });
}

class Doctor {
 public:
  Doctor(Env& env, const BuildRequest& request) : env_(env), request_(request) {}

  Result<std::vector<Diagnosis>> Run() {
    PTPKG_TRY(rules_, builder::PreflightRules::BuiltIn());
    PTPKG_TRY(machine_.facts, builder::ReadMachineFacts(env_));
    builder::Facts facts = machine_.facts;
    builder::AddEmptyRecipeFacts(facts);
    PTPKG_TRY(machine_.findings, rules_.Judge(facts));
    const Result<void> folder = builder::CheckWorkFolder(ResolveExistingPart(env_, env_.cache_dir));
    if (!folder) {
      machine_.findings.push_back({.finding = FindingOf("work-folder", "", folder.error()),
                                   .source = "path characters that compilers and make accept"});
    }
    std::vector<Diagnosis> all = {machine_};
    if (request_.recipes.empty()) return all;
    PTPKG_TRY(const std::vector<recipe::Recipe> recipes,
              Render(env_, {.recipes = request_.recipes,
                            .variant_files = request_.variant_files,
                            .select = request_.select}));
    PTPKG_TRY(provided_, AvailablePackages(env_, request_, recipes));
    PTPKG_CHECK(CheckSources(request_, recipes));
    std::set<std::string> seen;  // staging outputs are inherited by several
    for (const recipe::Recipe& recipe : recipes) {
      for (const recipe::Recipe* part = &recipe; part != nullptr && !recipe.skip;
           part = part->inherited.get()) {
        if (!seen.insert(part->FileStem()).second) continue;
        PTPKG_TRY(Diagnosis diagnosis, DiagnoseRecipe(*part));
        all.push_back(std::move(diagnosis));
      }
    }
    if (all.size() == 1) all.push_back(NothingToBuild());
    return all;
  }

 private:
  [[nodiscard]] Diagnosis NothingToBuild() const {
    Diagnosis diagnosis{.subject = request_.recipes.front().str(), .facts = {}, .findings = {}};
    diagnosis.findings.push_back(
        {.finding = {.id = "nothing-to-build",
                     .severity = Severity::kError,
                     .file = diagnosis.subject,
                     .message = "nothing to build: every variant is skipped",
                     .fix =
                         "list the variants with 'ptpkg render'; choose others with --variants and --select"},
         .source = "the recipe's build.skip"});
    return diagnosis;
  }

  Result<builder::HostPlan> FindTools(const recipe::Recipe& recipe) {
    return builder::CheckTools(
        env_, recipe, {.host_env = request_.host_env, .options = request_.tools, .provided = provided_});
  }

  /// Where tests look for their tools, given those of the build: a build without any takes files from a
  /// staging output, which may have some. If tools are missing, the tests' are looked for in the same place.
  builder::HostEnv ToolsOfTests(const recipe::Recipe& recipe, Result<builder::HostPlan> found) {
    for (const recipe::Recipe* part = recipe.inherited.get();
         part != nullptr && found && !found->wheels && found->host_env == builder::HostEnv::kSystem;
         part = part->inherited.get())
      found = FindTools(*part);
    if (found) return found->wheels ? request_.host_env : found->host_env;
    return request_.host_env == builder::HostEnv::kWheels ? builder::HostEnv::kWheels
                                                          : builder::HostEnv::kSystem;
  }

  Result<Diagnosis> DiagnoseRecipe(const recipe::Recipe& recipe) {
    PTPKG_CHECK(env_.cancel.Check());
    Diagnosis diagnosis{.subject = recipe.FileStem(), .facts = machine_.facts, .findings = {}};
    builder::HostPlan host;
    Result<builder::HostPlan> found = FindTools(recipe);
    const builder::HostEnv tests_from = ToolsOfTests(recipe, found);
    if (found) {
      host = *std::move(found);
    } else {
      PTPKG_TRY(PreflightFinding missing, MissingTools(diagnosis.subject, found.error()));
      diagnosis.findings.push_back(std::move(missing));
    }
    PTPKG_CHECK(CheckTestsOf(recipe, tests_from, diagnosis));
    PTPKG_TRY(const std::optional<std::string> script,
              builder::BuildScriptText(env_.fs, recipe.script, recipe.recipe_dir));
    PTPKG_CHECK(CheckSourcesOf(recipe, diagnosis));
    PTPKG_CHECK(builder::AddRecipeFacts(env_,
                                        {.recipe = recipe,
                                         .host = host,
                                         .script = script.value_or(""),
                                         .memory_per_job = recipe.ptpkg.memory_per_job,
                                         .source = LocalSource(recipe, GivenSource(recipe))},
                                        diagnosis.facts));
    PTPKG_TRY(const std::vector<PreflightFinding> judged, rules_.Judge(diagnosis.facts));
    for (const PreflightFinding& finding : judged) {
      if (!IsMachineFinding(finding, machine_)) diagnosis.findings.push_back(finding);
    }
    return diagnosis;
  }

  /// Tests take their tools from where the build took its own, as `ptpkg build` has it.
  Result<void> CheckTestsOf(const recipe::Recipe& recipe, builder::HostEnv env, Diagnosis& diagnosis) {
    if (!builder::HasTests(recipe)) return Ok();
    for (const recipe::Recipe& part : builder::TestEnvironments(recipe)) {
      const auto found = builder::CheckTestTools(
          env_, part, {.host_env = env, .options = request_.tools, .provided = provided_});
      if (found) continue;
      PTPKG_TRY(PreflightFinding missing, MissingTools(diagnosis.subject, found.error()));
      // The same tool may be missing for the build too, so the finding names the tests.
      missing.finding.message += "; the tests need it";
      missing.finding.fix += "; or skip the tests: --test skip";
      diagnosis.findings.push_back(std::move(missing));
    }
    return Ok();
  }

  static Finding FindingOf(const char* id, const std::string& subject, const Error& error) {
    std::string message = error.message();
    if (error.span() && !error.span()->file.empty()) {
      message = fmt::format("{}:{}:{}: {}", error.span()->file.view(), error.span()->line,
                            error.span()->column, message);
    }
    return {.id = id,
            .severity = Severity::kError,
            .file = subject,
            .message = MaskCredentials(message),
            .fix = error.hint()};
  }

  /// Missing tools are the result here, not a failure of this command.
  static Result<PreflightFinding> MissingTools(const std::string& subject, const Error& error) {
    if (error.code() == ErrorCode::kCancelled || error.code() == ErrorCode::kIo) return Error(error);
    return PreflightFinding{.finding = FindingOf("tool-missing", subject, error),
                            .source = "the recipe's requirements"};
  }

  /// Reports errors that a build would find before it reads any source.
  Result<void> CheckSourcesOf(const recipe::Recipe& recipe, Diagnosis& diagnosis) {
    recipe::Recipe with_sources = recipe;
    source::SourceOptions options;
    options.overrides = request_.sources;
    for (const auto& [name, git] : request_.git_sources) {
      if (!source::OverrideApplies(recipe, name)) continue;
      std::vector<recipe::Source>& sources = with_sources.sources;
      if (sources.empty()) sources.emplace_back();
      sources.front() = {.patches = sources.front().patches, .git = git, .span = sources.front().span};
    }
    Result<void> checked = source::CheckInputs(env_, with_sources, options);
    if (checked) checked = CheckOutputOutsideInputs(env_, request_.output, recipe, GivenSource(recipe));
    if (checked) return Ok();
    if (checked.error().code() == ErrorCode::kCancelled || checked.error().code() == ErrorCode::kIo) {
      return checked;
    }
    diagnosis.findings.push_back({.finding = FindingOf("source-unusable", diagnosis.subject, checked.error()),
                                  .source = "the recipe's sources"});
    return Ok();
  }

  [[nodiscard]] std::optional<AbsPath> GivenSource(const recipe::Recipe& recipe) const {
    std::optional<AbsPath> given;
    for (const auto& [name, path] : request_.sources) {
      if (source::OverrideApplies(recipe, name)) given = path;
    }
    return given;
  }

  Env& env_;
  const BuildRequest& request_;
  builder::PreflightRules rules_;
  Diagnosis machine_;
  std::set<std::string> provided_;
};

}  // namespace

Result<std::vector<Diagnosis>> Diagnose(Env& env, const BuildRequest& request) {
  return Doctor(env, request).Run();
}

Report ReportOf(const Diagnosis& diagnosis) {
  Report report{.subject = diagnosis.subject, .findings = {}};
  for (const PreflightFinding& found : diagnosis.findings) {
    report.findings.push_back(found.finding);
    report.findings.back().file.clear();  // the subject says it
  }
  return report;
}

Json DiagnosisToJson(const Diagnosis& diagnosis) {
  Json facts = Json::object();
  for (const auto& [name, value] : diagnosis.facts) {
    // Left out: the first is as long as the recipe, and only the rules use the second.
    if (name != "script" && name != "caller_variables") facts[name] = value.ToJson();
  }
  Json findings = Json::array();
  for (const auto& [finding, source] : diagnosis.findings) {
    findings.push_back({{"id", finding.id},
                        {"severity", SeverityName(finding.severity)},
                        {"message", finding.message},
                        {"fix", finding.fix},
                        {"source", source}});
  }
  return {{"subject", diagnosis.subject}, {"facts", facts}, {"findings", findings}};
}

}  // namespace ptpkg::pipeline
