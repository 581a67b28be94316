// Drops search-path entries that serve no library, with patchelf's rules for `--shrink-rpath`. Each needed
// name counts for the first entry that has it, so later entries with the same library go. Entries that are
// not absolute, such as $ORIGIN, stay. A file of another machine does not count as the library.

#include "elf/load/shrink.h"

#include <algorithm>
#include <fmt/core.h>

namespace ptpkg::elf {
namespace {

/// True if `path` is a library for `machine`. Unreadable files, directories and foreign files are not.
bool IsLibrary(Fs& fs, const AbsPath& path, std::uint16_t machine) {
  const auto file = fs.Open(path, OpenMode::kRead);
  if (!file) return false;
  const auto image = ReadImage(**file);
  return image && *image && (*image)->header.machine == machine;
}

bool IsAllowed(const std::string& entry, const std::vector<std::string>& prefixes) {
  return prefixes.empty() || std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
           return entry.starts_with(prefix);
         });
}

}  // namespace

Result<std::vector<std::string>> ShrinkSearchPath(Fs& fs, const ShrinkInput& input) {
  std::vector<std::string> kept;
  std::vector<std::string> missing = input.needed;
  for (const std::string& entry : input.entries) {
    if (!entry.empty() && entry.front() != '/') {
      kept.push_back(entry);
      continue;
    }
    if (entry.empty() || !IsAllowed(entry, input.allowed_prefixes)) continue;
    PTPKG_TRY(const AbsPath folder, AbsPath::Parse(entry));
    std::vector<std::string> still_missing;
    for (const std::string& name : missing) {
      // Like patchelf: also searches for a name with '/' below the directory.
      PTPKG_TRY(const AbsPath path, AbsPath::Parse(fmt::format("{}/{}", folder.str(), name)));
      if (!IsLibrary(fs, path, input.machine)) still_missing.push_back(name);
    }
    if (still_missing.size() != missing.size()) kept.push_back(entry);
    missing = std::move(still_missing);
  }
  return kept;
}

}  // namespace ptpkg::elf
