#pragma once
// Deflate streams made bit by bit, for what no encoder would write.

#include <string>
#include <vector>

namespace ptpkg::archive::test {

struct DeflateCase {
  std::string what;
  std::string stream;
  std::string content = "";  ///< What libdeflate makes of it.
};

/// Streams that libdeflate inflates and zlib refuses.
std::vector<DeflateCase> StreamsOfLibdeflateOnly();
/// Streams with incomplete codes that both inflate.
std::vector<DeflateCase> StreamsWithIncompleteCodes();
/// A stream with codes of 15 bits.
DeflateCase StreamWithLongestCodes();
/// Streams that neither inflates.
std::vector<DeflateCase> BrokenStreams();

}  // namespace ptpkg::archive::test
