#pragma once
// Exposes bytes from elsewhere as a read-only file. Layer: support.

#include "support/files/fs.h"

namespace ptpkg {

/// Common part of files that are only read: changes are kInternal.
class ReadOnlyFile : public File {
 public:
  explicit ReadOnlyFile(const FileStat& stat) : stat_(stat) {}
  Result<FileStat> Stat() override { return stat_; }
  Result<void> WriteAt(std::uint64_t /*offset*/, Bytes /*bytes*/) override { return Refuse(); }
  Result<void> Truncate(std::uint64_t /*size_bytes*/) override { return Refuse(); }
  Result<void> Sync() override { return Refuse(); }
  Result<void> Close() override { return Ok(); }

 private:
  static Error Refuse() { return {ErrorCode::kInternal, "this file is read-only"}; }

  FileStat stat_;
};

/// The bytes [begin, begin + stat.size_bytes) of another file, which must outlive it.
class RangeFile final : public ReadOnlyFile {
 public:
  RangeFile(File& whole, const FileStat& stat, std::uint64_t begin)
      : ReadOnlyFile(stat), whole_(whole), begin_(begin), size_bytes_(stat.size_bytes) {}
  Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes buffer) override;
  Result<std::uint64_t> NextData(std::uint64_t offset) override;

 private:
  File& whole_;
  std::uint64_t begin_;
  std::uint64_t size_bytes_;
};

/// Bytes in memory, which must outlive it.
class MemoryFile final : public ReadOnlyFile {
 public:
  explicit MemoryFile(Bytes bytes) : ReadOnlyFile({.size_bytes = bytes.size()}), bytes_(bytes) {}
  Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes buffer) override;

 private:
  Bytes bytes_;
};

}  // namespace ptpkg
