#pragma once
// Optional values for unreadable parts of damaged files. Layer: inspect.

#include <optional>
#include <string>
#include <utility>

#include "support/result.h"

namespace ptpkg::inspect {

/// Nothing for a value that cannot be read because its file is damaged; other errors pass.
template <class Value>
Result<std::optional<Value>> UnlessDamaged(Result<Value> value) {
  if (value) return std::optional<Value>(*std::move(value));
  const ErrorCode code = value.error().code();
  if (code == ErrorCode::kCorrupt || code == ErrorCode::kUnsupported) return std::optional<Value>();
  return std::move(value).error();
}

/// The same, with the reason for nullopt in `why`, which is otherwise unchanged.
template <class Value>
Result<std::optional<Value>> UnlessDamaged(Result<Value> value, std::string& why) {
  std::string reason = value ? std::string() : value.error().message();
  Result<std::optional<Value>> known = UnlessDamaged(std::move(value));
  if (known && !*known) why = std::move(reason);
  return known;
}

}  // namespace ptpkg::inspect
