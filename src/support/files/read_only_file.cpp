#include "support/files/read_only_file.h"

#include <algorithm>

namespace ptpkg {

Result<std::size_t> RangeFile::ReadAt(std::uint64_t offset, MutableBytes buffer) {
  // Never past the range: the bytes behind it belong to another member of the archive.
  if (offset >= size_bytes_) return std::size_t{0};
  const std::uint64_t size = std::min<std::uint64_t>(buffer.size(), size_bytes_ - offset);
  return whole_.ReadAt(begin_ + offset, buffer.first(size));
}

Result<std::uint64_t> RangeFile::NextData(std::uint64_t offset) {
  if (offset >= size_bytes_) return offset;
  PTPKG_TRY(const std::uint64_t data, whole_.NextData(begin_ + offset));
  // The next data of the whole file can lie beyond this range.
  return std::min(data - begin_, size_bytes_);
}

Result<std::size_t> MemoryFile::ReadAt(std::uint64_t offset, MutableBytes buffer) {
  if (offset >= bytes_.size()) return std::size_t{0};
  const std::size_t size = std::min<std::uint64_t>(buffer.size(), bytes_.size() - offset);
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), size, buffer.begin());
  return size;
}

}  // namespace ptpkg
