#pragma once
// How a fuzzer says that an invariant broke.

#include <cstdlib>
#include <fmt/format.h>
#include <string_view>

#include "support/error.h"

namespace ptpkg::fuzz {

inline void Require(bool holds, std::string_view what) {
  if (holds) return;
  fmt::print(stderr, "broken: {}\n", what);
  std::abort();
}

/// Hostile input is never our own fault, and a place that an error names exists.
inline void RequireFair(const Error& error) {
  Require(error.code() != ErrorCode::kInternal, "an error of our own: " + error.message());
  Require(!error.message().empty(), "an error without words");
  if (!error.span()) return;
  const SourceSpan& span = *error.span();
  const auto width = static_cast<int>(span.excerpt.size());
  Require(span.line >= 1 && span.column >= 1 && span.length >= 1, "a place before the text");
  Require(span.excerpt.empty() || span.column + span.length <= width + 2, "a place behind the line's end");
  static_cast<void>(FormatError(error));
}

}  // namespace ptpkg::fuzz
