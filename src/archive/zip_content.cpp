#include "archive/zip_content.h"

#include <fmt/core.h>

#include "archive/zip_format.h"
#include "support/name_problem.h"

namespace ptpkg::archive {
namespace {

constexpr std::uint32_t kFolderType = 0040000;
constexpr std::uint32_t kLinkType = 0120000;
constexpr std::uint64_t kMaxZipLinkBytes = 4096;

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
  idle_.push_back(std::move(handle));
  return Ok();
}

Result<void> ZipContent::List(MemberTaker& taker) {
  for (std::size_t index = 0; index < directory_.records.size(); ++index) {
    const zip::CentralRecord& record = directory_.records[index];
    const std::uint32_t type = record.UnixMode() & zip::kModeType;
    if (record.name.ends_with('/') || type == kFolderType) {
      if (record.size_bytes != 0) return taker.Refuse(record.name, "is a folder with content");
      PTPKG_CHECK(taker.TakeFolder(record.name));
    } else if (type == kLinkType) {
      PTPKG_CHECK(ListLink(taker, index));
    } else if (type != 0 && type != zip::kModeRegular) {
      return taker.Refuse(record.name, "is a device or pipe");
    } else {
      PTPKG_CHECK(taker.TakeFile(record.name, index));
    }
  }
  return Ok();
}

Result<void> ZipContent::ListLink(MemberTaker& taker, std::size_t index) {
  const zip::CentralRecord& record = directory_.records[index];
  if (record.size_bytes > kMaxZipLinkBytes) return taker.Refuse(record.name, "has no usable link target");
  StringSink target;
  PTPKG_CHECK(Stream(index, [&](ByteSource& content) -> Result<void> {
    PTPKG_TRY(const std::uint64_t bytes, Pump(content, target));
    return taker.CountBytes(bytes);
  }));
  return taker.TakeSymlink(record.name, target.str(), index);
}

}  // namespace ptpkg::archive
