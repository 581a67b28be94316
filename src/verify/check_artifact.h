#pragma once
// Checks a finished artifact like its strictest consumers. Layer: verify. Never writes.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/finding.h"
#include "model/staged_tree.h"
#include "support/env.h"
#include "verify/elf/elf_tree_map.h"
#include "verify/elf/file_device_code.h"
#include "verify/elf/file_links.h"
#include "verify/elf/file_needs.h"
#include "verify/file_kind.h"
#include "verify/installer_target.h"
#include "verify/profile.h"
#include "verify/rules/zip_scan.h"
#include "versions/cuda_archs.h"

namespace ptpkg::verify {

struct CheckOptions {
  /// Text that must not occur in any file: build prefix, work directory.
  std::vector<std::string> forbidden_paths = {};
  /// Names that the environment provides, as globs, besides the built-in system list: NEEDED entries and
  /// libraries that are opened at run time.
  std::vector<std::string> allow_unresolved = {};
  /// The same, but declared by the package itself; the names in its ptpkg.json are added.
  std::vector<std::string> allowed_by_package = {};
  /// The GPU architectures that the files should have, as versions::DeviceCodeRequest takes them. Empty: the
  /// package's own declaration counts.
  std::vector<std::string> device_code = {};
  /// The package's own declaration; one that cannot be parsed is not passed here.
  std::vector<std::string> device_code_of_package = {};
  /// Names of packages that the artifact depends on, besides those that the tree itself declares
  /// (*.dist-info/METADATA, info/index.json). Matching ignores case and '-', '_', '.'.
  std::vector<std::string> dependencies = {};
  /// Ids of findings that are never errors here, whatever the profile.
  std::vector<std::string> never_errors = {};
  /// Targets whose rules decide which findings about a wheel are errors, whatever never_errors has; none: the
  /// profile decides.
  std::vector<Target> targets = {};
  /// Decides severities; nullopt: DefaultProfile of the artifact's name, kTree for a directory.
  std::optional<Profile> profile = {};
  /// Gets the files of the tree, as ReadElfTree passes them; for a zip, not the files that known.zip has.
  OnFile on_file = {};
  bool links = false;       ///< Fill Examination::links.
  KnownContent known = {};  ///< For a wheel or zip.
  bool keep_seen = false;   ///< Fill Examination::seen.
};

/// Findings, and the machine requirements and GPU code of the ELF files.
struct Examination {
  Report report;  ///< Findings sorted by file, id; LimitFindings holds.
  Profile profile = Profile::kTree;
  std::vector<FileNeeds> files;        ///< One per dynamic ELF file, sorted by path.
  std::optional<std::size_t> highest;  ///< Index in `files` of the one that sets the minimum of the whole.
  std::vector<FileDeviceCode> device_code;  ///< For files with GPU code, archives too; sorted by path.
  versions::DeviceCodeRequest asked;        ///< Architectures requested by the options or the package.
  std::vector<FileLinks> links;             ///< With options.links: as `files`, in their order.
  /// For a wheel with a platform tag of a system other than Linux: argument of CheckPlatformFits.
  std::set<MachineCode> code;
  /// The files of an artifact, without info/ of a conda package. Empty if it cannot be unpacked, and for a
  /// directory.
  std::vector<TreeEntry> entries;
  /// With options.keep_seen: for a wheel or zip; null if it cannot be read.
  std::shared_ptr<const ZipScan> seen;
};

/// `artifact`: a .conda, .tar.bz2, .whl or .zip file from any builder. If one directory of a zip holds
/// everything, paths are relative to that directory. Errors: kInvalidInput for options.device_code, kUsage
/// for targets that contradict the profile, and for targets if the file is not a wheel. Other errors only if
/// the file cannot be read at all; everything else is a finding.
Result<Examination> ExamineArtifact(Env& env, const AbsPath& artifact, const CheckOptions& options = {});

/// ELF checks on a directory, and the search for forbidden paths in all its files. Findings about the
/// platform need an unpacked wheel or conda package. Errors: kIo, kNotFound, kCancelled, kInvalidInput for
/// options.device_code.
Result<Examination> ExamineTree(Env& env, const AbsPath& root, const CheckOptions& options = {});

/// The findings of ExamineArtifact alone.
Result<Report> CheckArtifact(Env& env, const AbsPath& artifact, const CheckOptions& options = {});

}  // namespace ptpkg::verify
