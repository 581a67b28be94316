#pragma once
// Compares the bytes of a slice with the original's. Layer: elf, private to it.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "elf/slice/sliced_file.h"

namespace ptpkg::elf {

/// kInternal: "the slice differs from its original: " and `what`.
Error SliceDiffers(const std::string& what);

/// Bytes that are in both files.
struct ComparedRange {
  std::uint64_t original = 0;  ///< Offset there.
  std::uint64_t sliced = 0;
  std::uint64_t size_bytes = 0;
  std::string_view what = {};  ///< For messages: "a container". Static text.
};

/// Compares a table of records of `record_bytes` each. `follow` converts a record of the original to its
/// required content in the slice. Bytes after the last whole record must be equal. Errors: kInternal naming
/// the range, and any read error. Memory: 2 MiB.
Result<void> CompareRecords(File& original, File& sliced, const ComparedRange& range,
                            std::uint64_t record_bytes, const std::function<void(MutableBytes)>& follow);

/// Ranges whose bytes must be equal: recorded one by one, then compared by several threads. Bytes that a
/// SlicedFile takes from the same place of the original are equal without being read.
class RangeComparison {
 public:
  /// Borrows both.
  RangeComparison(File& original, File& sliced);

  void Add(const ComparedRange& range);
  /// Requires `value` in the slice, little-endian, in the 8 bytes at this offset of the original.
  void Expect(std::uint64_t original, std::uint64_t value) { expected_[original] = value; }

  /// Compares the recorded ranges. Errors: kInternal naming the first difference, in the order of Add; any
  /// read error. Memory: 2 MiB for each of `jobs`.
  [[nodiscard]] Result<void> Run(int jobs) const;

 private:
  struct Buffers;
  /// True if the range needs no comparison.
  [[nodiscard]] bool IsEqualByItsSource(const ComparedRange& range) const;
  Result<void> Compare(const ComparedRange& range, Buffers& buffers) const;
  void Follow(std::uint64_t original, MutableBytes bytes) const;

  File& original_;
  File& sliced_;
  const SlicedFile* unwritten_;  ///< `sliced_`, if it is one.
  std::vector<ComparedRange> ranges_;
  std::map<std::uint64_t, std::uint64_t> expected_;
};

}  // namespace ptpkg::elf
