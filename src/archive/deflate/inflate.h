#pragma once
// Inflates a deflate stream of known size. Layer: archive, internal to it.

#include <memory>

#include "archive/deflate/deflate_splice.h"
#include "support/digest/stream.h"

namespace ptpkg::archive {

/// The content of the raw deflate stream in `range` of `file`, which it borrows; up to 800 KiB of memory.
/// Refuses streams that libdeflate inflates but zlib does not, and one without a last block. Cost: 1.35
/// times that of libdeflate (docs/decisions/0003). Bytes behind the last block are not looked at. Errors of
/// Read: kCorrupt, also for another size than the range's; those of the file.
std::unique_ptr<ByteSource> MakeInflateSource(File& file, const DeflateRange& range);

}  // namespace ptpkg::archive
