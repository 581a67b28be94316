#include "elf/shrink.h"

#include <algorithm>

namespace ptpkg::elf {
namespace {

/// Whether `path` is a library for `machine`. A damaged or foreign file is no library.
Result<bool> IsLibrary(Fs& fs, const AbsPath& path, std::uint16_t machine) {
  auto file = fs.Open(path, OpenMode::kRead);
  if (!file) {
    if (file.error().code() == ErrorCode::kNotFound) return false;
    return std::move(file).error();
  }
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
      PTPKG_TRY(const AbsPath path, AbsPath::Resolve(folder, name));
      PTPKG_TRY(const bool found, IsLibrary(fs, path, input.machine));
      if (!found) still_missing.push_back(name);
    }
    if (still_missing.size() != missing.size()) kept.push_back(entry);
    missing = std::move(still_missing);
  }
  return kept;
}

}  // namespace ptpkg::elf
