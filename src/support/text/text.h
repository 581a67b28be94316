#pragma once
// Small text functions that the standard library lacks. Layer: support. Locale never matters here.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptpkg {

std::vector<std::string> Split(std::string_view text, char separator);  ///< "" → {""}; keeps empties.
std::vector<std::string> SplitLines(std::string_view text);             ///< Breaks removed; CRLF too.
std::string Join(std::span<const std::string> parts, std::string_view separator);
std::string_view Trim(std::string_view text);  ///< ASCII white space at both ends.
std::string ToLower(std::string_view text);    ///< ASCII only.
std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to);
/// fnmatch-style: '*' matches within a path component, '**' across, '?' one character, [abc] a set.
bool GlobMatch(std::string_view pattern, std::string_view path);
/// The same, and also true for a path below the directory that `glob` names: "tests/" matches
/// "tests/a/b.txt".
bool GlobOrDirectoryMatch(std::string_view glob, std::string_view path);
/// The candidate with the smallest edit distance to `word`, if it is small enough to be a typing
/// slip (at most a third of its length, at least 1).
std::optional<std::string> NearestMatch(std::string_view word, std::span<const std::string> candidates);
std::string HumanBytes(std::uint64_t bytes);  ///< "1.2 MB", powers of 1000.
/// "500M", "20 GB", "1.5GiB", "100000": bytes below 2^63. K, M, G, T are powers of 1000, KiB, MiB, GiB, TiB
/// powers of 1024. A B after the unit and a blank before it are allowed. nullopt for anything else.
std::optional<std::uint64_t> ParseBytes(std::string_view text);

}  // namespace ptpkg
