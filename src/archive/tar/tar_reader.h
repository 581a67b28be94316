#pragma once
// Reads members of an uncompressed tar, names byte for byte. Layer: archive. libarchive parses (ustar, PAX,
// GNU). The caller checks names and link targets: "./a", "../a" and "/a" all pass.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "support/digest/stream.h"

namespace ptpkg::archive {

enum class TarKind : std::uint8_t { kRegular, kDirectory, kSymlink, kHardLink, kOther };

struct TarMember {
  std::string name;
  TarKind kind = TarKind::kRegular;
  std::uint32_t mode = 0644;     ///< Permission bits, 07777.
  std::uint64_t size_bytes = 0;  ///< Regular members.
  std::string link_target;       ///< Symlinks and hard links.
};

class TarReader {
 public:
  /// Borrows `source`, which returns the decompressed tar. Errors: kInternal.
  static Result<TarReader> Open(ByteSource& source);
  TarReader(TarReader&&) noexcept;
  ~TarReader();

  /// The next member, or nullopt at the end of the archive. Skips unread content of the previous member.
  /// Errors: any error from the source. kCorrupt for a damaged header, and for sparse members, whose sizes on
  /// disk and in the archive differ.
  Result<std::optional<TarMember>> Next();

  /// The content of the member that Next returned last; valid until the next call of Next.
  ByteSource& content();

 private:
  struct State;
  explicit TarReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ptpkg::archive
