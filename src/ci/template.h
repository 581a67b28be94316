#pragma once
// Fills YAML templates with safely quoted values. Layer: ci.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ptpkg::ci {

/// The text below the line "=== NAME # comment" of `file`, up to the next such line. The templates are in
/// src/ci/data. REQUIRES: `file` has one of that name.
[[nodiscard]] std::string_view FindTemplate(std::string_view file, std::string_view name);

/// `text` with each "@name@" replaced, name being lower-case letters and '_'. Inserted values are not scanned
/// again. A name alone on its line takes a multi-line value: each line gets the name's indentation, and an
/// empty value removes the line. REQUIRES: `values` has each name.
[[nodiscard]] std::string Fill(std::string_view text, const std::map<std::string, std::string>& values);

/// A double-quoted YAML scalar; also a JSON string.
[[nodiscard]] std::string Quoted(std::string_view text);
/// The same for GitHub, which evaluates "${{ … }}" in any scalar: the result evaluates to `text`.
[[nodiscard]] std::string QuotedForGithub(std::string_view text);

/// `words`, one per line: the form in which variables pass them to scripts.
[[nodiscard]] std::string Words(const std::vector<std::string>& words);

/// "a 'b c'": for people to copy into a shell.
[[nodiscard]] std::string ShellLine(const std::vector<std::string>& words);

}  // namespace ptpkg::ci
