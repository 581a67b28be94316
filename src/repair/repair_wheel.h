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
  /// Dot-joined platforms. "linux": linux_<machine>. nullopt: the backend's, else the lowest that the files
  /// satisfy.
  std::optional<std::string> platform = {};
  std::string folder = {};                ///< For the copies; "": the backend's, else "<name>.libs".
  std::optional<Rename> rename = {};      ///< nullopt: the backend's, else kHash.
  std::vector<std::string> exclude = {};  ///< GraftOptions::exclude.
  std::vector<std::string> opened = {};   ///< GraftOptions::opened.
  std::vector<AbsPath> search = {};       ///< Directories searched before all others.
  /// Remove symbols and debugging information from the copies and from the files that need them.
  bool strip = false;
};

/// One file of the wheel that changes, or one copied library compared with its source.
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

/// Unpacks only the ELF files of `wheel`, then plans and carries out the changes on them. The copies are
/// listed in .dist-info/sboms with the system packages that they belong to. Only a Linux platform is changed,
/// and only if the wheel has ELF files; such a wheel is not pure (Root-Is-Purelib). WHEEL gets the tags and
/// the build in the file name if they differ. Equal wheels, options and libraries of the machine give equal
/// edits. Writes only below env.cache_dir. Memory: the same as for the archive and ELF readers, whatever the
/// size of the wheel.
///
/// Errors: any from wheel::PlanRetag, PlanGrafts, SearchPaths::NewPathFor and
/// verify::ComputePlatformFromSymbols, kNotFound without the program 'strip', kCommandFailed, kIo,
/// kCancelled. Also kInvalidInput for:
///
/// - a requested platform if the wheel has no ELF files, or has them for another machine
/// - a backend without a file in the wheel
/// - a copy whose kernels the wheel lacks (Backend::data_folders)
/// - a directory that cannot hold libraries in a wheel
Result<WheelRepair> PlanRepair(Env& env, const AbsPath& wheel, const RepairOptions& options);

}  // namespace ptpkg::repair
