// toml++ parses; each key is then looked up in the description of the program, which knows its type, its
// choices and its bounds. All tables of a file are checked, whichever verb runs, so that a slip shows at
// once.
// Precedence, from the strongest: the command line, an environment variable, the user's file, the project's
// file, the default. Within one file, the table of the verb comes before the top. The user's file is stronger
// than the project's on purpose: a project's file can come with a foreign recipe, and must not override the
// user. For the same reason it can't set servers or --force (MayBeOfProject).
// Secrets are refused in these files, and lines that seem to have one are not quoted in errors.

#include "cli/configuration.h"

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <toml++/toml.h>

#include "cli/context.h"
#include "cli/suggestions.h"
#include "support/secret_name.h"
#include "support/text/display_text.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

constexpr std::uint64_t kMostConfigurationBytes = 1U << 20U;
constexpr std::string_view kProjectFile = "ptpkg.toml";

/// A file while it is read.
struct SourceText {
  AbsPath file;
  std::vector<std::string> lines;
};

/// The line is not shown if a secret may be in it.
Error ErrorAt(const SourceText& source, const toml::source_position& place, std::string message) {
  SourceSpan span;
  span.file = source.file.str();
  span.line = static_cast<int>(std::max<toml::source_index>(place.line, 1));
  span.column = static_cast<int>(std::max<toml::source_index>(place.column, 1));
  const auto index = static_cast<std::size_t>(span.line) - 1;
  if (index < source.lines.size() && !NamesSecret(source.lines[index])) span.excerpt = source.lines[index];
  return Error(ErrorCode::kUsage, std::move(message)).At(std::move(span));
}

std::vector<std::string> KeysOf(const std::vector<Option>& options) {
  std::vector<std::string> keys;
  for (const Option& option : options) {
    const std::string name = option.LongName();
    if (name.starts_with("--")) keys.push_back(name.substr(2));
  }
  return keys;
}

/// Options that mean nothing when they hold for every run.
bool IsForOneRun(std::string_view key) { return key == "version" || key == "no-config" || key == "help"; }

const Option* SharedOption(const Program& program, const std::string& name) {
  for (const Verb& verb : program.verbs) {
    const Option* option = FindOption(verb.options, name);
    if (option != nullptr && option->shared) return option;
  }
  return nullptr;
}

std::string UnknownKeyHint(const Program& program, const Verb* verb, const std::string& key) {
  if (NamesSecret(key)) return "set an environment variable: 'ptpkg explain environment' lists them";
  std::vector<std::string> known = KeysOf(program.common);
  if (verb != nullptr) {
    const std::vector<std::string> own = KeysOf(verb->options);
    known.insert(known.end(), own.begin(), own.end());
  }
  std::vector<std::string> tables = VerbsWith(program, "--" + key);
  for (std::string& table : tables) table = fmt::format("[{}]", table);
  // The likeliest cause comes first. A known key at the top lacks its table. A key in a table is more often
  // misspelt than another verb's.
  if (verb == nullptr && !tables.empty()) return fmt::format("move it to a table: {}", OneOf(tables));
  if (std::string hint = DidYouMean(key, known); !hint.empty()) return hint;
  if (verb != nullptr && !tables.empty()) return fmt::format("{} has it", OneOf(tables));
  std::vector<std::string> verbs;
  for (const Verb& each : program.verbs) {
    verbs.push_back(each.name);
    for (const std::string& own : KeysOf(each.options)) known.push_back(own);
  }
  if (std::string hint = DidYouMean(key, verb == nullptr ? verbs : known); !hint.empty()) return hint;
  return verb == nullptr
             ? "keys are long options without '--': see 'ptpkg --help'"
             : fmt::format("keys are long options without '--': see 'ptpkg {} --help'", verb->name);
}

std::string_view TypeName(const Option& option) {
  if (option.IsFlag()) return "true or false";
  if (std::holds_alternative<Number>(option.target)) return "a whole number";
  return option.Repeats() ? "a string, or a list of strings" : "a string";
}

/// The text of a scalar that `option` takes; nullopt for another type.
std::optional<std::string> ScalarText(const Option& option, const toml::node& node) {
  if (option.IsFlag()) {
    const auto flag = node.value_exact<bool>();
    return flag ? std::optional<std::string>(*flag ? "true" : "false") : std::nullopt;
  }
  if (std::holds_alternative<Number>(option.target)) {
    // Nothing is converted: a string for a number, or 1.0 for 1, is an error that names the type.
    const auto number = node.value_exact<std::int64_t>();
    return number ? std::optional(std::to_string(*number)) : std::nullopt;
  }
  return node.value_exact<std::string>();
}

/// `text` of a DIR, FILE or PROGRAM, from the directory of the file that names it.
Result<std::string> Resolved(const AbsPath& directory, std::string_view kind, const std::string& text) {
  // A program without a '/' is looked up on PATH, so it must stay as it is.
  const bool is_path =
      kind == "DIR" || kind == "FILE" || (kind == "PROGRAM" && text.find('/') != std::string::npos);
  if (!is_path || text == "-") return text;
  PTPKG_CHECK(RefuseUrl(text));
  PTPKG_TRY(const AbsPath path, AbsPath::Resolve(directory, text));
  return path.str();
}

Result<std::string> ResolvedValue(const AbsPath& directory, const Option& option, const std::string& text) {
  const std::string kind = option.value.substr(0, option.value.find('['));
  if (kind == option.value) {
    if (kind != "NAME=PATH") return Resolved(directory, kind, text);
    const std::size_t equals = std::min(text.find('='), text.size());
    // PATH of --source can also be git+URL or REPOSITORY@TAG, so only a '.' in front shows a relative path.
    if (equals + 1 >= text.size() || text[equals + 1] != '.') return text;
    PTPKG_TRY(const AbsPath path, AbsPath::Resolve(directory, text.substr(equals + 1)));
    return text.substr(0, equals + 1) + path.str();
  }
  PTPKG_CHECK(RefuseUrl(text));
  std::vector<std::string> parts;
  for (const std::string& part : Split(text, ':')) {
    if (part.empty()) return Error(ErrorCode::kUsage, fmt::format("'{}' has an empty entry", text));
    PTPKG_TRY(std::string resolved, Resolved(directory, kind, part));
    parts.push_back(std::move(resolved));
  }
  return Join(parts, ":");
}

/// False for keys with which a recipe from elsewhere could send the user's tokens to its own server, or
/// replace and remove files unasked. `ptpkg ci` only writes its server into a workflow.
bool MayBeOfProject(const Verb* verb, std::string_view key) {
  if (key == "force" || key == "yes") return false;
  const bool is_server = key == "server" || key == "check-url";
  return !is_server || (verb != nullptr && verb->name == "ci");
}

class FileReader {
 public:
  FileReader(const Program& program, SourceText source) : program_(program), source_(std::move(source)) {}

  Result<Configuration> Read(const toml::table& table) && {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      const Verb* verb = FindVerb(program_, name);
      if (const toml::table* own = node.as_table(); own != nullptr && verb != nullptr) {
        for (const auto& [own_key, own_node] : *own) PTPKG_CHECK(Add(verb, own_key, own_node));
        continue;
      }
      // A table that is not named after a verb gets here too, and is refused as unknown with the nearest
      // name.
      PTPKG_CHECK(Add(nullptr, key, node));
    }
    // toml++ keeps tables sorted by key; people expect the order of their file.
    std::ranges::stable_sort(values_, {}, &StoredValue::line);
    return std::move(values_);
  }

 private:
  Result<void> Add(const Verb* verb, const toml::key& key, const toml::node& node) {
    const std::string name(key.str());
    const Option* option =
        verb == nullptr ? SharedOption(program_, "--" + name) : FindOption(verb->options, "--" + name);
    if (option == nullptr) option = FindOption(program_.common, "--" + name);
    if (option == nullptr || IsForOneRun(name)) {
      const std::string where = verb == nullptr ? "" : fmt::format(" in [{}]", verb->name);
      const char* what = node.is_table() ? "table" : "key";
      const std::string hint = option != nullptr ? "it means something on a command line only"
                                                 : UnknownKeyHint(program_, verb, name);
      return ErrorAt(source_, key.source().begin,
                     fmt::format("unknown {} '{}'{}", what, DisplayLine(name), where))
          .WithHint(hint);
    }
    StoredValue value{.verb = verb == nullptr ? "" : verb->name,
                      .key = name,
                      .values = {},
                      .shown = "",
                      .file = source_.file,
                      .line = static_cast<int>(key.source().begin.line)};
    PTPKG_TRY(value.values, ValuesOf(*option, name, node));
    // The names of the two files differ, which is how a project's settings are known.
    if (source_.file.Name() == kProjectFile && !MayBeOfProject(verb, name)) {
      return ErrorAt(source_, key.source().begin, fmt::format("a project's file cannot set '{}'", name))
          .WithHint("use the command line, or the user's file ~/.config/ptpkg/config.toml");
    }
    value.shown = Shown(*option, value.values, node.is_array());
    values_.push_back(std::move(value));
    return Ok();
  }

  Result<std::vector<std::string>> ValuesOf(const Option& option, const std::string& name,
                                            const toml::node& node) {
    std::vector<std::string> values;
    const auto add = [&](const toml::node& one) -> Result<void> {
      const auto text = ScalarText(option, one);
      if (!text) {
        return ErrorAt(source_, one.source().begin, fmt::format("'{}' takes {}", name, TypeName(option)));
      }
      if (const auto checked = CheckOne(option, *text); !checked) {
        return ErrorAt(source_, one.source().begin, checked.error().message())
            .WithHint(checked.error().hint());
      }
      auto resolved = ResolvedValue(source_.file.Parent(), option, *text);
      if (!resolved) return ErrorAt(source_, one.source().begin, resolved.error().message());
      values.push_back(*std::move(resolved));
      return Ok();
    };
    if (const toml::array* list = node.as_array(); list != nullptr && option.Repeats()) {
      for (const toml::node& one : *list) PTPKG_CHECK(add(one));
      if (list->empty())
        return ErrorAt(source_, node.source().begin, fmt::format("the list '{}' is empty", name));
    } else {
      PTPKG_CHECK(add(node));
    }
    return values;
  }

  static Result<void> CheckOne(const Option& option, const std::string& text) {
    if (option.IsFlag()) return Ok();
    if (MaskCredentials(text) != text) {
      return Error(ErrorCode::kUsage,
                   fmt::format("the URL of '{}' holds a password", option.LongName().substr(2)))
          .WithHint("set an environment variable: 'ptpkg explain publishing' lists them");
    }
    return CheckValue(option, text);
  }

  static std::string Shown(const Option& option, const std::vector<std::string>& values, bool is_list) {
    const bool bare = option.IsFlag() || std::holds_alternative<Number>(option.target);
    std::vector<std::string> texts;
    for (const std::string& value : values) texts.push_back(bare ? value : TomlString(value));
    return is_list ? fmt::format("[{}]", Join(texts, ", ")) : texts.front();
  }

  const Program& program_;
  SourceText source_;
  Configuration values_;
};

bool IsKind(Fs& fs, const AbsPath& path, FileKind kind) {
  const auto stat = fs.Stat(path);
  return stat && stat->kind == kind;
}

/// Directories that cannot be read count as empty. So do those that everybody may write, such as /tmp: the
/// file could be anybody's.
std::optional<AbsPath> FindAbove(Fs& fs, AbsPath directory) {
  constexpr std::uint32_t kWritableByOthers = 0002;
  while (true) {
    const AbsPath file = directory / kProjectFile;
    if (IsKind(fs, file, FileKind::kRegular)) {
      const auto stat = fs.Stat(directory);
      if (!stat || (stat->mode & kWritableByOthers) == 0) return file;
    }
    if (directory == directory.Parent()) return std::nullopt;
    directory = directory.Parent();
  }
}

/// $XDG_CONFIG_HOME/ptpkg/config.toml, else ~/.config/ptpkg/config.toml.
std::optional<AbsPath> UserFile(const std::map<std::string, std::string>& variables) {
  const auto absolute = [&](const char* name) -> std::optional<AbsPath> {
    const auto found = variables.find(name);
    if (found == variables.end() || !found->second.starts_with('/')) return std::nullopt;
    const auto path = AbsPath::Parse(found->second);
    return path ? std::optional(*path) : std::nullopt;
  };
  if (const auto config = absolute("XDG_CONFIG_HOME")) return *config / "ptpkg/config.toml";
  if (const auto home = absolute("HOME")) return *home / ".config/ptpkg/config.toml";
  return std::nullopt;
}

}  // namespace

std::string TomlString(const std::string& text) {
  // A basic string of TOML has JSON's escapes.
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Configuration> ParseConfiguration(const Program& program, const AbsPath& file,
                                         const std::string& text) {
  SourceText source{.file = file, .lines = SplitLines(text)};
  const toml::parse_result parsed = toml::parse(std::string_view(text));
  if (!parsed) {
    // Its description can quote bytes of the file, which a terminal must not act on.
    const toml::parse_error& failure = parsed.error();
    return ErrorAt(source, failure.source().begin,
                   fmt::format("not TOML: {}", DisplayLine(failure.description())));
  }
  return FileReader(program, std::move(source)).Read(parsed.table());
}

std::vector<AbsPath> FindConfigurationFiles(Fs& fs, const ConfigurationSearch& search) {
  std::optional<AbsPath> project;
  if (search.recipe) {
    const bool is_directory = IsKind(fs, *search.recipe, FileKind::kDirectory);
    project = FindAbove(fs, is_directory ? *search.recipe : search.recipe->Parent());
  }
  // One project's file at most. The recipe's own comes before one of the working directory.
  if (!project) project = FindAbove(fs, search.cwd);
  std::vector<AbsPath> files;
  if (project) files.push_back(*project);
  const std::optional<AbsPath> user = UserFile(search.variables);
  if (user && IsKind(fs, *user, FileKind::kRegular)) files.push_back(*user);
  return files;
}

Result<Configuration> ReadConfiguration(Fs& fs, const Program& program, const std::vector<AbsPath>& files) {
  Configuration all;
  for (const AbsPath& file : files) {
    PTPKG_TRY(const std::string text, ReadFile(fs, file, kMostConfigurationBytes));
    PTPKG_TRY(Configuration values, ParseConfiguration(program, file, text));
    std::ranges::move(values, std::back_inserter(all));
  }
  return all;
}

const StoredValue* StoredFor(const Configuration& configuration, const std::string& verb,
                             const Option& option) {
  const std::string key = option.LongName().substr(2);
  const StoredValue* best = nullptr;
  for (const StoredValue& value : configuration) {
    if (value.key != key || (!value.verb.empty() && value.verb != verb)) continue;
    // Within one file, the verb's table is more to the point than the top.
    const bool keeps =
        best != nullptr && best->file == value.file && !best->verb.empty() && value.verb.empty();
    if (!keeps) best = &value;
  }
  return best;
}

std::vector<Setting> SettingsFor(const Configuration& configuration, const Program& program, const Verb& verb,
                                 const std::map<std::string, std::string>& variables) {
  std::vector<Setting> settings;
  for (const std::vector<Option>* options : {&verb.options, &program.common}) {
    for (const Option& option : *options) {
      if (option.IsPositional()) continue;
      const auto variable = variables.find(option.env);
      // The verb reads the variable itself where the option has no value. A setting would hide it.
      if (variable != variables.end() && !variable->second.empty()) continue;
      const StoredValue* value = StoredFor(configuration, verb.name, option);
      if (value != nullptr) settings.push_back({.option = option.LongName(), .values = value->values});
    }
  }
  return settings;
}

Result<std::optional<AbsPath>> RecipeOf(const Verb& verb, const std::vector<std::string>& words,
                                        const AbsPath& cwd) {
  std::size_t at = 0;
  for (const Option& option : verb.options) {
    if (!option.IsPositional()) continue;
    if (at >= words.size()) break;
    if (option.names == "RECIPE" || option.names == "INPUT") {
      PTPKG_TRY(const AbsPath path, AbsPath::Resolve(cwd, words[at]));
      return std::optional(path);
    }
    ++at;  // the positional arguments before a recipe are single words
  }
  return std::optional<AbsPath>();
}

}  // namespace ptpkg::cli
