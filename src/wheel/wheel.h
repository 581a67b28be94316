#pragma once
// Reads and writes wheels. Layer: wheel. Sources: binary distribution format (PyPA), core metadata 2.4, PEP
// 425, PEP 440, PEP 600, PEP 639; docs/formats/wheel.md.

#include <map>
#include <string>
#include <vector>

#include "model/artifact.h"
#include "model/staged_tree.h"
#include "support/env.h"
#include "support/files/atomic_file.h"
#include "wheel/file_name.h"
#include "wheel/metadata/core_metadata.h"
#include "wheel/metadata/record.h"
#include "wheel/tag.h"

namespace ptpkg::wheel {

struct WheelInput {
  CoreMetadata metadata;
  /// METADATA of a finished distribution with the fields `metadata`, to be written unchanged. "" = `metadata`
  /// is written, and its License-File fields follow the files.
  std::string metadata_text = {};
  Tag tag;
  bool root_is_purelib = false;
  std::string entry_points = "";  ///< entry_points.txt, "" = none.
  /// Payload, with paths as in the wheel (site-packages relative, or "<stem>.data/…"), without the .dist-info
  /// directory. Members of __pycache__ are left out, and symlinks become copies.
  const StagedTree& tree;
  /// More files for .dist-info, by name below it: "licenses/LICENSE", "top_level.txt", "sboms/…". Files that
  /// installers write (INSTALLER, REQUESTED, direct_url.json, …) and RECORD signatures are left out.
  std::map<std::string, std::string> dist_info = {};
  std::string build = "";  ///< Build tag, "" or digit first.
};

struct WheelOptions {
  ExistingFilePolicy on_existing = ExistingFilePolicy::kRefuse;
  int deflate_level = 6;  ///< 0 (store) … 12.
};

/// Writes `<folder>/<file name>` in one pass over the files: payload in byte-wise order of paths, then
/// .dist-info, with RECORD last. Equal input gives equal bytes for any env.jobs. If `metadata_text` is empty,
/// every "licenses/…" of `dist_info` gets its License-File field, and such a field raises Metadata-Version to
/// 2.4. A License-File without its file is an error. Post: the file exists whole under its name, or not at
/// all. The digests cover the bytes written; only members whose packed size is above 32 MiB are read back for
/// them. Errors: kInvalidInput (name, version, tag, field, path), kAlreadyExists (kRefuse only), kIo.
Result<Artifact> WriteWheel(Env& env, const WheelInput& input, const AbsPath& folder,
                            const WheelOptions& options = {});

struct WheelInfo {
  FileName file_name;
  CoreMetadata metadata;
  std::string metadata_text;  ///< METADATA byte for byte, as an index serves it beside the wheel.
  std::vector<Tag> tags;      ///< Readable tags of the WHEEL file.
  bool tags_readable = true;  ///< False: WHEEL has a broken Tag, or none.
  bool root_is_purelib = false;
  std::string entry_points;   ///< Text of entry_points.txt, "" if there is none.
  std::string variant_text;   ///< Text of variant.json (wheel/variant.h), "" if there is none.
  std::string dist_info_dir;  ///< "torch-2.15.0.dist-info"
  using RecordRow = wheel::RecordRow;
  std::vector<RecordRow> record;
  /// archive::ZipReader::DirectoryDigest: changes with almost every possible change, and needs no read of the
  /// payload. A flipped byte in the payload does not change it.
  Sha256 directory_digest;
};

/// The bytes that METADATA, WHEEL, RECORD or entry_points.txt may have at most.
std::uint64_t DocumentLimit(std::string_view name);

enum class RecordUse : std::uint8_t {
  kRead,
  kPassedOver,  ///< It may be wrong or missing; WheelInfo::record is empty.
};

/// The metadata that an index needs first.
struct WheelMetadata {
  FileName file_name;
  std::string dist_info_dir;
  CoreMetadata metadata;
  std::string entry_points;  ///< Text of entry_points.txt, "" if there is none.
};
/// METADATA and entry_points.txt alone: WHEEL and RECORD may be wrong or missing. Errors: as ReadWheelInfo.
Result<WheelMetadata> ReadWheelMetadata(Env& env, const AbsPath& wheel);

/// Reads the .dist-info of a wheel, not its payload.
/// Errors: kCorrupt (the zip), kInvalidInput (file name, WHEEL, METADATA or RECORD missing or wrong, more
/// than one .dist-info), kUnsupported (Wheel-Version), kNotFound.
Result<WheelInfo> ReadWheelInfo(Env& env, const AbsPath& wheel, RecordUse record = RecordUse::kRead);

/// A wheel on disk, hashed once.
struct UnpackedWheel {
  WheelInfo info;
  StagedTree tree;  ///< Everything, .dist-info too, below the directory unpacked to.
};

/// Unpacks into `destination`, an existing empty directory, and compares digest, size and set of files with
/// RECORD. Errors: any from ReadWheelInfo. Also kCorrupt for a file that differs from RECORD, is not listed
/// or is missing, and for everything that archive::ExtractZip refuses.
Result<UnpackedWheel> UnpackWheelTree(Env& env, const AbsPath& wheel, const AbsPath& destination);

/// Compares a tree with RECORD rows, and reads a file if its digest is not sha256. Errors: kCorrupt naming
/// the first file, in byte-wise order, that differs, and kIo.
Result<void> CompareWithRecord(Env& env, const StagedTree& tree, const WheelInfo& info);

}  // namespace ptpkg::wheel
