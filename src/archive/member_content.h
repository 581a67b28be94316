#pragma once
// Content of one archive member as a readable file. Layer: archive, internal to it.

#include "archive/zip/zip_content.h"
#include "support/digest/hash.h"
#include "support/digest/scratch_buffer.h"
#include "support/env.h"

namespace ptpkg::archive {

/// Called for each piece of content, in any thread.
using CountContent = std::function<Result<void>(std::uint64_t bytes)>;

struct MemberContent {
  std::unique_ptr<File> file;
  Sha256 sha256 = {};
};

struct ContentOptions {
  std::uint64_t memory_bytes = 0;  ///< Most content that may be held in memory.
  bool hash = true;
  CountContent count = {};
};

/// True if ReadZipMember keeps a member's content in memory.
bool IsHeldInMemory(const zip::CentralRecord& record, std::uint64_t memory_bytes);

/// Inflates the member with this index of the central directory and checks size and CRC. The file borrows
/// `zip`. Errors: as ZipContent::Stream, with its messages. kIo, kCancelled, and any error from `count`.
Result<MemberContent> ReadZipMember(Env& env, ZipContent& zip, std::size_t index,
                                    const ContentOptions& options);

/// Wraps the first bytes of `buffer` as a file, which owns it.
std::unique_ptr<File> MakeBufferFile(ScratchBuffer buffer, std::size_t size_bytes);

/// An empty, already unlinked file in `folder`. Errors: kIo.
Result<std::unique_ptr<File>> OpenScratch(Env& env, const AbsPath& folder);

/// Moves `source` into such a file in env.cache_dir. Errors: kIo, kCancelled, and any error from `source` and
/// `count`.
Result<std::unique_ptr<File>> SpillToFile(Env& env, ByteSource& source, const CountContent& count);

/// Errors: any read error; kCancelled.
Result<Sha256> DigestContent(Env& env, File& file);

}  // namespace ptpkg::archive
