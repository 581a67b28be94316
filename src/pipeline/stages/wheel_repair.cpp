// A repaired wheel contains libraries of the machine, so they must be in its key. Which libraries a repair
// needs is known only afterwards. dpkg's status and the loader's cache stand for all of them: a package that
// changes, changes these files. The node compares them again, as with all inputs that lie on the machine.
//
// The repaired wheel may have another name, with another tag. The unrepaired one is removed, so that only one
// is published.

#include "pipeline/stages/wheel_repair.h"

#include <algorithm>
#include <fmt/core.h>

#include "archive/extract.h"
#include "pipeline/commands/repair_command.h"
#include "pipeline/edit_wheel/wheel_form.h"
#include "support/digest/hash.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {
namespace {

constexpr const char* kPlain = "plain";
constexpr const char* kMachine = "machine libraries";

struct RepairWords {
  std::string backend;
  std::string platform;
};

/// "BACKEND [PLATFORM]"
RepairWords WordsOf(const std::string& repair) {
  const std::size_t space = repair.find(' ');
  if (space == std::string::npos) return {.backend = repair, .platform = "auto"};
  return {.backend = repair.substr(0, space), .platform = std::string(Trim(repair.substr(space)))};
}

/// Other libraries come with other packages, and with another loader cache.
Result<std::string> MachineLibraries(Env& env) {
  std::string digests;
  for (const char* file : {"/var/lib/dpkg/status", "/etc/ld.so.cache"}) {
    const AbsPath path = AbsPath::Literal(file);
    PTPKG_TRY(const bool there, Exists(env.fs, path));
    if (!there) continue;
    PTPKG_TRY(const Digests digest, HashFile(env.fs, path));
    digests += digest.sha256.Hex() + " ";
  }
  return HashText(digests).Hex();
}

/// See Artifact::unpacked_bytes: without RECORD.
Result<std::uint64_t> UnpackedSize(Env& env, const AbsPath& wheel) {
  PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env.fs, wheel));
  std::uint64_t bytes = 0;
  for (const archive::ZipReader::Member& member : zip.members()) {
    if (!member.name.ends_with(".dist-info/RECORD")) bytes += member.size_bytes;
  }
  return bytes;
}

}  // namespace

Result<void> SetWheelRepair(Env& env, const std::string& repair, graph::Node& node) {
  if (repair.empty()) return Ok();
  const RepairWords words = WordsOf(repair);
  PTPKG_CHECK(ParsePlatform(words.platform), "extra.ptpkg.wheel.repair");
  PTPKG_TRY(std::vector<std::string> names, BackendNames());
  names.emplace_back(kPlain);
  if (std::find(names.begin(), names.end(), words.backend) == names.end()) {
    Error error(ErrorCode::kInvalidInput,
                fmt::format("extra.ptpkg.wheel.repair: '{}' is not a way to repair a wheel", words.backend));
    const std::optional<std::string> nearest = NearestMatch(words.backend, names);
    return nearest ? std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest))
                   : std::move(error).WithHint(fmt::format("these are: {}", Join(names, ", ")));
  }
  PTPKG_TRY(const std::string machine, MachineLibraries(env));
  node.inputs[kMachine] = machine;
  return Ok();
}

Result<Artifact> RepairWheel(Env& env, const graph::NodeRun& run, const std::string& repair,
                             const Artifact& wheel) {
  PTPKG_TRY(const std::string planned, run.Text(kMachine));
  PTPKG_TRY(const std::string machine, MachineLibraries(env));
  if (machine != planned) {
    return Error(ErrorCode::kRefused, "the packages of this machine changed after planning")
        .WithHint("run ptpkg again");
  }
  const RepairWords words = WordsOf(repair);
  const RepairRun request{.wheels = {wheel.path},
                          .backend = words.backend == kPlain ? "" : words.backend,
                          .platform = words.platform,
                          .output = run.folder(),
                          .force = true};
  PTPKG_TRY(const RepairSummary summary, Repair(env, request));
  if (summary.failure) return Error(*summary.failure).WithContext("extra.ptpkg.wheel.repair");
  const RepairOutcome& outcome = summary.outcomes.front();
  for (const GraftedLibrary& library : outcome.grafted) {
    env.reporter.Note(fmt::format("'{}' bundles '{}'{}", outcome.to.Name(), library.source,
                                  library.package.empty() ? "" : fmt::format(" of {}", library.package)));
  }
  if (outcome.to != wheel.path) PTPKG_CHECK(env.fs.Remove(wheel.path));
  PTPKG_TRY(const Digests digests, HashFile(env.fs, outcome.to, {.md5 = true}));
  PTPKG_TRY(const std::uint64_t unpacked_bytes, UnpackedSize(env, outcome.to));
  return Artifact{
      .format = wheel.format, .path = outcome.to, .digests = digests, .unpacked_bytes = unpacked_bytes};
}

}  // namespace ptpkg::pipeline
