// `ptpkg dev` tests after each edit, without packing and without a fresh prefix. The tests run in the build's
// own prefix, with LD_LIBRARY_PATH because search paths are rewritten only when a package is made.
//
// Tests that would mislead here are skipped with a reason instead of passing: `pip check`, and the contents
// of a noarch package, whose files lie elsewhere once installed. A missing tool skips its test too, while the
// test of a package would fail.

#include "builder/test/prefix_test.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "builder/post_process.h"
#include "builder/test/package_contents.h"
#include "builder/test/test_run.h"
#include "source/walk.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

class PrefixTester {
 public:
  PrefixTester(Env& env, const PrefixTestRequest& request) : env_(env), request_(request) {
    tests_.report.subject = request.recipe.FileStem();
  }

  Result<PrefixTests> Run() {
    PTPKG_CHECK(RemoveTree(env_.fs, request_.log_file), "while replacing the log of the last tests");
    for (const recipe::Test& test : request_.recipe.tests) {
      ++number_;
      PTPKG_CHECK(std::visit([&](const auto& one) { return One(one); }, test));
    }
    return std::move(tests_);
  }

 private:
  Result<void> One(const recipe::PythonTest& test) {
    if (!test.imports.empty()) {
      const TestRun run = ImportRun(test);
      if (request_.place.variables.contains("PYTHON")) {
        PTPKG_CHECK(Execute(run));
      } else {
        Skip(run.title, "the build has no Python");
      }
    }
    if (test.pip_check) Skip("pip check", "only for the package");
    return Ok();
  }

  Result<void> One(const recipe::ScriptTest& test) {
    PTPKG_TRY(TestRun run, MakeTestRun(env_.fs, test, request_.layout.recipe_copy, request_.place.preamble));
    if (!test.requirements.empty()) {
      const Result<std::string> folders = FoldersOfTools(test);
      if (!folders) {
        if (folders.error().code() != ErrorCode::kNotFound) return folders.error();
        Skip(run.title, folders.error().message());
        return Ok();
      }
      run.variables["PATH"] = request_.place.variables.at("PATH") + *folders;
    }
    return Execute(run);
  }

  /// Directories of tools that only the test requires, as a tail for PATH.
  Result<std::string> FoldersOfTools(const recipe::ScriptTest& test) {
    recipe::Recipe needs;
    needs.name = request_.recipe.name;
    needs.variant = request_.recipe.variant;
    needs.requirements.build = test.requirements;
    PTPKG_TRY(const HostPlan plan,
              CheckTools(env_, needs, {.host_env = HostEnv::kSystem, .provided = {request_.recipe.name}}));
    std::set<std::string> folders;
    for (const Tool& tool : plan.tools.tools) folders.insert(tool.path.Parent().str());
    std::string tail;
    for (const std::string& folder : folders) tail += ":" + folder;
    return tail;
  }

  Result<void> One(const recipe::ModulesTest& test) { return Execute(ModulesRun(test)); }

  Result<void> One(const recipe::ContentsTest& test) {
    if (request_.recipe.InstallerPlacesPython()) {
      Skip("package_contents", "installers decide where the files of a noarch Python package go");
      return Ok();
    }
    PTPKG_TRY(const std::vector<RelPath> files, InstalledFiles());
    const std::vector<std::string> problems = CheckContents(test, files, SitePackages());
    for (const std::string& problem : problems) AddFinding(problem);
    if (!problems.empty()) ++tests_.failed;
    tests_.ran.emplace_back("package_contents");
    return Ok();
  }

  Result<std::vector<RelPath>> InstalledFiles() {
    PTPKG_TRY(const std::vector<source::WalkEntry> entries, source::Walk(env_, request_.layout.prefix));
    std::vector<RelPath> added;
    for (const source::WalkEntry& entry : entries) {
      const auto& host = request_.host_files;
      if (!std::binary_search(host.begin(), host.end(), entry.path)) added.push_back(entry.path);
    }
    return SelectFiles(request_.recipe, added);
  }

  [[nodiscard]] std::string SitePackages() const {
    const auto folder = request_.place.variables.find("SP_DIR");
    const std::string prefix = request_.layout.prefix.str() + "/";
    const bool below = folder != request_.place.variables.end() && folder->second.starts_with(prefix);
    return below ? folder->second.substr(prefix.size()) : "site-packages";
  }

  Result<void> Execute(const TestRun& run) {
    tests_.ran.push_back(run.title);
    const AbsPath folder = request_.layout.temp / fmt::format("test_{}", tests_.ran.size());
    PTPKG_CHECK(RemoveTree(env_.fs, folder));
    PTPKG_CHECK(env_.fs.MakeDirs(folder));
    std::map<std::string, std::string> variables = request_.place.variables;
    AddTestVariables(request_.layout.prefix, variables);
    variables["SRC_DIR"] = folder.str();
    variables["PWD"] = folder.str();
    variables["LD_LIBRARY_PATH"] = request_.layout.prefix.str() + "/lib";
    PTPKG_TRY(const std::string failure,
              RunTest(env_, run,
                      {.stage = {},
                       .subject = tests_.report.subject,
                       .title = {},
                       .interpreter = {},
                       .text = {},
                       .file = request_.layout.root / fmt::format("script/test_{}", tests_.ran.size()),
                       .cwd = folder,
                       .log_file = request_.log_file,
                       .variables = std::move(variables)}));
    if (failure.empty()) return Ok();
    AddFinding(failure);
    ++tests_.failed;
    return Ok();
  }

  void AddFinding(const std::string& message) {
    tests_.report.findings.push_back(
        TestFinding(Severity::kError, number_, message, "fix the source or the test, and run again"));
  }
  void Skip(const std::string& title, const std::string& reason) {
    tests_.skipped.push_back(title + ": " + reason);
  }

  Env& env_;
  const PrefixTestRequest& request_;
  std::size_t number_ = 0;  // of the test, from 1
  PrefixTests tests_;
};

}  // namespace

Result<PrefixTests> TestPrefix(Env& env, const PrefixTestRequest& request) {
  return PrefixTester(env, request).Run();
}

}  // namespace ptpkg::builder
