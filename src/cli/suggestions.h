#pragma once
// Errors about words that the program does not know, with the nearest one that it knows. Layer: cli.

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace ptpkg::cli {

/// "tool build", or "tool" for a null verb.
[[nodiscard]] std::string CommandName(const Program& program, const Verb* verb);

/// "a, b or c".
[[nodiscard]] std::string OneOf(std::vector<std::string> words);

/// Names of the verbs that have `option`, such as "--output".
[[nodiscard]] std::vector<std::string> VerbsWith(const Program& program, std::string_view option);

/// kUsage for a word that is not a verb of `program`. The hint names the verb that other programs call so,
/// the nearest one, or the help page. For another program's name with options that the verb has,
/// the hint is the whole command. `line`: all words of the command line, the program's name left out.
Error UnknownVerb(const Program& program, const std::string& word, const std::vector<std::string>& line = {});

/// kUsage for an option that neither `verb` nor the program has; null: no verb was named.
Error UnknownOption(const Program& program, const Verb* verb, const std::string& word);

/// The hint for `text` where one of `known` was meant; "" if none is near.
[[nodiscard]] std::string DidYouMean(const std::string& text, const std::vector<std::string>& known);

}  // namespace ptpkg::cli
