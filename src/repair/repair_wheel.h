#pragma once
// Repairs a wheel: bundles libraries, sets search paths and tag. Layer: repair. Source: PEP 600, PEP 770;
// auditwheel.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "repair/graft_plan.h"
#include "repair/search_paths.h"
#include "repair/system_package.h"
#include "support/files/scratch.h"
#include "verify/wheel/computed_platform.h"
#include "wheel/retag_wheel.h"

namespace ptpkg::repair {

struct RepairOptions {
  std::optional<Backend> backend = {};
  /// Dot-joined platforms; "linux": linux_<machine>; nullopt: the backend's, else the lowest that the files
  /// satisfy.
  std::optional<std::string> platform = {};
  std::string folder = {};                ///< For the copies; "": the backend's, else "<name>.libs".
  std::optional<Rename> rename = {};      ///< nullopt: the backend's, else kHash.
  std::vector<std::string> exclude = {};  ///< GraftOptions::exclude.
  std::vector<std::string> opened = {};   ///< GraftOptions::opened.
  std::vector<AbsPath> search = {};       ///< Directories searched before all others.
  bool strip = false;  ///< Take symbols and debugging information out of the copies and of what needs them.
};

/// One file of the wheel that is another afterwards, or one copied library against its source.
struct ChangedFile {
  std::string path;
  elf::LinkFacts before;
  elf::LinkFacts after;
  std::vector<DroppedEntry> dropped = {};  ///< Entries of its search path, and why.
  bool stripped = false;
};

/// Changes of WHEEL besides the new platform: one phrase each, for people.
struct ChangedWheelFile {
  std::string path = {};
  std::vector<std::string> changes = {};
};

struct WheelRepair {
  wheel::FileName name;  ///< Name of the new wheel.
  archive::ZipEdits edits;
  TempDir content;  ///< Holds what `edits` adds; needed until they are carried out.
  std::vector<Graft> grafts;
  std::map<AbsPath, SystemPackage> owners;  ///< Owners of grafts, by source.
  std::set<ExcludedLibrary> left_out;
  std::set<std::string> excludes_used;  ///< GraftPlan::excludes_used
  std::vector<ChangedFile> files;       ///< Sorted by path.
  ChangedWheelFile wheel_file = {};
  verify::ComputedPlatform computed;
  std::string platform_before;

  /// False if the wheel needs no change.
  [[nodiscard]] bool ChangesAnything() const { return !edits.added.empty() || !edits.spliced.empty(); }
};

/// Unpacks the ELF files of `wheel`, nothing else, plans and carries out the changes on these. The copies are
/// listed in .dist-info/sboms with the packages of the system that they belong to. A Linux platform alone is
/// changed, and only if the wheel has ELF files; such a wheel is not pure (Root-Is-Purelib). WHEEL gets the
/// tags and the build of the file name where it says others. Equal wheels, options and libraries of the
/// machine give equal edits. Writes below env.cache_dir only. Memory: that of the archive and ELF readers,
/// whatever the size of the wheel. Errors: those of wheel::PlanRetag, PlanGrafts, SearchPaths::For and
/// verify::ComputePlatformFromSymbols; kInvalidInput for a platform that is asked for a wheel without ELF
/// files, or for another machine than theirs, for a backend that decides no file, for a copy whose kernels
/// the wheel lacks (Backend::data_folders), and for a directory that is none of a wheel; kNotFound without
/// the program 'strip'; kCommandFailed, kIo, kCancelled.
Result<WheelRepair> PlanRepair(Env& env, const AbsPath& wheel, const RepairOptions& options);

}  // namespace ptpkg::repair
