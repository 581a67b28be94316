#pragma once
// A slice as a file that is read without being written anywhere. Layer: elf, private to it.

#include <vector>

#include "elf/slice/device_slice.h"
#include "support/files/read_only_file.h"

namespace ptpkg::elf {

class SlicedFile final : public ReadOnlyFile {
 public:
  /// Borrows `original` and `plan`, which is one of it.
  SlicedFile(File& original, const SlicePlan& plan);

  Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes buffer) override;
  Result<std::uint64_t> NextData(std::uint64_t offset) override;

  /// True if the bytes are read from `original` at `from`, and so are equal to those.
  [[nodiscard]] bool IsTakenFrom(const File& original, std::uint64_t from, std::uint64_t offset,
                                 std::uint64_t size_bytes) const;

 private:
  [[nodiscard]] std::size_t IndexAt(std::uint64_t offset) const;
  Result<void> ReadPiece(const SlicePiece& piece, std::uint64_t skip, MutableBytes to);

  File& original_;
  const std::vector<SlicePiece>& pieces_;
  std::vector<std::uint64_t> ends_;  ///< End of each piece, in the result.
};

}  // namespace ptpkg::elf
