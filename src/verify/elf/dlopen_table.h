#pragma once
// Table of libraries that others open at run time. Layer: verify. Source: data/dlopened.yaml.

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::verify {

class DlopenTable {
 public:
  /// Errors: kInvalidInput with the place in `name` (not a table of this shape).
  static Result<DlopenTable> Parse(std::string_view text, const std::string& name);
  /// The table built into the program.
  static Result<DlopenTable> BuiltIn();

  /// True if a file that mentions `name` may open it.
  [[nodiscard]] bool Knows(std::string_view name) const;
  /// True if the library `file_name` (hash removed) fails without `name`, which it mentions.
  [[nodiscard]] bool Requires(std::string_view file_name, std::string_view name) const;

 private:
  struct Group {
    std::vector<std::string> names;
    std::vector<std::string> openers;
    std::vector<std::string> optional;
  };
  std::vector<Group> groups_;
};

}  // namespace ptpkg::verify
