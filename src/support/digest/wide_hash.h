#pragma once
// Digests longer than SHA-256, for RECORD. Layer: support.

#include <string>

#include "support/files/fs.h"

namespace ptpkg {

enum class WideHash : std::uint8_t { kSha384, kSha512 };

/// URL-safe base64 without padding, as RECORD writes digests: 64 and 86 characters. Errors: kIo, kNotFound.
Result<std::string> WideDigestOfFile(Fs& fs, const AbsPath& path, WideHash kind);

}  // namespace ptpkg
