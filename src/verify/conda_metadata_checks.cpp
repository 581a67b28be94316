// Metadata checks of conda packages. Layer: verify.
#include "verify/conda_metadata_checks.h"

#include <fmt/core.h>

#include "conda/names.h"
#include "conda/package_info.h"
#include "spec/build_string.h"
#include "spec/match_spec.h"
#include "spec/names.h"
#include "support/json.h"

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
    constexpr std::string_view kFix = "name the file '<name>-<version>-<build>' after its own metadata";
    if (file_name_.size() > conda::kMaxFileName) {
      Add("conda-file-name", Severity::kError, "",
          fmt::format("the file name is longer than {} characters", conda::kMaxFileName), kFix);
    }
    const auto dist = conda::DistName::Parse(file_name_);
    if (!dist) {
      Add("conda-file-name", Severity::kError, "", dist.error().message(), kFix);
      return;
    }
    const std::string stem =
        Text(info_.index, "name") + "-" + Text(info_.index, "version") + "-" + Text(info_.index, "build");
    if (stem != dist->Stem()) {
      Add("conda-file-name", Severity::kError, kIndex,
          fmt::format("the metadata is that of '{}', the file is named '{}'", stem, dist->Stem()), kFix);
    }
    if (dist->format != info_.format) {
      Add("conda-file-name", Severity::kError, "",
          fmt::format("the file is named as a {} but is a {} inside", ArtifactExtension(dist->format),
                      ArtifactExtension(info_.format)),
          kFix);
    }
  }

  void CheckName(const Result<void>& verdict) {
    if (verdict) return;
    Add("conda-name-rule", Severity::kError, kIndex, verdict.error().message(),
        "follow the naming rules of CEP 26");
  }

  void CheckNames() {
    CheckName(spec::CheckPackageName(Text(info_.index, "name")));
    CheckName(spec::CheckVersion(Text(info_.index, "version")));
    CheckName(spec::CheckBuildString(Text(info_.index, "build")));
    // Old packages leave the subdir out; the folder of the channel then decides.
    if (info_.index.contains("subdir")) {
      CheckName(conda::CheckSubdir(Text(info_.index, "subdir")));
    } else if (Text(info_.index, "platform").empty() || Text(info_.index, "arch").empty()) {
      Add("conda-index-invalid", Severity::kError, kIndex,
          "'subdir' is missing, and 'platform' and 'arch' do not replace it", "write the package again");
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
        "give a noarch package the subdir 'noarch'");
  }

  void CheckSpecs() {
    LimitedFindings limited(findings_);
    for (const char* key : {"depends", "constrains"}) {
      const auto specs = info_.index.find(key);
      if (specs == info_.index.end() || !specs->is_array()) continue;
      for (const Json& spec : *specs) {
        const auto normal =
            spec::NormalizeMatchSpec(spec.is_string() ? spec.get<std::string>() : std::string());
        if (normal) continue;
        limited.Add({"conda-dependency", Severity::kError, std::string(kIndex),
                     fmt::format("{}: {}", key, normal.error().message()),
                     "write dependencies as 'name [version [build]]'"});
      }
    }
  }

  void CheckLicense() {
    constexpr std::string_view kFix = "name the licence and its files under 'about' in the recipe";
    if (Text(info_.index, "license").empty() && Text(info_.about, "license").empty()) {
      Add("conda-license-missing", Severity::kWarning, kIndex, "the package names no licence", kFix);
    }
    for (const auto& [name, text] : info_.info_files) {
      if (name.starts_with("licenses/") || name == "LICENSE.txt") return;
    }
    const auto paths = info_.paths.is_object() ? info_.paths.find("paths") : info_.paths.end();
    const bool has_files = paths != info_.paths.end() && paths->is_array() && !paths->empty();
    if (!has_files) return;  // a package without files has nothing to license
    Add("conda-license-file", Severity::kWarning, "",
        "the package holds no licence file below info/licenses/", kFix);
  }

  void CheckReserved() {
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
