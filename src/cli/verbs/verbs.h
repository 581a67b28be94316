#pragma once
// The verbs of the program: each declares its flags and runs one function of pipeline/. Layer: cli.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "cli/context.h"

namespace ptpkg::cli {

// Each describes one verb; what it runs reads the flags that the parser filled.
Verb BuildVerb();
Verb CondaVerb();
Verb WheelVerb();
Verb RenderVerb();
Verb RelinkVerb();
Verb RetagVerb();
Verb RepairVerb();
Verb SliceVerb();
Verb TransmuteVerb();
Verb CheckVerb();
Verb InspectVerb();
Verb DiffVerb();
Verb RebuildVerb();
Verb IndexVerb();
Verb PublishVerb();
Verb PromoteVerb();
Verb YankVerb();
Verb RemoveVerb();
Verb CiVerb();
Verb ImageVerb();
Verb DevVerb();
Verb ShellVerb();
Verb EnvVerb();
Verb SourceVerb();
Verb DoctorVerb();
Verb BenchVerb();
Verb CacheVerb();
Verb MatrixVerb();
Verb RunNodeVerb();
Verb ExplainVerb();
Verb CompletionVerb();
Verb ManVerb();
Verb ConfigVerb();
Verb HelpVerb(CommonFlags& flags);
Verb VersionVerb();

/// All verbs, and the options that each takes, which go to `flags`.
Program MakeProgram(CommonFlags& flags);

/// Users' paths, relative ones from the working directory. Errors: kUsage.
Result<std::vector<AbsPath>> ResolvePaths(const Context& context, const std::vector<std::string>& texts);

/// ResolvePaths for paths that have to exist. Errors: kNotFound; the hint names the command that makes
/// 'dist'.
Result<std::vector<AbsPath>> ResolveExisting(const Context& context, const std::vector<std::string>& texts);
Result<AbsPath> ResolveInput(const Context& context, const std::string& text);

/// For verbs that report on each path by itself, a missing one included. Errors: as ResolveExisting, for a
/// single path.
Result<std::vector<AbsPath>> ResolveEach(const Context& context, const std::vector<std::string>& texts);

/// The file that `text` names; nullopt where there is none. Errors: kUsage.
Result<std::optional<AbsPath>> ResolveFile(const Context& context, const std::optional<std::string>& text);

/// The end of a verb that writes one file after another. Prints `outcomes` as the result with --json. After
/// `failure`, which is returned, they go into the error instead: these files stay written.
Result<ExitCode> FinishOutcomes(Context& context, const Json& outcomes, const std::optional<Error>& failure);

/// "KEY=VALUE" texts, values of equal keys together. A variant's value can be empty. Errors: kUsage.
Result<std::map<std::string, std::vector<std::string>>> ParseSelect(const std::vector<std::string>& texts);
/// Errors: kUsage naming `flag`, also where a part is empty.
Result<std::pair<std::string, std::string>> SplitAssignment(std::string_view flag, const std::string& text);
Result<std::vector<std::pair<std::string, std::string>>> SplitAssignments(
    std::string_view flag, const std::vector<std::string>& texts);

}  // namespace ptpkg::cli
