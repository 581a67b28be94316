// Compares paths of packages that can be in one environment: of one channel, with different names, and for
// one platform or noarch. A path keeps at most two holders per channel and platform. A third package differs
// in name from one of the two, so it is found in any case. The cost stays linear in the number of paths.

#include "verify/rules/shared_files.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "conda/channel_names.h"

namespace ptpkg::verify {
namespace {

struct Installed {
  std::string name;      // of the package
  std::string platform;  // of its subdir; "" where it meets all
  std::string channel;
  std::string file_name;
};

Installed InstalledBy(const AbsPath& package) {
  const auto dist = conda::DistName::Parse(package.Name());
  const AbsPath folder = package.Parent();
  const std::string subdir(folder.Name());
  const bool in_channel = conda::IsSubdir(subdir);
  return {.name = dist ? dist->name : std::string(package.Name()),
          .platform = in_channel && subdir != "noarch" ? subdir : std::string(),
          .channel = (in_channel ? folder.Parent() : folder).str(),
          .file_name = std::string(package.Name())};
}

bool CanBeInstalledTogether(const Installed& one, const Installed& other) {
  return one.channel == other.channel && one.name != other.name &&
         (one.platform.empty() || other.platform.empty() || one.platform == other.platform);
}

}  // namespace

std::vector<std::vector<Finding>> CheckSharedFiles(const std::vector<PackageFiles>& packages) {
  std::vector<Installed> installed;
  // The first two packages of different names, of each platform and channel: any other one meets the first of
  // these that has another name than its own.
  std::map<std::string_view, std::vector<std::size_t>> by_path;
  std::vector<std::vector<Finding>> findings(packages.size());
  for (std::size_t i = 0; i < packages.size(); ++i) {
    installed.push_back(InstalledBy(packages[i].package));
    LimitedFindings limited(findings[i]);
    for (const std::string& path : packages[i].paths) {
      std::vector<std::size_t>& holders = by_path[path];
      const auto other = std::find_if(holders.begin(), holders.end(), [&](std::size_t holder) {
        return CanBeInstalledTogether(installed[holder], installed[i]);
      });
      if (other != holders.end()) {
        limited.Add({"conda-shared-file", Severity::kWarning, path,
                     fmt::format("'{}' installs the same file", installed[*other].file_name),
                     "move the file to a package that both depend on, or rename it"});
      }
      bool is_known = false;
      std::size_t alike = 0;
      for (const std::size_t holder : holders) {
        if (installed[holder].platform != installed[i].platform ||
            installed[holder].channel != installed[i].channel)
          continue;
        ++alike;
        is_known = is_known || installed[holder].name == installed[i].name;
      }
      if (!is_known && alike < 2) holders.push_back(i);
    }
  }
  return findings;
}

}  // namespace ptpkg::verify
