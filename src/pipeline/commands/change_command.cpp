// promote, yank and remove are the same command with another action: name the artifacts, then let the store
// change them. Names come from files and output directories, whose digests are known, or from --artifact,
// optionally with a digest. The digest guards against changing a file that somebody has replaced on the
// server.
//
// The same artifact may lie in several output directories, so equal entries count once. Different digests for
// one name are an error. A dry run asks the store to check each change, and shows its requests.

#include "pipeline/commands/change_command.h"

#include <fmt/core.h>
#include <map>

#include "pipeline/commands/artifacts_at.h"
#include "publish/change_artifacts.h"
#include "publish/publish_target.h"
#include "publish/upload.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {
namespace {

/// "linux-64/toy-1.0-0.conda#sha256=…"
Result<publish::Change> NamedChange(const std::string& text) {
  constexpr std::string_view kMark = "sha256=";
  const std::size_t hash = text.find('#');
  publish::Change change;
  PTPKG_TRY(change.artifact, publish::ParseArtifactId(text.substr(0, hash)));
  if (hash == std::string::npos) return change;
  const std::string fragment = text.substr(hash + 1);
  const auto digest =
      Sha256::FromHex(fragment.starts_with(kMark) ? fragment.substr(kMark.size()) : std::string());
  if (!digest) {
    return Error(ErrorCode::kUsage, fmt::format("--artifact {}: no SHA-256 after '#'", text))
        .WithHint("write it as NAME#sha256=HEX, 64 digits");
  }
  change.sha256 = digest->Hex();
  return change;
}

/// Drops repetitions: an artifact may lie in each of several output directories.
Result<std::vector<publish::Change>> OfEachOne(const std::vector<publish::Change>& changes) {
  std::vector<publish::Change> once;
  std::map<std::string, std::string> digests;
  for (const publish::Change& change : changes) {
    const std::string place = change.artifact.ChannelPath();
    const auto [known, is_new] = digests.emplace(place, change.sha256);
    if (is_new) {
      once.push_back(change);
    } else if (known->second != change.sha256) {
      return Error(ErrorCode::kUsage, fmt::format("'{}' is given twice, with different digests: {} and {}",
                                                  place, known->second.empty() ? "any" : known->second,
                                                  change.sha256.empty() ? "any" : change.sha256))
          .WithHint("give the one that you mean");
    }
  }
  return once;
}

/// One for each artifact; what is done with them is not in it yet.
Result<std::vector<publish::Change>> ChangesOf(Env& env, const ChangeRequest& request,
                                               const publish::Store& store, publish::Action action) {
  const bool wheels_alone = action == publish::Action::kYank || action == publish::Action::kUnyank;
  std::vector<publish::Change> changes;
  if (!request.paths.empty()) {
    PTPKG_TRY(
        const std::vector<NamedArtifact> files,
        ResolveArtifacts(env, request.paths, {.title = store.Title(), .takes = [&](ArtifactFormat format) {
                                                return store.AcceptsFormat(format) &&
                                                       (!wheels_alone || format == ArtifactFormat::kWheel);
                                              }}));
    for (const NamedArtifact& named : files) {
      PTPKG_CHECK(env.cancel.Check());
      PTPKG_TRY(const publish::Upload upload, publish::ReadUpload(env, named.file, named.digests),
                fmt::format("while reading '{}'", named.file.str()));
      changes.push_back({.artifact = upload.Id(), .sha256 = upload.digests.sha256.Hex()});
    }
  }
  for (const std::string& name : request.names) {
    PTPKG_TRY(publish::Change change, NamedChange(name));
    changes.push_back(std::move(change));
  }
  if (changes.empty()) {
    return Error(ErrorCode::kUsage, "no artifact given")
        .WithHint(
            "give files, output directories, or names on the target: --artifact linux-64/toy-1.0-0.conda");
  }
  return OfEachOne(changes);
}

Result<ChangeSummary> RunChanges(Env& env, const ChangeRequest& request, publish::Action action) {
  PTPKG_TRY(const std::unique_ptr<publish::Store> store,
            publish::MakeStore(env, {.from = request.from, .to = request.to, .server = request.server}));
  PTPKG_TRY(std::vector<publish::Change> changes, ChangesOf(env, request, *store, action));
  for (publish::Change& change : changes) {
    change.action = action;
    change.reason = request.reason;
  }
  ChangeSummary summary{.target = store->Title(), .items = {}};
  if (request.dry_run) {
    for (const publish::Change& change : changes) {
      PTPKG_CHECK(store->Check(change));
      summary.items.push_back({.name = change.artifact.ChannelPath(),
                               .sha256 = change.sha256,
                               .result = "",
                               .requests = store->Requests(change)});
    }
    return summary;
  }
  PTPKG_TRY(std::vector<publish::ChangeOutcome> outcomes,
            publish::ChangeAll(env, *store, std::move(changes), {.any_digest = request.any_digest}));
  for (publish::ChangeOutcome& one : outcomes) {
    summary.items.push_back({.name = std::move(one.name),
                             .sha256 = std::move(one.sha256),
                             .result = std::string(publish::ChangeResultName(one.result, action)),
                             .error = std::move(one.error)});
  }
  return summary;
}

}  // namespace

Result<ChangeSummary> Promote(Env& env, const ChangeRequest& request) {
  if (request.to.empty())
    return Error(ErrorCode::kUsage, "--to TARGET is missing").WithHint("ptpkg promote --help shows examples");
  return RunChanges(env, request, request.move ? publish::Action::kMove : publish::Action::kCopy);
}

Result<ChangeSummary> Yank(Env& env, const ChangeRequest& request) {
  if (request.undo && !request.reason.empty())
    return Error(ErrorCode::kUsage, "--reason cannot be used with --undo");
  return RunChanges(env, request, request.undo ? publish::Action::kUnyank : publish::Action::kYank);
}

Result<ChangeSummary> Remove(Env& env, const ChangeRequest& request) {
  return RunChanges(env, request, publish::Action::kRemove);
}

}  // namespace ptpkg::pipeline
