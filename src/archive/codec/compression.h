#pragma once
// Compression levels for zips: the values of --compression. Layer: archive.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::archive {

/// Measured against kDefault, on PyTorch's libraries: kFast takes half the time for 4 % more bytes, kMax ten
/// times as long for half a percent less.
enum class Compression : std::uint8_t { kStore, kFast, kDefault, kMax };

/// "store", "fast", "default", "max".
std::string_view CompressionName(Compression compression);
std::vector<std::string> CompressionNames();
/// Errors: kUsage.
Result<Compression> ParseCompression(std::string_view name);
/// The level of DeflateOptions: 0, 1, 6, 12.
int DeflateLevel(Compression compression);

/// Name and version of the deflate library, "libdeflate 1.14". Other versions can produce other bytes, so
/// this belongs to the inputs of every packing step.
std::string Deflater();

}  // namespace ptpkg::archive
