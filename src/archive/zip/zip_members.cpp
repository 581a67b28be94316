// The parallel half of the zip writer: reads, hashes and deflates chunks, writes them in order.
//
// Three steps form a pipeline. The first, serial one cuts entries into chunks. The second, parallel one
// reads and deflates. The third, serial one writes in order, so only a few chunks are in memory at a time.
// A file of one chunk is hashed in the parallel step. The hash of a larger one must run in order, in the
// last step.
//
// Invariants: cuts and methods follow from size, content and shared ranges, never from timing or thread
// count. The method of a chunked file is decided before its first chunk, because the local header comes
// first. A file that grows or shrinks during packing is an error, since its sizes are already promised.

#include <algorithm>
#include <fmt/core.h>
#include <mutex>

#include "archive/deflate/deflate_cache.h"
#include "archive/deflate/deflate_chunk.h"
#include "archive/deflate/deflate_runs.h"
#include "archive/zip/zip_writer.h"
#include "support/process/parallel.h"

namespace ptpkg::archive {
namespace {

constexpr std::uint64_t kMinChunkBytes = 64U << 10U;
constexpr std::size_t kSampleBytes = 64U << 10U;
// Most of libtorch_cuda.so is compressed device code: a few samples would judge it by chance.
constexpr std::uint64_t kSamples = 16;

// A deflated member may grow by 5 bytes in 10000 (libdeflate's bound); 16 MiB is 40 in 10000 of 4 GiB.
constexpr std::uint64_t kZip64From = (4ULL << 30U) - (16ULL << 20U);

bool Shrinks(std::uint64_t raw, std::uint64_t packed) { return packed * 100 <= raw * 97; }

/// Fills `buffer` from `offset`.
Result<void> ReadExactly(const Entry& entry, File& file, std::uint64_t offset, MutableBytes buffer) {
  PTPKG_TRY(const std::size_t got, file.ReadAt(offset, buffer));
  if (got != buffer.size()) return ChangedWhilePacked(entry);
  return Ok();
}

/// One entry on its way; shared by the chunks that it is cut into.
class Source {
 public:
  /// Size and mode of the member, or of the target if it is a symlink.
  struct Shape {
    std::uint64_t size_bytes = 0;
    std::uint32_t mode = 0644;
  };
  Source(const Entry& entry, Shape shape) : entry_(entry), size_bytes_(shape.size_bytes), mode_(shape.mode) {}

  [[nodiscard]] const Entry& entry() const { return entry_; }
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] std::uint32_t mode() const { return mode_; }

  /// Opens the file once, and decides once how a file of several chunks is stored: from samples, because
  /// the local header comes before the content. The answer follows from the content alone.
  Result<void> Prepare(Env& env, DeflatePool* pool, bool is_chunked) {
    const std::lock_guard lock(mutex_);
    if (prepared_) return Ok();
    if (entry_.file.has_value()) {
      PTPKG_TRY(file_, env.fs.Open(*entry_.file, OpenMode::kRead));
    }
    if (is_chunked && pool != nullptr) {
      PTPKG_TRY(method_, ChooseMethod(*pool));
    }
    prepared_ = true;
    return Ok();
  }
  [[nodiscard]] ZipMethod method() const { return method_; }

  /// Latest end of a chunk that begins at `offset`, for shared ranges begin and end there.
  [[nodiscard]] std::uint64_t NextCut(std::uint64_t offset) const {
    for (const SharedRange& range : entry_.shared) {
      if (range.offset > offset) return std::min(range.offset, size_bytes_);
      if (range.offset + range.size_bytes > offset)
        return std::min(range.offset + range.size_bytes, size_bytes_);
    }
    return size_bytes_;
  }
  /// Offset in the original of the chunk at `offset`; nullopt: it is not shared.
  [[nodiscard]] std::optional<std::uint64_t> SharedFrom(std::uint64_t offset) const {
    for (const SharedRange& range : entry_.shared) {
      if (offset >= range.offset && offset - range.offset < range.size_bytes)
        return range.from + (offset - range.offset);
    }
    return std::nullopt;
  }

  /// Content from `offset`; the last chunk also makes sure that nothing follows.
  Result<std::string> Read(std::uint64_t offset, std::uint64_t length) {
    if (!file_) return entry_.text.substr(offset, length);
    std::string raw(length, '\0');
    PTPKG_CHECK(ReadExactly(entry_, *file_, offset, std::as_writable_bytes(std::span(raw))));
    if (offset + length == size_bytes_) {
      std::byte more{};
      PTPKG_TRY(const std::size_t got, file_->ReadAt(size_bytes_, MutableBytes(&more, 1)));
      if (got != 0) return ChangedWhilePacked(entry_);
    }
    return raw;
  }

 private:
  Result<ZipMethod> ChooseMethod(DeflatePool& pool) {
    std::uint64_t packed = 0;
    for (std::uint64_t i = 0; i < kSamples; ++i) {
      // Chunks, and so chunked files, are never smaller than a sample.
      const std::uint64_t offset = (size_bytes_ - kSampleBytes) / (kSamples - 1) * i;
      PTPKG_TRY(const std::string sample, Read(offset, kSampleBytes));
      PTPKG_TRY(const std::string deflated, pool.Deflate(AsBytes(sample), ChunkPlace::kLast));
      packed += deflated.size();
    }
    return Shrinks(kSamples * kSampleBytes, packed) ? ZipMethod::kDeflate : ZipMethod::kStored;
  }

  const Entry& entry_;
  std::uint64_t size_bytes_;
  std::uint32_t mode_;
  std::mutex mutex_;
  bool prepared_ = false;
  std::unique_ptr<File> file_;
  ZipMethod method_ = ZipMethod::kStored;
};

struct Chunk {
  std::shared_ptr<Source> source;  // the chunks of one entry are alive in several threads at once
  std::uint64_t offset = 0;
  std::uint64_t length = 0;

  [[nodiscard]] bool is_first() const { return offset == 0; }
  [[nodiscard]] bool is_last() const { return offset + length == source->size_bytes(); }
  [[nodiscard]] bool is_whole() const { return is_first() && is_last(); }
};

struct PackedChunk {
  Chunk chunk;
  ZipMethod method = ZipMethod::kStored;
  std::string raw;  // for hashing and for stored members
  std::string deflated;
  std::uint32_t crc32 = 0;  // of whole entries; else computed in order
  Sha256 sha256;
};

class MembersWriter {
 public:
  MembersWriter(Env& env, ZipWriter& writer, const DeflateOptions& options, Task& task)
      : env_(env), writer_(writer), options_(options), task_(task) {
    if (options.level == 0) return;
    pool_ = std::make_unique<DeflatePool>(options.level);
    runs_ = std::make_unique<RunDeflater>(options.level);
  }

  Result<std::vector<PackedMember>> Run(const std::vector<const Entry*>& entries) {
    entries_ = &entries;
    PTPKG_CHECK((OrderedPipeline<Chunk, PackedChunk>(
        env_.jobs, 2 * static_cast<std::size_t>(env_.jobs), [this] { return NextChunk(); },
        [this](Chunk chunk) { return Pack(std::move(chunk)); },
        [this](PackedChunk packed) { return Put(std::move(packed)); })));
    return std::move(members_);
  }

 private:
  // Serial.
  Result<std::optional<Chunk>> NextChunk() {
    PTPKG_CHECK(env_.cancel.Check());
    if (current_ == nullptr) {
      if (next_entry_ == entries_->size()) return std::optional<Chunk>();
      const Entry& entry = *(*entries_)[next_entry_++];
      PTPKG_TRY(const Source::Shape shape, ShapeOf(entry));
      // Shared by the chunks of one file that are under way: the last one closes it.
      current_ = std::make_shared<Source>(entry, shape);  // each of its chunks holds it
      offset_ = 0;
    }
    // Shared ranges get chunks of their own, so that slices find them in the cache.
    // A file of one chunk has no cuts.
    const bool is_cut = current_->size_bytes() > options_.chunk_bytes;
    const std::uint64_t end = is_cut ? current_->NextCut(offset_) : current_->size_bytes();
    Chunk chunk{
        .source = current_, .offset = offset_, .length = std::min(options_.chunk_bytes, end - offset_)};
    offset_ += chunk.length;
    if (chunk.is_last()) current_.reset();
    return std::optional<Chunk>(std::move(chunk));
  }

  Result<Source::Shape> ShapeOf(const Entry& entry) const {
    if (!entry.is_symlink) return Source::Shape{.size_bytes = entry.size_bytes, .mode = entry.mode};
    if (!entry.file.has_value()) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("symlink '{}' has no file to be copied from", entry.name.str()));
    }
    PTPKG_TRY(const FileStat stat, env_.fs.Stat(*entry.file), "while following a symlink to copy its target");
    if (stat.kind != FileKind::kRegular) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("symlink '{}' does not point to a regular file", entry.name.str()))
          .WithHint("zip archives cannot hold symlinks, and ptpkg can only copy regular files instead");
    }
    return Source::Shape{.size_bytes = stat.size_bytes, .mode = (stat.mode & 0100U) != 0 ? 0755U : 0644U};
  }

  // Parallel.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): the pipeline hands its tokens over
  Result<PackedChunk> Pack(Chunk chunk) {
    Source& source = *chunk.source;
    PTPKG_CHECK(source.Prepare(env_, pool_.get(), !chunk.is_whole()));
    PackedChunk packed{
        .chunk = chunk, .method = source.method(), .raw = {}, .deflated = {}, .crc32 = 0, .sha256 = {}};
    PTPKG_TRY(packed.raw, source.Read(chunk.offset, chunk.length));
    if (chunk.is_whole()) {
      if (options_.hash) packed.sha256 = HashText(packed.raw);
      packed.crc32 = Crc32(0, AsBytes(packed.raw));
      if (pool_ != nullptr && !packed.raw.empty()) {
        PTPKG_TRY(packed.deflated, pool_->Deflate(AsBytes(packed.raw), ChunkPlace::kLast));
        if (Shrinks(packed.raw.size(), packed.deflated.size())) packed.method = ZipMethod::kDeflate;
      }
    } else if (packed.method == ZipMethod::kDeflate) {
      PTPKG_TRY(packed.deflated, DeflateChunk(chunk, AsBytes(packed.raw)));
    }
    return packed;
  }

  Result<std::string> DeflateChunk(const Chunk& chunk, Bytes raw) {
    const ChunkPlace place = chunk.is_last() ? ChunkPlace::kLast : ChunkPlace::kBefore;
    const std::optional<std::uint64_t> from = chunk.source->SharedFrom(chunk.offset);
    if (options_.cache == nullptr || !from) return runs_->Deflate(raw, place);
    const DeflateCache::Key key{.name = chunk.source->entry().name.str(),
                                .from = *from,
                                .size_bytes = chunk.length,
                                .ends_stream = chunk.is_last(),
                                .level = options_.level};
    return options_.cache->FindOrMake(key, [&] { return runs_->Deflate(raw, place); });
  }

  // Serial, in order.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): the pipeline hands its tokens over
  Result<void> Put(PackedChunk packed) {
    const Chunk& chunk = packed.chunk;
    const Entry& entry = chunk.source->entry();
    const std::uint64_t size_bytes = chunk.source->size_bytes();
    if (chunk.is_first()) {
      PTPKG_TRY(sink_, writer_.Begin({.name = entry.name,
                                      .mode = chunk.source->mode(),
                                      .method = packed.method,
                                      // Reserved by the size before deflating: the packed size is not known
                                      // yet.
                                      .zip64 = size_bytes >= kZip64From}));
      hasher_ = std::make_unique<HashingSink>(nullptr);
      crc32_ = 0;
    }
    if (!chunk.is_whole()) {
      if (options_.hash) PTPKG_CHECK(hasher_->Write(AsBytes(packed.raw)));
      crc32_ = Crc32(crc32_, AsBytes(packed.raw));
    }
    PTPKG_CHECK(sink_->Write(AsBytes(packed.method == ZipMethod::kDeflate ? packed.deflated : packed.raw)));
    task_.Advance(packed.raw.size());
    if (!chunk.is_last()) return Ok();
    const bool whole = chunk.is_whole();
    PTPKG_CHECK(writer_.End(whole ? packed.crc32 : crc32_, size_bytes));
    members_.push_back({.name = entry.name.str(),
                        .sha256 = whole || !options_.hash ? packed.sha256 : hasher_->Finish().sha256,
                        .size_bytes = size_bytes});
    return Ok();
  }

  Env& env_;
  ZipWriter& writer_;
  DeflateOptions options_;
  Task& task_;
  std::unique_ptr<DeflatePool> pool_;  // of whole files; null: everything is stored
  std::unique_ptr<RunDeflater> runs_;  // of chunks of large ones
  const std::vector<const Entry*>* entries_ = nullptr;

  std::size_t next_entry_ = 0;  // of the first step
  // Shared with the chunks of the file that are under way.
  std::shared_ptr<Source> current_;  // shared with its chunks
  std::uint64_t offset_ = 0;

  ByteSink* sink_ = nullptr;  // of the last step
  std::unique_ptr<HashingSink> hasher_;
  std::uint32_t crc32_ = 0;
  std::vector<PackedMember> members_;
};

}  // namespace

Result<std::vector<PackedMember>> WriteZipMembers(Env& env, ZipWriter& writer,
                                                  const std::vector<const Entry*>& entries,
                                                  const DeflateOptions& options, Task& task) {
  if (options.level < 0 || options.level > 12) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("deflate level {} is not within 0 to 12", options.level));
  }
  if (options.chunk_bytes < kMinChunkBytes) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("a deflate chunk of {} bytes is below 64 KiB", options.chunk_bytes));
  }
  return MembersWriter(env, writer, options, task).Run(entries);
}

}  // namespace ptpkg::archive
