#pragma once
// Parses "Name: value" blocks of METADATA and WHEEL. Layer: wheel. Source: PEP 566 (RFC 822 as Python's
// email.parser with the compat32 policy reads it).

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/result.h"

namespace ptpkg::wheel {

struct HeaderBlock {
  /// In written order. A value of several lines keeps its line breaks ("\n") and the indentation of its
  /// continuation lines.
  std::vector<std::pair<std::string, std::string>> fields;
  std::vector<int> lines = {};  ///< Line of each field, from 1; may be shorter for a block that was not read.
  std::string body;             ///< Everything after the first empty line, byte for byte.
  std::string written;          ///< The text that it was read from, "" for a new one.
};

/// Errors: kInvalidInput at `name`:line:1 for a line without a field name, a continuation without a field,
/// and a NUL or lone carriage return before the body.
Result<HeaderBlock> ParseHeaderBlock(std::string_view text, const std::string& name);

/// Fields and body that `written` has are written as they stand there, so what was read and not changed gives
/// the same bytes. Other fields are "Name: value", with the line break of the first line of `written`, LF
/// without one. Line breaks of a value are written so that what follows stays in the value: a line that does
/// not begin with white space gets eight spaces (setuptools' form).
std::string FormatHeaderBlock(const HeaderBlock& block);

}  // namespace ptpkg::wheel
