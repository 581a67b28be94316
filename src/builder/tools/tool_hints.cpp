// Turns missing tools into commands that a person can paste. Layer: builder.
//
// conda's constraints are not pip's: "=1.2" means 1.2.*, a bare version means ==, and pip has no "|". A
// clause that pip cannot express is left out rather than translated wrongly. Debian's own Python refuses pip
// (externally managed), so the commands then make a virtual environment and point PTPKG_PYTHON to it. A
// program of the wrong version needs another advice than a missing one: a suitable version first on PATH.

#include <algorithm>
#include <fmt/format.h>

#include "builder/tools/tools.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

/// One clause of a conda constraint for pip; "" if pip cannot say it.
std::string PipClause(std::string clause) {
  for (const std::string_view op : {">=", "<=", "==", "!=", "~=", ">", "<"}) {
    if (!clause.starts_with(op)) continue;
    const bool takes_star = op == "==" || op == "!=";
    if (clause.ends_with(".*") && !takes_star) clause.resize(clause.size() - 2);
    return clause;
  }
  if (clause == "*") return "";
  if (!clause.starts_with("=")) return "==" + clause;
  return clause.ends_with(".*") ? "=" + clause : "=" + clause + ".*";
}

/// Commands for a shell, in the order in which they work.
std::vector<std::string> Commands(const ToolSet& tools) {
  std::set<std::string> debian;
  std::set<std::string> pip;
  for (const MissingTool& one : tools.missing) {
    if (!one.debian_package.empty()) debian.insert(one.debian_package);
    if (!one.pip_requirement.empty()) pip.insert(one.pip_requirement);
  }
  std::vector<std::string> commands;
  if (!debian.empty()) commands.push_back(fmt::format("apt-get install {}", fmt::join(debian, " ")));
  if (pip.empty() || !tools.python) return commands;
  std::vector<std::string> arguments = {tools.python->executable.str(), "-m", "pip", "install"};
  if (tools.python->externally_managed) {
    // pip refuses to install into Debian's own interpreter.
    commands.push_back(ShellQuote({arguments[0], "-m", "venv", "ptpkg-python"}));
    arguments[0] = "ptpkg-python/bin/python";
  }
  arguments.insert(arguments.end(), pip.begin(), pip.end());
  commands.push_back(ShellQuote(arguments));
  if (tools.python->externally_managed)
    commands.emplace_back("export PTPKG_PYTHON=$PWD/ptpkg-python/bin/python");
  return commands;
}

}  // namespace

std::string PipRequirement(std::string_view name, std::string_view constraint) {
  if (constraint.find('|') != std::string_view::npos) return std::string(name);
  std::vector<std::string> clauses;
  for (const std::string& clause : Split(constraint, ',')) {
    std::string text = clause.empty() ? "" : PipClause(clause);
    if (!text.empty()) clauses.push_back(std::move(text));
  }
  return std::string(name) + Join(clauses, ",");
}

Error MissingToolsError(const recipe::Recipe& recipe, const ToolSet& tools, const HostRequest& request) {
  std::vector<std::string> lines;
  for (const MissingTool& one : tools.missing) {
    lines.push_back(fmt::format("'{}' ({})", one.requirement, one.reason));
  }
  const std::vector<std::string> commands = Commands(tools);
  const bool lacks_python =
      std::any_of(tools.missing.begin(), tools.missing.end(), [](const MissingTool& one) {
        return one.requirement == "python" || one.requirement.starts_with("python ");
      });
  std::set<std::string> unfit;
  for (const MissingTool& one : tools.missing) {
    if (!one.unfit_program.empty()) unfit.insert(one.unfit_program);
  }
  std::string hint = request.output_channel ? "build that package first into the same output directory"
                                            : "list Python packages below 'pip:' or in a requirements.txt";
  hint += ", or use --env conda";
  if (lacks_python) hint = "install that Python and set PTPKG_PYTHON, or use --env conda";
  if (!commands.empty()) hint = fmt::format("install: {}", fmt::join(commands, " && "));
  if (!unfit.empty()) {
    const std::string path =
        unfit == std::set<std::string>{"nvcc"}
            ? "install that CUDA, and give its directory with --cuda-home DIR"
            : fmt::format("put a suitable version first on PATH: {}", fmt::join(unfit, ", "));
    hint = commands.empty() && unfit.size() == tools.missing.size() ? path : hint + "; " + path;
  }
  return Error(ErrorCode::kNotFound,
               fmt::format("missing build tools for '{}': {}", recipe.name, fmt::join(lines, ", ")))
      .WithHint(std::move(hint));
}

Error JoinNotFoundErrors(const std::vector<Error>& lacks) {
  if (lacks.size() == 1) return lacks.front();
  std::vector<std::string> messages;
  std::vector<std::string> hints;
  for (const Error& lack : lacks) {
    messages.push_back(lack.message());
    const bool is_new = std::find(hints.begin(), hints.end(), lack.hint()) == hints.end();
    if (is_new && !lack.hint().empty()) hints.push_back(lack.hint());
  }
  return Error(ErrorCode::kNotFound, Join(messages, "; ")).WithHint(Join(hints, "; "));
}

}  // namespace ptpkg::builder
