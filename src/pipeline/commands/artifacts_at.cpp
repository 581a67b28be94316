// Paths of a command line become artifacts. A file is passed on unseen, so that the verb itself reports a
// wrong kind. A directory must be an output directory, whose manifest lists the artifacts and their digests.
// Kinds that the target doesn't take are left out of a directory, with a note: the user named none of them.
// Sidecar files go where their artifact goes.

#include "pipeline/commands/artifacts_at.h"

#include <fmt/core.h>

#include "publish/output/output_folder.h"
#include "support/reporter.h"
#include "support/text/plural.h"

namespace ptpkg::pipeline {
namespace {

/// Artifacts in the manifest of an output directory that the taker accepts.
Result<std::vector<NamedArtifact>> ManifestArtifacts(Env& env, const AbsPath& folder,
                                                     const ArtifactFilter& taker) {
  PTPKG_TRY(const bool there, Exists(env.fs, folder / "manifest.json"));
  if (!there) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("'{}' is not an output directory: it has no manifest.json", folder.str()))
        .WithHint("give the artifact files");
  }
  PTPKG_TRY(publish::OutputFolder output, publish::OutputFolder::Open(env, folder));
  PTPKG_TRY(const std::vector<ArtifactRecord> records, output.Listed());
  std::vector<NamedArtifact> files;
  std::vector<std::string> left_out;
  for (const ArtifactRecord& record : records) {
    if (record.IsSidecar()) continue;  // goes where its artifact goes
    PTPKG_TRY(const RelPath path, RelPath::Parse(record.path));
    const auto format = ParseArtifactFormat(record.format);
    if (format && taker.takes(*format)) {
      // A record can lack one: the file is hashed then.
      const Result<Digests> digests = DigestsOf(record);
      files.push_back({.file = folder / path, .digests = digests ? std::optional(*digests) : std::nullopt});
    } else {
      left_out.emplace_back(path.Name());
    }
  }
  NoteSkipped(env, left_out, taker.title);
  return files;
}

}  // namespace

void NoteSkipped(Env& env, const std::vector<std::string>& names, const std::string& title) {
  if (names.empty()) return;
  env.reporter.Note(fmt::format("skipped: {}, which {} does not accept", FirstNames(names, 3), title));
}

Result<std::vector<NamedArtifact>> ResolveArtifacts(Env& env, const std::vector<AbsPath>& paths,
                                                    const ArtifactFilter& taker) {
  std::vector<NamedArtifact> files;
  for (const AbsPath& path : paths) {
    PTPKG_TRY(const FileStat stat, env.fs.Stat(path));
    if (stat.kind != FileKind::kDirectory) {
      files.push_back({.file = path});
      continue;
    }
    PTPKG_TRY(const std::vector<NamedArtifact> listed, ManifestArtifacts(env, path, taker));
    files.insert(files.end(), listed.begin(), listed.end());
  }
  if (!files.empty()) return files;
  return Error(ErrorCode::kNotFound, fmt::format("no artifact for {}", taker.title))
      .WithHint("give artifacts of that kind, or an output directory with some");
}

}  // namespace ptpkg::pipeline
