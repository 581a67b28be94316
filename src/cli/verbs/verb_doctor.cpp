// ptpkg doctor. Layer: cli. A build judges the same rules when it starts (NoPreflightOption), so this verb
// adds nothing but a view: the machine first, then each variant. It takes a build's recipe flags, because
// sources, tools and the output channel decide what is missing.

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <memory>

#include "cli/output/findings.h"
#include "cli/verbs/recipe_flags.h"
#include "pipeline/develop/doctor.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

using pipeline::Diagnosis;

constexpr const char* kThisMachine = "this machine";

/// "needs gcc_linux-64, make"; "" if the recipe names nothing to build with.
std::string Needs(const Diagnosis& diagnosis) {
  const auto found = diagnosis.facts.find("build_requirements");
  if (found == diagnosis.facts.end()) return "";
  const Json names = found->second.ToJson();
  if (!names.is_array() || names.empty()) return "";
  std::vector<std::string> needs;
  for (const Json& name : names) needs.push_back(name.is_string() ? name.get<std::string>() : name.dump());
  return "needs " + Join(needs, ", ");
}

/// The facts that a person looks for first; what is not known is left out.
std::string FactLine(const Diagnosis& diagnosis) {
  // Facts of preflight.yaml's conditions: most are for rules, and a person asks for these first.
  struct Shown {
    std::string_view fact;
    std::string_view format;
  };
  static constexpr auto kMachine =
      std::to_array<Shown>({{"cores", "{} cores"},
                            {"memory_gib", "{} GiB of memory free"},
                            {"free_disk_gib", "{} GiB of disk free for the cache"},
                            {"driver", "NVIDIA driver {}"}});
  static constexpr auto kRecipe = std::to_array<Shown>({{"gxx", "g++ {}"},
                                                        {"clangxx", "clang++ {}"},
                                                        {"nvcc", "CUDA {}"},
                                                        {"cmake", "CMake {}"},
                                                        {"ninja", "ninja {}"},
                                                        {"python", "Python {}"},
                                                        {"ccache", "ccache {}"}});
  std::string line;
  const auto add = [&](const Shown& shown) {
    const auto found = diagnosis.facts.find(std::string(shown.fact));
    // A tool that is not here has no fact. If the recipe needs it, a finding says so.
    if (found == diagnosis.facts.end() || found->second.IsNone()) return;
    const Result<std::string> text = found->second.ToText();
    if (text) line += (line.empty() ? "" : ", ") + fmt::format(fmt::runtime(shown.format), *text);
  };
  if (diagnosis.subject.empty()) {
    for (const Shown& shown : kMachine) add(shown);
  } else {
    for (const Shown& shown : kRecipe) add(shown);
  }
  if (diagnosis.subject.empty()) return fmt::format("{}: {}", kThisMachine, line);
  // Tools such as make have no fact, and a recipe may need only those.
  if (line.empty()) line = Needs(diagnosis);
  return fmt::format("{}: {}", diagnosis.subject, line.empty() ? "no tools required" : line);
}

std::vector<Report> Reports(const std::vector<Diagnosis>& diagnoses) {
  std::vector<Report> reports;
  for (const Diagnosis& diagnosis : diagnoses) {
    reports.push_back(pipeline::ReportOf(diagnosis));
    // Documents keep the empty subject: a recipe could have any name.
    if (diagnosis.subject.empty()) reports.back().subject = kThisMachine;
  }
  return reports;
}

Result<ExitCode> RunDoctor(Context& context, const RecipeFlags& flags) {
  PTPKG_TRY(const pipeline::BuildRequest request, RequestOf(context, flags));
  PTPKG_TRY(const std::vector<Diagnosis> diagnoses, pipeline::Diagnose(context.env(), request));

  const std::vector<Report> reports = Reports(diagnoses);
  const bool errors =
      std::any_of(reports.begin(), reports.end(), [](const Report& report) { return report.HasErrors(); });
  if (context.json()) {
    Json list = Json::array();
    for (const Diagnosis& diagnosis : diagnoses) list.push_back(DiagnosisToJson(diagnosis));
    context.PrintJson(list);
    return errors ? kCheckFound : kDone;
  }
  for (const Diagnosis& diagnosis : diagnoses) context.Print(FactLine(diagnosis));
  // Findings are the result of this verb: they go to stdout and are printed with --quiet and --log-format
  // json too.
  for (const std::string& line : FindingLines(reports, {.all = false, .width = {}})) context.Print(line);
  context.Print(CountFindings(reports));
  return errors ? kCheckFound : kDone;
}

}  // namespace

Verb DoctorVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<RecipeFlags>();
  std::vector<Option> options = RecipeOptions(*flags, "Count the packages in DIR as available");
  options.insert(options.begin(), {.names = "RECIPE",
                                   .help = "recipe.yaml or its directory; none: this machine only",
                                   .target = &flags->recipes,
                                   .optional = true});
  return {.name = "doctor",
          .summary = "Find problems that would break a build, before it starts",
          .options = std::move(options),
          .notes =
              "Nothing is built; wheels may be downloaded for their digests. A build runs the same "
              "checks when it starts and stops at an error. Exit codes: 0 no errors, 1 errors found, "
              "2 wrong command line, 3 invalid recipe, 4 no such file.",
          .examples = {"ptpkg doctor", "ptpkg doctor recipes/pytorch --source pytorch=../pytorch"},
          .run = [flags](Context& context) { return RunDoctor(context, *flags); }};
}

}  // namespace ptpkg::cli
