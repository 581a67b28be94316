#pragma once
// Digests and metadata of an artifact to upload. Layer: publish.

#include <optional>
#include <string>
#include <vector>

#include "model/artifact.h"
#include "publish/artifact_id.h"
#include "support/env.h"
#include "support/text/json_fwd.h"
#include "wheel/wheel.h"

namespace ptpkg::publish {

/// Metadata of a conda package.
struct CondaFacts {
  std::string name;
  std::string version;
  std::string subdir;  ///< "linux-64", "noarch".
  JsonBox index;       ///< info/index.json.
  JsonBox about;       ///< info/about.json; of recipe.json where only that is there.
  bool has_prefix = false;
};

/// Signed statement about an artifact, for a server that takes it with the upload: publish/output/sidecar.h.
struct Attestation {
  std::string name = {};     ///< Name of its file.
  std::string text = {};     ///< JSON.
  std::string channel = {};  ///< CEP 27: the channel that it was made for, "" when it names none.
};

struct Upload {
  AbsPath file = AbsPath::Literal("/nonexistent");
  ArtifactFormat format = ArtifactFormat::kConda;
  Digests digests = {};                  ///< sha256 and md5.
  std::optional<CondaFacts> conda = {};  ///< Set for .conda and .tar.bz2.
  std::optional<wheel::WheelInfo> wheel = {};
  std::vector<Attestation> attestations = {};  ///< By name.
  /// For a sidecar: its format, as in ArtifactRecord; `format` and `conda` then describe its artifact. "":
  /// the upload is an artifact.
  std::string beside = {};

  [[nodiscard]] std::string Name() const { return std::string(file.Name()); }
  [[nodiscard]] ArtifactId Id() const;
  /// "linux-64/toy-1.0-0.conda"; a wheel's is its name.
  [[nodiscard]] std::string ChannelPath() const { return conda ? conda->subdir + "/" + Name() : Name(); }
};

/// Errors: kRefused with a hint, for anything but a conda package. For channels.
Result<void> RequireCondaPackage(const Upload& upload);
/// Errors: kRefused with a hint, for a variant wheel. For indexes without a document of variants.
Result<void> RefuseVariantWheel(const Upload& upload);

/// " (with x.whl.publish.attestation)", for a dry run; "" without any.
std::string WithAttestations(const Upload& upload);

/// kRefused: the bytes to upload are not the checked ones.
Error ChangedWhilePublished(const Upload& upload);

/// Reads the metadata of a file, and the whole file only for its digests unless they are `known`. Errors: any
/// from conda::ReadPackageInfo and wheel::ReadWheelInfo, kInvalidInput for a file that is neither a conda
/// package nor a wheel, kIo.
Result<Upload> ReadUpload(Env& env, const AbsPath& file, const std::optional<Digests>& known = std::nullopt);

}  // namespace ptpkg::publish
