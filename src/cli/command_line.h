#pragma once
// The command line as data: verbs, options, where their values go. Layer: cli.
// Parser, --help, completions and man pages all read this one description. command_line.cpp alone includes
// CLI11, which costs 9 s of compile time in each file that does.

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

/// Where the value goes; it outlives the parsing. No value is empty. A bool makes a flag. A vector may be
/// given again and again, one value each time. Of positional arguments, a string is required, an optional one
/// may be left out, a vector takes one or more.
using Target =
    std::variant<bool*, std::string*, std::optional<std::string>*, std::vector<std::string>*, Number>;

/// One option, or one positional argument.
struct Option {
  std::string names;       ///< "-o,--output"; a positional argument has a name without dashes: "RECIPE".
  std::string value = {};  ///< What help calls the value. DIR completes folders; FILE, PATH, RECIPE, INPUT
                           ///< and ARTIFACT complete files.
  std::string help;        ///< Ends without a period.
  Target target;
  std::vector<std::string> choices = {};   ///< Values allowed; empty: any.
  std::string group = {};                  ///< Heading in --help; "" = "Options".
  std::string needs = {};                  ///< "--recipe": has no meaning without that one.
  std::set<std::string>* given = nullptr;  ///< Gets LongName() when the line has it, whatever the value.
  std::string instead_of_empty = {};       ///< Hint where the value is empty; "": leave the option out.
  bool optional = false;  ///< Positional: there may be none. Always so with a target std::optional.
  int words = 0;          ///< Positional, before another: exactly so many words. 0: all that are left.

  [[nodiscard]] bool IsPositional() const { return names.front() != '-'; }
  [[nodiscard]] bool IsFlag() const { return std::holds_alternative<bool*>(target); }
  [[nodiscard]] bool Repeats() const { return std::holds_alternative<std::vector<std::string>*>(target); }
  [[nodiscard]] bool MayBeMissing() const;  ///< Of a positional argument.
  /// "-o", "--output", each by itself.
  [[nodiscard]] std::vector<std::string> Names() const;
  /// The first long name, else the only one.
  [[nodiscard]] std::string LongName() const;
};

struct Verb {
  std::string name;
  std::string summary;                     ///< One sentence without a period.
  std::vector<std::string> known_as = {};  ///< Names of other programs for it, to suggest it by.
  std::vector<Option> options;
  std::string notes = {};  ///< Paragraphs below the options; line breaks are kept.
  std::vector<std::string> examples;
  std::function<Result<ExitCode>(Context&)> run;
};

struct Program {
  std::string name;
  std::string summary;
  std::vector<Option> common;  ///< Taken before and after the verb.
  std::vector<Verb> verbs;
  std::vector<std::string> examples;
};

struct ParsedLine {
  const Verb* verb = nullptr;  ///< Of the program that was parsed; null when the line names none.
  bool help = false;           ///< -h or --help was there; nothing else was looked at then.
};

/// Puts the values of `words` (argv without the program's name) where the options of `program` say.
/// Errors: kUsage in words for people, with the nearest flag or verb as hint.
Result<ParsedLine> ParseCommandLine(const Program& program, const std::vector<std::string>& words);

}  // namespace ptpkg::cli
