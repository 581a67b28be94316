#pragma once
// Reads member content from a validated zip. Layer: archive, internal to it.

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "archive/extract.h"
#include "archive/zip/zip_directory.h"
#include "archive/zip/zip_handle.h"

namespace ptpkg::archive {

/// Checks and receives the members, for example to write them to a directory or to list them.
class MemberVisitor {
 public:
  virtual ~MemberVisitor() = default;
  virtual Result<void> VisitDirectory(const std::string& raw_name) = 0;
  virtual Result<void> VisitFile(const std::string& raw_name, std::size_t index) = 0;
  virtual Result<void> VisitSymlink(const std::string& raw_name, std::string target, std::size_t index) = 0;
  virtual Result<void> CountBytes(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual Error Refuse(std::string_view raw_name, std::string_view why) const = 0;
};

/// True for members that need no libzip: one deflate stream, or the content itself. False if no stream of its
/// length can have the declared size.
bool IsPlainDeflate(const zip::CentralRecord& record);
bool IsPlainStored(const zip::CentralRecord& record);

class ZipContent {
 public:
  /// Errors: as ExtractZip, except for names and contents.
  static Result<std::unique_ptr<ZipContent>> Open(Fs& fs, const AbsPath& zip, const ExtractLimits& limits);

  [[nodiscard]] const zip::Directory& directory() const { return directory_; }
  [[nodiscard]] File& file() const { return *file_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Total of the members' declared sizes.
  [[nodiscard]] std::uint64_t total_bytes() const { return total_bytes_; }

  /// Passes every member to `taker`, in the order of the central directory.
  Result<void> List(MemberVisitor& taker);

  /// Content of the member with this index in the central directory. Any thread. Errors: kCorrupt, with
  /// libzip's messages, for damage, a size other than declared and, at the end of the content, a wrong CRC.
  /// kUnsupported, and any error from `use`.
  Result<void> Stream(std::size_t index, const std::function<Result<void>(ByteSource&)>& use);

 private:
  ZipContent(std::string name, std::unique_ptr<File> file) : name_(std::move(name)), file_(std::move(file)) {}
  Result<void> StreamByLibzip(std::size_t index, const std::function<Result<void>(ByteSource&)>& use);
  Result<void> ListLink(MemberVisitor& taker, std::size_t index);
  Result<zip::Handle> Take();

  std::string name_;
  std::unique_ptr<File> file_;
  zip::Directory directory_;
  std::uint64_t total_bytes_ = 0;
  std::mutex mutex_;
  std::vector<zip::Handle> idle_;  // handles are not thread-safe: each is lent to one member at a time
};

}  // namespace ptpkg::archive
