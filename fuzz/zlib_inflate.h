#pragma once
// zlib as the judge of deflate streams.

#include <cstdlib>
#include <string>
#include <utility>
#include <zlib.h>

namespace ptpkg::fuzz {

/// The content that zlib makes of a raw deflate stream, `most_bytes` of it at most, and whether it came to
/// the stream's end.
inline std::pair<std::string, bool> InflateWithZlib(std::string packed, std::size_t most_bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, -15) != Z_OK) std::abort();
  std::string content(most_bytes, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(content.data());
  stream.avail_out = static_cast<uInt>(content.size());
  const bool ended = inflate(&stream, Z_FINISH) == Z_STREAM_END;
  content.resize(stream.total_out);
  inflateEnd(&stream);
  return {std::move(content), ended};
}

}  // namespace ptpkg::fuzz
