#pragma once
// The command line as data: verbs, options, where their values go. Layer: cli.
// Parser, --help, completions, man pages and configuration files all read this one description.
// command_line.cpp and help.cpp alone include CLI11, which costs 9 s of compile time in each file that does.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/exit_code.h"
#include "support/result.h"

namespace ptpkg::cli {

class Context;

/// A whole number of `least` to `most`.
struct Number {
  std::uint64_t* value;
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

/// Destination of the value; it outlives the parsing. Values are never empty. A bool makes a flag. A vector
/// option can repeat, with one value each time. A positional string is required, an optional one can be
/// omitted, and a vector takes one or more words.
using Target =
    std::variant<bool*, std::string*, std::optional<std::string>*, std::vector<std::string>*, Number>;

/// One option, or one positional argument.
struct Option {
  std::string names;       ///< "-o,--output"; a positional argument has a name without dashes: "RECIPE".
  std::string value = {};  ///< Metavar. DIR completes directories; FILE, PROGRAM, PATH, RECIPE, INPUT and
                           ///< ARTIFACT complete files. "DIR[:DIR]" is a list with ':' between.
  std::string help;        ///< A verb phrase of at most 60 characters without a period.
  Target target;
  std::vector<std::string> choices = {};  ///< Values allowed; empty: any.
  std::string default_text = {};          ///< Text for "[default: …]" in the help.
  std::string env = {};                   ///< The variable of the same meaning: "[env: …]".
  std::string group = {};                 ///< Heading in --help; "" = "Options".
  std::string needs = {};                 ///< "--recipe": has no meaning without that one.
  std::string instead_of_empty = {};      ///< Hint where the value is empty; "": leave the option out.
  bool optional =
      false;            ///< A positional argument that may be missing; so is any with a std::optional target.
  bool shared = false;  ///< Has the same meaning in all verbs: a configuration file may name it at the top.

  [[nodiscard]] bool IsPositional() const { return names.front() != '-'; }
  [[nodiscard]] bool IsFlag() const { return std::holds_alternative<bool*>(target); }
  [[nodiscard]] bool Repeats() const { return std::holds_alternative<std::vector<std::string>*>(target); }
  /// True for a positional argument that may be missing.
  [[nodiscard]] bool MayBeMissing() const;
  /// "-o", "--output", each by itself.
  [[nodiscard]] std::vector<std::string> Names() const;
  /// The first long name, else the only one.
  [[nodiscard]] std::string LongName() const;
};

struct Verb {
  std::string name;
  std::string summary;                     ///< One sentence without a period.
  std::vector<std::string> known_as = {};  ///< Names in other programs, from which this verb is suggested.
  std::vector<Option> options;
  std::string notes = {};  ///< Paragraphs below the options. Indented lines are rows "  name   text".
  std::vector<std::string> examples;
  std::function<Result<ExitCode>(Context&)> run;
  std::set<std::string>* given = nullptr;  ///< Gets LongName() of each option that the line has.
};

struct Program {
  std::string name;
  std::string summary;
  std::vector<Option> common;  ///< Taken before and after the verb.
  std::vector<Verb> verbs;
  std::vector<std::string> examples;
  std::set<std::string>* given = nullptr;  ///< The same for the common options.
};

/// The value that configuration files set for an option.
struct Setting {
  std::string option;  ///< LongName(): "--output".
  std::vector<std::string> values;
};

/// The settings of a verb whose positional arguments are `words`.
using SettingsOf =
    std::function<Result<std::vector<Setting>>(const Verb& verb, const std::vector<std::string>& words)>;

struct ParseOptions {
  std::size_t help_width = 80;  ///< Columns of a help page.
  SettingsOf settings = {};     ///< Asked once; the line wins over its answer. Null: there are none.
};

struct ParsedLine {
  const Verb* verb = nullptr;            ///< Verb in the parsed program; null when the line names none.
  std::optional<std::string> help = {};  ///< The page that -h or --help asks for; nothing else was checked.
};

/// Stores the values of `words` (argv without the program's name) in the targets of `program`'s options.
/// Errors: kUsage with a message for people, and the nearest option or verb as hint. Any error from
/// options.settings.
Result<ParsedLine> ParseCommandLine(const Program& program, const std::vector<std::string>& words,
                                    const ParseOptions& options = {});

/// Checks a value of `option`: not empty, one of the choices, a number within its bounds. Errors: kUsage.
Result<void> CheckValue(const Option& option, const std::string& text);

/// The verb called `name`; null if there is none.
[[nodiscard]] const Verb* FindVerb(const Program& program, std::string_view name);

/// The option called `name`, "-o" or "--output"; null if there is none.
[[nodiscard]] const Option* FindOption(const std::vector<Option>& options, std::string_view name);

}  // namespace ptpkg::cli
