// Finds the system package that owns a bundled library, for the SBOM. The databases of dpkg and apk are text
// and are read here. The database of rpm is binary and has several formats, so the program rpm reads it.
// Lists can name a file /lib/… or /usr/lib/…, from before or after the merge of /usr. Both spellings are
// looked up.
// An apk database is searched in each directory above the file: the file can lie in an unpacked root of
// another system.
// A library without an owner is not an error. It gets no package URL.

#include "repair/system_package.h"

#include <array>
#include <optional>

#include "support/process/process.h"
#include "support/text/text.h"
#include "wheel/sbom.h"

namespace ptpkg::repair {
namespace {

constexpr std::uint64_t kMaxListBytes = 64U << 20U;  // the list of linux-headers has 1 MB
constexpr std::string_view kListEnding = ".list";
constexpr std::string_view kMergedFolder = "/usr";

using Owners = std::map<AbsPath, SystemPackage>;

/// "debian", as etc/os-release of the system at `root` says it; `unsaid` if it says nothing.
Result<std::string> DistributionName(Env& env, const AbsPath& root, const std::string& unsaid) {
  constexpr std::string_view kKey = "ID=";
  const AbsPath path = root / "etc/os-release";
  PTPKG_TRY(const bool there, Exists(env.fs, path));
  if (!there) return unsaid;
  PTPKG_TRY(const std::string text, ReadFile(env.fs, path, kMaxListBytes));
  for (const std::string& line : SplitLines(text)) {
    if (line.starts_with(kKey)) return ReplaceAll(line.substr(kKey.size()), "\"", "");
  }
  return unsaid;
}

/// The path's other spelling, from before or after the merge of /usr.
std::string UsrMergeSpelling(const std::string& path) {
  const bool merged = path.starts_with(std::string(kMergedFolder) + "/");
  return merged ? path.substr(kMergedFolder.size()) : std::string(kMergedFolder) + path;
}

/// Spellings that the lists may use for each file.
std::map<std::string, AbsPath> Spellings(const std::vector<AbsPath>& files) {
  std::map<std::string, AbsPath> spellings;
  for (const AbsPath& file : files) {
    spellings.emplace(file.str(), file);
    spellings.emplace(UsrMergeSpelling(file.str()), file);
  }
  return spellings;
}

/// Files by the name of their package, "libgfortran5:amd64" where there are several architectures.
Result<std::map<AbsPath, std::string>> DebianOwners(Env& env, const std::vector<AbsPath>& files) {
  std::map<AbsPath, std::string> owners;
  const AbsPath folder = AbsPath::Literal("/var/lib/dpkg/info");
  PTPKG_TRY(const bool there, Exists(env.fs, folder));
  if (!there) return owners;
  const std::map<std::string, AbsPath> spellings = Spellings(files);
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(folder));
  for (const std::string& name : names) {
    PTPKG_CHECK(env.cancel.Check());
    if (!name.ends_with(kListEnding)) continue;
    PTPKG_TRY(const std::string text, ReadFile(env.fs, folder / name, kMaxListBytes));
    for (const auto& [spelling, file] : spellings) {
      const std::size_t at = text.find(spelling + "\n");
      if (at == std::string::npos || (at != 0 && text[at - 1] != '\n')) continue;
      owners.emplace(file, name.substr(0, name.size() - kListEnding.size()));
    }
  }
  return owners;
}

struct Stanza {
  std::string package;
  std::string architecture;
  std::string version;
};

/// The packages of dpkg's status file, by "name" and "name:architecture".
std::map<std::string, Stanza> ParseStatus(std::string_view text) {
  std::map<std::string, Stanza> packages;
  Stanza stanza;
  const auto close = [&] {
    if (!stanza.package.empty()) {
      packages.emplace(stanza.package + ":" + stanza.architecture, stanza);
      packages.emplace(stanza.package, stanza);
    }
    stanza = {};
  };
  for (const std::string& line : SplitLines(text)) {
    const auto take = [&](std::string_view key, std::string& value) {
      if (line.starts_with(key)) value = std::string(Trim(std::string_view(line).substr(key.size())));
    };
    if (line.empty()) close();
    take("Package:", stanza.package);
    take("Architecture:", stanza.architecture);
    take("Version:", stanza.version);
  }
  close();
  return packages;
}

Result<Owners> QueryDpkg(Env& env, const std::vector<AbsPath>& files) {
  PTPKG_TRY(const auto names, DebianOwners(env, files));
  Owners owners;
  if (names.empty()) return owners;
  const AbsPath status = AbsPath::Literal("/var/lib/dpkg/status");
  PTPKG_TRY(const bool there, Exists(env.fs, status));
  if (!there) return owners;  // an image from which it was removed
  PTPKG_TRY(const std::string text, ReadFile(env.fs, status, kMaxListBytes));
  const std::map<std::string, Stanza> packages = ParseStatus(text);
  PTPKG_TRY(const std::string distribution, DistributionName(env, AbsPath::Literal("/"), "debian"));
  for (const auto& [file, name] : names) {
    const auto found = packages.find(name);
    if (found == packages.end()) continue;
    const Stanza& package = found->second;
    owners[file] = {.name = package.package,
                    .version = package.version,
                    .url = wheel::PackageUrl({.type = "deb",
                                              .name_space = distribution,
                                              .name = package.package,
                                              .version = package.version,
                                              .qualifiers = {{"arch", package.architecture}}})};
  }
  return owners;
}

/// The package of apk's list that has the file at `path`. A stanza names its package first (P, V, A), then
/// each directory (F, without the first '/') with its files (R).
std::optional<Stanza> OwnerIn(std::string_view list, const std::string& path) {
  const std::string other = UsrMergeSpelling(path);
  Stanza stanza;
  std::string folder;
  for (const std::string& line : SplitLines(list)) {
    if (line.empty()) stanza = {};
    if (line.size() < 2 || line[1] != ':') continue;
    const std::string value = line.substr(2);
    switch (line[0]) {
      case 'P':
        stanza.package = value;
        break;
      case 'V':
        stanza.version = value;
        break;
      case 'A':
        stanza.architecture = value;
        break;
      case 'F':
        folder = "/" + value + "/";
        break;
      case 'R':
        if ((folder + value == path || folder + value == other) && !stanza.package.empty()) return stanza;
        break;
      default:
        break;
    }
  }
  return std::nullopt;
}

/// Owner according to the apk database of the system that holds `file`.
Result<std::optional<SystemPackage>> QueryApk(Env& env, const AbsPath& file) {
  constexpr std::array<std::string_view, 2> kLists = {"lib/apk/db/installed", "usr/lib/apk/db/installed"};
  AbsPath root = file;
  while (root.str() != "/") {
    root = root.Parent();
    for (const std::string_view name : kLists) {
      const AbsPath list = root / name;
      PTPKG_TRY(const bool there, Exists(env.fs, list));
      if (!there) continue;
      PTPKG_TRY(const std::string text, ReadFile(env.fs, list, kMaxListBytes));
      const auto owner = OwnerIn(text, file.str().substr(root.str() == "/" ? 0 : root.str().size()));
      if (!owner) continue;
      PTPKG_TRY(const std::string distribution, DistributionName(env, root, "alpine"));
      return std::optional(
          SystemPackage{.name = owner->package,
                        .version = owner->version,
                        .url = wheel::PackageUrl({.type = "apk",
                                                  .name_space = distribution,
                                                  .name = owner->package,
                                                  .version = owner->version,
                                                  .qualifiers = {{"arch", owner->architecture}}})});
    }
  }
  return std::optional<SystemPackage>();
}

Result<std::optional<SystemPackage>> QueryRpm(Env& env, const AbsPath& program, const AbsPath& file) {
  Command command;
  command.argv = {program.str(), "-qf", "--queryformat",
                  "%{NAME} %{EPOCHNUM} %{VERSION}-%{RELEASE} %{ARCH}\\n", file.str()};
  command.env = {{"PATH", PathVariable(env.variables)}, {"LC_ALL", "C"}};
  command.cancel = &env.cancel;
  PTPKG_TRY(const ExitStatus status, env.process.Run(command));
  if (!status.ok()) return std::optional<SystemPackage>();
  for (const std::string& line : SplitLines(status.output)) {
    // Warnings of rpm stand between its answers; of several packages that share a file the first counts.
    const std::vector<std::string> words = Split(line, ' ');
    if (words.size() != 4 || words[1].find_first_not_of("0123456789") != std::string::npos) continue;
    PTPKG_TRY(const std::string distribution, DistributionName(env, AbsPath::Literal("/"), "linux"));
    std::map<std::string, std::string> qualifiers = {{"arch", words[3]}};
    if (words[1] != "0") qualifiers["epoch"] = words[1];
    return std::optional(SystemPackage{.name = words[0],
                                       .version = (words[1] == "0" ? "" : words[1] + ":") + words[2],
                                       .url = wheel::PackageUrl({.type = "rpm",
                                                                 .name_space = distribution,
                                                                 .name = words[0],
                                                                 .version = words[2],
                                                                 .qualifiers = std::move(qualifiers)})});
  }
  return std::optional<SystemPackage>();
}

}  // namespace

Result<Owners> FindOwners(Env& env, const std::vector<AbsPath>& files) {
  PTPKG_TRY(Owners owners, QueryDpkg(env, files), "while looking up the packages of the libraries");
  const std::optional<AbsPath> rpm = FindProgram("rpm", PathVariable(env.variables));
  for (const AbsPath& file : files) {
    if (owners.contains(file)) continue;
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(auto package, QueryApk(env, file));
    if (!package && rpm) {
      PTPKG_TRY(package, QueryRpm(env, *rpm, file));
    }
    if (package) owners.emplace(file, *std::move(package));
  }
  return owners;
}

}  // namespace ptpkg::repair
