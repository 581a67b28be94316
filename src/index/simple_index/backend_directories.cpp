// Derives the backend of a wheel from its local version: `2.8.0+cu128` belongs to cu128.
//
// The names match uv's --torch-backend and the directories below download.pytorch.org/whl. A number after
// `rocm` has two or three parts of at most two digits: a longer part is a date, as in
// 2.9.0+rocm6.4.20250612, and ends the name. A wheel without a local version is listed for all backends,
// unless its project has wheels for some: then it is in none.

#include "index/simple_index/backend_directories.h"

#include <algorithm>
#include <set>

#include "support/text/text.h"
#include "versions/gpu_slice.h"

namespace ptpkg::index {
namespace {

/// Numbers of a version of ROCm. A longer one is a date, as in 2.9.0+rocm6.4.20250612.
constexpr std::size_t kDigitsOfRocm = 2;
constexpr std::size_t kNumbersOfRocm = 3;

bool IsNumber(std::string_view text, std::size_t least_digits, std::size_t most_digits) {
  return text.size() >= least_digits && text.size() <= most_digits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Number of leading parts that name a backend; 0 = none.
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
  const std::string backend = versions::WithoutLabel(name, '.');
  if (backend.empty()) return !name.empty();
  const std::vector<std::string> parts = Split(backend, '.');
  return PartsOfBackend(parts) == parts.size();
}

std::optional<std::string> BackendOf(const wheel::Version& version) {
  const std::string local = Join(version.local, ".");
  const std::string whole = versions::WithoutLabel(local, '.');
  const std::vector<std::string> parts = Split(whole, '.');
  std::vector<std::string> name(parts.begin(),
                                parts.begin() + static_cast<std::ptrdiff_t>(PartsOfBackend(parts)));
  if (local.size() > whole.size()) name.push_back(local.substr(whole.empty() ? 0 : whole.size() + 1));
  return name.empty() ? std::nullopt : std::optional(Join(name, "."));
}

BackendDirectories GroupByBackend(const std::vector<IndexedWheel>& wheels) {
  BackendDirectories result;
  std::set<std::string> with_backend;
  std::vector<std::optional<std::string>> backends;
  for (const IndexedWheel& wheel : wheels) {
    backends.push_back(wheel.folder.empty() ? BackendOf(wheel.version) : std::optional(wheel.folder));
    if (!backends.back()) continue;
    result.roots.try_emplace(*backends.back());
    if (!versions::WithoutLabel(*backends.back(), '.').empty()) with_backend.insert(wheel.project);
  }
  std::vector<const IndexedWheel*> others;
  for (std::size_t i = 0; i < wheels.size(); ++i) {
    if (!backends[i]) others.push_back(&wheels[i]);
    for (auto& [root, projects] : result.roots) {
      if (root == backends[i] || versions::WithoutLabel(root, '.') == backends[i])
        projects[wheels[i].project].push_back(wheels[i]);
    }
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

}  // namespace ptpkg::index
