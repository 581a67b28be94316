#pragma once
// Compression levels for zips: the values of --compression. Layer: archive.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::archive {

/// Against kDefault, on the libraries of PyTorch: kFast takes half the time for 4 % more bytes, kMax ten
/// times as long for half a percent less.
enum class Compression : std::uint8_t { kStore, kFast, kDefault, kMax };

/// "store", "fast", "default", "max".
std::string_view CompressionName(Compression compression);
std::vector<std::string> CompressionNames();
/// Errors: kUsage.
Result<Compression> ParseCompression(std::string_view name);
/// The level of DeflateOptions: 0, 1, 6, 12.
int DeflateLevel(Compression compression);

/// Name and version of what deflates, "libdeflate 1.14": other versions may give other bytes, so it belongs
/// to the inputs of whatever is packed.
std::string Deflater();

}  // namespace ptpkg::archive
