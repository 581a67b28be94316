#pragma once
// Runs `ptpkg repair`. Layer: pipeline.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/env.h"

namespace ptpkg::pipeline {

struct RepairRun {
  std::vector<AbsPath> wheels = {};
  std::string backend = {};  ///< One of BackendNames(); "": a wheel like any other.
  /// Dot-joined platforms. "linux": linux_<machine>. "auto": the backend's platform, else the lowest that
  /// fits.
  std::string platform = "auto";
  std::string lib_folder = {};            ///< Directory in the wheel; "": the backend's, else "<name>.libs".
  std::string rename = {};                ///< One of RenameNames(); "": the backend's, else "hash".
  std::vector<std::string> exclude = {};  ///< Globs of libraries, or of paths, that are not copied.
  std::vector<std::string> opened = {};   ///< Libraries that files open by name: copied under that name.
  std::vector<AbsPath> search = {};       ///< Directories searched before all others.
  bool strip = false;
  std::optional<AbsPath> output = {};  ///< Existing directory, or one to be made; nullopt: each wheel's own.
  bool force = false;                  ///< Replace files with the new names, and remove their sidecar files.
  bool check = true;                   ///< Check the result as `ptpkg check` does before it gets its name.
  bool dry_run = false;                ///< Plan, check and report; keep no files.
};

struct GraftedLibrary {
  std::string source;   ///< On this machine.
  std::string path;     ///< In the wheel.
  std::string package;  ///< "libgfortran5 12.2.0-14" of the system; "": of none.
  /// The file that opens the library by this name, which it keeps for that; "" if none does.
  std::string opened_by = {};
};

struct RepairedFile {
  std::string path;
  std::vector<std::string>
      changes;  ///< One phrase each: "search path '$ORIGIN/../toy.libs', was '/opt/lib'".
};

struct RepairOutcome {
  AbsPath from;
  AbsPath to;
  bool changed =
      true;  ///< False: the wheel needed no repair; `to` is a copy, byte for byte, or the wheel itself.
  bool stays = false;  ///< `to` is the wheel itself, and nothing is written.
  std::string platform_before;
  std::string platform;
  std::string floor;  ///< The file that sets the platform, and its versions; "": none does.
  std::vector<GraftedLibrary> grafted = {};
  std::vector<std::pair<std::string, std::string>> left_out = {};  ///< Library, why.
  std::vector<RepairedFile> files = {};  ///< ELF files, then WHEEL if more than its platform changes.
};

struct RepairSummary {
  std::vector<RepairOutcome> outcomes = {};  ///< In order, up to the wheel that failed.
  std::optional<Error> failure = {};  ///< Error of the first wheel that failed; later ones are not examined.
};

/// Repairs the wheels one by one. Warns of each glob in `exclude` that excludes nothing. Errors before the
/// first: kUsage (unknown backend or renaming, invalid platform tag), kIo. Failures: any from
/// repair::PlanRepair and archive::WriteEditedZip, kUsage (two wheels with one new name), kAlreadyExists,
/// kCheckFailed (findings about tags, Build, ELF files or RECORD), kCancelled.
Result<RepairSummary> Repair(Env& env, const RepairRun& run);

/// Names that RepairRun::backend and rename accept.
Result<std::vector<std::string>> BackendNames();
std::vector<std::string> RenameNames();

}  // namespace ptpkg::pipeline
