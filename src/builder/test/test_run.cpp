#include "builder/test/test_run.h"

#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg::builder {

TestRun ImportRun(const recipe::PythonTest& test) {
  std::string text;
  for (const std::string& module : test.imports)
    text += fmt::format("print(\"import: '{0}'\", flush=True)\nimport {0}\n", module);
  return {.title = "import " + Join(test.imports, ", "), .interpreter = "python", .text = std::move(text)};
}

TestRun ModulesRun(const recipe::ModulesTest& test) {
  std::string text;
  for (const std::string& module : test.modules) {
    if (test.language == "perl") {
      text += fmt::format("use {};\n", module);
    } else if (test.language == "r") {
      text += fmt::format("library({})\n", module);
    } else {
      text += fmt::format("require '{}'\n", module);
    }
  }
  const std::string interpreter = test.language == "r" ? "Rscript" : test.language;
  return {.title = fmt::format("{}: {}", test.language, Join(test.modules, ", ")),
          .interpreter = interpreter,
          .text = std::move(text)};
}

Result<TestRun> MakeTestRun(Fs& fs, const recipe::ScriptTest& test, const AbsPath& folder,
                            const std::string& preamble) {
  PTPKG_TRY(const std::string text, ScriptText(fs, test.script, folder));
  const std::string& first = test.script.lines.empty() ? test.script.file : test.script.lines.front();
  const bool shell = test.script.interpreter == "bash";
  return TestRun{.title = first + (test.script.lines.size() > 1 ? " …" : ""),
                 .interpreter = test.script.interpreter,
                 .text = (shell ? preamble : std::string()) + text,
                 .variables = test.script.env,
                 .secrets = test.script.secrets};
}

void AddTestVariables(const AbsPath& prefix, std::map<std::string, std::string>& variables) {
  variables["CONDA_BUILD_STATE"] = "TEST";
  variables["CONDA_PREFIX"] = prefix.str();
  variables["LDFLAGS"] = fmt::format("-L{0}/lib -Wl,-rpath,{0}/lib", prefix.str());
}

Result<std::string> RunTest(Env& env, const TestRun& run, ScriptRun place) {
  place.stage = "test";
  place.title = run.title;
  place.interpreter = run.interpreter;
  place.text = run.text;
  for (const auto& [name, value] : run.variables) place.variables[name] = value;
  place.secrets = SecretsOf(env, run.secrets, place.subject);
  PTPKG_TRY(const ExitStatus status, RunScript(env, place));
  if (status.ok()) return std::string();
  return fmt::format("'{}' {}; log: '{}'{}", run.title, ExitSummary(status), place.log_file.str(),
                     ReplaceFoldersByVariables(LastLines(status.output), place.variables));
}

Finding TestFinding(Severity severity, std::size_t number, const std::string& message, std::string fix) {
  return {.id = "package-test",
          .severity = severity,
          .file = "",
          .message = fmt::format("test {}: {}", number, message),
          .fix = std::move(fix)};
}

}  // namespace ptpkg::builder
