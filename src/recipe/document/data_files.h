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
  /// `fs` is borrowed. `folder` is that of the recipe.
  DataFiles(Fs& fs, AbsPath folder) : fs_(fs), folder_(std::move(folder)) {}

  /// The content of `name`, a path relative to the recipe's directory: .yaml, .yml and .json as lists,
  /// mappings and scalars, any other as text. Unquoted scalars of YAML are read as in a recipe: "1.10" keeps
  /// its digits. Errors: kNotFound; kInvalidInput for an absolute path, a file above limits::kRecipe and
  /// syntax, with its place; kUnsupported for .toml.
  Result<Value> Load(const std::string& name);

 private:
  Result<Value> Read(const std::string& name, const AbsPath& path);

  Fs& fs_;
  AbsPath folder_;
  std::map<std::string, Value> loaded_;  ///< By path.
};

}  // namespace ptpkg::recipe
