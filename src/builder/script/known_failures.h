#pragma once
// Hints for known failures: src/builder/data/known_failures.yaml. Layer: builder. tool_hints.cpp has the
// hints for tools that are missing before a build starts.

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::builder {

struct KnownFailure {
  std::string id;
  std::vector<std::string> texts = {};  ///< Texts in one line, in this order, without overlap.
  std::string hint = {};
  std::string source = {};
  std::string example = {};
};

class KnownFailures {
 public:
  /// Errors: kInvalidInput at `name`: a row without texts, hint, source or example; an unknown field.
  static Result<KnownFailures> Parse(std::string_view text, const std::string& name);
  static Result<KnownFailures> BuiltIn();

  /// The first row that matches `line`; null for none. Linear in the line for each row: substrings, no
  /// patterns.
  [[nodiscard]] const KnownFailure* Match(std::string_view line) const;
  [[nodiscard]] const std::vector<KnownFailure>& rows() const { return rows_; }

 private:
  std::vector<KnownFailure> rows_;
};

}  // namespace ptpkg::builder
