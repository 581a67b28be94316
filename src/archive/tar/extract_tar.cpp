// Unpacks tars through libarchive: one of its readers undoes the compression, a second one reads the tar. A
// single reader would stop at the tar's end mark, before the end of the compressed stream with its
// checksum. So the rest of the stream is drained here after the last member.
//
// Members go to ExtractTree, which judges names, links and sizes. Errors of the source travel around
// libarchive, whose callbacks can only return an error number.

#include <archive.h>
#include <archive_entry.h>
#include <cerrno>
#include <fmt/core.h>

#include "archive/entry_set.h"
#include "archive/extract_tree.h"
#include "support/digest/progress_source.h"

namespace ptpkg::archive {
namespace {

constexpr std::size_t kBufferBytes = 256U << 10U;

/// A libarchive reader over a ByteSource.
class Reader {
 public:
  Reader(ByteSource& source, std::string_view name) : source_(source), name_(name) {}
  ~Reader() { archive_read_free(handle_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  [[nodiscard]] ::archive* handle() const { return handle_; }

  Result<void> Open() {
    if (archive_read_open(handle_, this, nullptr, &Reader::OnRead, nullptr) != ARCHIVE_OK) return Failure();
    return Ok();
  }

  /// The source's own error, or kCorrupt with libarchive's text.
  [[nodiscard]] Error Failure() const {
    if (source_error_.has_value()) return *source_error_;
    const char* text = archive_error_string(handle_);
    return Error(ErrorCode::kCorrupt, fmt::format("'{}' is damaged: {}", name_,
                                                  Printable(text != nullptr ? text : "unknown reason")));
  }

  Result<std::size_t> ReadData(MutableBytes buffer) {
    const la_ssize_t got = archive_read_data(handle_, buffer.data(), buffer.size());
    if (got < 0) return Failure();
    return static_cast<std::size_t>(got);
  }

 private:
  static la_ssize_t OnRead(::archive* handle, void* self, const void** data) {
    auto& reader = *static_cast<Reader*>(self);
    auto got = reader.source_.Read(reader.buffer_);
    if (!got) {
      reader.source_error_ = std::move(got).error();
      archive_set_error(handle, EIO, "the source failed");
      return -1;
    }
    *data = reader.buffer_.data();
    return static_cast<la_ssize_t>(*got);
  }

  ByteSource& source_;
  std::string name_;
  ::archive* handle_ = archive_read_new();
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kBufferBytes);
  std::optional<Error> source_error_;
};

class DecompressSource final : public ByteSource {
 public:
  DecompressSource(ByteSource& source, std::string_view name) : reader_(source, name) {}

  Result<void> Open() {
    ::archive* handle = reader_.handle();
    archive_read_support_filter_gzip(handle);
    archive_read_support_filter_bzip2(handle);
    archive_read_support_filter_xz(handle);
    archive_read_support_filter_zstd(handle);
    archive_read_support_format_empty(handle);
    archive_read_support_format_raw(handle);
    PTPKG_CHECK(reader_.Open());
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(handle, &entry);
    if (status == ARCHIVE_EOF) is_empty_ = true;
    if (status < ARCHIVE_WARN) return reader_.Failure();
    return Ok();
  }

  Result<std::size_t> Read(MutableBytes buffer) override {
    if (is_empty_) return std::size_t{0};
    return reader_.ReadData(buffer);
  }

 private:
  Reader reader_;
  bool is_empty_ = false;
};

class TarMemberSource final : public ByteSource {
 public:
  explicit TarMemberSource(Reader& reader) : reader_(reader) {}
  Result<std::size_t> Read(MutableBytes buffer) override { return reader_.ReadData(buffer); }

 private:
  Reader& reader_;
};

class TarExtractor {
 public:
  TarExtractor(ByteSource& tar, std::string_view name, ExtractTree& tree)
      : reader_(tar, name), name_(name), tree_(tree) {}

  Result<void> Run() {
    ::archive* handle = reader_.handle();
    archive_read_support_format_tar(handle);
    PTPKG_CHECK(reader_.Open());
    la_int64_t member_end = 0;
    while (true) {
      archive_entry* entry = nullptr;
      const int status = archive_read_next_header(handle, &entry);
      if (status == ARCHIVE_EOF) break;
      // A warning is about fields that are not used here, or says that a name did not fit the locale: it is
      // checked as bytes.
      if (status < ARCHIVE_WARN) return reader_.Failure();
      PTPKG_CHECK(Member(entry));
      if (archive_read_data_skip(handle) < ARCHIVE_WARN) return reader_.Failure();
      member_end = archive_filter_bytes(handle, 0);
    }
    // The end mark is at least one block of zeros, which the reader has taken; without it a tar that was
    // cut between two members would pass.
    if (archive_filter_bytes(handle, 0) <= member_end) {
      return Error(ErrorCode::kCorrupt, fmt::format("'{}' has no end mark: it is truncated", name_));
    }
    return Ok();
  }

 private:
  Result<void> Member(archive_entry* entry) {
    const char* raw_name = archive_entry_pathname(entry);
    if (raw_name == nullptr) return tree_.Refuse("", "has an unreadable name");
    if (const char* target = archive_entry_hardlink(entry)) return tree_.AddHardLink(raw_name, target);
    switch (archive_entry_filetype(entry)) {
      case AE_IFDIR:
        return tree_.AddFolder(raw_name);
      case AE_IFLNK: {
        const char* target = archive_entry_symlink(entry);
        return tree_.AddSymlink(raw_name, target != nullptr ? target : "");
      }
      case AE_IFREG: {
        PTPKG_TRY(const std::optional<RelPath> name, tree_.AddFile(raw_name));
        if (!name.has_value()) return Ok();
        TarMemberSource content(reader_);
        return tree_.WriteContent(*name, archive_entry_perm(entry), content);
      }
      default:
        return tree_.Refuse(raw_name, "is a device, pipe or socket");
    }
  }

  Reader reader_;
  std::string name_;
  ExtractTree& tree_;
};

/// Reads what follows the tar, so that the compressed stream's checksum is reached; it counts as unpacked.
Result<void> Drain(Env& env, ByteSource& source, ExtractTree& tree) {
  std::vector<std::byte> buffer(kBufferBytes);
  while (true) {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(const std::size_t got, source.Read(buffer));
    if (got == 0) return Ok();
    PTPKG_CHECK(tree.CountBytes(got));
  }
}

}  // namespace

Result<std::unique_ptr<ByteSource>> MakeDecompressSource(ByteSource& source, std::string_view name) {
  auto made = std::make_unique<DecompressSource>(source, name);
  PTPKG_CHECK(made->Open());
  return std::unique_ptr<ByteSource>(std::move(made));
}

// NOLINTNEXTLINE(readability-function-size): the stream cannot tell its own name and packed size
Result<void> ExtractTar(Env& env, ByteSource& source, std::string_view name, const AbsPath& destination,
                        const ExtractOptions& options, std::uint64_t packed_bytes) {
  Task task(env.reporter, {.stage = "unpack",
                           .subject = std::string(name.substr(name.rfind('/') + 1)),
                           .total_bytes = packed_bytes});
  ProgressSource told(source, task);
  PTPKG_TRY(const std::unique_ptr<ByteSource> tar, MakeDecompressSource(told, name));
  ExtractTree tree(env, destination, options, name, packed_bytes);
  PTPKG_CHECK(TarExtractor(*tar, name, tree).Run());
  PTPKG_CHECK(Drain(env, *tar, tree));
  PTPKG_CHECK(tree.Finish());
  task.Done();
  return Ok();
}

}  // namespace ptpkg::archive
