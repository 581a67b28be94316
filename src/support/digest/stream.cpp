#include "support/digest/stream.h"

#include <algorithm>
#include <cstring>

#include "support/digest/scratch_buffer.h"

namespace ptpkg {

Result<void> StringSink::Write(Bytes bytes) {
  text_.append(AsText(bytes));
  return Ok();
}

Result<std::size_t> StringSource::Read(MutableBytes buffer) {
  const std::size_t count = std::min(buffer.size(), rest_.size());
  if (count > 0) std::memcpy(buffer.data(), rest_.data(), count);
  rest_.remove_prefix(count);
  return count;
}

Result<std::uint64_t> Pump(ByteSource& source, ByteSink& sink) {
  ScratchBuffer buffer(1U << 20U);
  std::uint64_t total = 0;
  for (;;) {
    PTPKG_TRY(const std::size_t count, source.Read(buffer.bytes()));
    if (count == 0) return total;
    PTPKG_CHECK(sink.Write(buffer.First(count)));
    total += count;
  }
}

}  // namespace ptpkg
