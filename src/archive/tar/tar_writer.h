#pragma once
// Writes deterministic tar archives: ustar, PAX only where needed, uid 0, one time. Layer: archive.
// libarchive formats the headers (docs/formats/tar.md).

#include <memory>

#include "archive/entry_set.h"
#include "archive/tar/tar_member.h"
#include "support/env.h"

namespace ptpkg::archive {

/// Writes members into `out` in the order of the calls. Finish adds the end-of-archive blocks (1024 zero
/// bytes; no padding to a record). The destructor abandons the archive and writes nothing more to `out`.
class TarWriter {
 public:
  /// `env` and `out` must outlive the writer. `mtime`: Unix seconds, 0 to 8589934591 (the range of ustar).
  /// Errors: kInvalidInput for another time.
  static Result<TarWriter> Create(Env& env, ByteSink& out, std::int64_t mtime);
  TarWriter(TarWriter&&) noexcept;
  TarWriter& operator=(TarWriter&&) = delete;
  ~TarWriter();

  /// Memory: 1 MiB whatever the size. Errors: kIo when a file cannot be read. kInvalidInput "changed while
  /// being packed" when its size differs from the entry's. Any error from `out`. Don't use the writer after
  /// an error.
  Result<void> Append(const Entry& entry);
  /// Begins a member of another tar: a regular file, symlink or hard link with its own name, mode (0777) and
  /// time, which is moved into the range of ustar. Returns the sink for its size_bytes of content. Errors: as
  /// Append.
  Result<ByteSink*> Begin(const TarMember& member);
  /// Ends the member that Begin began. Errors: any error from `out`.
  Result<void> End();
  /// Call once, last.
  Result<void> Finish();

 private:
  struct State;
  explicit TarWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The exact size of the tar for these entries, end blocks included; reads no content. The same header code
/// computes it, writing into a counter.
Result<std::uint64_t> TarSize(const EntrySet& entries);

}  // namespace ptpkg::archive
