#pragma once
// Configuration files: ptpkg.toml of a project, config.toml of the user. Layer: cli.
//
// A key is the long name of an option. Keys at the top concern every verb that has the option, and
// keys of a table [verb] concern that verb. If several files have a key, the later file wins. Environment
// variables and the command line win over all (docs/configuration.md).

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "support/error.h"
#include "support/files/fs.h"

namespace ptpkg::cli {

/// A value and its position in the file.
struct StoredValue {
  std::string verb;  ///< "" at the top.
  std::string key;   ///< "output"
  std::vector<std::string> values;
  std::string shown;  ///< In TOML syntax: "\"dist\"".
  AbsPath file;
  int line = 0;
};

/// Values in the order of the files, each in the order of its lines.
using Configuration = std::vector<StoredValue>;

/// "dist" in quotes, with escapes. Bytes that are not UTF-8 become U+FFFD.
std::string TomlString(const std::string& text);

/// Reads the text of `file`. Relative paths are resolved from the file's directory. Errors: kUsage with the
/// place: not TOML, an unknown key or table, a value that the option does not take, a password in a URL.
Result<Configuration> ParseConfiguration(const Program& program, const AbsPath& file,
                                         const std::string& text);

struct ConfigurationSearch {
  AbsPath cwd;
  std::map<std::string, std::string> variables = {};
  /// A recipe or its directory, beside and above which ptpkg.toml is looked for before `cwd`.
  std::optional<AbsPath> recipe = {};
};

/// The files that exist: the project's, then the user's.
std::vector<AbsPath> FindConfigurationFiles(Fs& fs, const ConfigurationSearch& search);

/// Errors: as ParseConfiguration, and kIo.
Result<Configuration> ReadConfiguration(Fs& fs, const Program& program, const std::vector<AbsPath>& files);

/// The value that counts for `option` of `verb`; null if no file has one. An option without `verb` ("") is
/// looked for at the top alone. The environment is not regarded.
const StoredValue* StoredFor(const Configuration& configuration, const std::string& verb,
                             const Option& option);

/// All values that count for `verb`, but for options whose variable is set.
std::vector<Setting> SettingsFor(const Configuration& configuration, const Program& program, const Verb& verb,
                                 const std::map<std::string, std::string>& variables);

/// The recipe among the positional arguments `words` of `verb`, whose directory is searched first.
Result<std::optional<AbsPath>> RecipeOf(const Verb& verb, const std::vector<std::string>& words,
                                        const AbsPath& cwd);

}  // namespace ptpkg::cli
