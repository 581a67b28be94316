#include "support/text/case_collisions.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utf8proc.h>

#include "support/text/text.h"

namespace ptpkg {

namespace {

/// A file, or a directory of one.
struct Name {
  std::string spelling;
  std::string path;  ///< Path of the first file with it.
  bool is_directory;
};

/// `text` with folded case and composed characters; bytes that are not UTF-8 as they are, but A to Z.
std::string Folded(const std::string& text) {
  if (std::ranges::all_of(text, [](char c) { return (c & 0x80) == 0; })) return ToLower(text);
  utf8proc_uint8_t* folded = nullptr;
  // Apple's file systems compare by decomposed characters, Windows by upper case. Folding with composition
  // covers both.
  const auto size = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
      &folded, static_cast<utf8proc_option_t>(UTF8PROC_CASEFOLD | UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  if (size < 0) return ToLower(text);
  std::string result(reinterpret_cast<const char*>(folded), static_cast<std::size_t>(size));
  std::free(folded);  // NOLINT(cppcoreguidelines-no-malloc): utf8proc allocates it so
  return result;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> CaseCollisions(const std::vector<std::string>& paths) {
  std::vector<std::pair<std::string, std::string>> found;
  std::map<std::string, Name> by_folded;
  for (const std::string& path : paths) {
    // Folding neither makes nor removes a '/', so the directories of a path have folded prefixes.
    const std::string folded = Folded(path);
    std::size_t folded_end = folded.find('/');
    bool collides = false;
    for (std::size_t end = path.find('/'); end != std::string::npos && !collides;
         end = path.find('/', end + 1), folded_end = folded.find('/', folded_end + 1)) {
      const std::string directory = path.substr(0, end);
      const auto [first, added] =
          by_folded.emplace(folded.substr(0, folded_end), Name{directory, path, true});
      // Two spellings of one directory merge there, which is harmless. A file in place of a directory is not.
      collides = !added && !first->second.is_directory && first->second.spelling != directory;
      if (collides) found.emplace_back(first->second.path, path);
    }
    if (collides) continue;
    const auto [first, added] = by_folded.emplace(folded, Name{path, path, false});
    if (!added && first->second.spelling != path) found.emplace_back(first->second.path, path);
  }
  return found;
}

}  // namespace ptpkg
