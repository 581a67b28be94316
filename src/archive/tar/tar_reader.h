#pragma once
// Reads members of an uncompressed tar, names byte for byte. Layer: archive. libarchive parses (ustar, PAX,
// GNU). The caller checks names and link targets: "./a", "../a" and "/a" all pass.

#include <memory>
#include <optional>

#include "archive/tar/tar_member.h"
#include "support/digest/stream.h"

namespace ptpkg::archive {

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
