#pragma once
// Deterministic zip container for the strictest reader: no data descriptors, no extra fields except ZIP64
// where a size needs it, sizes and CRC in the local header. Layer: archive.
// Source: APPNOTE 6.3.10; PyPI's and uv's zip rules (docs/formats/zip.md). docs/decisions/0003 explains why
// not libzip's or libarchive's writer.

#include <functional>
#include <memory>

#include "archive/entry_set.h"
#include "archive/zip/zip_time.h"
#include "support/env.h"

namespace ptpkg::archive {

enum class ZipMethod : std::uint8_t { kStored = 0, kDeflate = 8 };

/// Writes entries one after the other into `file`, from offset 0. Each entry is a stream: Begin, Write…, End.
/// End completes the local header by a positional write.
class ZipWriter {
 public:
  /// `mtime`: Unix seconds, UTC, clamped to 1980-01-01…2107-12-31.
  ZipWriter(File& file, std::int64_t mtime);
  ~ZipWriter();

  struct Member {
    RelPath name;
    std::uint32_t mode = 0644;  ///< Permission bits; the type bits of a regular file are added.
    ZipMethod method = ZipMethod::kStored;
    /// Reserves the ZIP64 extra field. Needed when either size may reach 4 GiB - 1.
    bool zip64 = false;
  };
  /// Returns a sink for the stored form of the member (already deflated for kDeflate).
  Result<ByteSink*> Begin(const Member& member);
  /// `crc32` and `size_bytes` of the content before compression. Errors: kInternal if the member outgrew 4
  /// GiB without `zip64`.
  Result<void> End(std::uint32_t crc32, std::uint64_t size_bytes);

  /// A member of another zip, with its content in stored form.
  struct Copied {
    RelPath name;  ///< Its name here.
    std::uint32_t mode = 0644;
    ZipMethod method = ZipMethod::kStored;
    ZipTime time = {};
    std::uint32_t crc32 = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t stored_bytes = 0;
    std::uint64_t data_offset = 0;  ///< In the other zip.
    /// Bytes of its local header, right before its data, copied along. 0: the member gets a new one.
    std::uint64_t header_bytes = 0;
    bool zip64 = false;  ///< The copied header has the ZIP64 field.
  };
  /// Copies a member of another zip. Members that are adjacent in both zips are copied at once, later:
  /// `source` must live until Finish. Does not check that a copied header agrees with `member`.
  Result<void> Copy(File& source, const Copied& member);
  /// Called with the number of bytes copied since the last call; its error ends the writing.
  void OnCopied(std::function<Result<void>(std::uint64_t)> on_copied);

  /// Writes the central directory and end records. Returns the file's size.
  Result<std::uint64_t> Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class DeflateCache;

struct DeflateOptions {
  int level = 6;  ///< 1..12 of libdeflate, 0 = store all.
  std::uint64_t chunk_bytes =
      4U << 20U;                  ///< Larger files are deflated in chunks of this size; at least 64 KiB.
  DeflateCache* cache = nullptr;  ///< For chunks of such files, for several archives; borrowed. May be null.
  bool hash = true;               ///< Fill PackedMember::sha256.
};

struct PackedMember {
  std::string name;
  Sha256 sha256;  ///< All zero without DeflateOptions::hash.
  std::uint64_t size_bytes = 0;
};

/// Deflates (in parallel) and writes all entries in order. Stores content that does not shrink by 3 %;
/// samples decide for a file above chunk_bytes. Bytes do not depend on env.jobs. Symlinks are written as
/// copies of their targets (wheels have no symlinks). Memory: jobs * 4 chunks. Returns the data for RECORD.
/// Errors: kInvalidInput "changed while being packed", a symlink that leads to no regular file, a level or
/// chunk out of range. kIo, kCancelled.
Result<std::vector<PackedMember>> WriteZipMembers(Env& env, ZipWriter& writer,
                                                  const std::vector<const Entry*>& entries,
                                                  const DeflateOptions& options, Task& task);

}  // namespace ptpkg::archive
