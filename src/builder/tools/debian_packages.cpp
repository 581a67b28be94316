// Versions come from dpkg's status file, without running dpkg: its format is simple (RFC 822 stanzas), and
// reading it costs no process. Only packages with the status "installed" count, because removed packages
// leave a stanza behind.

#include "builder/tools/debian_packages.h"

#include <algorithm>

#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

/// One stanza of the status file.
struct Stanza {
  std::string package;
  std::string version;
  bool installed = false;
};

/// Calls `take` for every package of the text; stanzas end with an empty line.
template <class Take>
void ForEachStanza(std::string_view text, const Take& take) {
  Stanza stanza;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto value = [&](std::string_view key) -> std::optional<std::string> {
      if (!line.starts_with(key)) return std::nullopt;
      return std::string(Trim(line.substr(key.size())));
    };
    if (const auto name = value("Package:")) stanza.package = *name;
    if (const auto version = value("Version:")) stanza.version = *version;
    if (const auto status = value("Status:")) stanza.installed = status->ends_with(" installed");
    if (!line.empty() && !text.empty()) continue;
    if (stanza.installed) take(stanza);
    stanza = {};
  }
}

}  // namespace

Result<std::optional<std::map<std::string, std::string>>> InstalledDebianPackages(
    Env& env, const std::vector<std::string>& names) {
  using Versions = std::map<std::string, std::string>;
  const AbsPath status = AbsPath::Literal("/var/lib/dpkg/status");
  PTPKG_TRY(const bool there, Exists(env.fs, status));
  if (!there) return std::optional<Versions>();
  PTPKG_TRY(const std::string text, ReadFile(env.fs, status), "while looking for system packages");
  Versions versions;
  ForEachStanza(text, [&](const Stanza& stanza) {
    if (std::find(names.begin(), names.end(), stanza.package) != names.end()) {
      versions.emplace(stanza.package, stanza.version);
    }
  });
  return std::optional(std::move(versions));
}

Result<bool> AptHasPackage(Env& env, const std::string& name) {
  const std::string search = PathVariable(env.variables);
  const std::optional<AbsPath> program = FindProgram("apt-cache", search);
  if (!program) return false;
  Command command;
  command.argv = {program->str(), "show", name};
  command.env = {{"PATH", search}, {"LC_ALL", "C"}};
  command.cancel = &env.cancel;
  PTPKG_TRY(const ExitStatus status, env.process.Run(command));
  // apt-cache exits with 0 and prints nothing for a name that other packages only refer to.
  return status.ok() && ("\n" + status.output).find("\nPackage:") != std::string::npos;
}

}  // namespace ptpkg::builder
