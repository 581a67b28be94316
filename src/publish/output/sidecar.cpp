// Recognises sidecar files of an artifact by their endings, and checks that they are about it.
//
// An attestation or statement names its subject with a digest. One that is about another file, perhaps an
// earlier build of the same name, would be published as proof of the wrong bytes, so it ends the run. A
// detached signature proves nothing without the key and passes unchecked. Signers write wheel names in
// normal form, hence the comparison by meaning and not by text. A second attestation of one type is
// refused.

#include "publish/output/sidecar.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "model/artifact_record.h"
#include "provenance/attestation.h"
#include "provenance/envelope.h"
#include "support/limits.h"
#include "support/text/json.h"
#include "support/text/text.h"
#include "wheel/file_name.h"

namespace ptpkg::publish {
namespace {

constexpr std::string_view kCondaBundle = ".sigstore.json";
constexpr std::string_view kCondaBundles = ".v0.sigs";
constexpr std::string_view kPythonEnding = ".attestation";
constexpr std::string_view kOpenPgpSignature = ".asc";  // of gpg: about the artifact, but no server takes it
constexpr std::string_view kPythonPublication = ".publish.attestation";

/// Sidecar format of the file `name` beside the file `artifact`; "" if it is not about that one.
std::string_view SidecarFormat(ArtifactFormat format, std::string_view artifact, std::string_view name) {
  if (!name.starts_with(artifact)) return "";
  const std::string_view ending = name.substr(artifact.size());
  if (ending == provenance::kStatementEnding) return kStatementFormat;
  if (ending == provenance::kSignatureEnding) return kSignatureFormat;
  const bool is_wheel = format == ArtifactFormat::kWheel;
  const bool python = is_wheel && ending.size() > kPythonEnding.size() + 1 && ending.ends_with(kPythonEnding);
  const bool conda = IsCondaPackage(format) && (ending == kCondaBundle || ending == kCondaBundles);
  return python || conda ? kAttestationFormat : "";
}

Error NotAbout(const std::string& name, const std::string& why) {
  return Error(ErrorCode::kRefused, fmt::format("'{}' {}", name, why))
      .WithHint("remove it, or create it again for this artifact");
}

/// Names of one wheel may be written in several ways; signers write the normal form.
bool IsSameWheel(const std::string& left, const std::string& right) {
  if (left == right) return true;
  const auto one = wheel::FileName::Parse(left);
  const auto other = wheel::FileName::Parse(right);
  return one && other && *one == *other;
}

class Reader {
 public:
  Reader(Env& env, Upload& artifact)
      : env_(env),
        artifact_(artifact),
        about_{.name = artifact.Name(), .sha256 = artifact.digests.sha256.Hex()} {}

  Result<Upload> Read(const std::string& name, std::string_view format) {
    Upload upload{.file = artifact_.file.Parent() / name,
                  .format = artifact_.format,
                  .conda = artifact_.conda,
                  .beside = std::string(format)};
    const Result<void> taken = Take(upload, format);
    if (taken) return upload;
    if (taken.error().code() != ErrorCode::kInvalidInput) return taken.error();
    return NotAbout(name, "is not a valid sidecar of the artifact: " + taken.error().message());
  }

 private:
  Result<void> Take(Upload& upload, std::string_view format) {
    PTPKG_TRY(const std::string text, ReadFile(env_.fs, upload.file, limits::kStatement));
    HashingSink hasher(nullptr, {.md5 = true});
    PTPKG_CHECK(hasher.Write(AsBytes(text)));
    upload.digests = hasher.Finish();
    return CheckText(upload.Name(), format, text);
  }

  Result<void> CheckText(const std::string& name, std::string_view format, const std::string& text) {
    if (format == kStatementFormat) return CheckStatements(name, text);
    if (format == kSignatureFormat) return Ok();  // it says nothing without the key
    if (name.ends_with(kCondaBundle)) return TakeCondaAttestation(name, text);
    if (name.ends_with(kCondaBundles)) return CheckCondaList(name, text);
    return TakePythonAttestation(name, text);
  }

  Result<void> CheckAbout(const std::string& name, provenance::Statement statement) {
    if (artifact_.wheel && statement.subjects.size() == 1 &&
        IsSameWheel(statement.subjects.front().name, about_.name)) {
      statement.subjects.front().name = about_.name;
    }
    const std::string other = provenance::SubjectMismatch(statement, about_);
    return other.empty() ? Ok() : Result<void>(NotAbout(name, other));
  }

  Result<void> CheckStatements(const std::string& name, const std::string& text) {
    std::size_t statements = 0;
    for (const std::string& line : SplitLines(text)) {
      if (Trim(line).empty()) continue;
      PTPKG_TRY(const Json json, ParseJson(line, name));
      PTPKG_TRY(const provenance::Envelope envelope, provenance::ParseEnvelope(json, "its envelope"));
      PTPKG_TRY(provenance::Statement statement,
                provenance::ParseStatement(envelope.payload, "its statement"));
      PTPKG_CHECK(CheckAbout(name, std::move(statement)));
      ++statements;
    }
    return statements > 0 ? Ok() : Result<void>(Error(ErrorCode::kInvalidInput, "it is empty"));
  }

  Result<void> TakePythonAttestation(const std::string& name, const std::string& text) {
    PTPKG_TRY(const provenance::Statement statement, provenance::ReadPythonAttestation(text, "it"));
    PTPKG_CHECK(CheckAbout(name, statement));
    if (!predicates_.insert(statement.predicate_type).second)
      return NotAbout(name,
                      fmt::format("is a second attestation of the type '{}'", statement.predicate_type));
    artifact_.attestations.push_back({.name = name, .text = text});
    return Ok();
  }

  Result<void> TakeCondaAttestation(const std::string& name, const std::string& text) {
    PTPKG_TRY(const provenance::Statement statement, provenance::ReadCondaAttestation(text, "it"));
    PTPKG_CHECK(CheckAbout(name, statement));
    artifact_.attestations.push_back(
        {.name = name, .text = text, .channel = provenance::TargetChannelOf(statement)});
    return Ok();
  }

  Result<void> CheckCondaList(const std::string& name, const std::string& text) {
    PTPKG_TRY(const Json list, ParseJson(text, name));
    if (!list.is_array() || list.empty())
      return Error(ErrorCode::kInvalidInput, "it is not a list of bundles");
    for (const Json& item : list) {
      PTPKG_TRY(const provenance::Statement statement,
                provenance::ReadCondaAttestation(DumpJson(item), "a bundle in it"));
      PTPKG_CHECK(CheckAbout(name, statement));
    }
    return Ok();
  }

  Env& env_;
  Upload& artifact_;
  provenance::Subject about_;
  std::set<std::string> predicates_;
};

}  // namespace

Result<std::vector<Upload>> FindSidecars(Env& env, Upload& artifact) {
  const std::string name = artifact.Name();
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(artifact.file.Parent()));
  Reader reader(env, artifact);
  std::vector<Upload> found;
  for (const std::string& other : names) {
    const std::string_view format = SidecarFormat(artifact.format, name, other);
    if (format.empty()) continue;
    PTPKG_TRY(Upload upload, reader.Read(other, format));
    found.push_back(std::move(upload));
  }
  return found;
}

std::vector<ArtifactId> SidecarIds(const ArtifactId& artifact, const std::vector<std::string>& names) {
  std::vector<ArtifactId> found;
  for (const std::string& name : names) {
    const bool signature = name == artifact.file_name + std::string(kOpenPgpSignature);
    if (!signature && SidecarFormat(artifact.format, artifact.file_name, name).empty()) continue;
    found.push_back(artifact);
    found.back().file_name = name;
  }
  return found;
}

std::vector<ArtifactId> UsualSidecarIds(const ArtifactId& artifact) {
  std::vector<std::string> names;
  for (const std::string_view ending : {provenance::kStatementEnding, provenance::kSignatureEnding,
                                        kOpenPgpSignature, kPythonPublication, kCondaBundle, kCondaBundles})
    names.push_back(artifact.file_name + std::string(ending));
  return SidecarIds(artifact, names);
}

}  // namespace ptpkg::publish
