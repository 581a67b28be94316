// Reads zip members with our own inflater, and lets libzip read the rest.
//
// Plain stored and deflated members take the fast way. Encrypted members, other methods and impossible
// sizes go to libzip. It also says what is wrong with a member that our reader refuses. Some readers take
// streams that zlib refuses, for example without a last block: such a member is refused with an explanation
// of ours.
//
// Invariants: declared sizes are checked against the limits before a byte is unpacked. Each member must
// give exactly its declared size and CRC. Opening compares every local header with the central directory,
// so an archive never has two readings.

#include "archive/zip/zip_content.h"

#include <fmt/core.h>

#include "archive/deflate/deflate_chunk.h"
#include "archive/deflate/inflate.h"
#include "archive/zip/zip_format.h"
#include "archive/zip/zip_writer.h"
#include "support/digest/scratch_buffer.h"
#include "support/files/read_only_file.h"
#include "support/text/name_problem.h"

namespace ptpkg::archive {
namespace {

constexpr std::uint32_t kFolderType = 0040000;
constexpr std::uint32_t kLinkType = 0120000;
constexpr std::uint64_t kMaxZipLinkBytes = 4096;
// A deflate stream grows 1032 times at most: 258 bytes for two bits.
constexpr std::uint64_t kMaxGrowth = 1032;

bool IsPlainMethod(const zip::CentralRecord& record, ZipMethod method) {
  return record.method == static_cast<std::uint16_t>(method) && (record.flags & zip::kFlagEncrypted) == 0;
}

/// Fails when a member gives more or less than its header says.
class SizedSource final : public ByteSource {
 public:
  SizedSource(ByteSource& source, std::uint64_t size_bytes, Error failure)
      : source_(source), left_(size_bytes), failure_(std::move(failure)) {}
  Result<std::size_t> Read(MutableBytes buffer) override {
    PTPKG_TRY(const std::size_t got, source_.Read(buffer));
    if (got > left_ || (got == 0 && left_ != 0 && !buffer.empty())) return failure_;
    left_ -= got;
    return got;
  }

 private:
  ByteSource& source_;
  std::uint64_t left_;
  Error failure_;
};

/// Computes the CRC-32 on the way, and compares it when all was read.
class CheckedSource final : public ByteSource {
 public:
  CheckedSource(ByteSource& source, std::uint32_t crc32) : source_(source), expected_(crc32) {}
  Result<std::size_t> Read(MutableBytes buffer) override {
    Result<std::size_t> got = source_.Read(buffer);
    if (!got) {
      is_damaged_ = got.error().code() == ErrorCode::kCorrupt;
      return got;
    }
    crc32_ = Crc32(crc32_, Bytes(buffer).first(*got));
    if (*got != 0 || buffer.empty() || crc32_ == expected_) return got;
    is_damaged_ = true;
    return Error(ErrorCode::kCorrupt, "wrong CRC");
  }
  /// True if a Read failed because the archive's content is damaged.
  [[nodiscard]] bool is_damaged() const { return is_damaged_; }

 private:
  ByteSource& source_;
  std::uint32_t expected_;
  std::uint32_t crc32_ = 0;
  bool is_damaged_ = false;
};

Result<void> ReadAll(ByteSource& content) {
  ScratchBuffer buffer(64U << 10U);
  while (true) {
    PTPKG_TRY(const std::size_t got, content.Read(buffer.bytes()));
    if (got == 0) return Ok();
  }
}

/// The sum of all sizes. Refuses a bomb before anything is written.
Result<std::uint64_t> CheckDeclaredSizes(const zip::Directory& directory, const ExtractLimits& limits,
                                         const std::string& archive) {
  std::uint64_t total = 0;
  for (const zip::CentralRecord& record : directory.records) {
    if (record.size_bytes > limits.max_bytes - total) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("'{}' unpacks to more than {} bytes", archive, limits.max_bytes));
    }
    total += record.size_bytes;
  }
  return total;
}

}  // namespace

bool IsPlainDeflate(const zip::CentralRecord& record) {
  return IsPlainMethod(record, ZipMethod::kDeflate) && record.stored_bytes != 0 &&
         record.size_bytes / kMaxGrowth <= record.stored_bytes;
}

bool IsPlainStored(const zip::CentralRecord& record) {
  return IsPlainMethod(record, ZipMethod::kStored) && record.stored_bytes == record.size_bytes;
}

Result<std::unique_ptr<ZipContent>> ZipContent::Open(Fs& fs, const AbsPath& zip,
                                                     const ExtractLimits& limits) {
  PTPKG_TRY(std::unique_ptr<File> file, fs.Open(zip, OpenMode::kRead));
  // Not movable, as it holds a mutex: shared by the threads that read members.
  auto content = std::unique_ptr<ZipContent>(new ZipContent(zip.str(), std::move(file)));
  PTPKG_TRY(content->directory_, zip::ReadDirectory(*content->file_, content->name_));
  PTPKG_TRY(content->total_bytes_, CheckDeclaredSizes(content->directory_, limits, content->name_));
  PTPKG_CHECK(zip::CheckLocalHeaders(*content->file_, content->directory_, content->name_));
  return content;
}

Result<zip::Handle> ZipContent::Take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      zip::Handle handle = std::move(idle_.back());
      idle_.pop_back();
      return handle;
    }
  }
  return zip::Handle::Open(*file_, name_);
}

Result<void> ZipContent::Stream(std::size_t index, const std::function<Result<void>(ByteSource&)>& use) {
  const zip::CentralRecord& record = directory_.records[index];
  const bool is_stored = IsPlainStored(record);
  if (!is_stored && !IsPlainDeflate(record)) return StreamByLibzip(index, use);
  PTPKG_TRY(const zip::LocalRecord local, zip::ReadLocal(*file_, record.offset, name_));
  RangeFile range(*file_, FileStat{.size_bytes = record.stored_bytes}, local.data_offset);
  std::unique_ptr<ByteSource> content;
  if (is_stored) {
    content = std::make_unique<FileSource>(range);
  } else {
    content =
        MakeInflateSource(range, {.stored_bytes = record.stored_bytes, .size_bytes = record.size_bytes});
  }
  CheckedSource checked(*content, record.crc32);
  Result<void> used = use(checked);
  // An error of `use` itself, such as a full disk, does not mean that the archive is damaged.
  if (!checked.is_damaged()) return used;
  // A machine without libzip has no other words than ours.
  Result<void> by_libzip = StreamByLibzip(index, ReadAll);
  if (!by_libzip && by_libzip.error().code() != ErrorCode::kUnsupported) return by_libzip;
  return Error(
      ErrorCode::kCorrupt,
      fmt::format("'{}': member '{}' is a deflate stream that zlib refuses, though other readers may "
                  "take it: it is damaged, has no last block, or uses codes that it does not define",
                  name_, ShownName(record.name)));
}

Result<void> ZipContent::StreamByLibzip(std::size_t index,
                                        const std::function<Result<void>(ByteSource&)>& use) {
  const zip::CentralRecord& record = directory_.records[index];
  PTPKG_TRY(zip::Handle handle, Take());
  {
    PTPKG_TRY(const std::unique_ptr<ByteSource> content, handle.OpenMember(index));
    SizedSource sized(*content, record.size_bytes,
                      Error(ErrorCode::kCorrupt,
                            fmt::format("'{}': member '{}' does not unpack to the {} bytes that it declares",
                                        name_, ShownName(record.name), record.size_bytes)));
    PTPKG_CHECK(use(sized));
  }
  const std::lock_guard lock(mutex_);
  // Only a handle without an error goes back.
  idle_.push_back(std::move(handle));
  return Ok();
}

Result<void> ZipContent::List(MemberVisitor& taker) {
  for (std::size_t index = 0; index < directory_.records.size(); ++index) {
    const zip::CentralRecord& record = directory_.records[index];
    const std::uint32_t type = record.UnixMode() & zip::kModeType;
    if (record.name.ends_with('/') || type == kFolderType) {
      if (record.size_bytes != 0) return taker.Refuse(record.name, "is a directory with content");
      PTPKG_CHECK(taker.VisitDirectory(record.name));
    } else if (type == kLinkType) {
      PTPKG_CHECK(ListLink(taker, index));
    } else if (type != 0 && type != zip::kModeRegular) {
      return taker.Refuse(record.name, "is a device or pipe");
    } else {
      PTPKG_CHECK(taker.VisitFile(record.name, index));
    }
  }
  return Ok();
}

Result<void> ZipContent::ListLink(MemberVisitor& taker, std::size_t index) {
  const zip::CentralRecord& record = directory_.records[index];
  if (record.size_bytes > kMaxZipLinkBytes) return taker.Refuse(record.name, "has no usable link target");
  StringSink target;
  PTPKG_CHECK(Stream(index, [&](ByteSource& content) -> Result<void> {
    PTPKG_TRY(const std::uint64_t bytes, Pump(content, target));
    return taker.CountBytes(bytes);
  }));
  return taker.VisitSymlink(record.name, target.str(), index);
}

}  // namespace ptpkg::archive
