#pragma once
// Loads data files for load_from_file(). Layer: recipe. Matches: rattler-build's function of that name, for
// .json and .yaml; its .toml is refused.

#include <map>
#include <string>

#include "recipe/document/value.h"
#include "support/files/fs.h"

namespace ptpkg::recipe {

/// Reads each file once.
class DataFiles {
 public:
  /// `fs` is borrowed. `folder`: the recipe's directory.
  DataFiles(Fs& fs, AbsPath folder) : fs_(fs), folder_(std::move(folder)) {}

  /// The content of `name`, a path relative to the recipe's directory. Files .yaml, .yml and .json give
  /// lists, mappings and scalars, any other file gives text. Unquoted YAML scalars are read as in a recipe:
  /// "1.10" keeps its digits. Errors: kNotFound, kUnsupported for .toml, kInvalidInput with the place for an
  /// absolute path, a file above limits::kRecipe and bad syntax.
  Result<Value> Load(const std::string& name);

 private:
  Result<Value> Read(const std::string& name, const AbsPath& path);

  Fs& fs_;
  AbsPath folder_;
  std::map<std::string, Value> loaded_;  ///< By path.
};

}  // namespace ptpkg::recipe
