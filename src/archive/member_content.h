#pragma once
// The whole content of one member as a file: in memory, where it lies in the archive, or in an unlinked
// scratch file. Layer: archive, internal to it.

#include "archive/zip_content.h"
#include "support/env.h"
#include "support/hash.h"
#include "support/scratch_buffer.h"

namespace ptpkg::archive {

/// Told of content as it comes: any thread.
using CountContent = std::function<Result<void>(std::uint64_t bytes)>;

struct MemberContent {
  std::unique_ptr<File> file;
  Sha256 sha256 = {};
};

struct ContentOptions {
  std::uint64_t memory_bytes = 0;  ///< Most that may be held in memory, content and stored form together.
  bool hash = true;
  /// Also a content that libdeflate inflates and zlib does not is refused: ScanDeflate, for what is held in
  /// memory.
  bool as_zlib = false;
  CountContent count = {};
  /// Called once the stored form is no longer held. May be empty.
  std::function<void()> on_inflated = {};
};

/// What ReadZipMember takes of the memory: 0 for a member that it does not hold there.
std::uint64_t MemoryOfMember(const zip::CentralRecord& record, std::uint64_t memory_bytes);

/// Inflates the member with this index of the central directory and checks size and CRC. The file borrows
/// `zip`. Errors: as ZipContent::Stream, in its words; kIo, kCancelled, those of `count`.
Result<MemberContent> ReadZipMember(Env& env, ZipContent& zip, std::size_t index,
                                    const ContentOptions& options);

/// The first bytes of `buffer` as a file, which owns it.
std::unique_ptr<File> MakeBufferFile(ScratchBuffer buffer, std::size_t size_bytes);

/// Moves `source` into a scratch file of env.cache_dir that has no name any more. Errors: kIo, kCancelled,
/// those of `source` and `count`.
Result<std::unique_ptr<File>> Spill(Env& env, ByteSource& source, const CountContent& count);

/// CRC-32 and, if asked for, sha256 of a whole file. Errors: those of reading; kCancelled.
struct ContentDigest {
  std::uint32_t crc32 = 0;
  Sha256 sha256 = {};
};
Result<ContentDigest> DigestContent(Env& env, File& file, bool hash);

}  // namespace ptpkg::archive
