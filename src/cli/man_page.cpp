// Pages with the macros of man(7), from the same description as --help. Layer: cli. The install step of CMake
// writes one page for the program and one for each verb, and a test lets groff look for warnings in all of
// them.

#include "cli/man_page.h"

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/help.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

/// Text that roff takes literally: a '-' that can be copied, no line that begins a request.
std::string Literal(std::string_view text) {
  // The backslash first: all other replacements add some.
  std::string out = ReplaceAll(ReplaceAll(text, "\\", "\\e"), "-", "\\-");
  out = ReplaceAll(out, "…", "\\[u2026]");  // groff reads bytes, unless preconv goes before it
  out = ReplaceAll(out, "\n.", "\n\\&.");
  out = ReplaceAll(out, "\n'", "\n\\&'");
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

/// A paragraph with a tag in bold (.TP of man(7)).
std::string ManEntry(std::string_view head, std::string_view text) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", Literal(head), Literal(text));
}

std::string Entries(const std::vector<Option>& options, bool positional) {
  std::string text;
  for (const Option& option : options) {
    if (option.IsPositional() != positional) continue;
    // A manual page has no groups, so their heading goes in front of each text.
    const std::string group = option.group.empty() ? "" : fmt::format("{}: ", option.group);
    text += ManEntry(OptionHead(option), group + OptionText(option));
  }
  return text;
}

/// Most verbs lack some of the sections, and a heading without text looks like a page that was cut off.
std::string Section(std::string_view name, std::string_view text) {
  return text.empty() ? "" : fmt::format(".SH {}\n{}", name, text);
}

std::string ManExamples(const std::vector<std::string>& examples) {
  std::string text;
  for (const std::string& example : examples) text += fmt::format(".nf\n{}\n.fi\n", Literal(example));
  return text;
}

std::string ProgramSections(const Program& program) {
  std::string verbs;
  std::string see_also;
  for (const Verb& verb : program.verbs) {
    verbs += ManEntry(verb.name, verb.summary);
    see_also += fmt::format("{}.BR {}\\-{} (1)", see_also.empty() ? "" : ",\n", program.name, verb.name);
  }
  std::string codes;
  for (const ExitCodeRow& row : ExitCodeTable()) codes += ManEntry(std::to_string(row.code), row.meaning);
  return Section("COMMANDS", verbs) + Section("OPTIONS", Entries(program.common, false)) +
         Section("EXIT STATUS", codes) +
         Section("ENVIRONMENT", "The page environment.md of the documentation lists every variable.\n") +
         Section("EXAMPLES", ManExamples(program.examples)) + Section("SEE ALSO", see_also + "\n");
}

std::string VerbSections(const Program& program, const Verb& verb) {
  const std::string common =
      fmt::format("Options of every command are described in\n.BR {} (1).\n", program.name);
  return Section("ARGUMENTS", Entries(verb.options, true)) +
         Section("OPTIONS", Entries(verb.options, false) + (".PP\n" + common)) +
         Section("NOTES", verb.notes.empty() ? "" : Literal(verb.notes) + "\n") +
         Section("EXAMPLES", ManExamples(verb.examples)) +
         Section("SEE ALSO", fmt::format(".BR {} (1)\n", program.name));
}

}  // namespace

std::string ManPage(const Program& program, const Verb* verb, std::string_view version) {
  const std::string name = verb == nullptr ? program.name : fmt::format("{}-{}", program.name, verb->name);
  const std::string& summary = verb == nullptr ? program.summary : verb->summary;
  // The date stays empty: a page is the same whenever it is built.
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"{} {}\"\n", name, program.name, version);
  text += Section("NAME", fmt::format("{} \\- {}\n", Literal(name), Literal(summary)));
  text += Section("SYNOPSIS", fmt::format(".B {}\n", Literal(UsageLine(program, verb))));
  return text + (verb == nullptr ? ProgramSections(program) : VerbSections(program, *verb));
}

}  // namespace ptpkg::cli
