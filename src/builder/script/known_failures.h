#pragma once
// Hints for known failures: src/builder/data/known_failures.yaml. Layer: builder. What is missing before a
// build starts is another matter (tool_hints.cpp).

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

  /// The first row that fits `line`; null for none. Linear in the line for each row: texts, no patterns.
  [[nodiscard]] const KnownFailure* Match(std::string_view line) const;
  [[nodiscard]] const std::vector<KnownFailure>& rows() const { return rows_; }

 private:
  std::vector<KnownFailure> rows_;
};

}  // namespace ptpkg::builder
