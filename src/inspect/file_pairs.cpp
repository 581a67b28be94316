// Pairs the files of two artifacts, also those with other names.
//
// Equal paths first. Then a row of rules, each for the files that are left:
// 1. The same installed path: conda and wheels place the same file differently.
// 2. The same content.
// 3. The same installed path without the hash in the name, such as auditwheel's.
// 4. The same SONAME or library name.
// 5. The same file name.
//
// Rules 1, 3 and 5 pair only if each side has exactly one candidate. Among several candidates of rules 2
// and 4, the longest common end of the paths decides. Quadratic work is limited: very many equal files are
// paired in their order.

#include "inspect/file_pairs.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "support/text/text.h"

namespace ptpkg::inspect {
namespace {

constexpr std::size_t kShortestHash = 8;  // auditwheel: "-3ef06f11"; others have up to 64 digits

/// Number of bytes that the two paths share at their ends.
std::size_t CommonTail(std::string_view left, std::string_view right) {
  const auto ends = std::mismatch(left.rbegin(), left.rend(), right.rbegin(), right.rend());
  return static_cast<std::size_t>(ends.first - left.rbegin());
}

/// True for "NAME-VERSION" + `ending`.
bool IsVersioned(std::string_view folder, std::string_view ending) {
  const std::size_t dash = folder.find('-');
  return folder.ends_with(ending) && dash != std::string_view::npos && dash + ending.size() < folder.size();
}

/// The path below the prefix or site-packages where an installer puts the file, without the version in the
/// name of .dist-info.
std::string PlaceWithoutVersion(std::string path) {
  static constexpr std::string_view kSitePackages = "site-packages/";
  const std::size_t site = path.find(kSitePackages);
  if (site != std::string::npos && (site == 0 || path[site - 1] == '/'))
    path.erase(0, site + kSitePackages.size());
  const std::size_t end = path.find('/');
  if (end == std::string::npos) return path;
  const std::string top = path.substr(0, end);
  if (IsVersioned(top, ".dist-info")) return top.substr(0, top.find('-')) + ".dist-info" + path.substr(end);
  if (!IsVersioned(top, ".data")) return path;
  const std::string rest = path.substr(end + 1);
  for (const auto& [scheme, target] : {std::pair("purelib/", ""), std::pair("platlib/", ""),
                                       std::pair("data/", ""), std::pair("scripts/", "bin/")}) {
    if (rest.starts_with(scheme)) return target + rest.substr(std::string_view(scheme).size());
  }
  return top.substr(0, top.find('-')) + ".data/" + rest;
}

/// "libgeos.so" of "libgeos-3ef06f11.so.3.11", "main.js" of "main-3ef06f11.js". A library also loses the
/// text between the first dot and ".so": "_C.so" of "_C.cpython-311-x86_64-linux-gnu.so".
std::string NameWithoutHash(std::string_view name) {
  const std::size_t dot = std::min(name.find('.', 1), name.size());
  std::string_view base = name.substr(0, dot);
  const std::size_t dash = base.rfind('-');
  if (dash != std::string_view::npos && dash != 0 && base.size() - dash > kShortestHash &&
      base.find_first_not_of("0123456789abcdef", dash + 1) == std::string_view::npos) {
    base = base.substr(0, dash);
  }
  const bool library = ClassOfName(name) == FileClass::kElf && !name.ends_with(".o");
  return std::string(base) + (library ? ".so" : std::string(name.substr(dot)));
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Files that only one side has. A key of nullopt keeps a file out of a rule.
class Unpaired {
 public:
  using Key = std::function<std::optional<std::string>(const std::string& path, const SideFile& file)>;

  void Removed(const std::string& path, const SideFile& file) { removed_.emplace(path, &file); }
  void Added(const std::string& path, const SideFile& file) { added_.emplace(path, &file); }

  /// `unique`: only where each side has one file of the key.
  void PairBy(const Key& key, bool unique, std::vector<FilePair>& pairs) {
    const Groups old_groups = Grouped(removed_, key);
    for (const auto& [name, paths] : Grouped(added_, key)) {
      const auto old_paths = old_groups.find(name);
      if (old_paths == old_groups.end()) continue;
      if (unique && (paths.size() != 1 || old_paths->second.size() != 1)) continue;
      for (const auto& [old_path, path] : Twins(old_paths->second, paths)) Take(old_path, path, pairs);
    }
  }

  void AppendRest(std::vector<FilePair>& pairs) const {
    for (const auto& [path, file] : added_) pairs.push_back({.path = path, .old_path = path, .after = file});
    for (const auto& [path, file] : removed_) {
      pairs.push_back({.path = path, .old_path = path, .before = file});
    }
  }

 private:
  using Paths = std::map<std::string, const SideFile*>;
  using Groups = std::map<std::string, std::vector<std::string>>;

  static Groups Grouped(const Paths& paths, const Key& key) {
    Groups groups;
    for (const auto& [path, file] : paths) {
      if (const auto name = key(path, *file)) groups[*name].push_back(path);
    }
    return groups;
  }

  void Take(const std::string& old_path, const std::string& path, std::vector<FilePair>& pairs) {
    const auto before = removed_.find(old_path);
    const auto after = added_.find(path);
    pairs.push_back({.path = path, .old_path = old_path, .before = before->second, .after = after->second});
    removed_.erase(before);
    added_.erase(after);
  }

  static std::vector<std::pair<std::string, std::string>> Twins(const std::vector<std::string>& before,
                                                                const std::vector<std::string>& after) {
    // A hundred thousand equal files would have ten thousand million pairs: those are taken in their order.
    constexpr std::size_t kMostPairs = 1U << 20U;
    std::vector<std::pair<std::string, std::string>> twins;
    if (after.empty() || before.size() > kMostPairs / after.size()) {
      for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
        twins.emplace_back(before[i], after[i]);
      }
      return twins;
    }
    struct Candidate {
      std::size_t tail = 0;
      std::size_t before = 0;
      std::size_t after = 0;
    };
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < before.size(); ++i) {
      for (std::size_t k = 0; k < after.size(); ++k) {
        candidates.push_back({.tail = CommonTail(before[i], after[k]), .before = i, .after = k});
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& left, const Candidate& right) { return left.tail > right.tail; });
    std::vector<bool> before_taken(before.size());
    std::vector<bool> after_taken(after.size());
    for (const Candidate& one : candidates) {
      if (before_taken[one.before] || after_taken[one.after]) continue;
      before_taken[one.before] = true;
      after_taken[one.after] = true;
      twins.emplace_back(before[one.before], after[one.after]);
    }
    return twins;
  }

  Paths removed_;
  Paths added_;
};

std::optional<std::string> InstalledKey(const std::string& path, const SideFile& /*file*/) {
  return PlaceWithoutVersion(path);
}

std::optional<std::string> ContentKey(const std::string& /*path*/, const SideFile& file) {
  if (file.is_link || file.size_bytes == 0) return std::nullopt;
  return file.sha256.Hex();
}

std::optional<std::string> InstalledNameKey(const std::string& path, const SideFile& /*file*/) {
  const std::string installed = PlaceWithoutVersion(path);
  const std::string_view name = BaseName(installed);
  return installed.substr(0, installed.size() - name.size()) + NameWithoutHash(name);
}

std::optional<std::string> LibraryKey(const std::string& path, const SideFile& file) {
  if (!file.elf) return std::nullopt;
  const std::optional<std::string>& soname = file.elf->facts.links.soname;
  return NameWithoutHash(soname ? std::string_view(*soname) : BaseName(path));
}

std::optional<std::string> NameKey(const std::string& path, const SideFile& file) {
  if (file.is_link || file.size_bytes == 0) return std::nullopt;
  return NameWithoutHash(BaseName(path));
}

}  // namespace

bool SameContent(const SideFile& before, const SideFile& after) {
  return before.is_link == after.is_link && before.target == after.target &&
         before.size_bytes == after.size_bytes && before.sha256 == after.sha256;
}

std::vector<FilePair> PairFiles(const SideFiles& before, const SideFiles& after) {
  std::vector<FilePair> pairs;
  Unpaired unpaired;
  for (const auto& [path, file] : before) {
    const auto found = after.find(path);
    if (found == after.end()) {
      unpaired.Removed(path, file);
    } else {
      pairs.push_back({.path = path, .old_path = path, .before = &file, .after = &found->second});
    }
  }
  for (const auto& [path, file] : after) {
    if (!before.contains(path)) unpaired.Added(path, file);
  }
  unpaired.PairBy(InstalledKey, true, pairs);
  unpaired.PairBy(ContentKey, false, pairs);
  unpaired.PairBy(InstalledNameKey, true, pairs);
  unpaired.PairBy(LibraryKey, false, pairs);
  unpaired.PairBy(NameKey, true, pairs);
  unpaired.AppendRest(pairs);
  std::sort(pairs.begin(), pairs.end(),
            [](const FilePair& left, const FilePair& right) { return left.path < right.path; });
  return pairs;
}

}  // namespace ptpkg::inspect
