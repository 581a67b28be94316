// info/index.json. Layer: conda.
#include "conda/info/index_json.h"

#include <fmt/core.h>

#include "conda/channel_names.h"
#include "support/text/json.h"
#include "support/text/text.h"
#include "versions/build_string.h"
#include "versions/entry_point.h"
#include "versions/match_spec.h"
#include "versions/package_names.h"

namespace ptpkg::conda {
namespace {

Error Invalid(std::string message) { return {ErrorCode::kInvalidInput, std::move(message)}; }

/// Python's platform.machine() for the architecture part of a subdir.
std::string MachineOf(std::string_view arch) {
  if (arch == "64") return "x86_64";
  if (arch == "32") return "x86";
  return std::string(arch);
}

void AddPlatform(Json& index, const std::string& subdir) {
  // Both fields are deprecated. conda-build writes null for noarch, so the keys exist in each package.
  index["arch"] = nullptr;
  index["platform"] = nullptr;
  if (subdir == "noarch") return;
  const std::vector<std::string> parts = Split(subdir, '-');
  index["platform"] = parts.front();
  index["arch"] = MachineOf(parts.back());
}

Result<void> CheckNoarch(const PackageMetadata& metadata) {
  if (!metadata.noarch_python && !metadata.entry_points.empty()) {
    return Invalid("only noarch python packages can have entry points");
  }
  for (const std::string& text : metadata.entry_points) PTPKG_CHECK(versions::ParseEntryPoint(text));
  return Ok();
}

Result<void> CheckRunExports(const PackageMetadata& metadata) {
  for (const auto& [kind, specs] : metadata.run_exports) {
    const bool known = kind == "weak" || kind == "strong" || kind == "noarch" || kind == "weak_constrains" ||
                       kind == "strong_constrains";
    if (!known) return Invalid(fmt::format("run_exports has no kind '{}'", kind));
    PTPKG_TRY(auto normal, versions::NormalizeMatchSpecs(specs),
              fmt::format("while reading the {} run_exports", kind));
    static_cast<void>(normal);
  }
  return Ok();
}

}  // namespace

std::string PackageMetadata::FileStem() const { return name + "-" + version + "-" + build_string; }

Result<void> CheckMetadata(const PackageMetadata& metadata) {
  PTPKG_CHECK(versions::CheckPackageName(metadata.name));
  PTPKG_CHECK(versions::CheckVersion(metadata.version));
  PTPKG_CHECK(versions::CheckBuildString(metadata.build_string));
  PTPKG_CHECK(CheckSubdir(metadata.subdir));
  // The longer of the two extensions: a name must fit for either format.
  if (metadata.FileStem().size() + ArtifactExtension(ArtifactFormat::kTarBz2).size() > kMaxFileName) {
    return Invalid(
        fmt::format("file name of '{}' is longer than {} characters", metadata.FileStem(), kMaxFileName));
  }
  for (const std::string& feature : metadata.track_features) {
    // index.json joins the features with blanks, so a blank inside one would make two of it.
    if (feature.empty() || feature.find_first_of(" ,\t\n") != std::string::npos) {
      return Invalid(fmt::format("track feature '{}' is empty or has a separator", feature));
    }
  }
  PTPKG_CHECK(CheckNoarch(metadata));
  return CheckRunExports(metadata);
}

Result<Json> MakeIndexJson(const PackageMetadata& metadata, std::int64_t timestamp_ms) {
  PTPKG_TRY(const auto depends, versions::NormalizeMatchSpecs(metadata.depends));
  PTPKG_TRY(const auto constrains, versions::NormalizeMatchSpecs(metadata.constrains));
  Json index = Json::object();
  index["name"] = metadata.name;
  index["version"] = metadata.version;
  index["build"] = metadata.build_string;
  index["build_number"] = metadata.build_number;
  index["depends"] = depends;
  if (!constrains.empty()) index["constrains"] = constrains;
  index["subdir"] = metadata.subdir;
  if (metadata.noarch_python) {
    index["noarch"] = "python";  // also for one machine alone (CEP 20)
  } else if (metadata.subdir == "noarch") {
    index["noarch"] = "generic";
  }
  AddPlatform(index, metadata.subdir);
  if (!metadata.license.empty()) index["license"] = metadata.license;
  if (!metadata.license_family.empty()) index["license_family"] = metadata.license_family;
  if (!metadata.track_features.empty()) index["track_features"] = Join(metadata.track_features, " ");
  // From SOURCE_DATE_EPOCH, never from the clock: equal inputs give equal bytes.
  index["timestamp"] = timestamp_ms;
  return index;
}

}  // namespace ptpkg::conda
