#pragma once
// The verbs of the program: each declares its flags and runs one function of pipeline/. Layer: cli.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/context.h"
#include "cli/exit_code.h"
#include "model/finding.h"

namespace CLI {
class App;
}

namespace ptpkg::cli {

/// Set by the verb that the command line names; run after parsing.
using Action = std::function<Result<ExitCode>(Context&)>;

// Each adds one subcommand to `app`; when it is the one given, it stores its action in `action`.
void AddBuildVerbs(CLI::App& app, Action& action);  ///< build, conda, wheel
void AddRenderVerb(CLI::App& app, Action& action);
void AddRelinkVerb(CLI::App& app, Action& action);
void AddCheckVerb(CLI::App& app, Action& action);
void AddIndexVerb(CLI::App& app, Action& action);

/// "KEY=VALUE" texts, values of equal keys together. Errors: kUsage.
Result<std::map<std::string, std::vector<std::string>>> ParseSelect(const std::vector<std::string>& texts);
/// Errors: kUsage naming `flag`.
Result<std::pair<std::string, std::string>> SplitAssignment(std::string_view flag, const std::string& text);

/// Findings as text on stderr, worst first.
void PrintFindings(const std::vector<Report>& reports);
Json FindingsToJson(const std::vector<Report>& reports);

}  // namespace ptpkg::cli
