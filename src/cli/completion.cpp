// Completion scripts are made from the description of the command line, so they can't name an option that the
// program lacks. They are static: a shell completes without starting ptpkg, which would cost milliseconds at
// each key.
// The metavar of an option decides what completes it (KindOf). Options differ by verb, so each script first
// looks for the verb among the words before the cursor. Then it completes an option's value or a word.

#include "cli/completion.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

enum class Completes : unsigned char { kNothing, kChoices, kFiles, kFolders, kVerbs };

Completes KindOf(const Option& option) {
  constexpr std::array<std::string_view, 9> kFileNames = {"FILE",     "PROGRAM", "PATH", "RECIPE", "INPUT",
                                                          "ARTIFACT", "OLD",     "NEW",  "PLAN"};
  if (!option.choices.empty()) return Completes::kChoices;
  std::string_view name = option.value.empty() ? option.names : option.value;
  name = name.substr(0, name.find('['));  // "DIR[:DIR]"
  if (name == "DIR") return Completes::kFolders;
  if (name == "VERB") return Completes::kVerbs;
  const bool files = std::find(kFileNames.begin(), kFileNames.end(), name) != kFileNames.end();
  return files ? Completes::kFiles : Completes::kNothing;
}

std::string VerbNames(const Program& program, std::string_view separator) {
  std::vector<std::string> names;
  for (const Verb& verb : program.verbs) names.push_back(verb.name);
  return Join(names, separator);
}

/// "-o --output …", those of every verb too.
std::string FlagNames(const Program& program, const std::vector<Option>& options) {
  std::vector<std::string> names;
  for (const std::vector<Option>* list : {&options, &program.common}) {
    for (const Option& option : *list) {
      if (option.IsPositional()) continue;
      for (std::string& name : option.Names()) names.push_back(std::move(name));
    }
  }
  names.emplace_back("--help");
  return Join(names, " ");
}

// ---- bash

std::string BashAnswer(const Program& program, const Option& option) {
  switch (KindOf(option)) {
    case Completes::kChoices:
      return fmt::format("_ptpkg_words '{}'", Join(option.choices, " "));
    case Completes::kVerbs:
      return fmt::format("_ptpkg_words '{}'", VerbNames(program, " "));
    case Completes::kFiles:
      return "_ptpkg_files -f";
    case Completes::kFolders:
      return "_ptpkg_files -d";
    case Completes::kNothing:
      return ":";
  }
  return ":";
}

/// Lines of a case statement: what follows an option that takes a value.
std::string BashValues(const Program& program, std::string_view verb, const std::vector<Option>& options) {
  std::string text;
  for (const Option& option : options) {
    if (option.IsPositional() || option.IsFlag()) continue;
    std::vector<std::string> patterns;
    // "verb:option", so that one case statement has the options of all verbs. Common options have "*" for the
    // verb.
    for (const std::string& name : option.Names()) patterns.push_back(fmt::format("{}:{}", verb, name));
    text += fmt::format("    {}) {}; return ;;\n", Join(patterns, "|"), BashAnswer(program, option));
  }
  return text;
}

/// The script counts no words, so the last positional argument decides for all of them: RECIPE, for the words
/// of 'ptpkg ci SERVICE RECIPE...'.
std::string BashArguments(const Program& program, const Verb& verb) {
  std::string answer = ":";
  for (const Option& option : verb.options) {
    if (option.IsPositional()) answer = BashAnswer(program, option);
  }
  return fmt::format(R"sh(    {}) if [[ $cur == -* ]]; then _ptpkg_words '{}'; else {}; fi ;;
)sh",
                     verb.name, FlagNames(program, verb.options), answer);
}

// ---- zsh

std::string ZshQuoted(std::string_view text) {
  std::string escaped(text);
  // _arguments uses these to separate the parts of a specification (zshcompsys(1)). The backslash comes
  // first, or it would double the others'.
  for (const char* special : {"\\", "[", "]", ":"}) {
    escaped = ReplaceAll(escaped, special, std::string("\\") + special);
  }
  return ReplaceAll(escaped, "'", "'\\''");
}

std::string ZshAction(const Program& program, const Option& option) {
  switch (KindOf(option)) {
    case Completes::kChoices:
      return fmt::format("({})", Join(option.choices, " "));
    case Completes::kVerbs:
      return fmt::format("({})", VerbNames(program, " "));
    case Completes::kFiles:
      return "_files";
    case Completes::kFolders:
      return "_files -/";
    case Completes::kNothing:
      return " ";
  }
  return " ";
}

/// Arguments of zsh's _arguments, one a name.
std::vector<std::string> ZshSpecs(const Program& program, const std::vector<Option>& options) {
  std::vector<std::string> specs;
  int position = 0;
  for (const Option& option : options) {
    const std::string action = ZshAction(program, option);
    if (option.IsPositional()) {
      const std::string place = option.Repeats() ? "*" : std::to_string(++position);
      specs.push_back(fmt::format("'{}:{}:{}'", place, option.names, action));
      continue;
    }
    const std::string value = option.IsFlag() ? "" : fmt::format(":{}:{}", ZshQuoted(option.value), action);
    for (const std::string& name : option.Names()) {
      // An option that was given excludes all of its names, unless it can repeat.
      const std::string others = option.Repeats() ? "*" : fmt::format("({})", Join(option.Names(), " "));
      specs.push_back(fmt::format("'{}{}[{}]{}'", others, name, ZshQuoted(option.help), value));
    }
  }
  return specs;
}

// ---- fish

std::string FishQuoted(std::string_view text) {
  return "'" + ReplaceAll(ReplaceAll(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string FishValue(const Program& program, const Option& option) {
  switch (KindOf(option)) {
    case Completes::kChoices:
      return fmt::format(" -x -a {}", FishQuoted(Join(option.choices, " ")));
    case Completes::kVerbs:
      return fmt::format(" -x -a {}", FishQuoted(VerbNames(program, " ")));
    case Completes::kFiles:
      return " -r -F";
    case Completes::kFolders:
      return " -x -a '(__fish_complete_directories)'";
    case Completes::kNothing:
      return " -x";
  }
  return "";
}

std::string FishOptions(const Program& program, const std::string& condition,
                        const std::vector<Option>& options) {
  std::string text;
  for (const Option& option : options) {
    std::string line = "complete -c ptpkg" + condition;
    if (option.IsPositional()) {
      // Words that follow: fish offers files where nothing else is said.
      if (KindOf(option) == Completes::kFiles) line += " -F";
      if (KindOf(option) != Completes::kFiles) line += FishValue(program, option);
    } else {
      for (const std::string& name : option.Names()) {
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.IsFlag()) line += FishValue(program, option);
      line += " -d " + FishQuoted(option.help);
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace

/// The word before the cursor is looked at first: behind an option with a value, only that value is offered.
/// Otherwise the verb decides, and before the verb there are verbs and common options.
std::string BashCompletion(const Program& program) {
  std::string values = BashValues(program, "*", program.common);
  std::string arguments;
  for (const Verb& verb : program.verbs) {
    values += BashValues(program, verb.name, verb.options);
    arguments += BashArguments(program, verb);
  }
  return fmt::format(R"(# bash completion of ptpkg; made by 'ptpkg completion bash'.
_ptpkg_words() {{ mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }}
_ptpkg_files() {{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}}
_ptpkg() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} verb='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
    {verbs_bars}) verb=${{COMP_WORDS[i]}}; break ;;
    esac
  done
  case $verb:$prev in
{values}  esac
  case $verb in
{arguments}    *) _ptpkg_words '{verbs} {flags}' ;;
  esac
}}
complete -F _ptpkg ptpkg
)",
                     fmt::arg("verbs_bars", VerbNames(program, "|")), fmt::arg("values", values),
                     fmt::arg("arguments", arguments), fmt::arg("verbs", VerbNames(program, " ")),
                     fmt::arg("flags", FlagNames(program, {})));
}

/// _arguments counts words from the first one. So the loop drops everything in front of the verb, options
/// too, and the verb takes the place of the program.
std::string ZshCompletion(const Program& program) {
  std::string descriptions;
  std::string cases;
  for (const Verb& verb : program.verbs) {
    descriptions += fmt::format("    '{}:{}'\n", verb.name, ZshQuoted(verb.summary));
    cases += fmt::format("    {}) _arguments -s $common {} ;;\n", verb.name,
                         Join(ZshSpecs(program, verb.options), " "));
  }
  return fmt::format(R"(#compdef ptpkg
# zsh completion of ptpkg; made by 'ptpkg completion zsh'.
_ptpkg() {{
  local -a verbs common
  local i
  verbs=(
{descriptions}  )
  common=({common} '(- *)--help[Print help]')
  for ((i = 2; i < CURRENT; i++)); do
    (( ${{verbs[(I)$words[i]:*]}} )) || continue
    local verb=$words[i]
    # What stands before the verb is behind us.
    words=($verb ${{words[i + 1, -1]}})
    (( CURRENT -= i - 1 ))
    case $verb in
{cases}    esac
    return
  done
  _arguments -s $common '1: :{{_describe verb verbs}}'
}}
_ptpkg "$@"
)",
                     fmt::arg("descriptions", descriptions),
                     fmt::arg("common", Join(ZshSpecs(program, program.common), " ")),
                     fmt::arg("cases", cases));
}

std::string FishCompletion(const Program& program) {
  const std::string none = fmt::format(" -n 'not __fish_seen_subcommand_from {}'", VerbNames(program, " "));
  // -f switches files off everywhere; -F brings them back for options and arguments that take files.
  std::string text = "# fish completion of ptpkg; made by 'ptpkg completion fish'.\ncomplete -c ptpkg -f\n";
  for (const Verb& verb : program.verbs) {
    text += fmt::format("complete -c ptpkg{} -a {} -d {}\n", none, verb.name, FishQuoted(verb.summary));
  }
  text += FishOptions(program, "", program.common);
  text += "complete -c ptpkg -l help -s h -d 'Print help'\n";
  for (const Verb& verb : program.verbs) {
    text +=
        FishOptions(program, fmt::format(" -n '__fish_seen_subcommand_from {}'", verb.name), verb.options);
  }
  return text;
}

}  // namespace ptpkg::cli
