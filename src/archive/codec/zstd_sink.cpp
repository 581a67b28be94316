// One zstd frame, compressed by libzstd's own threads.
//
// Invariant: equal input gives equal bytes on every machine and for every number of jobs. Therefore job
// size and overlap are fixed, and at least one worker thread always runs: libzstd's single-threaded encoder
// writes other bytes. The numbers were measured on libtorch_cpu.so (docs/formats/tar.md).
//
// A machine with low limits can lack memory or threads for the workers. libzstd starts its threads in the
// first call, so only that one can fail for this reason. The sink then halves the workers and starts again,
// which changes no byte.

#include <algorithm>
#include <fmt/core.h>
#include <vector>
#include <zstd.h>
#include <zstd_errors.h>

#include "archive/codec/codec.h"

namespace ptpkg::archive {
namespace {

constexpr int kMinWindowLog = 10;  // ZSTD_WINDOWLOG_MIN of the static interface
constexpr int kMaxWindowLog = 27;  // the default limit of zstd, libarchive and python-zstandard
constexpr int kLongDistanceLog = 25;

// Fixed, so that neither memory nor bytes follow from a default that another libzstd sets otherwise.
// Measured on libtorch_cpu.so: docs/formats/tar.md.
constexpr int kJobBytes = 8 << 20;
constexpr int kOverlapLog = 9;  // the whole window

struct ContextDeleter {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

class ZstdSink final : public CodecSink {
 public:
  explicit ZstdSink(ByteSink& out) : out_(out), context_(ZSTD_createCCtx()), buffer_(ZSTD_CStreamOutSize()) {}

  Result<void> Configure(const ZstdOptions& options) {
    PTPKG_CHECK(Set(ZSTD_c_compressionLevel, options.level));
    PTPKG_CHECK(Set(ZSTD_c_checksumFlag, 1));
    PTPKG_CHECK(Set(ZSTD_c_contentSizeFlag, 1));
    content_size_ = options.content_size;
    // Never 0: the single-threaded encoder gives other bytes than the threaded one. How many more there are
    // changes no byte.
    workers_ = std::min(options.jobs, ZSTD_cParam_getBounds(ZSTD_c_nbWorkers).upperBound);
    PTPKG_CHECK(Set(ZSTD_c_nbWorkers, workers_));
    PTPKG_CHECK(Set(ZSTD_c_jobSize, kJobBytes));
    PTPKG_CHECK(Set(ZSTD_c_overlapLog, kOverlapLog));
    if (options.window_log != 0) PTPKG_CHECK(Set(ZSTD_c_windowLog, options.window_log));
    if (options.window_log >= kLongDistanceLog) PTPKG_CHECK(Set(ZSTD_c_enableLongDistanceMatching, 1));
    return DeclareContentSize();
  }

  Result<void> Write(Bytes bytes) override {
    if (bytes.empty()) return Ok();
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    while (input.pos < input.size) PTPKG_CHECK(Step(input, ZSTD_e_continue));
    return Ok();
  }

  Result<void> Finish() override {
    ZSTD_inBuffer input{nullptr, 0, 0};
    do {
      PTPKG_CHECK(Step(input, ZSTD_e_end));
    } while (unflushed_ != 0);
    return Ok();
  }

 private:
  static Result<void> Check(std::size_t code) {
    if (ZSTD_isError(code) == 0) return Ok();
    if (ZSTD_getErrorCode(code) == ZSTD_error_srcSize_wrong) {
      return Error(ErrorCode::kInvalidInput,
                   "the input changed while being packed: its size is not the one declared");
    }
    return Error(ErrorCode::kInternal, fmt::format("libzstd failed: {}", ZSTD_getErrorName(code)));
  }

  Result<void> Set(ZSTD_cParameter parameter, int value) {
    return Check(ZSTD_CCtx_setParameter(context_.get(), parameter, value));
  }

  Result<void> DeclareContentSize() {
    if (content_size_ == 0) return Ok();
    return Check(ZSTD_CCtx_setPledgedSrcSize(context_.get(), content_size_));
  }

  /// After the first call failed for want of threads, which libzstd starts in it: asks for fewer.
  Result<void> ReduceWorkers() {
    if (workers_ == 1) {
      // libzstd has one error for both.
      return Error(ErrorCode::kIo, "compression ran out of memory or threads")
          .WithHint("free memory or raise the limits (ulimit -v, -u), or end other programs");
    }
    workers_ /= 2;
    ZSTD_CCtx_reset(context_.get(), ZSTD_reset_session_only);
    PTPKG_CHECK(Set(ZSTD_c_nbWorkers, workers_));
    return DeclareContentSize();
  }

  Result<void> Step(ZSTD_inBuffer& input, ZSTD_EndDirective directive) {
    ZSTD_outBuffer output{buffer_.data(), buffer_.size(), 0};
    unflushed_ = ZSTD_compressStream2(context_.get(), &output, &input, directive);
    while (!started_ && ZSTD_getErrorCode(unflushed_) == ZSTD_error_memory_allocation) {
      PTPKG_CHECK(ReduceWorkers());
      unflushed_ = ZSTD_compressStream2(context_.get(), &output, &input, directive);
    }
    PTPKG_CHECK(Check(unflushed_));
    started_ = true;
    if (output.pos == 0) return Ok();
    return out_.Write(Bytes(buffer_).first(output.pos));
  }

  ByteSink& out_;
  std::unique_ptr<ZSTD_CCtx, ContextDeleter> context_;
  std::vector<std::byte> buffer_;
  std::size_t unflushed_ = 0;
  std::uint64_t content_size_ = 0;
  int workers_ = 1;
  bool started_ = false;
};

}  // namespace

Result<std::unique_ptr<CodecSink>> MakeZstdSink(ByteSink& out, const ZstdOptions& options) {
  PTPKG_ASSERT(options.jobs >= 1);
  if (options.level < 1 || options.level > ZSTD_maxCLevel()) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("zstd level {} is not within 1 to {}", options.level, ZSTD_maxCLevel()));
  }
  if (options.window_log != 0 && (options.window_log < kMinWindowLog || options.window_log > kMaxWindowLog)) {
    return Error(ErrorCode::kInvalidInput, fmt::format("zstd window log {} is not within {} to {}",
                                                       options.window_log, kMinWindowLog, kMaxWindowLog))
        .WithHint("conda clients reject a window above 2^27 bytes");
  }
  auto sink = std::make_unique<ZstdSink>(out);
  PTPKG_CHECK(sink->Configure(options));
  return std::unique_ptr<CodecSink>(std::move(sink));
}

}  // namespace ptpkg::archive
