#pragma once
// Reads and writes conda packages. Layer: conda. Sources: CEP 26 (names), CEP 34 (contents), CEP 35
// (archives); docs/formats/conda.md. The parts, one file per noun: names, index_json, about_json, paths_json,
// prefix, noarch, payload, info_files (the packed info/ files), writer, container (the raw parts), reader,
// unpack.

#include <map>
#include <string>
#include <vector>

#include "model/artifact.h"
#include "model/staged_tree.h"
#include "support/env.h"
#include "support/files/atomic_file.h"
#include "support/text/json_fwd.h"

namespace ptpkg::conda {

/// Content of info/index.json and info/about.json.
struct PackageMetadata {
  std::string name;
  std::string version;
  std::string build_string;
  std::uint64_t build_number = 0;
  std::string subdir = "linux-64";
  bool noarch_python = false;
  std::vector<std::string> depends;     ///< MatchSpec text; the writer normalises, sorts and drops repeats.
  std::vector<std::string> constrains;  ///< MatchSpec texts, treated in the same way.
  std::vector<std::string> track_features;
  std::vector<std::string> entry_points;  ///< noarch python: "name = module:function", into info/link.json.
  std::string license;
  std::string license_family;
  std::map<std::string, std::string>
      about;           ///< home, summary, description, dev_url, doc_url; empty ones are left out.
  JsonBox hash_input;  ///< An object.
  /// "weak", "strong", "noarch", "weak_constrains", "strong_constrains"; lists that are empty are left out.
  std::map<std::string, std::vector<std::string>> run_exports;
  std::map<std::string, std::string> license_files;  ///< Below info/licenses/, name to bytes.
  /// Further files below info/, name to bytes: "recipe/recipe.yaml", "tests/tests.yaml". A name that the
  /// writer makes itself ("index.json") is kInvalidInput.
  std::map<std::string, std::string> info_files;

  [[nodiscard]] std::string FileStem() const;  ///< "name-version-build"
};

struct PackageInput {
  PackageMetadata metadata;
  const StagedTree& tree;  ///< Paths in the prefix.
  /// Text to replace at install, "" = none. Files that hold it get prefix_placeholder entries (text or
  /// binary, but binary only if `binary_placeholders`).
  std::string prefix_placeholder;
  bool binary_placeholders = true;
  /// Globs of tree paths. The placeholder stays in files of the first; files of the other two count as text
  /// or as binary, whatever they contain.
  std::vector<std::string> keeps_placeholder = {};
  std::vector<std::string> force_text = {};
  std::vector<std::string> force_binary = {};
  std::vector<std::string> no_link = {};  ///< Globs of files that an installer copies, never hard-links.
};

struct WriteOptions {
  bool conda = true;
  bool tar_bz2 = true;
  int zstd_level = 12;      ///< 1..22.
  int zstd_window_log = 0;  ///< 0 = the level's own; at most 27. Helps where sibling binaries repeat.
  int bzip2_level = 9;
  ExistingFilePolicy on_existing = ExistingFilePolicy::kRefuse;
};

/// Packs `input` into `<folder>/<stem>.conda` and/or `.tar.bz2`, in this order, in one pass over the files:
/// one tar stream feeds both codecs. A placeholder takes a second pass, before it, because the tar.bz2 begins
/// with the list of files that hold it. The bytes depend only on `input`, `options` and
/// env.source_date_epoch.
/// Files appear whole or not at all; after an error, neither exists. The pipeline passes a scratch directory
/// and moves the files after the checks.
/// A noarch python package gets conda's layout (site-packages/, python-scripts/) from a tree in an
/// interpreter's layout. Warns of names that some file systems cannot hold side by side. Memory: a few
/// hundred MB at most, whatever the size (docs/formats/conda.md).
/// Errors: kInvalidInput (CEP 26 names, dependencies, a tree entry below info/, a file that changed
/// meanwhile), kAlreadyExists (before any work), kIo, kCancelled.
Result<std::vector<Artifact>> WritePackages(Env& env, const PackageInput& input, const AbsPath& folder,
                                            const WriteOptions& options);

struct PackageInfo;  // conda/info/package_info.h

/// Detects the format from the content. Reads only the info part of a .conda, and everything up to the end of
/// info/ of a .tar.bz2. `about` and `paths` are empty objects when their files are missing. Errors: kCorrupt,
/// kInvalidInput (info/index.json missing or against its schema), kNotFound.
Result<PackageInfo> ReadPackageInfo(Env& env, const AbsPath& package);

struct UnpackOptions {
  std::string prefix = {};  ///< Replaces placeholders as conda does at install; "" = leave them.
  /// "3.11": noarch python files go to that interpreter's directories, with their entry points; "" = as
  /// packed.
  std::string python_version = {};
};
/// Unpacks the payload (without info/) into `prefix_dir`, which exists, and checks every file against
/// paths.json. Modes become 0644 or 0755, times are not kept, hard links become copies. After an error,
/// removes everything that it created. Errors: kCorrupt (member missing, extra, hostile, or with another
/// digest), kAlreadyExists (a file of that name exists), kInvalidInput (the prefix is longer than a binary
/// placeholder).
Result<PackageInfo> UnpackPackage(Env& env, const AbsPath& package, const AbsPath& prefix_dir,
                                  const UnpackOptions& options);

}  // namespace ptpkg::conda
