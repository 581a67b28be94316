#pragma once
// Streams the members of an archive in parallel without unpacking to disk. Layer: archive. Packages of conda:
// conda/conda_member_pass.h.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "archive/extract.h"
#include "support/digest/hash.h"

namespace ptpkg::archive {

/// A file or symlink of an archive; directories exist through their members.
struct ArchiveMember {
  RelPath path;                             ///< Without "." components.
  FileKind kind = FileKind::kRegular;       ///< kRegular or kSymlink.
  std::uint32_t mode = 0644;                ///< 0644 or 0755.
  std::uint64_t size_bytes = 0;             ///< Files.
  std::uint64_t stored_bytes = 0;           ///< Stored size of its content; 0 in a tar.
  std::optional<std::uint32_t> crc32 = {};  ///< None in a tar.
  std::string link_target = {};  ///< Symlinks; also a tar's hard links, which come without content.
};

/// Maximum content held in memory at once. Larger members pass through a scratch file: in torch's wheel the
/// two largest libraries. The scratch file takes no more time than memory (1.4 s), and 84 MB instead of 960.
inline constexpr std::uint64_t kPassMemoryBytes = 128ULL << 20U;

struct PassOptions {
  ExtractLimits limits = {};
  /// Maximum content held in anonymous memory at once. A larger member passes through an unlinked scratch
  /// file in env.cache_dir. Stored members of a zip are read in place.
  std::uint64_t memory_bytes = kPassMemoryBytes;
  bool hash = true;  ///< Compute sha256.
  /// For a zip: a member for which it returns true is neither inflated nor visited. Called once per regular
  /// file, in several threads at once. Its error ends the pass. Empty: the pass visits all members.
  std::function<Result<bool>(std::size_t index)> is_known = {};
};

/// A member during the pass.
struct PassedMember {
  std::size_t index = 0;  ///< Index of the member in the archive: results belong into a slot of this number.
  const ArchiveMember& member;
  File& content;       ///< Read-only, also by several threads at once; empty for links.
  Sha256 sha256 = {};  ///< All zero for links, and without PassOptions::hash.
};
/// May be called in several threads at once. Its error ends the pass.
using VisitMember = std::function<Result<void>(const PassedMember&)>;

/// A zip whose directories and names meet ExtractZip's rules.
class ZipMembers {
 public:
  /// Reads both directories and the targets of symlinks. Errors: as ExtractZip, except for contents. The
  /// object borrows `env`.
  static Result<ZipMembers> Open(Env& env, const AbsPath& zip, const ExtractLimits& limits = {});
  ZipMembers(ZipMembers&&) noexcept;
  ZipMembers& operator=(ZipMembers&&) = delete;
  ~ZipMembers();

  /// The members in the order of the central directory.
  [[nodiscard]] const std::vector<ArchiveMember>& members() const;

  /// Inflates each member once and visits it, env.jobs at a time, large ones first. `visit` gets a member
  /// only after its size and CRC have matched, and only if zlib would inflate it too. A task of the stage
  /// "read" shows the progress. After an error, no member behind the failing one begins. If several fail,
  /// Visit returns the error of the first in members() order, whatever the timing. Errors: kCorrupt (content,
  /// limits.max_ratio), kUnsupported, kIo, kCancelled, and any error from `visit`.
  Result<void> Visit(const PassOptions& options, const VisitMember& visit) const;

  /// True if a member of `other` has the same method, sizes, CRC and stored bytes. Errors: kCorrupt for a
  /// local header, kIo.
  [[nodiscard]] Result<bool> HasSameStoredBytes(std::size_t index, const ZipMembers& other,
                                                std::size_t other_index) const;

  /// The digest of a regular member's content if it equals the bytes of `content`, else nullopt. Holds 512
  /// KiB of both at a time. Errors: as Visit, but it does not read past the first difference.
  [[nodiscard]] Result<std::optional<Sha256>> DigestIfSame(std::size_t index, File& content) const;

  /// Visits one member once more, like Visit. The file must not outlive this object. Errors: as Visit.
  [[nodiscard]] Result<std::unique_ptr<File>> OpenMember(std::size_t index,
                                                         std::uint64_t memory_bytes = kPassMemoryBytes) const;

 private:
  struct State;
  explicit ZipMembers(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A pass over an archive that can only be read from its beginning: its reader adds member by member.
class StreamPass {
 public:
  /// `archive`: its name, for errors; `packed_bytes`: its size, for limits.max_ratio, 0 = unknown.
  StreamPass(Env& env, const std::string& archive, std::uint64_t packed_bytes, const PassOptions& options,
             VisitMember visit);
  ~StreamPass();
  StreamPass(const StreamPass&) = delete;
  StreamPass& operator=(const StreamPass&) = delete;

  /// Reads `content` to its end and has it visited in another thread while the next one is read. The caller
  /// checks the names and links of `member`, which pass unchanged. Members in progress together hold at most
  /// memory_bytes. Errors: any error from `content` and from earlier visits. kCorrupt beyond the limits, and
  /// for content whose size differs from the size in `member`.
  Result<void> Add(const ArchiveMember& member, ByteSource& content);
  /// Waits for all visits. Returns the first visit error in order of Add.
  Result<void> Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ptpkg::archive
