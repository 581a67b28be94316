// Decodes bzip2 and zstd streams behind ByteSource, and notes facts about the packed form. Layer: archive.
//
// A file can hold several streams (bzip2) or frames (zstd) one after the other. Both decoders continue with
// the next one, count them, and report an end in the middle of a stream as damage: a truncated download
// must not pass for a short content.
//
// libzstd's public API does not give the window size of a frame, so the header is parsed here before the
// frame is decoded. Hence the input buffer must hold a whole header at the start of each frame.

#include "archive/codec/decoder.h"

#include <algorithm>
#include <bzlib.h>
#include <fmt/core.h>
#include <vector>
#include <zstd.h>

namespace ptpkg::archive {
namespace {

constexpr std::size_t kInputBytes = 256U << 10U;
// ZSTD_FRAMEHEADERSIZE_MAX of the static API: magic, descriptor, window, dictionary, content size.
constexpr std::size_t kZstdHeaderMax = 18;

/// The packed bytes not yet consumed, refilled from the source below.
class InputBuffer {
 public:
  explicit InputBuffer(ByteSource& source) : source_(source), bytes_(kInputBytes) {}

  [[nodiscard]] Bytes rest() const { return Bytes(bytes_).subspan(begin_, end_ - begin_); }
  void Consume(std::size_t count) { begin_ += count; }

  /// Reads until `wanted` bytes lie ready or the source ends.
  Result<void> Fill(std::size_t wanted) {
    if (end_ - begin_ >= wanted || at_end_) return Ok();
    // A header must be contiguous, so the rest moves to the front before more is read.
    std::copy(bytes_.begin() + static_cast<std::ptrdiff_t>(begin_),
              bytes_.begin() + static_cast<std::ptrdiff_t>(end_), bytes_.begin());
    end_ -= begin_;
    begin_ = 0;
    while (end_ < wanted && !at_end_) {
      PTPKG_TRY(const std::size_t count, source_.Read(MutableBytes(bytes_).subspan(end_)));
      at_end_ = count == 0;
      end_ += count;
    }
    return Ok();
  }

 private:
  ByteSource& source_;
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool at_end_ = false;
};

Error DamagedData(std::string_view codec, std::string_view what) {
  return {ErrorCode::kCorrupt, fmt::format("{} data is damaged: {}", codec, what)};
}

class Bzip2Source final : public DecodingSource {
 public:
  explicit Bzip2Source(ByteSource& packed) : input_(packed) {}
  ~Bzip2Source() override {
    if (open_) BZ2_bzDecompressEnd(&stream_);
  }
  Bzip2Source(const Bzip2Source&) = delete;
  Bzip2Source& operator=(const Bzip2Source&) = delete;

  [[nodiscard]] const StreamFacts& facts() const override { return facts_; }

  Result<std::size_t> Read(MutableBytes buffer) override {
    while (!buffer.empty()) {
      PTPKG_CHECK(input_.Fill(1));
      if (input_.rest().empty()) {
        if (open_ || facts_.streams == 0) return DamagedData("bzip2", "it ends in the middle of a stream");
        return std::size_t{0};
      }
      if (!open_) PTPKG_CHECK(Begin());
      PTPKG_TRY(const std::size_t count, Step(buffer));
      if (count > 0) return count;
    }
    return std::size_t{0};
  }

 private:
  Result<void> Begin() {
    stream_ = bz_stream{};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) {
      return Error(ErrorCode::kInternal, "libbz2 could not start a decoder");
    }
    open_ = true;
    ++facts_.streams;
    return Ok();
  }

  Result<std::size_t> Step(MutableBytes buffer) {
    const Bytes in = input_.rest();
    // libbz2's interface takes char*, and does not write through next_in.
    stream_.next_in = const_cast<char*>(reinterpret_cast<const char*>(in.data()));
    stream_.avail_in = static_cast<unsigned>(in.size());
    const std::size_t room = std::min<std::size_t>(buffer.size(), 1U << 30U);
    stream_.next_out = reinterpret_cast<char*>(buffer.data());
    stream_.avail_out = static_cast<unsigned>(room);
    const int status = BZ2_bzDecompress(&stream_);
    const std::size_t taken = in.size() - stream_.avail_in;
    input_.Consume(taken);
    facts_.packed_bytes += taken;
    if (status == BZ_STREAM_END) {
      BZ2_bzDecompressEnd(&stream_);
      open_ = false;
    } else if (status != BZ_OK) {
      return DamagedData("bzip2",
                         status == BZ_DATA_ERROR_MAGIC ? "no bzip2 header" : "checksum or code table");
    }
    return room - stream_.avail_out;
  }

  InputBuffer input_;
  StreamFacts facts_;
  bz_stream stream_{};
  bool open_ = false;
};

class ZstdSource final : public DecodingSource {
 public:
  ZstdSource(ByteSource& packed, int window_log_max)
      : input_(packed), context_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, window_log_max);
  }

  [[nodiscard]] const StreamFacts& facts() const override { return facts_; }

  Result<std::size_t> Read(MutableBytes buffer) override {
    while (!buffer.empty()) {
      PTPKG_CHECK(input_.Fill(in_frame_ ? 1 : kZstdHeaderMax));
      if (input_.rest().empty() && !(in_frame_ && output_pending_)) {
        if (in_frame_ || facts_.streams == 0) return DamagedData("zstd", "it ends in the middle of a frame");
        return std::size_t{0};
      }
      if (!in_frame_) PTPKG_CHECK(InspectHeader());
      PTPKG_TRY(const std::size_t count, Step(buffer));
      if (count > 0) return count;
    }
    return std::size_t{0};
  }

 private:
  // The public API has no frame header reader, so window and content size are read here.
  // Source: RFC 8878, 3.1.1.1.
  Result<void> InspectHeader() {
    const Bytes in = input_.rest();
    in_frame_ = true;
    if (in.size() < 5) return DamagedData("zstd", "no frame header");
    const auto byte = [&](std::size_t i) { return std::to_integer<std::uint64_t>(in[i]); };
    const std::uint64_t magic = byte(0) | byte(1) << 8U | byte(2) << 16U | byte(3) << 24U;
    if ((magic & ~0xFULL) == 0x184D2A50U) return Ok();  // a skippable frame holds no content
    if (magic != ZSTD_MAGICNUMBER) return DamagedData("zstd", "no frame header");
    ++facts_.streams;
    const unsigned long long content = ZSTD_getFrameContentSize(in.data(), in.size());
    if (content == ZSTD_CONTENTSIZE_ERROR) return DamagedData("zstd", "frame header");
    const bool known = content != ZSTD_CONTENTSIZE_UNKNOWN;
    facts_.content_size_known = facts_.content_size_known && known;
    const bool single_segment = (byte(4) & 0x20U) != 0;
    std::uint64_t window = known ? content : 0;
    if (!single_segment) {
      if (in.size() < 6) return DamagedData("zstd", "frame header");
      const std::uint64_t base = 1ULL << (10U + (byte(5) >> 3U));
      window = base + base / 8U * (byte(5) & 7U);
    }
    facts_.window_bytes = std::max(facts_.window_bytes, window);
    return Ok();
  }

  Result<std::size_t> Step(MutableBytes buffer) {
    const Bytes rest = input_.rest();
    ZSTD_inBuffer in{rest.data(), rest.size(), 0};
    ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
    const std::size_t status = ZSTD_decompressStream(context_.get(), &out, &in);
    input_.Consume(in.pos);
    facts_.packed_bytes += in.pos;
    if (ZSTD_isError(status) != 0) return DamagedData("zstd", ZSTD_getErrorName(status));
    // A return value of 0 means that a frame is decoded and flushed completely.
    // A full output buffer may leave decoded bytes inside the context when the input is used up.
    output_pending_ = out.pos == out.size;
    if (status == 0) in_frame_ = false;
    return out.pos;
  }

  InputBuffer input_;
  StreamFacts facts_;
  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context_;
  bool in_frame_ = false;
  bool output_pending_ = false;
};

}  // namespace

std::unique_ptr<DecodingSource> MakeBzip2Source(ByteSource& packed) {
  return std::make_unique<Bzip2Source>(packed);
}

std::unique_ptr<DecodingSource> MakeZstdSource(ByteSource& packed, int window_log_max) {
  return std::make_unique<ZstdSource>(packed, window_log_max);
}

}  // namespace ptpkg::archive
