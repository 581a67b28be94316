#include "archive/member_content.h"

#include <fmt/core.h>
#include <libdeflate.h>

#include "archive/deflate_chunk.h"
#include "archive/deflate_scan.h"
#include "archive/zip_format.h"
#include "archive/zip_writer.h"
#include "support/name_problem.h"
#include "support/read_only_file.h"
#include "support/scratch.h"

namespace ptpkg::archive {
namespace {

constexpr std::size_t kInflatePieceBytes = 256U
                                           << 10U;  // stays in the second-level cache between CRC and digest
// A deflate stream grows 1032 times at most: 258 bytes for two bits.
constexpr std::uint64_t kMaxGrowth = 1032;

/// A member that is inflated in one call or read where it lies; libzip has the others, and its words for
/// what is wrong.
bool IsPlainMethod(const zip::CentralRecord& record, ZipMethod method) {
  return record.method == static_cast<std::uint16_t>(method) && (record.flags & zip::kFlagEncrypted) == 0;
}

bool IsStoredPlainly(const zip::CentralRecord& record) {
  return IsPlainMethod(record, ZipMethod::kStored) && record.stored_bytes == record.size_bytes;
}

class BufferFile final : public File {
 public:
  BufferFile(ScratchBuffer buffer, std::size_t size_bytes)
      : buffer_(std::move(buffer)), view_(buffer_.First(size_bytes)) {}
  Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes to) override {
    return view_.ReadAt(offset, to);
  }
  Result<FileStat> Stat() override { return view_.Stat(); }
  Result<void> WriteAt(std::uint64_t offset, Bytes bytes) override { return view_.WriteAt(offset, bytes); }
  Result<void> Truncate(std::uint64_t size_bytes) override { return view_.Truncate(size_bytes); }
  Result<void> Sync() override { return view_.Sync(); }
  Result<void> Close() override { return Ok(); }

 private:
  ScratchBuffer buffer_;
  MemoryFile view_;
};

/// nullopt: libdeflate does not get the declared size out of it, or `as_zlib`, and zlib would not.
Result<std::optional<ScratchBuffer>> Inflate(File& file, std::uint64_t offset,
                                             const zip::CentralRecord& record, bool as_zlib) {
  ScratchBuffer stored(record.stored_bytes);
  PTPKG_TRY(const std::size_t got, file.ReadAt(offset, stored.bytes()));
  if (got != record.stored_bytes) return std::optional<ScratchBuffer>();
  ScratchBuffer content(record.size_bytes);
  const std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> inflater(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  if (inflater == nullptr) return Error(ErrorCode::kInternal, "libdeflate could not be started");
  const libdeflate_result result =
      libdeflate_deflate_decompress(inflater.get(), stored.bytes().data(), record.stored_bytes,
                                    content.bytes().data(), record.size_bytes, nullptr);
  if (result != LIBDEFLATE_SUCCESS) return std::optional<ScratchBuffer>();
  if (as_zlib && !ScanDeflate(AsText(stored.First(got)))) return std::optional<ScratchBuffer>();
  return std::optional(std::move(content));
}

/// Has libzip say what is wrong with a member that did not come out as declared.
Error WhatIsWrong(ZipContent& zip, std::size_t index) {
  const auto drain = [](ByteSource& content) -> Result<void> {
    ScratchBuffer buffer(kInflatePieceBytes);
    while (true) {
      PTPKG_TRY(const std::size_t got, content.Read(buffer.bytes()));
      if (got == 0) return Ok();
    }
  };
  Result<void> drained = zip.Stream(index, drain);
  if (!drained) return std::move(drained).error();
  return Error(ErrorCode::kCorrupt,
               fmt::format("'{}': member '{}' cannot be read: two readers get different contents", zip.name(),
                           ShownName(zip.directory().records[index].name)));
}

}  // namespace

std::uint64_t MemoryOfMember(const zip::CentralRecord& record, std::uint64_t memory_bytes) {
  const bool fits =
      record.size_bytes <= memory_bytes && record.stored_bytes <= memory_bytes - record.size_bytes;
  const bool can_be = record.size_bytes / kMaxGrowth <= record.stored_bytes;
  return IsPlainMethod(record, ZipMethod::kDeflate) && fits && can_be
             ? record.size_bytes + record.stored_bytes
             : 0;
}

std::unique_ptr<File> MakeBufferFile(ScratchBuffer buffer, std::size_t size_bytes) {
  return std::make_unique<BufferFile>(std::move(buffer), size_bytes);
}

Result<std::unique_ptr<File>> Spill(Env& env, ByteSource& source, const CountContent& count) {
  PTPKG_TRY(const TempDir folder, TempDir::Create(env.fs, env.cache_dir, "member"));
  const AbsPath path = folder.path() / "content";
  PTPKG_TRY(std::unique_ptr<File> file, env.fs.Open(path, OpenMode::kCreateNew));
  PTPKG_CHECK(env.fs.Remove(path));
  ScratchBuffer buffer(kInflatePieceBytes);
  std::uint64_t offset = 0;
  while (true) {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(const std::size_t got, source.Read(buffer.bytes()));
    if (got == 0) return file;
    PTPKG_CHECK(count(got));
    PTPKG_CHECK(file->WriteAt(offset, buffer.First(got)));
    offset += got;
  }
}

Result<ContentDigest> DigestContent(Env& env, File& file, bool hash) {
  ContentDigest digest;
  HashingSink hasher(nullptr);
  ScratchBuffer buffer(kInflatePieceBytes);
  for (std::uint64_t offset = 0;;) {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(const std::size_t got, file.ReadAt(offset, buffer.bytes()));
    if (got == 0) break;
    digest.crc32 = Crc32(digest.crc32, buffer.First(got));
    if (hash) PTPKG_CHECK(hasher.Write(buffer.First(got)));
    offset += got;
  }
  if (hash) digest.sha256 = hasher.Finish().sha256;
  return digest;
}

Result<MemberContent> ReadZipMember(Env& env, ZipContent& zip, std::size_t index,
                                    const ContentOptions& options) {
  const zip::CentralRecord& record = zip.directory().records[index];
  MemberContent member;
  if (IsStoredPlainly(record)) {
    PTPKG_TRY(const zip::LocalRecord local, zip::ReadLocal(zip.file(), record.offset, zip.name()));
    member.file =
        std::make_unique<RangeFile>(zip.file(), FileStat{.size_bytes = record.size_bytes}, local.data_offset);
    PTPKG_CHECK(options.count(record.size_bytes));
  } else if (MemoryOfMember(record, options.memory_bytes) != 0) {
    PTPKG_TRY(const zip::LocalRecord local, zip::ReadLocal(zip.file(), record.offset, zip.name()));
    PTPKG_TRY(std::optional<ScratchBuffer> content,
              Inflate(zip.file(), local.data_offset, record, options.as_zlib));
    if (!content.has_value()) return WhatIsWrong(zip, index);
    PTPKG_CHECK(options.count(record.size_bytes));
    member.file = MakeBufferFile(*std::move(content), record.size_bytes);
  } else {
    PTPKG_CHECK(zip.Stream(index, [&](ByteSource& content) -> Result<void> {
      PTPKG_TRY(member.file, Spill(env, content, options.count));
      return Ok();
    }));
  }
  if (options.on_inflated) options.on_inflated();
  PTPKG_TRY(const ContentDigest digest, DigestContent(env, *member.file, options.hash));
  if (digest.crc32 != record.crc32) return WhatIsWrong(zip, index);
  member.sha256 = digest.sha256;
  return member;
}

}  // namespace ptpkg::archive
