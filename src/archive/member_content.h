#pragma once
// Content of one archive member as a readable file. Layer: archive, internal to it.

#include "archive/zip/zip_content.h"
#include "support/digest/hash.h"
#include "support/digest/scratch_buffer.h"
#include "support/env.h"

namespace ptpkg::archive {

/// Told of content as it comes: any thread.
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
/// `zip`. Errors: as ZipContent::Stream, in its words; kIo, kCancelled, those of `count`.
Result<MemberContent> ReadZipMember(Env& env, ZipContent& zip, std::size_t index,
                                    const ContentOptions& options);

/// The first bytes of `buffer` as a file, which owns it.
std::unique_ptr<File> MakeBufferFile(ScratchBuffer buffer, std::size_t size_bytes);

/// An empty file of `folder` that has no name any more. Errors: kIo.
Result<std::unique_ptr<File>> OpenScratch(Env& env, const AbsPath& folder);

/// Moves `source` into such a file of env.cache_dir. Errors: kIo, kCancelled,
/// those of `source` and `count`.
Result<std::unique_ptr<File>> SpillToFile(Env& env, ByteSource& source, const CountContent& count);

/// Errors: as reading; kCancelled.
Result<Sha256> DigestContent(Env& env, File& file);

}  // namespace ptpkg::archive
