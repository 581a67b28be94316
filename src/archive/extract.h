#pragma once
// Unpacks archives, treating every input as hostile. Layer: archive. tar (plain, gz, bz2, xz, zst) through
// libarchive; zip: docs/decisions/0003.

#include <functional>

#include "support/digest/hash.h"
#include "support/env.h"
#include "support/limits.h"

namespace ptpkg::archive {

/// A bomb guard: both limits apply to the sum over one archive.
struct ExtractLimits {
  std::uint64_t max_bytes = limits::kUnpackedBytes;
  std::uint64_t max_ratio = limits::kUnpackedRatio;
  std::uint64_t max_entries = limits::kMembers;

  static constexpr std::uint64_t kRatioFrom = 64ULL << 20U;
  /// True if the ratio is exceeded. It counts from kRatioFrom on, since a small text may shrink a
  /// thousandfold.
  [[nodiscard]] bool IsBomb(std::uint64_t unpacked_bytes, std::uint64_t packed_bytes) const {
    return unpacked_bytes > kRatioFrom && unpacked_bytes / max_ratio > packed_bytes;
  }
};

struct ExtractOptions {
  ExtractLimits limits = {};
  /// Leading name components to drop; members with no more than these are skipped, like tar does.
  int strip_components = 0;
  /// Accepts names with control characters: sources can have them, packages cannot.
  bool control_characters = false;
  /// For zips: selects files by name and by their first kHeadBytes. For the others, only the
  /// directories are made. null: all.
  std::function<bool(std::string_view name, Bytes head)> wanted = {};
  static constexpr std::size_t kHeadBytes = 4;
  /// Like conda for sources: if all members lie in one top directory, its content goes to `destination`.
  bool strip_single_root = false;
};

/// Unpacks into `destination`, which must exist. Times are not kept, and modes become 0644 or 0755. Names
/// lose "." components and a trailing '/'. An archive can name a directory twice. A hard link becomes a copy
/// of its target, and symlinks are made last. `name`: of the archive, for errors. `packed_bytes`: its size,
/// for max_ratio; 0 = unknown, no ratio. Written files stay after an error: callers unpack into a TempDir.
/// Errors:
/// - kCorrupt, naming archive and member: truncated or damaged data, a tar without end mark
/// - kCorrupt for names: absolute, with "..", duplicate, refused by NameProblem
/// - kCorrupt: a member below a symlink or file (in the archive, or found in `destination`)
/// - kCorrupt: symlinks and hard links that leave the tree, also through other symlinks
/// - kCorrupt: devices, exceeded limits
/// - kAlreadyExists: a file that `destination` has
/// - kUnsupported: encrypted members, unknown compression
/// - kIo, kCancelled
Result<void> ExtractTar(Env& env, ByteSource& source, std::string_view name, const AbsPath& destination,
                        const ExtractOptions& options, std::uint64_t packed_bytes);
/// Unpacks a zip, members in parallel (env.jobs). Local headers must agree with the central directory in
/// name, method, sizes and CRC, and members must not overlap.
Result<void> ExtractZip(Env& env, const AbsPath& archive, const AbsPath& destination,
                        const ExtractOptions& options);
/// Detects the format from the content, not from the name.
Result<void> ExtractAny(Env& env, const AbsPath& archive, const AbsPath& destination,
                        const ExtractOptions& options);

/// Decompresses gzip, bzip2, xz or zstd, detected from the content. Other content passes through. Reads all
/// concatenated streams. `source` must outlive the result; `name` is for errors (kCorrupt).
Result<std::unique_ptr<ByteSource>> MakeDecompressSource(ByteSource& source, std::string_view name);

/// Reads single members of a zip without unpacking it. One thread at a time.
class ZipReader {
 public:
  /// Reads both directories, which must agree, as for ExtractZip: this reader sees the same members as Python
  /// and streaming readers. Errors: kCorrupt (also for a duplicate name), kUnsupported, kNotFound, kIo.
  static Result<ZipReader> Open(Fs& fs, const AbsPath& archive);
  ZipReader(ZipReader&&) noexcept;
  ZipReader& operator=(ZipReader&&) = delete;
  ~ZipReader();

  struct Member {
    std::string name;  ///< Stored name: can be hostile. Ends in '/' for a directory.
    std::uint64_t size_bytes = 0;
    std::uint64_t stored_bytes = 0;
    std::uint32_t crc32 = 0;
    bool stored = false;     ///< True if not compressed.
    std::uint32_t mode = 0;  ///< st_mode as stored, 0 if none.
  };
  /// The members in the order of the central directory.
  [[nodiscard]] const std::vector<Member>& members() const;
  /// Digest of the raw bytes from the central directory to the end of the file. Two files with the same
  /// digest have the same names, sizes, CRCs, times, offsets, order, extra fields and comments. The contents
  /// of members can differ where a CRC is wrong. Errors: kCorrupt (truncated meanwhile), kIo.
  [[nodiscard]] Result<Sha256> DirectoryDigest() const;
  /// Null when there is none.
  [[nodiscard]] const Member* Find(std::string_view name) const;
  /// Errors: kNotFound; kCorrupt (larger than `limit_bytes`, or damaged).
  Result<std::string> ReadText(std::string_view name, std::uint64_t limit_bytes = 64U << 20U) const;
  /// Streams one member, checking its size and CRC at the end. The source must not outlive the reader.
  /// Errors: kNotFound, kCorrupt, kUnsupported.
  Result<std::unique_ptr<ByteSource>> OpenMember(std::string_view name) const;

 private:
  struct State;
  explicit ZipReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ptpkg::archive
