// Unpacks zips: names and structure through our own reader, content through libzip, members in parallel.

#include <fmt/core.h>
#include <mutex>

#include "archive/entry_set.h"
#include "archive/extract_tree.h"
#include "archive/zip_directory.h"
#include "archive/zip_format.h"
#include "archive/zip_handle.h"
#include "support/parallel.h"

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

/// Handles are not thread-safe: each is lent to one member at a time.
class HandlePool {
 public:
  HandlePool(File& file, std::string archive) : file_(file), archive_(std::move(archive)) {}

  Result<zip::Handle> Take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        zip::Handle handle = std::move(idle_.back());
        idle_.pop_back();
        return handle;
      }
    }
    return zip::Handle::Open(file_, archive_);
  }
  void Return(zip::Handle handle) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(handle));
  }

 private:
  File& file_;
  std::string archive_;
  std::mutex mutex_;
  std::vector<zip::Handle> idle_;
};

struct PlannedFile {
  std::size_t index = 0;  // in the central directory
  RelPath name;
};

class ZipExtractor {
 public:
  ZipExtractor(Env& env, File& file, const zip::Directory& directory, ExtractTree& tree, std::string archive)
      : env_(env), directory_(directory), tree_(tree), handles_(file, std::move(archive)) {}

  Result<void> Run() {
    for (std::size_t i = 0; i < directory_.records.size(); ++i) PTPKG_CHECK(Plan(i));
    PTPKG_CHECK(ParallelFor(env_.jobs, files_.size(), [this](std::size_t i) { return Unpack(files_[i]); }));
    return tree_.Finish();
  }

 private:
  Result<void> Plan(std::size_t index) {
    const zip::CentralRecord& record = directory_.records[index];
    const std::uint32_t type = record.UnixMode() & zip::kModeType;
    if (record.name.ends_with('/') || type == kFolderType) {
      if (record.size_bytes != 0) return tree_.Refuse(record.name, "is a folder with content");
      return tree_.AddFolder(record.name);
    }
    if (type == kLinkType) return PlanLink(index);
    if (type != 0 && type != zip::kModeRegular) return tree_.Refuse(record.name, "is a device or pipe");
    PTPKG_TRY(std::optional<RelPath> name, tree_.AddFile(record.name));
    if (name.has_value()) files_.push_back({.index = index, .name = *std::move(name)});
    return Ok();
  }

  Result<void> PlanLink(std::size_t index) {
    const zip::CentralRecord& record = directory_.records[index];
    if (record.size_bytes > kMaxZipLinkBytes) return tree_.Refuse(record.name, "has no usable link target");
    StringSink target;
    PTPKG_TRY(zip::Handle handle, handles_.Take());
    {
      PTPKG_TRY(const std::unique_ptr<ByteSource> content, handle.OpenMember(index));
      SizedSource sized(*content, record.size_bytes, WrongSize(record));
      PTPKG_TRY(const std::uint64_t bytes, Pump(sized, target));
      PTPKG_CHECK(tree_.CountBytes(bytes));
    }
    handles_.Return(std::move(handle));
    return tree_.AddSymlink(record.name, target.str());
  }

  Result<void> Unpack(const PlannedFile& planned) {
    const zip::CentralRecord& record = directory_.records[planned.index];
    PTPKG_TRY(zip::Handle handle, handles_.Take());
    {
      PTPKG_TRY(const std::unique_ptr<ByteSource> content, handle.OpenMember(planned.index));
      SizedSource sized(*content, record.size_bytes, WrongSize(record));
      PTPKG_CHECK(tree_.WriteContent(planned.name, record.UnixMode(), sized));
    }
    handles_.Return(std::move(handle));
    return Ok();
  }

  Error WrongSize(const zip::CentralRecord& record) const {
    return tree_.Refuse(record.name,
                        fmt::format("does not unpack to the {} bytes that it declares", record.size_bytes));
  }

  Env& env_;
  const zip::Directory& directory_;
  ExtractTree& tree_;
  HandlePool handles_;
  std::vector<PlannedFile> files_;
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

Result<void> ExtractZip(Env& env, const AbsPath& archive, const AbsPath& destination,
                        const ExtractOptions& options) {
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(archive, OpenMode::kRead));
  PTPKG_TRY(const zip::Directory directory, zip::ReadDirectory(*file, archive.str()));
  PTPKG_TRY(const std::uint64_t total_bytes, CheckDeclaredSizes(directory, options.limits, archive.str()));
  PTPKG_CHECK(zip::CheckLocalHeaders(*file, directory, archive.str()));
  Task task(env.reporter,
            {.stage = "unpack", .subject = std::string(archive.Name()), .total_bytes = total_bytes});
  ExtractTree tree(env, destination, options, archive.str(), directory.file_bytes);
  tree.Tell(task);
  PTPKG_CHECK(ZipExtractor(env, *file, directory, tree, archive.str()).Run());
  task.Done();
  return Ok();
}

}  // namespace ptpkg::archive
