// A package is tested the way a user gets it: unpacked from the finished archive into a fresh prefix. Tests
// in the build's own prefix would also find files that the package lacks.
//
// Steps: plan the tools, unpack required packages of our channel, take a snapshot, unpack the package. The
// difference from the snapshot is the package's own files, which contents tests and the files of test scripts
// refer to. Python comes last, because only then all packages that may bring one are in the prefix.
//
// With the machine's Python, `pip check` also reports on the machine's packages. So only distributions of
// this prefix count, and a missing run requirement doesn't: the machine need not have it as a distribution.

#include "builder/test/package_test.h"

#include <algorithm>
#include <fmt/core.h>

#include "builder/env/environment.h"
#include "builder/prefix_diff.h"
#include "builder/test/package_contents.h"
#include "builder/test/test_run.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

// Arguments: the prefix, then names that the package requires. A line of `pip check` begins with the
// name of the distribution that lacks something; only those below the prefix are of this package.
constexpr std::string_view kPipCheck = R"(
import importlib.metadata, os, re, subprocess, sys
def normal(name):
    return re.sub(r'[-_.]+', '-', name).lower()
prefix = os.path.realpath(sys.argv[1]) + os.sep
known = {normal(name) for name in sys.argv[2:]}
own = {normal(one.metadata['Name'] or '') for one in importlib.metadata.distributions()
       if os.path.realpath(str(one.locate_file(''))).startswith(prefix)}
done = subprocess.run([sys.executable, '-m', 'pip', 'check'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(done.stdout, end='')
bad = []
for line in done.stdout.splitlines():
    needed = re.search(r' (?:requires|has requirement) ([A-Za-z0-9._-]+)', line)
    if needed and normal(line.split(' ')[0]) in own and normal(needed.group(1)) not in known:
        bad.append(line)
if done.returncode not in (0, 1):
    sys.exit('pip check ended with status %d' % done.returncode)
if bad:
    sys.exit('not met: ' + '; '.join(bad))
)";

/// For itself, or because only an interpreter says where a noarch package's files go.
bool NeedsPython(const recipe::Recipe& recipe) {
  return recipe.InstallerPlacesPython() ||
         std::any_of(recipe.tests.begin(), recipe.tests.end(), [](const recipe::Test& test) {
           return std::holds_alternative<recipe::PythonTest>(test);
         });
}

/// The constraint on Python that the tests of one environment share; "": none.
std::string PythonOfTests(const recipe::Recipe& part) {
  if (part.tests.empty()) return "";
  const auto* python = std::get_if<recipe::PythonTest>(&part.tests.front());
  return python == nullptr || python->python_versions.empty() ? "" : python->python_versions.front();
}

class Tester {
 public:
  Tester(Env& env, const PackageTestRequest& request)
      : env_(env), request_(request), recipe_(request.recipe) {
    report_.subject = recipe_.FileStem();
    layout_.root = request.work;
    layout_.source = request.work / "run";
    layout_.prefix = request.work / "prefix";
    layout_.build_prefix = request.work / "tools";
    layout_.recipe_copy = request.work / "recipe";
    layout_.home = request.work / "home";
    layout_.temp = request.work / "tmp";
  }

  Result<Report> Run() {
    PTPKG_CHECK(Prepare());
    PTPKG_TRY(const HostPlan plan, CheckTestTools(env_, recipe_,
                                                  {.host_env = request_.host_env,
                                                   .options = request_.options,
                                                   .provided = Own(),
                                                   .given = request_.wheels}));
    const UnpackFunction& unpack = request_.unpack;
    const HostPrefixInput input{
        .plan = plan, .layout = layout_, .unpack = unpack, .log_file = request_.log_file};
    PTPKG_TRY(HostPrefix host, HostPrefix::Create(env_, input), "while preparing the tests");
    for (const LocalPackage& package : request_.packages) PTPKG_CHECK(host.Unpack(package));
    PTPKG_TRY(const PrefixSnapshot before, PrefixSnapshot::Take(env_, layout_.prefix));
    PTPKG_CHECK(host.Unpack(request_.package));
    PTPKG_TRY(files_, before.Added(env_, layout_.prefix));
    PTPKG_CHECK(host.FinishPython());
    host_ = &host;
    for (std::size_t i = 0; i < recipe_.tests.size(); ++i) {
      number_ = i + 1;
      PTPKG_CHECK(std::visit([&](const auto& test) { return One(test); }, recipe_.tests[i]));
    }
    return std::move(report_);
  }

 private:
  Result<void> Prepare() {
    PTPKG_CHECK(RemoveTree(env_.fs, request_.log_file), "while replacing the log of the last tests");
    for (const AbsPath& folder :
         {layout_.source, layout_.prefix, layout_.build_prefix, layout_.home, layout_.temp}) {
      PTPKG_CHECK(env_.fs.MakeDirs(folder), "while preparing the tests");
    }
    RecipeFolder folder;
    if (request_.recipe_folder) {
      folder = *request_.recipe_folder;
    } else {
      PTPKG_TRY(folder, ReadRecipeFolder(env_, recipe_, {}));
    }
    return CopyRecipeFolder(env_, folder, layout_.recipe_copy);
  }

  [[nodiscard]] std::set<std::string> Own() const {
    std::set<std::string> names = {recipe_.name};
    for (const LocalPackage& package : request_.packages) names.insert(package.name);
    return names;
  }

  Result<void> One(const recipe::PythonTest& test) {
    if (!test.imports.empty()) PTPKG_CHECK(Execute(ImportRun(test)));
    return test.pip_check ? PipCheck() : Ok();
  }

  Result<void> PipCheck() {
    const std::optional<Python>& python = host_->tools().python;
    if (!python || !python->packages.contains("pip")) {
      Add(Severity::kWarning, "'pip check' was not run: Python has no pip",
          "install pip, or set 'pip_check: false'");
      return Ok();
    }
    std::string arguments = Json(layout_.prefix.str()).dump();
    if (python->is_virtual) {
      for (const recipe::MatchSpec& spec : recipe_.requirements.run)
        arguments += ", " + Json(spec.name).dump();
    }
    return Execute({.title = "pip check",
                    .interpreter = "python",
                    .text = fmt::format("import sys\nsys.argv[1:] = [{}]\n{}", arguments, kPipCheck)});
  }

  Result<void> One(const recipe::ScriptTest& test) {
    PTPKG_TRY(const TestRun run, MakeTestRun(env_.fs, test, layout_.recipe_copy, host_->preamble()));
    return Execute(run, &test);
  }

  Result<void> One(const recipe::ModulesTest& test) { return Execute(ModulesRun(test)); }

  /// Into the directory that the script runs in.
  Result<void> CopyFilesOfTest(const recipe::ScriptTest& test, const AbsPath& cwd) {
    if (!test.HasFiles()) return Ok();
    const std::string folder = recipe::TestFilesFolder(recipe_.name, test.position) + "/";
    for (const RelPath& file : files_) {
      if (!file.str().starts_with(folder)) continue;
      PTPKG_TRY(const RelPath name, RelPath::Parse(file.str().substr(folder.size())));
      PTPKG_CHECK(env_.fs.MakeDirs((cwd / name).Parent()));
      PTPKG_CHECK(env_.fs.CopyFile(layout_.prefix / file, cwd / name), "while copying the files of a test");
    }
    return Ok();
  }

  Result<void> One(const recipe::ContentsTest& test) {
    const std::optional<Python>& python = host_->tools().python;
    const std::string site_packages = python ? python->SitePackages() : "site-packages";
    for (const std::string& problem : CheckContents(test, files_, site_packages)) {
      Add(Severity::kError, problem, "fix the build or the test");
    }
    return Ok();
  }

  Result<void> Execute(const TestRun& run, const recipe::ScriptTest* script = nullptr) {
    ++runs_;
    const AbsPath cwd = layout_.source / fmt::format("{}", runs_);
    PTPKG_CHECK(env_.fs.MakeDirs(cwd));
    if (script != nullptr) PTPKG_CHECK(CopyFilesOfTest(*script, cwd));
    std::map<std::string, std::string> variables =
        ScriptEnvironment(env_, {.recipe = recipe_,
                                 .layout = layout_,
                                 .source_root = cwd,
                                 .tools = host_->tools(),
                                 .mentioned = {"PKG_BUILDNUM", "PKG_BUILD_STRING", "PKG_HASH"}});
    // After the build's own variables, because a test replaces some of them.
    AddTestVariables(layout_.prefix, variables);
    PTPKG_TRY(const std::string failure,
              RunTest(env_, run,
                      {.stage = {},
                       .subject = report_.subject,
                       .title = {},
                       .interpreter = {},
                       .text = {},
                       .file = layout_.root / fmt::format("scripts/test_{}", runs_),
                       .cwd = cwd,
                       .log_file = request_.log_file,
                       .variables = std::move(variables)}));
    if (!failure.empty()) {
      Add(Severity::kError, failure, "fix the package or the test, or publish without tests: --test skip");
    }
    return Ok();
  }

  void Add(Severity severity, const std::string& message, std::string fix) {
    const std::string python = PythonOfTests(recipe_);
    const std::string where = python.empty() ? "" : fmt::format("with Python {}: ", python);
    report_.findings.push_back(TestFinding(severity, number_, where + message, std::move(fix)));
  }

  Env& env_;
  const PackageTestRequest& request_;
  const recipe::Recipe& recipe_;
  WorkLayout layout_;
  std::vector<RelPath> files_;
  const HostPrefix* host_ = nullptr;
  std::size_t number_ = 0;  // of the test, from 1
  std::size_t runs_ = 0;
  Report report_;
};

}  // namespace

bool HasTests(const recipe::Recipe& recipe) { return !recipe.tests.empty(); }

std::vector<recipe::MatchSpec> TestRequirements(const recipe::Recipe& recipe) {
  std::vector<recipe::MatchSpec> specs = recipe.requirements.run;
  for (const recipe::Test& test : recipe.tests) {
    const auto* script = std::get_if<recipe::ScriptTest>(&test);
    const auto* python = std::get_if<recipe::PythonTest>(&test);
    if (script == nullptr && python == nullptr) continue;
    for (const recipe::MatchSpec& spec : script != nullptr ? script->requirements : python->requirements) {
      if (std::find(specs.begin(), specs.end(), spec) == specs.end()) specs.push_back(spec);
    }
  }
  return specs;
}

std::vector<recipe::Recipe> TestEnvironments(const recipe::Recipe& recipe) {
  std::vector<recipe::Recipe> parts;
  std::vector<std::string> versions;
  const auto part_for = [&](const std::string& version) -> recipe::Recipe& {
    const auto found = std::ranges::find(versions, version);
    if (found != versions.end()) return parts[static_cast<std::size_t>(found - versions.begin())];
    versions.push_back(version);
    parts.push_back(recipe);
    parts.back().tests.clear();
    return parts.back();
  };
  for (const recipe::Test& test : recipe.tests) {
    const auto* python = std::get_if<recipe::PythonTest>(&test);
    if (python == nullptr || python->python_versions.empty()) part_for("").tests.push_back(test);
  }
  for (const recipe::Test& test : recipe.tests) {
    const auto* python = std::get_if<recipe::PythonTest>(&test);
    if (python == nullptr) continue;
    for (const std::string& version : python->python_versions) {
      recipe::PythonTest one = *python;
      one.python_versions = {version};
      part_for(version).tests.emplace_back(std::move(one));
    }
  }
  return parts;
}

Result<HostPlan> CheckTestTools(Env& env, const recipe::Recipe& recipe, const HostRequest& request) {
  recipe::Recipe needs = recipe;
  needs.ptpkg.system_packages.clear();
  needs.requirements.build.clear();
  needs.requirements.host.clear();
  for (const recipe::MatchSpec& spec : TestRequirements(recipe)) {
    const auto& run = recipe.requirements.run;
    // A library in `run` that is missing shows in the test that needs it, under its own name.
    const bool in_run = std::find(run.begin(), run.end(), spec) != run.end();
    if (!in_run || spec.name == "python") needs.requirements.host.push_back(spec);
  }
  const std::string python = PythonOfTests(recipe);
  if (!python.empty()) {
    needs.variant.erase("python");
    // The version of the test replaces the variant's, or the two would exclude each other.
    std::erase_if(needs.requirements.host,
                  [](const recipe::MatchSpec& spec) { return spec.name == "python"; });
    PTPKG_TRY(needs.requirements.host.emplace_back(), recipe::MatchSpec::Parse("python " + python));
  } else if (NeedsPython(recipe)) {
    needs.requirements.host.push_back({.name = "python", .version = {}, .build = {}});
  }
  for (const recipe::Test& test : recipe.tests) {
    const auto* script = std::get_if<recipe::ScriptTest>(&test);
    if (script == nullptr) continue;
    needs.requirements.build.insert(needs.requirements.build.end(), script->build_requirements.begin(),
                                    script->build_requirements.end());
  }
  HostRequest own = request;
  own.provided.insert(recipe.name);
  PTPKG_TRY(HostPlan plan, CheckTools(env, needs, own));
  if (plan.host_env != HostEnv::kConda) return plan;
  // A client makes one prefix for all, so run requirements are solved together with the tests'.
  plan.host.clear();
  for (const recipe::MatchSpec& spec : TestRequirements(recipe)) {
    if (!own.provided.contains(spec.name)) plan.host.push_back(spec);
  }
  if (NeedsPython(recipe)) plan.host.push_back({.name = "pip", .version = {}, .build = {}});
  if (!python.empty()) {
    PTPKG_TRY(plan.host.emplace_back(), recipe::MatchSpec::Parse("python " + python));
  }
  return plan;
}

Result<Report> TestPackage(Env& env, const PackageTestRequest& request) {
  if (!HasTests(request.recipe)) return Report{.subject = request.recipe.FileStem(), .findings = {}};
  return Tester(env, request).Run();
}

}  // namespace ptpkg::builder
