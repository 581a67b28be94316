// Everything that can be refused is refused before the first byte is sent. First the artifacts and their
// sidecar files are read, and copies from several output directories merged. Then all are compared with the
// target's rules, and each artifact passes the gate with the target's profile.
//
// Copies with equal names must have equal bytes. A sidecar file may lie next to any of the copies. A target
// that takes no sidecar files gets none, and a note names the skipped ones, except attestations that travel
// inside the upload.
//
// A directory and a server are one kind of destination here (Destination), so both get the same checks.

#include "pipeline/commands/publish.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "pipeline/commands/artifacts_at.h"
#include "publish/output/folder_target.h"
#include "publish/output/gate.h"
#include "publish/output/output_folder.h"
#include "publish/output/sidecar.h"
#include "publish/publish_target.h"
#include "publish/send.h"
#include "support/process/parallel.h"
#include "support/reporter.h"
#include "support/text/plural.h"
#include "support/text/text.h"
#include "verify/profile.h"

namespace ptpkg::pipeline {
namespace {

constexpr int kReadAtOnce = 4;  // as many as are sent: each holds some MB

/// Common interface of both kinds of targets.
class Destination {
 public:
  explicit Destination(publish::Target target) : target_(std::move(target)) {}

  [[nodiscard]] const AbsPath* folder() const { return std::get_if<AbsPath>(&target_); }
  [[nodiscard]] publish::Remote& remote() {
    return **std::get_if<std::unique_ptr<publish::Remote>>(&target_);
  }
  [[nodiscard]] const publish::Remote& remote() const {
    return **std::get_if<std::unique_ptr<publish::Remote>>(&target_);
  }

  [[nodiscard]] std::string Title() const {
    return folder() != nullptr ? fmt::format("directory '{}'", folder()->str()) : remote().Title();
  }
  [[nodiscard]] bool AcceptsFormat(ArtifactFormat format) const {
    return folder() != nullptr ? format != ArtifactFormat::kZip : remote().AcceptsFormat(format);
  }
  [[nodiscard]] bool AcceptsSidecars() const { return folder() != nullptr || remote().AcceptsSidecars(); }
  [[nodiscard]] bool AcceptsAttestations() const {
    return folder() == nullptr && remote().AcceptsAttestations();
  }
  [[nodiscard]] Result<void> CheckRules(Env& env, const std::vector<publish::Upload>& uploads) const {
    return folder() != nullptr ? publish::CheckFolder(env, *folder(), uploads)
                               : publish::CheckRules(remote(), uploads);
  }
  [[nodiscard]] Result<verify::CheckOptions> CheckOptions() const {
    verify::CheckOptions options;
    if (folder() == nullptr && !remote().ProfileName().empty()) {
      PTPKG_TRY(options.profile, verify::ParseProfile(remote().ProfileName()));
    }
    return options;
  }
  [[nodiscard]] std::vector<std::string> Requests(const publish::Upload& upload, bool replace) const {
    if (folder() != nullptr) {
      const RelPath place = publish::OutputFolder::PlaceOf(
          upload.format, upload.conda ? upload.conda->subdir : "", upload.Name());
      return {fmt::format("copy to {}", (*folder() / place).str())};
    }
    return remote().Requests(upload, replace);
  }

 private:
  publish::Target target_;
};

/// Two files with one name are one artifact, or something is wrong.
Result<void> CheckSame(const publish::Upload& first, const publish::Upload& second) {
  if (first.digests.sha256 == second.digests.sha256) return Ok();
  return Error(ErrorCode::kUsage,
               fmt::format("'{}' and '{}' have the same name on the target but differ: sha256 {} and {}",
                           first.file.str(), second.file.str(), first.digests.sha256.Hex(),
                           second.digests.sha256.Hex()))
      .WithHint("publish one of them");
}

/// The sidecars of an artifact that the destination takes; reports the others.
std::vector<publish::Upload> TakenOf(Env& env, const Destination& destination,
                                     const publish::Upload& artifact, std::vector<publish::Upload> beside) {
  if (destination.AcceptsSidecars()) return beside;
  std::vector<std::string> left_out;
  for (const publish::Upload& one : beside) {
    const auto goes_along = [&](const publish::Attestation& attestation) {
      return attestation.name == one.Name();
    };
    const bool taken = destination.AcceptsAttestations() &&
                       std::any_of(artifact.attestations.begin(), artifact.attestations.end(), goes_along);
    if (!taken) left_out.push_back(one.Name());
  }
  NoteSkipped(env, left_out, destination.Title());
  return {};
}

struct Found {
  publish::Upload artifact;
  std::vector<publish::Upload> beside;
};

/// Adds the sidecar files of another copy of the artifact.
Result<void> Merge(Found& known, Found other) {
  PTPKG_CHECK(CheckSame(known.artifact, other.artifact));
  for (publish::Upload& one : other.beside) {
    const auto same = std::find_if(known.beside.begin(), known.beside.end(),
                                   [&](const publish::Upload& had) { return had.Name() == one.Name(); });
    if (same != known.beside.end()) {
      PTPKG_CHECK(CheckSame(*same, one));
      continue;
    }
    for (publish::Attestation& attestation : other.artifact.attestations) {
      if (attestation.name == one.Name()) known.artifact.attestations.push_back(std::move(attestation));
    }
    known.beside.push_back(std::move(one));
  }
  return Ok();
}

/// Each artifact once, with the sidecar files of all its copies: several output directories may each hold
/// one.
Result<std::vector<Found>> FindAll(Env& env, const std::vector<NamedArtifact>& files) {
  std::vector<Found> read(files.size());
  const auto read_one = [&](std::size_t i) -> Result<void> {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(read[i].artifact, publish::ReadUpload(env, files[i].file, files[i].digests),
              fmt::format("while reading '{}'", files[i].file.str()));
    PTPKG_TRY(read[i].beside, publish::FindSidecars(env, read[i].artifact));
    return Ok();
  };
  PTPKG_CHECK(ParallelFor(std::min(env.jobs, kReadAtOnce), files.size(), read_one));
  std::vector<Found> found;
  std::map<std::string, std::size_t> places;
  for (Found& one : read) {
    const auto [known, is_new] = places.emplace(one.artifact.ChannelPath(), found.size());
    if (is_new) {
      found.push_back(std::move(one));
    } else {
      PTPKG_CHECK(Merge(found[known->second], std::move(one)));
    }
  }
  return found;
}

/// Reads, checks and compares with the rules of the destination, all of them, before the first is sent.
Result<std::vector<publish::Upload>> ReadAll(Env& env, const std::vector<NamedArtifact>& files,
                                             const Destination& destination, const PublishRequest& request) {
  PTPKG_TRY(const verify::CheckOptions options, destination.CheckOptions());
  PTPKG_TRY(std::vector<Found> found, FindAll(env, files));
  std::vector<publish::Upload> artifacts;
  for (Found& one : found) {
    one.beside = TakenOf(env, destination, one.artifact, std::move(one.beside));
    artifacts.push_back(one.artifact);
  }
  // Names and tags first: the gate below reads whole files.
  PTPKG_CHECK(destination.CheckRules(env, artifacts));
  std::vector<Report> reports(artifacts.size());
  const auto pass = [&](std::size_t i) -> Result<void> {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(reports[i], publish::PassGate(env, artifacts[i].file, options));
    return Ok();
  };
  PTPKG_CHECK(ParallelFor(std::min(env.jobs, kReadAtOnce), artifacts.size(), pass));
  if (request.on_checked) request.on_checked(reports);
  std::vector<publish::Upload> all;
  for (Found& one : found) {
    all.push_back(std::move(one.artifact));
    std::move(one.beside.begin(), one.beside.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

Result<PublishOutcome> Publish(Env& env, const PublishRequest& request) {
  PTPKG_TRY(
      publish::Target target,
      publish::MakeTarget(env, {.to = request.to, .server = request.server, .check_url = request.check_url}));
  Destination destination(std::move(target));
  PTPKG_TRY(const std::vector<NamedArtifact> files,
            ResolveArtifacts(env, request.paths,
                             {.title = destination.Title(), .takes = [&](ArtifactFormat format) {
                                return destination.AcceptsFormat(format);
                              }}));
  PTPKG_TRY(const std::vector<publish::Upload> uploads, ReadAll(env, files, destination, request));
  PublishOutcome outcome{.target = destination.Title(), .items = {}};
  if (request.dry_run) {
    for (const publish::Upload& upload : uploads) {
      outcome.items.push_back({.name = upload.Name(),
                               .sha256 = upload.digests.sha256.Hex(),
                               .result = "",
                               .requests = destination.Requests(upload, request.force)});
    }
    return outcome;
  }
  PTPKG_TRY(std::vector<publish::SendOutcome> sent,
            destination.folder() != nullptr
                ? publish::SendToFolder(env, *destination.folder(), uploads, request.force)
                : publish::SendAll(env, destination.remote(), uploads, {.force = request.force}));
  for (publish::SendOutcome& one : sent) {
    outcome.items.push_back({.name = std::move(one.name),
                             .sha256 = std::move(one.sha256),
                             .result = std::string(publish::UploadResultName(one.result)),
                             .remote_sha256 = std::move(one.remote_sha256),
                             .error = std::move(one.error)});
  }
  return outcome;
}

std::string PublishTargets() { return publish::TargetForms(); }

}  // namespace ptpkg::pipeline
