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

/// `text` with each "@name@" replaced, name being lower-case letters and '_'. What is put in is not looked at
/// again. A name that is alone on its line takes lines: each gets that line's indentation, and without any
/// the line goes. REQUIRES: `values` has each name.
[[nodiscard]] std::string Fill(std::string_view text, const std::map<std::string, std::string>& values);

/// A double-quoted scalar of YAML; also a string of JSON.
[[nodiscard]] std::string Quoted(std::string_view text);
/// The same for GitHub, which evaluates "${{ … }}" in any scalar: this one evaluates to `text`.
[[nodiscard]] std::string QuotedForGithub(std::string_view text);

/// `words`, each on a line: how they reach scripts, as the value of a variable.
[[nodiscard]] std::string Words(const std::vector<std::string>& words);

/// "a 'b c'": for a person to copy into a shell.
[[nodiscard]] std::string ShellLine(const std::vector<std::string>& words);

}  // namespace ptpkg::ci
