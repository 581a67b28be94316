// noarch python paths. Layer: conda.
//
// A noarch python package has no Python version in its paths, so that one package fits each Python. The
// builder takes the version out, and installers put in the one of their environment. Byte code is left out,
// because it fits one version only.

#include "conda/info/noarch.h"

#include <fmt/core.h>

#include "conda/info/prefix.h"
#include "support/process/console_script.h"
#include "versions/entry_point.h"

namespace ptpkg::conda {
namespace {

/// The path after "lib/pythonX.Y/site-packages/", or nothing.
std::optional<std::string_view> BelowSitePackages(std::string_view path) {
  constexpr std::string_view kLib = "lib/python";
  constexpr std::string_view kSite = "/site-packages/";
  if (!path.starts_with(kLib)) return std::nullopt;
  const std::size_t site = path.find('/', kLib.size());
  if (site == std::string_view::npos || !path.substr(site).starts_with(kSite)) return std::nullopt;
  return path.substr(site + kSite.size());
}

bool StartsWithFolder(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder);
}

/// "#!<prefix>/bin/python", or, where that is no line for the kernel, a shell's line that Python reads as a
/// text: "/usr/bin/env python" would need the prefix's bin/ on PATH.
std::string FirstLines(const std::string& prefix) {
  const std::string python = prefix + "/bin/python";
  std::string line = "#!" + python;
  if (line.size() <= kMaxShebang && line.find(' ') == std::string::npos) return line + "\n";
  return fmt::format("#!/bin/sh\n'''exec' \"{}\" \"$0\" \"$@\"\n' '''\n", python);
}

}  // namespace

std::optional<RelPath> ToNoarch(const RelPath& path) {
  const std::string_view extension = path.Extension();
  if (extension == ".pyc" || extension == ".pyo") return std::nullopt;
  if (const auto below = BelowSitePackages(path.str())) return RelPath::Literal("site-packages") / *below;
  if (StartsWithFolder(path.str(), "bin/")) {
    return RelPath::Literal("python-scripts") / std::string_view(path.str()).substr(4);
  }
  return path;
}

RelPath FromNoarch(const RelPath& path, const std::string& python_version) {
  const std::string_view text = path.str();
  constexpr std::string_view kSite = "site-packages/";
  constexpr std::string_view kScripts = "python-scripts/";
  if (StartsWithFolder(text, kSite)) {
    return RelPath::Literal("lib") / ("python" + python_version) / text.substr(0, kSite.size() - 1) /
           text.substr(kSite.size());
  }
  if (StartsWithFolder(text, kScripts)) return RelPath::Literal("bin") / text.substr(kScripts.size());
  return path;
}

Result<EntryPointScript> MakeEntryPoint(const std::string& entry_point, const std::string& prefix) {
  const Result<versions::EntryPoint> point = versions::ParseEntryPoint(entry_point);
  // The text comes from a package, where ParseEntryPoint's own error code would mean wrong input of the user.
  if (!point) return Error(ErrorCode::kCorrupt, point.error().message());
  // ConsoleScriptText begins with a line "#!<prefix>/bin/python", which FirstLines replaces.
  const std::string text =
      ConsoleScriptText({.prefix = prefix, .module = point->module, .object = point->object});
  return EntryPointScript{point->name, FirstLines(prefix) + text.substr(text.find('\n') + 1)};
}

}  // namespace ptpkg::conda
