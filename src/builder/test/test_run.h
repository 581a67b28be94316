#pragma once
// Turns one test of a recipe into a command. Layer: builder.

#include <map>
#include <string>

#include "builder/script/script.h"
#include "model/finding.h"

namespace ptpkg::builder {

struct TestRun {
  std::string title;  ///< Name in messages.
  std::string interpreter;
  std::string text;
  std::map<std::string, std::string> variables = {};
  std::vector<std::string> secrets = {};  ///< As in recipe::BuildScript.
};

/// REQUIRES: it imports something.
TestRun ImportRun(const recipe::PythonTest& test);
/// Loads every module with the interpreter of its language.
TestRun ModulesRun(const recipe::ModulesTest& test);
/// `folder`: RECIPE_DIR. `preamble`: shell commands to run first. Errors: as ScriptText.
Result<TestRun> MakeTestRun(Fs& fs, const recipe::ScriptTest& test, const AbsPath& folder,
                            const std::string& preamble);

/// Adds what a test has besides the variables of the script: it sees what is installed in `prefix`.
void AddTestVariables(const AbsPath& prefix, std::map<std::string, std::string>& variables);

/// Runs `run` at `place`, whose stage, title, interpreter and text it sets, with its variables added. Returns
/// how it failed, with its last lines; "": it has not. Errors: as RunScript.
Result<std::string> RunTest(Env& env, const TestRun& run, ScriptRun place);

/// "package-test" about the test with this number, from 1.
Finding TestFinding(Severity severity, std::size_t number, const std::string& message, std::string fix);

}  // namespace ptpkg::builder
