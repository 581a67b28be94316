// Metadata checks of conda packages. Layer: verify.
#include "verify/conda/conda_metadata_checks.h"

#include <algorithm>
#include <fmt/core.h>

#include "conda/channel_names.h"
#include "conda/info/package_info.h"
#include "support/text/json.h"
#include "versions/build_string.h"
#include "versions/match_spec.h"
#include "versions/package_names.h"

namespace ptpkg::verify {
namespace {

constexpr std::string_view kIndex = "info/index.json";

std::string Text(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

class MetadataChecks {
 public:
  MetadataChecks(const conda::PackageInfo& info, const std::string& file_name, std::vector<Finding>& findings)
      : info_(info), file_name_(file_name), findings_(findings) {}

  void Run() {
    CheckFileName();
    CheckNames();
    CheckNoarch();
    CheckPythonOfNoarch();
    CheckSpecs();
    CheckLicense();
    CheckReserved();
  }

 private:
  void Add(std::string_view id, Severity severity, std::string_view file, std::string message,
           std::string_view fix) {
    findings_.push_back({std::string(id), severity, std::string(file), std::move(message), std::string(fix)});
  }

  void CheckFileName() {
    constexpr std::string_view kFix = "rename the file to '<name>-<version>-<build>' from its metadata";
    if (file_name_.size() > conda::kMaxFileName) {
      Add("conda-file-name", Severity::kError, "",
          fmt::format("the file name is longer than {} characters", conda::kMaxFileName), kFix);
    }
    const auto dist = conda::DistName::Parse(file_name_);
    if (!dist) {
      Add("conda-file-name", Severity::kError, "", dist.error().message(), kFix);
      return;
    }
    // Clients and indexers read name, version and build from the file name, and compare them with index.json.
    const std::string stem =
        Text(info_.index, "name") + "-" + Text(info_.index, "version") + "-" + Text(info_.index, "build");
    if (stem != dist->Stem()) {
      Add("conda-file-name", Severity::kError, kIndex,
          fmt::format("the metadata describes '{}', but the file is named '{}'", stem, dist->Stem()), kFix);
    }
    if (dist->format != info_.format) {
      Add("conda-file-name", Severity::kError, "",
          fmt::format("the file is named like a {} but is a {}", ArtifactExtension(dist->format),
                      ArtifactExtension(info_.format)),
          kFix);
    }
  }

  void CheckName(const Result<void>& verdict) {
    if (verdict) return;
    Add("conda-name-rule", Severity::kError, kIndex, verdict.error().message(),
        "follow the naming rules of CEP 26");
  }

  void CheckSubdirName(const std::string& subdir) {
    const auto verdict = conda::CheckSubdir(subdir);
    CheckName(verdict);
    if (!verdict || conda::IsKnownSubdir(subdir)) return;
    // CEP 26 lets others be added.
    Add("conda-subdir-unknown", Severity::kWarning, kIndex,
        fmt::format("no conda client has the platform '{}'", subdir),
        "use the subdir of a platform, such as linux-64, or noarch");
  }

  void CheckNames() {
    CheckName(versions::CheckPackageName(Text(info_.index, "name")));
    CheckName(versions::CheckVersion(Text(info_.index, "version")));
    CheckName(versions::CheckBuildString(Text(info_.index, "build")));
    // Old packages leave the subdir out; the directory of the channel then decides.
    if (info_.index.contains("subdir")) {
      CheckSubdirName(Text(info_.index, "subdir"));
    } else if (Text(info_.index, "platform").empty() || Text(info_.index, "arch").empty()) {
      Add("conda-index-invalid", Severity::kError, kIndex,
          "'subdir' is missing, and 'platform' and 'arch' don't determine it", "rebuild the package");
    }
  }

  void CheckNoarch() {
    const std::string kind = Text(info_.index, "noarch");
    const std::string subdir = Text(info_.index, "subdir");
    const bool known = kind.empty() || kind == "python" || kind == "generic";
    // "python" with the subdir of a machine: abi3 (CEP 20).
    if (known && (kind.empty() || kind == "python" || subdir == "noarch" || subdir.empty())) return;
    Add("conda-noarch", Severity::kError, kIndex,
        fmt::format("noarch is '{}' but subdir is '{}'", kind, subdir),
        "use the subdir 'noarch' for noarch packages");
  }

  /// Installers put its files where the environment's Python looks for them.
  void CheckPythonOfNoarch() {
    if (Text(info_.index, "noarch") != "python") return;
    const auto depends = info_.index.find("depends");
    const bool has_any = depends != info_.index.end() && depends->is_array() && !depends->empty();
    const auto is_python = [](const Json& spec) {
      return spec.is_string() && versions::MatchSpecName(spec.get<std::string>()) == "python";
    };
    if (has_any && std::any_of(depends->begin(), depends->end(), is_python)) return;
    Add("conda-noarch", has_any ? Severity::kWarning : Severity::kError, kIndex,
        "a noarch Python package does not depend on python, so environments without Python cannot run it",
        "add 'python' to 'requirements.run', or use 'noarch: generic'");
  }

  void CheckSpecsOf(const Json& specs, const std::string& key, const std::string& file,
                    LimitedFindings& findings) const {
    if (!specs.is_array()) return;
    for (const Json& spec : specs) {
      // A solver that reads a bad spec can refuse the whole channel, so each spec is checked, also of extras.
      const auto normal =
          versions::NormalizeMatchSpec(spec.is_string() ? spec.get<std::string>() : std::string());
      if (normal) continue;
      findings.Add({"conda-dependency", Severity::kError, file,
                    fmt::format("{}: {}", key, normal.error().message()),
                    "write dependencies as 'name [version [build]]'"});
    }
  }

  void CheckSpecs() {
    LimitedFindings limited(findings_);
    const std::string index(kIndex);
    for (const char* key : {"depends", "constrains"}) {
      if (const auto specs = info_.index.find(key); specs != info_.index.end())
        CheckSpecsOf(*specs, key, index, limited);
    }
    if (const auto extras = info_.index.find("extra_depends");
        extras != info_.index.end() && extras->is_object()) {
      for (const auto& [extra, specs] : extras->items())
        CheckSpecsOf(specs, "extra_depends." + extra, index, limited);
    }
    // Builds against the package get these as dependencies.
    const auto text = info_.info_files.find("run_exports.json");
    const auto exports = text == info_.info_files.end() ? Result<Json>(Json())
                                                        : ParseJson(text->second, "info/run_exports.json");
    if (!exports || !exports->is_object()) return;
    for (const auto& [kind, specs] : exports->items())
      CheckSpecsOf(specs, kind, "info/run_exports.json", limited);
  }

  void CheckLicense() {
    constexpr std::string_view kFix = "set 'license' and 'license_file' under 'about' in the recipe";
    if (Text(info_.index, "license").empty() && Text(info_.about, "license").empty()) {
      Add("conda-license-missing", Severity::kWarning, kIndex, "the package has no licence", kFix);
    }
    for (const auto& [name, text] : info_.info_files) {
      if (name.starts_with("licenses/") || name == "LICENSE.txt") return;
    }
    const auto paths = info_.paths.is_object() ? info_.paths.find("paths") : info_.paths.end();
    const bool has_files = paths != info_.paths.end() && paths->is_array() && !paths->empty();
    if (!has_files) return;  // a package without files has nothing to license
    Add("conda-license-file", Severity::kWarning, "", "the package has no licence file in info/licenses/",
        kFix);
  }

  void CheckReserved() {
    // Clients write this file while they unpack, and trust it later. A shipped one states a false origin.
    if (info_.info_files.count("repodata_record.json") == 0) return;
    Add("conda-repodata-record", Severity::kError, "info/repodata_record.json",
        "the package ships a file that installers write themselves",
        "pack the staged tree, not an installed package");
  }

  const conda::PackageInfo& info_;
  const std::string& file_name_;
  std::vector<Finding>& findings_;
};

}  // namespace

void CheckCondaMetadata(const conda::PackageInfo& info, const std::string& file_name,
                        std::vector<Finding>& findings) {
  MetadataChecks(info, file_name, findings).Run();
}

}  // namespace ptpkg::verify
