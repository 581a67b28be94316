// Documents below info/. Layer: verify.
#include "verify/conda/conda_info_checks.h"

#include <fmt/core.h>
#include <optional>

#include "conda/info/info_schema.h"
#include "support/text/json.h"
#include "support/text/text.h"
#include "support/text/utf8.h"
#include "verify/wheel/wheel_metadata_checks.h"
#include "versions/entry_point.h"
#include "wheel/metadata/core_metadata.h"
#include "wheel/metadata/pep440_version.h"

namespace ptpkg::verify {
namespace {

constexpr std::string_view kPackAnew = "rebuild the package with ptpkg, conda-build or rattler-build";

Result<void> CheckLinkSchema(const Json& link, std::string_view where) {
  PTPKG_TRY([[maybe_unused]] const conda::LinkDocument document, conda::ParseLinkJson(link, where));
  return Ok();
}

Result<void> AnySchema(const Json& /*document*/, std::string_view /*where*/) { return Ok(); }

struct Document {
  const char* name;
  std::string_view id;
  Result<void> (*check)(const Json&, std::string_view);
};
// rattler is the strictest reader of these documents, and sets the schemas (conda/info/info_schema.h).
constexpr Document kDocuments[] = {
    {"index.json", "conda-index-invalid", conda::CheckIndexSchema},
    {"about.json", "conda-about-invalid", conda::CheckAboutSchema},
    {"run_exports.json", "conda-run-exports-invalid", conda::CheckRunExportsSchema},
    {"link.json", "conda-link-invalid", CheckLinkSchema},
    {"package_metadata.json", "conda-link-invalid", CheckLinkSchema},
    {"paths.json", "conda-paths-invalid", AnySchema},  // its entries have findings of their own
};

/// Words of a line; quotes hold blanks together. nullopt for a quote that does not end.
std::optional<std::vector<std::string>> WordsOf(std::string_view line) {
  std::vector<std::string> words;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty()) return words;
    const bool quoted = line.front() == '"';
    if (quoted) line.remove_prefix(1);
    const std::size_t end = quoted ? line.find('"') : std::min(line.find_first_of(" \t\r"), line.size());
    if (end == std::string_view::npos) return std::nullopt;
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(std::min(end + (quoted ? 1 : 0), line.size()));
  }
}

/// The path of a line "path" or "prefix mode path".
std::optional<std::string> PrefixPath(std::string_view line) {
  const auto words = WordsOf(line);
  if (!words || (words->size() != 1 && words->size() != 3)) return std::nullopt;
  if (words->size() == 3 && (*words)[1] != "text" && (*words)[1] != "binary") return std::nullopt;
  return words->back();
}

std::string Program(const std::string& entry_point) { return versions::ParseEntryPoint(entry_point)->name; }

}  // namespace

void CheckCondaDocuments(const InfoFiles& files, std::vector<Finding>& findings) {
  for (const Document& document : kDocuments) {
    const auto text = files.find(document.name);
    if (text == files.end()) continue;
    const std::string where = fmt::format("info/{}", document.name);
    const Result<Json> json = ParseJson(text->second, where);
    const Result<void> verdict = json ? document.check(*json, where) : Result<void>(json.error());
    if (verdict) continue;
    findings.push_back({std::string(document.id), Severity::kError, where, verdict.error().message(),
                        std::string(kPackAnew)});
  }
}

std::vector<std::string> CheckCondaLink(const InfoFiles& files, const Json& index,
                                        std::vector<Finding>& findings) {
  const auto text = files.find("link.json");
  if (text == files.end()) return {};
  const Result<Json> json = ParseJson(text->second, "info/link.json");
  if (!json) return {};
  const auto link = conda::ParseLinkJson(*json, "info/link.json");
  if (!link) return {};
  const auto noarch = index.find("noarch");
  // rattler crashes if the two types contradict each other.
  const bool python = noarch != index.end() && *noarch == "python";
  if (python != (link->type == "python")) {
    findings.push_back({"conda-link-invalid", Severity::kError, "info/link.json",
                        fmt::format("the noarch type is '{}', but index.json says {}", link->type,
                                    python ? "'python'" : "otherwise"),
                        std::string(kPackAnew)});
  }
  std::vector<std::string> programs;
  for (const std::string& point : link->entry_points) {
    programs.push_back(Program(point));
    if (!IsInterpreterName(programs.back())) continue;
    findings.push_back({"conda-link-invalid", Severity::kError, "info/link.json",
                        fmt::format("the program '{}' would overwrite the interpreter", programs.back()),
                        "rename the entry point"});
  }
  return programs;
}

void CheckCondaLists(const InfoFiles& files, const std::set<std::string>& held,
                     std::vector<Finding>& findings) {
  LimitedFindings limited(findings);
  const auto add = [&](const std::string& name, std::string message) {
    limited.Add(
        {"conda-files-list", Severity::kError, "info/" + name, std::move(message), std::string(kPackAnew)});
  };
  // paths.json has replaced these lists. conda-build's own check and old clients still believe them.
  for (const char* const name : {"files", "has_prefix", "no_link", "no_softlink"}) {
    const auto text = files.find(name);
    if (text == files.end()) continue;
    if (!IsUtf8(text->second) || text->second.find('\0') != std::string::npos) {
      add(name, "the list is not UTF-8 text");
      continue;
    }
    std::set<std::string> listed;
    for (const std::string& line : SplitLines(text->second)) {
      if (line.empty()) continue;
      const bool prefix = std::string_view(name) == "has_prefix";
      const std::optional<std::string> path = prefix ? PrefixPath(line) : line;
      if (!path) {
        add(name, fmt::format("the line '{}' is not of the form 'path' or 'prefix text|binary path'",
                              Printable(line)));
      } else if (!held.contains(*path)) {
        add(name, fmt::format("the list has '{}', which is not in the package", Printable(*path)));
      } else {
        listed.insert(*path);
      }
    }
    if (std::string_view(name) == "files" && listed != held)
      add(name, "the list does not match the files in the package");
  }
}

void CheckDistInfoVersion(const Json& index, const std::set<std::string>& held,
                          std::vector<Finding>& findings) {
  const auto text = [&](const char* key) {
    const auto value = JsonStringOr(index, key, "", "");
    return value ? *value : std::string();
  };
  // pip and importlib.metadata read the version in .dist-info, and the solver reads the version of the
  // package. A requirement can then hold for one of them and fail for the other.
  const std::string name = wheel::NormalizeName(text("name"));
  const auto version = wheel::ParseVersion(text("version"));
  if (!version) return;
  constexpr std::string_view kEnd = ".dist-info/METADATA";
  constexpr std::string_view kFolder = "site-packages/";
  for (const std::string& path : held) {
    const std::size_t folder = path.find(kFolder);
    if (folder == std::string::npos || !path.ends_with(kEnd)) continue;
    const std::size_t begin = folder + kFolder.size();
    const std::vector<std::string> parts = Split(path.substr(begin, path.size() - begin - kEnd.size()), '-');
    if (parts.size() != 2 || wheel::NormalizeName(parts[0]) != name) continue;
    auto inside = wheel::ParseVersion(parts[1]);
    if (!inside) continue;
    // A local part ("+cu130") is often in the wheel's version only.
    if (version->local.empty()) inside->local.clear();
    if (wheel::CompareVersions(*inside, *version) == 0) continue;
    findings.push_back(
        {"conda-dist-info-version", Severity::kWarning, path,
         fmt::format("the package has version {}, but its .dist-info says {}", version->str(), parts[1]),
         "use the same version for the Python project and the package"});
  }
}

}  // namespace ptpkg::verify
