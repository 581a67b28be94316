#pragma once
// The bytes of a slice, held against those of its original. Layer: elf, private to it.

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

/// Compares a table of records of `record_bytes` each; `follow` gives a record of the original what it has to
/// hold in the slice. What is left behind the last whole record has to be equal. Errors: kInternal naming the
/// range; those of reading. Memory: 2 MiB.
Result<void> CompareRecords(File& original, File& sliced, const ComparedRange& range,
                            std::uint64_t record_bytes, const std::function<void(MutableBytes)>& follow);

/// Ranges that have to have equal bytes: noted one by one, then compared by several threads. What a
/// SlicedFile takes from the same place of the original is equal without being read.
class RangeComparison {
 public:
  /// Borrows both.
  RangeComparison(File& original, File& sliced);

  void Add(const ComparedRange& range);
  /// The 8 bytes at this offset of the original have to hold `value` in the slice, little-endian.
  void Expect(std::uint64_t original, std::uint64_t value) { expected_[original] = value; }

  /// Compares what was noted. Errors: kInternal naming the first difference, in the order of Add; those of
  /// reading. Memory: 2 MiB for each of `jobs`.
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
