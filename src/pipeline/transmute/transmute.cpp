// Conversion between .conda and .tar.bz2. All names are planned before the first package is converted, so a
// clash of names changes nothing. Each result is made next to its target and placed by one rename.

#include "pipeline/transmute/transmute.h"

#include <fmt/core.h>

#include "conda/channel_names.h"
#include "conda/transmute.h"
#include "pipeline/plan/result_names.h"
#include "support/files/scratch.h"
#include "verify/input_gate.h"

namespace ptpkg::pipeline {
namespace {

Result<AbsPath> TransmutedPath(const TransmuteRun& run, const AbsPath& package) {
  PTPKG_TRY(conda::DistName name, conda::DistName::Parse(package.Name()));
  name.format = name.format == ArtifactFormat::kConda ? ArtifactFormat::kTarBz2 : ArtifactFormat::kConda;
  const std::string file_name = name.FileName();
  if (file_name.size() > conda::kMaxFileName) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is longer than {} characters (CEP 26)", file_name, conda::kMaxFileName));
  }
  return run.output.value_or(package.Parent()) / file_name;
}

Result<std::vector<TransmuteOutcome>> PlanTransmutes(Env& env, const TransmuteRun& run) {
  std::vector<TransmuteOutcome> planned;
  ResultNames names;
  for (const AbsPath& package : run.packages) {
    PTPKG_TRY(const AbsPath to, TransmutedPath(run, package));
    RemoveAbandonedScratch(env, to.Parent());
    PTPKG_CHECK(names.Take(to, "transmute"));
    PTPKG_TRY(const bool taken, Exists(env.fs, to));
    if (taken && !run.force) return NameTakenError(to, true);
    planned.push_back({.from = package, .to = to});
  }
  return planned;
}

Result<void> TransmuteOne(Env& env, const TransmuteOutcome& one, bool force) {
  PTPKG_TRY(const FileStat before, env.fs.Stat(one.from));
  PTPKG_CHECK(verify::RequireNoErrors(env, one.from));
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, one.to.Parent(), "transmuted"));
  const AbsPath staged = scratch.path() / one.to.Name();
  PTPKG_CHECK(conda::TransmutePackage(env, one.from, staged));
  PTPKG_TRY(const FileStat after, env.fs.Stat(one.from));
  // The checks and the conversion read the file one after the other, and must have seen the same bytes.
  if (!after.IsUnchangedSince(before)) {
    return Error(ErrorCode::kRefused, fmt::format("'{}' changed while it was read", one.from.str()))
        .WithHint("run the command again when no other process writes the file");
  }
  return PlaceFile(env, staged, one.to, force ? ExistingFilePolicy::kReplace : ExistingFilePolicy::kRefuse);
}

}  // namespace

Result<TransmuteSummary> Transmute(Env& env, const TransmuteRun& run) {
  PTPKG_TRY(const std::vector<TransmuteOutcome> planned, PlanTransmutes(env, run));
  if (run.output) PTPKG_CHECK(env.fs.MakeDirs(*run.output));
  TransmuteSummary summary;
  for (const TransmuteOutcome& one : planned) {
    if (Result<void> done = TransmuteOne(env, one, run.force); !done) {
      summary.failure = std::move(done).error();
      break;
    }
    summary.outcomes.push_back(one);
  }
  return summary;
}

}  // namespace ptpkg::pipeline
