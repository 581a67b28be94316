// ptpkg config: the settings that hold, and where each comes from. Layer: cli. It shows what other runs would
// take, so it uses their functions to find files and values. The text is TOML that can be copied into a file.

#include <algorithm>
#include <fmt/core.h>
#include <memory>

#include "cli/configuration.h"
#include "cli/verbs/verbs.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

struct ConfigFlags {
  std::optional<std::string> recipe;
  bool all = false;
};

/// One option that has a value.
struct ConfigEntry {
  std::string verb;  ///< "" for an option of several verbs.
  std::string key;
  std::string shown;  ///< In TOML syntax.
  Json value;
  std::string kind;    ///< "file", "environment", "command line" or "default".
  std::string origin;  ///< The file, or the variable.
  int line = 0;
};

/// Settings are kept as text. A document has the types that they have in TOML.
Json ValueJson(const Option& option, const std::vector<std::string>& values) {
  if (option.IsFlag()) return values.front() == "true";
  if (option.Repeats()) return values;
  if (std::holds_alternative<Number>(option.target)) return std::stoull(values.front());
  return values.front();
}

/// The value that the command line gave to a common option.
Json LineValue(const Option& option) {
  if (option.IsFlag()) return *std::get<bool*>(option.target);
  if (const auto* text = std::get_if<std::string*>(&option.target)) return **text;
  if (const auto* number = std::get_if<Number>(&option.target)) return *number->value;
  return nullptr;
}

/// All that RunConfig looks a value up in.
struct Sources {
  const Configuration& configuration;
  const Context& context;
  const std::map<std::string, std::string>& variables;
  const std::set<std::string>& given;
  bool all;
};

/// `verb`: the table in which the option stands; "" at the top.
std::optional<ConfigEntry> EntryOf(const Sources& sources, const std::string& verb, const Option& option) {
  ConfigEntry entry{.verb = verb,
                    .key = option.LongName().substr(2),
                    .shown = "",
                    .value = nullptr,
                    .kind = "",
                    .origin = ""};
  // An option that several verbs share is listed once, at the top. In the table of a verb it appears only if
  // a file overrides it there.
  const auto variable = sources.variables.find(option.env);
  const StoredValue* stored = StoredFor(sources.configuration, verb, option);
  // The branches have the order of precedence (configuration.cpp): the first source that has a value wins.
  if (verb.empty() && sources.given.contains(option.LongName())) {
    entry.kind = "command line";
    entry.value = LineValue(option);
    entry.shown = entry.value.dump();
  } else if (variable != sources.variables.end() && !variable->second.empty() &&
             (verb.empty() || !option.shared)) {
    entry.kind = "environment";
    entry.origin = variable->first;
    const std::vector<std::string> values = {!option.IsFlag()                    ? variable->second
                                             : sources.context.IsSet(option.env) ? "true"
                                                                                 : "false"};
    entry.value = ValueJson(option, values);
    entry.shown = option.IsFlag() ? values.front() : TomlString(values.front());
  } else if (stored != nullptr && stored->verb == verb) {
    entry.kind = "file";
    entry.origin = stored->file.str();
    entry.line = stored->line;
    entry.value = ValueJson(option, stored->values);
    entry.shown = stored->shown;
  } else if (sources.all && stored == nullptr && !option.default_text.empty() &&
             (verb.empty() || !option.shared)) {
    entry.kind = "default";
    entry.value = option.default_text;
  } else {
    return std::nullopt;
  }
  return entry;
}

/// Options of all verbs first, then each verb's.
std::vector<ConfigEntry> Entries(const Program& program, const Sources& sources) {
  std::vector<ConfigEntry> entries;
  const auto add = [&](const std::string& verb, const Option& option) {
    if (option.IsPositional() || option.names == "--no-config") return;  // which is not a key
    if (auto entry = EntryOf(sources, verb, option)) entries.push_back(*std::move(entry));
  };
  // Each verb has an option of its own for a shared name; the first one stands for all.
  std::set<std::string> seen;
  for (const Option& option : program.common) add("", option);
  for (const Verb& verb : program.verbs) {
    for (const Option& option : verb.options) {
      if (option.shared && seen.insert(option.LongName()).second) add("", option);
    }
  }
  for (const Verb& verb : program.verbs) {
    for (const Option& option : program.common) {
      const StoredValue* stored = StoredFor(sources.configuration, verb.name, option);
      // A value from the top counts for all verbs and is listed there.
      if (stored != nullptr && !stored->verb.empty()) add(verb.name, option);
    }
    for (const Option& option : verb.options) add(verb.name, option);
  }
  return entries;
}

std::string OriginText(const Context& context, const ConfigEntry& entry) {
  if (entry.kind == "file") return fmt::format("{}:{}", context.Shown(entry.origin), entry.line);
  return entry.kind == "environment" ? "$" + entry.origin : entry.kind;
}

/// TOML that says the same, with each origin in a comment.
void PrintEntries(Context& context, const std::vector<ConfigEntry>& entries) {
  std::string table;
  for (const ConfigEntry& entry : entries) {
    if (entry.verb != table) context.Print(fmt::format("\n[{}]", table = entry.verb));
    // Defaults are prose ('all CPUs, …'), which TOML would take for values. So they are comments.
    if (entry.kind == "default") {
      context.Print(fmt::format("# {}: {}  # default", entry.key, entry.value.get<std::string>()));
    } else {
      context.Print(fmt::format("{} = {}  # {}", entry.key, entry.shown, OriginText(context, entry)));
    }
  }
}

Json EntriesJson(const std::vector<ConfigEntry>& entries) {
  Json list = Json::array();
  for (const ConfigEntry& entry : entries) {
    const bool of_file = entry.kind == "file";
    list.push_back({{"command", entry.verb.empty() ? Json(nullptr) : Json(entry.verb)},
                    {"key", entry.key},
                    {"value", entry.value},
                    {"origin", entry.kind},
                    {"file", of_file ? Json(entry.origin) : Json(nullptr)},
                    {"line", of_file ? Json(entry.line) : Json(nullptr)},
                    {"variable", entry.kind == "environment" ? Json(entry.origin) : Json(nullptr)}});
  }
  return list;
}

Result<ExitCode> RunConfig(Context& context, const ConfigFlags& flags) {
  // The values of this line are in the Context already. The description needs targets, and gets a copy.
  CommonFlags common = context.flags();
  const Program program = MakeProgram(common);
  PTPKG_TRY(const std::optional<AbsPath> recipe, ResolveFile(context, flags.recipe));
  const Env& env = context.env();
  std::vector<AbsPath> files;
  // The argument takes the place of a build's recipe, so the files found are those that the build would read.
  if (!common.no_config)
    files = FindConfigurationFiles(env.fs, {.cwd = env.cwd, .variables = env.variables, .recipe = recipe});
  PTPKG_TRY(const Configuration configuration, ReadConfiguration(env.fs, program, files));
  const std::vector<ConfigEntry> entries = Entries(program, {.configuration = configuration,
                                                             .context = context,
                                                             .variables = env.variables,
                                                             .given = common.given,
                                                             .all = flags.all});
  Json names = Json::array();
  for (const AbsPath& file : files) names.push_back(file.str());
  if (context.json()) {
    context.PrintJson({{"files", names}, {"settings", EntriesJson(entries)}});
    return kDone;
  }
  if (files.empty()) context.Print("# no configuration file");
  for (const AbsPath& file : files) context.Print("# " + context.Shown(file.str()));
  PrintEntries(context, entries);
  return kDone;
}

}  // namespace

Verb ConfigVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<ConfigFlags>();
  return {.name = "config",
          .summary = "Show the settings that apply, and where each comes from",
          .known_as = {"settings"},
          .options = {{.names = "RECIPE",
                       .help = "Recipe or directory beside which to look for ptpkg.toml",
                       .target = &flags->recipe,
                       .default_text = "the current directory"},
                      {.names = "--all", .help = "Show defaults too", .target = &flags->all}},
          .notes =
              "Settings come from ptpkg.toml beside the recipe or in a directory above it, "
              "from ~/.config/ptpkg/config.toml, from environment variables, and from the "
              "command line. A later one wins. 'ptpkg explain configuration' has the keys.",
          .examples = {"ptpkg config", "ptpkg config recipes/magma --json"},
          .run = [flags](Context& context) { return RunConfig(context, *flags); }};
}

}  // namespace ptpkg::cli
