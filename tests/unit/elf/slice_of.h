#pragma once
// A slice of a file in memory, planned, verified and read.

#include <string>

#include "elf/device_slice.h"
#include "elf/slice_verify.h"
#include "support/mem_fs.h"
#include "support/read_only_file.h"

namespace ptpkg::elf::test {

inline const AbsPath kSliced = AbsPath::Literal("/lib.so");

/// A file, its plan and the result's bytes.
struct Sliced {
  SlicePlan plan;
  std::string bytes;
};

inline Result<std::string> WholeOf(File& file) {
  PTPKG_TRY(const FileStat stat, file.Stat());
  std::string bytes(stat.size_bytes, '\0');
  PTPKG_TRY(const std::size_t got, file.ReadAt(0, std::as_writable_bytes(std::span(bytes))));
  bytes.resize(got);
  return bytes;
}

/// Plans, verifies and reads the slice, and verifies what was read.
inline Result<Sliced> SliceAndVerify(const std::string& bytes, const SliceRequest& request) {
  ptpkg::test::MemFs fs;
  fs.AddFile(kSliced.str(), bytes);
  PTPKG_TRY(const auto file, fs.Open(kSliced, OpenMode::kRead));
  Sliced sliced;
  PTPKG_TRY(sliced.plan, PlanSlice(*file, request));
  PTPKG_TRY(const auto result, MakeSlicedFile(*file, sliced.plan));
  PTPKG_CHECK(VerifySlice(*file, *result, request));
  PTPKG_TRY(sliced.bytes, WholeOf(*result));
  MemoryFile read(AsBytes(sliced.bytes));
  PTPKG_CHECK(VerifySlice(*file, read, request));
  return sliced;
}

}  // namespace ptpkg::elf::test
