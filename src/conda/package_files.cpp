// The two containers of a conda package. Layer: conda. Source: CEP 35; docs/formats/conda.md.
//
// Members of a .conda are stored, with sizes and CRC in the local header: rattler reads stored members only,
// and its streaming extraction fails at data descriptors.

#include "conda/package_files.h"

#include <fmt/core.h>
#include <libdeflate.h>

namespace ptpkg::conda {
namespace {

/// Decided by the bound, not by the outcome, so that it depends on the input alone. Zstandard grows
/// incompressible data by less than 1/256 and some bytes. A needless ZIP64 field would be legal, but old
/// readers stumble over it (docs/decisions/0005-conda-format-choices.md).
bool NeedsZip64(std::uint64_t tar_bytes) { return tar_bytes + tar_bytes / 256 + 4096 >= 0xFFFFFFFFULL; }

}  // namespace

/// CRC-32 and size of what passes: a zip member's local header wants both.
class CondaFile::CrcSink final : public ByteSink {
 public:
  explicit CrcSink(ByteSink& next) : next_(next) {}
  Result<void> Write(Bytes bytes) override {
    crc_ = libdeflate_crc32(crc_, bytes.data(), bytes.size());
    size_bytes_ += bytes.size();
    return next_.Write(bytes);
  }
  [[nodiscard]] std::uint32_t crc() const { return crc_; }
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }

 private:
  ByteSink& next_;
  std::uint32_t crc_ = 0;
  std::uint64_t size_bytes_ = 0;
};

CondaFile::CondaFile(Env& env, AtomicFile file, std::string stem, std::int64_t mtime,
                     const WriteOptions& options)
    : env_(env),
      file_(std::move(file)),
      zip_(file_.file(), mtime),
      stem_(std::move(stem)),
      options_(options) {}

CondaFile::~CondaFile() = default;

Result<void> CondaFile::WriteMetadata() {
  const std::string text = "{\"conda_pkg_format_version\": 2}";
  PTPKG_TRY(ByteSink * sink, zip_.Begin({.name = RelPath::Literal("metadata.json")}));
  CrcSink crc(*sink);
  PTPKG_CHECK(crc.Write(AsBytes(text)));
  return zip_.End(crc.crc(), crc.size_bytes());
}

Result<ByteSink*> CondaFile::Begin(std::string_view part, std::uint64_t tar_bytes) {
  const archive::ZipWriter::Member member{.name = RelPath::Literal(fmt::format("{}-{}.tar.zst", part, stem_)),
                                          .zip64 = NeedsZip64(tar_bytes)};
  PTPKG_TRY(ByteSink * stored, zip_.Begin(member));
  crc_ = std::make_unique<CrcSink>(*stored);
  PTPKG_TRY(codec_, archive::MakeZstdSink(*crc_, {.level = options_.zstd_level,
                                                  .window_log = options_.zstd_window_log,
                                                  .jobs = env_.jobs,
                                                  .content_size = tar_bytes}));
  return static_cast<ByteSink*>(codec_.get());
}

Result<void> CondaFile::End() {
  PTPKG_CHECK(codec_->Finish());
  codec_.reset();
  return zip_.End(crc_->crc(), crc_->size_bytes());
}

// The local headers get their CRC and size after the data, so a digest of the file cannot be taken while it
// is written: it is read back once, out of the page cache.
Result<Digests> CondaFile::Finish() {
  PTPKG_TRY(const std::uint64_t size, zip_.Finish());
  PTPKG_TRY(const Digests digests, HashFile(env_.fs, file_.temp_path(), {.md5 = true}));
  if (digests.size_bytes != size) {
    return Error(ErrorCode::kIo, fmt::format("'{}' has {} bytes, {} were written", file_.temp_path().str(),
                                             digests.size_bytes, size));
  }
  return digests;
}

TarBz2File::TarBz2File(Env& env, AtomicFile file, const WriteOptions& options)
    : file_(std::move(file)),
      sink_(file_.file()),
      hash_(&sink_, {.md5 = true}),
      codec_(archive::MakeBzip2Sink(hash_, {.level = options.bzip2_level, .jobs = env.jobs})) {}

Result<Digests> TarBz2File::Finish() {
  PTPKG_CHECK(codec_->Finish());
  return hash_.Finish();
}

}  // namespace ptpkg::conda
