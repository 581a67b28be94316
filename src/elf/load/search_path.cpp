// Splits, expands and relocates search paths like ld.so.
//
// A token counts only if no identifier character follows it, or if it is in braces: `$LIBRARY` is not
// `$LIB`. An empty path has no entries, while an empty entry inside a path is the working directory.
//
// RelocatableEntries keeps what works after the package moves: entries below the build prefix become
// relative to $ORIGIN, entries that begin with $ORIGIN stay, and other absolute entries stay only if the
// user lists them.

#include "elf/load/search_path.h"

#include <algorithm>
#include <array>

#include "support/text/globs.h"
#include "support/text/text.h"

namespace ptpkg::elf {
namespace {

/// `path` below `folder`, both absolute and normalised; nullopt if it lies elsewhere. "" for the directory.
std::optional<std::string> Below(const std::string& path, std::string_view folder) {
  if (folder == "/") return path.substr(1);
  if (path.compare(0, folder.size(), folder) != 0) return std::nullopt;
  if (path.size() == folder.size()) return "";
  if (path[folder.size()] != '/') return std::nullopt;
  return path.substr(folder.size() + 1);
}

std::string OriginEntry(const std::string& file_folder, const std::string& target) {
  const std::string relative = RelativeFrom(file_folder, target);
  return relative == "." ? "$ORIGIN" : "$ORIGIN/" + relative;
}

bool IsIdentifier(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/// Number of characters after a '$' that spell `name`, braces included; 0 if they do not.
std::size_t TokenLength(std::string_view behind, std::string_view name) {
  const bool braces = behind.starts_with('{');
  const std::string_view rest = behind.substr(braces ? 1 : 0);
  if (!rest.starts_with(name)) return 0;
  const char next = rest.size() > name.size() ? rest[name.size()] : '\0';
  if (braces) return next == '}' ? name.size() + 2 : 0;
  return IsIdentifier(next) ? 0 : name.size();
}

}  // namespace

std::string ExpandTokens(std::string_view text, const TokenValues& values) {
  const std::array<std::pair<std::string_view, const std::string*>, 3> tokens = {
      {{"ORIGIN", &values.origin}, {"LIB", &values.lib}, {"PLATFORM", &values.platform}}};
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t length = 0;
    if (text[at] == '$') {
      for (const auto& [name, value] : tokens) {
        length = TokenLength(text.substr(at + 1), name);
        if (length == 0) continue;
        out += *value;
        break;
      }
    }
    if (length == 0) out += text[at];
    at += 1 + length;
  }
  return out;
}

bool UsesToken(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1)) {
    if (TokenLength(text.substr(at + 1), name) != 0) return true;
  }
  return false;
}

bool UsesAnyToken(std::string_view text) {
  return UsesToken(text, "ORIGIN") || UsesToken(text, "LIB") || UsesToken(text, "PLATFORM");
}

std::vector<std::string> SplitSearchPath(std::string_view text) {
  if (text.empty()) return {};
  return Split(text, ':');
}

std::string JoinSearchPath(const std::vector<std::string>& entries) { return Join(entries, ":"); }

std::optional<std::string> AfterOrigin(std::string_view entry) {
  static constexpr std::array<std::string_view, 2> kTokens = {"$ORIGIN", "${ORIGIN}"};
  for (const std::string_view token : kTokens) {
    if (entry.substr(0, token.size()) != token) continue;
    const std::string_view rest = entry.substr(token.size());
    if (rest.empty()) return "";
    if (rest.front() == '/') return std::string(rest.substr(1));
  }
  return std::nullopt;
}

std::vector<std::string> RelocatableEntries(const std::vector<std::string>& entries, const RelPath& file,
                                            std::string_view build_prefix,
                                            const std::vector<std::string>& kept) {
  std::vector<std::string> fit;
  const auto keep = [&fit](std::string entry) {
    // Two build paths can become the same relative one.
    if (std::find(fit.begin(), fit.end(), entry) == fit.end()) fit.push_back(std::move(entry));
  };
  for (const std::string& entry : entries) {
    const auto absolute = AbsPath::Parse(entry);
    const auto below = absolute ? Below(absolute->str(), build_prefix) : std::nullopt;
    if (below) {
      keep(OriginEntry(file.ParentText(), *below));
    } else if (AfterOrigin(entry) || (!entry.empty() && MatchesAnyGlob(kept, entry))) {
      keep(entry);
    }
  }
  return fit;
}

}  // namespace ptpkg::elf
