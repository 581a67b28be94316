#include "channel/wheel_roots.h"

#include <algorithm>
#include <set>

#include "support/text.h"

namespace ptpkg::channel {
namespace {

/// Numbers of a version of ROCm. A longer one is a date, as in 2.9.0+rocm6.4.20250612.
constexpr std::size_t kDigitsOfRocm = 2;
constexpr std::size_t kNumbersOfRocm = 3;

bool IsNumber(std::string_view text, std::size_t least_digits, std::size_t most_digits) {
  return text.size() >= least_digits && text.size() <= most_digits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// How many of the parts, from the first, name a backend; 0 = none.
std::size_t PartsOfBackend(const std::vector<std::string>& parts) {
  if (parts.empty()) return 0;
  const std::string_view first = parts.front();
  if (first == "cpu" || first == "xpu") return 1;
  if (first.starts_with("rocm")) {
    if (!IsNumber(first.substr(4), 1, kDigitsOfRocm)) return 0;
    std::size_t count = 1;
    while (count < parts.size() && count < kNumbersOfRocm && IsNumber(parts[count], 1, kDigitsOfRocm))
      ++count;
    return count > 1 ? count : 0;
  }
  return first.starts_with("cu") && IsNumber(first.substr(2), 2, 3) ? 1 : 0;
}

}  // namespace

bool IsBackend(std::string_view name) {
  const std::vector<std::string> parts = Split(name, '.');
  return PartsOfBackend(parts) == parts.size();
}

std::optional<std::string> BackendOf(const wheel::Version& version) {
  const std::size_t count = PartsOfBackend(version.local);
  if (count == 0) return std::nullopt;
  std::string name = version.local.front();
  for (std::size_t i = 1; i < count; ++i) name += "." + version.local[i];
  return name;
}

WheelRoots RootsOf(const std::vector<IndexedWheel>& wheels) {
  WheelRoots result;
  std::set<std::string> with_backend;
  std::vector<const IndexedWheel*> others;
  for (const IndexedWheel& wheel : wheels) {
    const std::optional<std::string> backend =
        wheel.folder.empty() ? BackendOf(wheel.version) : std::optional(wheel.folder);
    if (!backend) {
      others.push_back(&wheel);
      continue;
    }
    result.roots[*backend][wheel.project].push_back(wheel);
    with_backend.insert(wheel.project);
  }
  for (const IndexedWheel* const wheel : others) {
    if (!wheel->version.local.empty() || with_backend.contains(wheel->project)) {
      result.rootless.push_back(*wheel);
      continue;
    }
    for (auto& [backend, projects] : result.roots) projects[wheel->project].push_back(*wheel);
  }
  return result;
}

}  // namespace ptpkg::channel
