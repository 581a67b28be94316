// Holds the content of one member where reading it costs least.
//
// Three places: a stored member is read in place from the archive, a deflated one that fits goes to memory,
// and any other one goes to a file. Its name is removed right after it was opened, so the content
// disappears with the process. The content is hashed while it passes, when it is still in the cache.
//
// The buffer of the declared size is allocated before a byte is read. Therefore IsPlainDeflate comes first:
// it refuses a size that no stream of that length can have.

#include "archive/member_content.h"

#include <algorithm>

#include "support/files/read_only_file.h"
#include "support/files/scratch.h"

namespace ptpkg::archive {
namespace {

constexpr std::size_t kReadBytes = 256U << 10U;

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

/// Keeps a content, or lets it pass, and digests each piece while it is in the cache.
class ContentSink final : public ByteSink {
 public:
  ContentSink(Env& env, const ContentOptions& options) : env_(env), options_(options) {}
  /// REQUIRES: all that comes fits.
  void HoldInMemory(ScratchBuffer memory) { memory_ = std::move(memory); }
  void HoldInMemory(std::unique_ptr<File> file) { file_ = std::move(file); }

  Result<void> Write(Bytes bytes) override {
    PTPKG_CHECK(env_.cancel.Check());
    PTPKG_CHECK(options_.count(bytes.size()));
    if (options_.hash) PTPKG_CHECK(hasher_.Write(bytes));
    if (memory_) {
      std::copy(bytes.begin(), bytes.end(),
                memory_->bytes().begin() + static_cast<std::ptrdiff_t>(size_bytes_));
    }
    if (file_ != nullptr) PTPKG_CHECK(file_->WriteAt(size_bytes_, bytes));
    size_bytes_ += bytes.size();
    return Ok();
  }
  /// Returns the kept content.
  MemberContent Finish() && {
    MemberContent content;
    if (options_.hash) content.sha256 = hasher_.Finish().sha256;
    content.file = memory_ ? MakeBufferFile(*std::move(memory_), size_bytes_) : std::move(file_);
    return content;
  }

 private:
  Env& env_;
  const ContentOptions& options_;
  std::optional<ScratchBuffer> memory_;
  std::unique_ptr<File> file_;
  std::uint64_t size_bytes_ = 0;
  HashingSink hasher_{nullptr};
};

}  // namespace

bool IsHeldInMemory(const zip::CentralRecord& record, std::uint64_t memory_bytes) {
  return IsPlainDeflate(record) && record.size_bytes <= memory_bytes;
}

std::unique_ptr<File> MakeBufferFile(ScratchBuffer buffer, std::size_t size_bytes) {
  return std::make_unique<BufferFile>(std::move(buffer), size_bytes);
}

Result<std::unique_ptr<File>> OpenScratch(Env& env, const AbsPath& folder) {
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, folder, "member"));
  const AbsPath path = scratch.path() / "content";
  PTPKG_TRY(std::unique_ptr<File> file, env.fs.Open(path, OpenMode::kCreateNew));
  PTPKG_CHECK(env.fs.Remove(path));
  return file;
}

Result<std::unique_ptr<File>> SpillToFile(Env& env, ByteSource& source, const CountContent& count) {
  const ContentOptions options{.hash = false, .count = count};
  ContentSink sink(env, options);
  PTPKG_TRY(std::unique_ptr<File> file, OpenScratch(env, env.cache_dir));
  sink.HoldInMemory(std::move(file));
  PTPKG_TRY([[maybe_unused]] const std::uint64_t bytes, Pump(source, sink));
  return std::move(sink).Finish().file;
}

Result<Sha256> DigestContent(Env& env, File& file) {
  HashingSink hasher(nullptr);
  ScratchBuffer buffer(kReadBytes);
  for (std::uint64_t offset = 0;;) {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(const std::size_t got, file.ReadAt(offset, buffer.bytes()));
    if (got == 0) return hasher.Finish().sha256;
    PTPKG_CHECK(hasher.Write(buffer.First(got)));
    offset += got;
  }
}

Result<MemberContent> ReadZipMember(Env& env, ZipContent& zip, std::size_t index,
                                    const ContentOptions& options) {
  const zip::CentralRecord& record = zip.directory().records[index];
  const bool stays = IsPlainStored(record);
  ContentSink sink(env, options);
  if (IsHeldInMemory(record, options.memory_bytes)) {
    sink.HoldInMemory(ScratchBuffer(record.size_bytes));
  } else if (!stays) {
    PTPKG_TRY(std::unique_ptr<File> file, OpenScratch(env, env.cache_dir));
    sink.HoldInMemory(std::move(file));
  }
  PTPKG_CHECK(zip.Stream(index, [&](ByteSource& content) -> Result<void> {
    PTPKG_TRY([[maybe_unused]] const std::uint64_t bytes, Pump(content, sink));
    return Ok();
  }));
  MemberContent member = std::move(sink).Finish();
  if (!stays) return member;
  PTPKG_TRY(const zip::LocalRecord local, zip::ReadLocal(zip.file(), record.offset, zip.name()));
  // The content was streamed once above, for its CRC and digest, and stays in the archive.
  member.file =
      std::make_unique<RangeFile>(zip.file(), FileStat{.size_bytes = record.size_bytes}, local.data_offset);
  return member;
}

}  // namespace ptpkg::archive
