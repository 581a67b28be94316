// Reads an artifact that is to be published, with the facts that servers need. Digests that the manifest of
// an output directory gives are taken as they were verified there. Servers answer with digests, so a file
// that changed unnoticed is still found when the answer is compared.

#include "publish/upload.h"

#include <fmt/core.h>

#include "conda/channel_names.h"
#include "conda/info/package_info.h"
#include "conda/package.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

Result<CondaFacts> ReadFacts(Env& env, const AbsPath& file) {
  PTPKG_TRY(conda::PackageInfo info, conda::ReadPackageInfo(env, file));
  const std::string where = fmt::format("info/index.json of '{}'", file.Name());
  CondaFacts facts;
  PTPKG_TRY(facts.name, JsonString(info.index, "name", where));
  PTPKG_TRY(facts.version, JsonString(info.index, "version", where));
  PTPKG_TRY(facts.subdir, JsonString(info.index, "subdir", where));
  PTPKG_CHECK(conda::CheckSubdir(facts.subdir), where);
  facts.has_prefix = info.info_files.contains("has_prefix");
  facts.index = std::move(info.index);
  facts.about = std::move(info.about);
  return facts;
}

}  // namespace

ArtifactId Upload::Id() const {
  ArtifactId id{.file_name = Name(), .format = format};
  if (conda) {
    id.package = conda->name;
    id.version = conda->version;
    id.subdir = conda->subdir;
  } else if (wheel) {
    id.package = wheel::NormalizeName(wheel->file_name.name);
    id.version = wheel->file_name.version;
  }
  return id;
}

Result<void> RefuseVariantWheel(const Upload& upload) {
  if (!upload.wheel || upload.wheel->file_name.variant.empty()) return Ok();
  return Error(ErrorCode::kRefused,
               fmt::format("'{}' is a variant wheel, which this index does not accept yet", upload.Name()))
      .WithHint("publish it to a directory (--to file:///DIR) and serve that, or slice without --variant");
}

Result<void> RequireCondaPackage(const Upload& upload) {
  if (upload.conda) return Ok();
  return Error(ErrorCode::kRefused,
               fmt::format("'{}' is not a conda package, so a channel does not accept it", upload.Name()))
      .WithHint("publish wheels --to pypi:REPOSITORY");
}

std::string WithAttestations(const Upload& upload) {
  std::vector<std::string> names;
  for (const Attestation& one : upload.attestations) names.push_back(one.name);
  return names.empty() ? "" : fmt::format(" (with {})", Join(names, ", "));
}

Error ChangedWhilePublished(const Upload& upload) {
  return Error(ErrorCode::kRefused, fmt::format("'{}' changed while it was published", upload.file.str()))
      .WithHint("publish it again when no other program writes to it");
}

Result<Upload> ReadUpload(Env& env, const AbsPath& file, const std::optional<Digests>& known) {
  const std::optional<ArtifactFormat> format = FormatOfFileName(file.Name());
  if (!format || *format == ArtifactFormat::kZip) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is neither a conda package nor a wheel", file.str()))
        .WithHint("channels accept .conda and .tar.bz2, indexes accept .whl");
  }
  Upload upload{.file = file, .format = *format};
  if (*format == ArtifactFormat::kWheel) {
    PTPKG_TRY(upload.wheel, wheel::ReadWheelInfo(env, file));
  } else {
    PTPKG_TRY(upload.conda, ReadFacts(env, file));
  }
  if (known) {
    upload.digests = *known;
  } else {
    PTPKG_TRY(upload.digests, HashFile(env.fs, file, {.md5 = true}));
  }
  return upload;
}

}  // namespace ptpkg::publish
