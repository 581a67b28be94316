#include "repair/system_package.h"

#include <optional>

#include "support/process.h"
#include "support/text.h"
#include "wheel/sbom.h"

namespace ptpkg::repair {
namespace {

constexpr std::uint64_t kMaxListBytes = 64U << 20U;  // the list of linux-headers has 1 MB
constexpr std::string_view kListEnding = ".list";
constexpr std::string_view kMergedFolder = "/usr";

using Owners = std::map<AbsPath, SystemPackage>;

/// "debian", as /etc/os-release says it; "" if it says nothing.
Result<std::string> DistributionName(Env& env) {
  constexpr std::string_view kKey = "ID=";
  const AbsPath path = AbsPath::Literal("/etc/os-release");
  PTPKG_TRY(const bool there, Exists(env.fs, path));
  if (!there) return std::string();
  PTPKG_TRY(const std::string text, ReadFile(env.fs, path, kMaxListBytes));
  for (const std::string& line : SplitLines(text)) {
    if (line.starts_with(kKey)) return ReplaceAll(line.substr(kKey.size()), "\"", "");
  }
  return std::string();
}

/// How the lists may call each file.
std::map<std::string, AbsPath> Spellings(const std::vector<AbsPath>& files) {
  std::map<std::string, AbsPath> spellings;
  for (const AbsPath& file : files) {
    spellings.emplace(file.str(), file);
    const bool merged = file.str().starts_with(std::string(kMergedFolder) + "/");
    spellings.emplace(
        merged ? file.str().substr(kMergedFolder.size()) : std::string(kMergedFolder) + file.str(), file);
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

Result<Owners> AskDpkg(Env& env, const std::vector<AbsPath>& files) {
  PTPKG_TRY(const auto names, DebianOwners(env, files));
  Owners owners;
  if (names.empty()) return owners;
  PTPKG_TRY(const std::string text, ReadFile(env.fs, AbsPath::Literal("/var/lib/dpkg/status")));
  const std::map<std::string, Stanza> packages = ParseStatus(text);
  PTPKG_TRY(const std::string distribution, DistributionName(env));
  for (const auto& [file, name] : names) {
    const auto found = packages.find(name);
    if (found == packages.end()) continue;
    const Stanza& package = found->second;
    owners[file] = {.name = package.package,
                    .version = package.version,
                    .url = wheel::PackageUrl({.type = "deb",
                                              .name_space = distribution.empty() ? "debian" : distribution,
                                              .name = package.package,
                                              .version = package.version,
                                              .qualifiers = {{"arch", package.architecture}}})};
  }
  return owners;
}

Result<std::optional<SystemPackage>> AskRpm(Env& env, const AbsPath& program, const AbsPath& file) {
  Command command;
  command.argv = {program.str(), "-qf", "--queryformat",
                  "%{NAME} %{EPOCHNUM}:%{VERSION}-%{RELEASE} %{ARCH}\\n", file.str()};
  command.env = {{"PATH", PathVariable(env.variables)}, {"LC_ALL", "C"}};
  command.cancel = &env.cancel;
  PTPKG_TRY(const ExitStatus status, env.process.Run(command));
  const std::vector<std::string> words = Split(Trim(status.output), ' ');
  if (!status.ok() || words.size() != 3) return std::optional<SystemPackage>();
  const std::string version = words[1].starts_with("0:") ? words[1].substr(2) : words[1];
  PTPKG_TRY(const std::string distribution, DistributionName(env));
  return std::optional(
      SystemPackage{.name = words[0],
                    .version = version,
                    .url = wheel::PackageUrl({.type = "rpm",
                                              .name_space = distribution.empty() ? "linux" : distribution,
                                              .name = words[0],
                                              .version = version,
                                              .qualifiers = {{"arch", words[2]}}})});
}

}  // namespace

Result<Owners> FindOwners(Env& env, const std::vector<AbsPath>& files) {
  PTPKG_TRY(Owners owners, AskDpkg(env, files), "while asking which packages the libraries belong to");
  const std::optional<AbsPath> rpm = FindProgram("rpm", PathVariable(env.variables));
  if (!rpm) return owners;
  for (const AbsPath& file : files) {
    if (owners.contains(file)) continue;
    PTPKG_TRY(const auto package, AskRpm(env, *rpm, file));
    if (package) owners.emplace(file, *package);
  }
  return owners;
}

}  // namespace ptpkg::repair
