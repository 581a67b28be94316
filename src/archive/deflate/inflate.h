#pragma once
// Inflates a deflate stream of known size. Layer: archive, internal to it.

#include <memory>

#include "archive/deflate/deflate_splice.h"
#include "support/digest/stream.h"

namespace ptpkg::archive {

/// The content of the raw deflate stream in `range` of `file`, which it borrows. Uses up to 800 KiB of
/// memory. Refuses streams that libdeflate inflates but zlib does not, and a stream without a last block.
/// Ignores bytes behind the last block. Cost: 1.35 times libdeflate's (docs/decisions/0003). Read errors:
/// kCorrupt, also if the size differs from the range's; any error from the file.
std::unique_ptr<ByteSource> MakeInflateSource(File& file, const DeflateRange& range);

}  // namespace ptpkg::archive
