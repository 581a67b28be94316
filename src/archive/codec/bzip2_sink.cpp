// One bzip2 stream whose blocks are compressed in parallel, byte for byte what libbz2 writes serially. The
// rules are in docs/formats/bzip2.md, and each comes from libbz2 1.0.8, compress.c and bzlib.c.
//
// Idea: the block boundaries of libbz2 depend only on its first run-length coding, so one cheap pass over
// the input finds them. Each block travels to a worker in this coded form. The worker expands it into
// libbz2, which codes it again in the same way and closes a stream of exactly one block. Header and trailer
// of that stream are cut off, and the bits between them are appended, at any bit offset, to the output.
//
// Invariants: one stream in total, because rattler stops after the first one without an error. Blocks are
// emitted in input order, because the combined CRC depends on the order. A block that ended later than
// libbz2's would become two in the worker's stream. One that ended earlier would give other bytes than
// bzip2.

#include <array>
#include <bzlib.h>
#include <string>
#include <vector>

#include "archive/codec/codec.h"
#include "archive/codec/ordered_workers.h"

namespace ptpkg::archive {
namespace {

constexpr std::uint64_t kEndMagic = 0x177245385090;  // BCD of sqrt(pi); a block begins with pi
constexpr std::size_t kHeaderBytes = 4;              // "BZh9"
constexpr unsigned kTrailerBits = 48 + 32;
constexpr std::size_t kMaxRun = 255;

/// A block's bits out of a stream of its own.
struct BlockBits {
  std::string bytes;        // the bits begin at bit 0, the last byte may be part-filled
  std::uint64_t count = 0;  // bits
  std::uint32_t crc = 0;
};

/// Writes bits, most significant first, into a byte text.
class BitWriter {
 public:
  void Put(std::uint64_t value, unsigned count) {
    for (unsigned left = count; left > 0;) {
      const unsigned take = std::min(left, 8 - filled_);
      const auto chunk = static_cast<unsigned>(value >> (left - take)) & ((1U << take) - 1U);
      current_ = (current_ << take) | chunk;
      filled_ += take;
      left -= take;
      if (filled_ == 8) Emit();
    }
  }

  void Append(const BlockBits& block) {
    const std::size_t whole = block.count / 8;
    text_.reserve(text_.size() + whole + 1);
    for (std::size_t i = 0; i < whole; ++i) {
      const auto byte = static_cast<unsigned char>(block.bytes[i]);
      // `filled_` bits wait in `current_`: each whole byte of the block completes one byte of the output.
      const unsigned joined = current_ << 8U | byte;
      text_ += static_cast<char>(joined >> filled_);
      current_ = joined & ((1U << filled_) - 1U);
    }
    const auto rest = static_cast<unsigned>(block.count % 8);
    if (rest != 0) Put(static_cast<unsigned char>(block.bytes[whole]) >> (8 - rest), rest);
  }

  void PadToByte() {
    if (filled_ != 0) Put(0, 8 - filled_);
  }

  /// The whole bytes so far; they are dropped here.
  std::string Take() { return std::exchange(text_, {}); }

 private:
  void Emit() {
    text_ += static_cast<char>(current_);
    current_ = 0;
    filled_ = 0;
  }
  std::string text_;
  unsigned current_ = 0;
  unsigned filled_ = 0;
};

/// `count` ≤ 64 bits of `bytes` at bit `offset`.
std::uint64_t BitsAt(std::string_view bytes, std::uint64_t offset, unsigned count) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[((offset + i) / 8)]);
    value = value << 1U | ((byte >> (7 - (offset + i) % 8)) & 1U);
  }
  return value;
}

Error LibraryError(int code) {
  return Error(ErrorCode::kInternal, "libbz2 failed with code " + std::to_string(code));
}

/// Undoes the run-length coding of a block piece by piece: after four equal bytes stands a count.
class RunExpander {
 public:
  explicit RunExpander(std::string_view coded) : coded_(coded) {}

  /// Fills at most `room` (at least kMaxRun bytes long); returns the count, 0 at the end.
  std::size_t Next(std::span<char> room) {
    std::size_t used = 0;
    while (at_ < coded_.size() && used + kMaxRun <= room.size()) {
      const char byte = coded_[at_++];
      equal_ = equal_ != 0 && byte == last_ ? equal_ + 1 : 1;
      last_ = byte;
      room[used++] = byte;
      if (equal_ == 4) {
        const auto more = static_cast<unsigned char>(coded_[at_++]);
        std::fill_n(room.begin() + static_cast<std::ptrdiff_t>(used), more, byte);
        used += more;
        equal_ = 0;
      }
    }
    return used;
  }

 private:
  std::string_view coded_;
  std::size_t at_ = 0;
  int equal_ = 0;
  char last_ = 0;
};

class Compressor {
 public:
  explicit Compressor(int level) : status_(BZ2_bzCompressInit(&stream_, level, 0, 0)) {}
  ~Compressor() {
    if (status_ == BZ_OK) BZ2_bzCompressEnd(&stream_);
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  /// A complete stream of the content that `expander` gives.
  Result<std::string> Run(RunExpander expander) {
    if (status_ != BZ_OK) return LibraryError(status_);
    std::string out(1U << 20U, '\0');
    std::array<char, 64U << 10U> input{};
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<unsigned>(out.size());
    int status = BZ_RUN_OK;
    for (std::size_t got = expander.Next(input); got != 0; got = expander.Next(input)) {
      stream_.next_in = input.data();
      stream_.avail_in = static_cast<unsigned>(got);
      status = BZ2_bzCompress(&stream_, BZ_RUN);
      // The block is not full before its last run ends, so libbz2 takes all and gives nothing yet.
      if (status != BZ_RUN_OK || stream_.avail_in != 0) return LibraryError(status);
    }
    status = BZ2_bzCompress(&stream_, BZ_FINISH);
    // 1 MiB holds the worst block: 900 kB, 1 % more at most, and 600 bytes (bzlib.h).
    if (status != BZ_STREAM_END) return LibraryError(status);
    out.resize(out.size() - stream_.avail_out);
    return out;
  }

 private:
  bz_stream stream_{};
  int status_;
};

/// Compresses one block and cuts header and trailer off.
Result<BlockBits> CompressBlock(std::string_view coded, int level) {
  PTPKG_TRY(std::string stream, Compressor(level).Run(RunExpander(coded)));
  // Up to seven bits of padding follow the trailer: the place where the end magic reads right. Two places
  // cannot: the magic would have to be equal to itself shifted by less than a byte.
  const std::uint64_t bits = std::uint64_t{stream.size()} * 8;
  for (unsigned pad = 0; pad < 8; ++pad) {
    const std::uint64_t end = bits - pad - kTrailerBits;
    if (BitsAt(stream, end, 48) != kEndMagic) continue;
    const auto crc = static_cast<std::uint32_t>(BitsAt(stream, end + 48, 32));
    stream.erase(0, kHeaderBytes);
    return BlockBits{.bytes = std::move(stream), .count = end - kHeaderBytes * 8, .crc = crc};
  }
  return Error(ErrorCode::kInternal, "libbz2 wrote a stream without an end");
}

class Bzip2Sink final : public CodecSink {
 public:
  Bzip2Sink(ByteSink& out, const Bzip2Options& options)
      : out_(out),
        level_(options.level),
        block_max_(static_cast<std::size_t>(100000 * options.level - 19)),
        workers_(options.jobs, [this](const BlockBits& block) { return Emit(block); }) {
    NewBlock();
  }

  Result<void> Write(Bytes bytes) override {
    const auto* const data = reinterpret_cast<const unsigned char*>(bytes.data());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const unsigned char byte = data[i];
      // A run of more than 255 bytes begins anew, because its count is one byte.
      if (byte == run_byte_ && run_length_ != 0 && run_length_ < kMaxRun) {
        ++run_length_;
        continue;
      }
      PutRun();
      // A block closes with the run that fills it; the run that begins here goes to the next.
      if (used_ >= block_max_) PTPKG_CHECK(SendBlock());
      run_byte_ = byte;
      run_length_ = 1;
    }
    return Ok();
  }

  Result<void> Finish() override {
    PutRun();
    if (used_ != 0) PTPKG_CHECK(SendBlock());
    // All blocks must be out before the trailer: the combined CRC needs each of them, in order.
    PTPKG_CHECK(workers_.Drain());
    PutHeaderOnce();
    bits_.Put(kEndMagic, 48);
    bits_.Put(combined_crc_, 32);
    bits_.PadToByte();
    return out_.Write(AsBytes(bits_.Take()));
  }

 private:
  void PutRun() {
    const std::size_t literal = std::min<std::size_t>(run_length_, 4);
    for (std::size_t i = 0; i < literal; ++i) block_[used_++] = static_cast<char>(run_byte_);
    if (run_length_ >= 4) block_[used_++] = static_cast<char>(run_length_ - 4);
    run_length_ = 0;
  }

  Result<void> SendBlock() {
    block_.resize(used_);
    auto block = std::make_shared<std::string>(std::move(block_));  // std::function must be copyable
    NewBlock();
    return workers_.Submit([block, level = level_] { return CompressBlock(*block, level); });
  }

  void NewBlock() {
    block_.assign(block_max_ + 5, '\0');  // the run that fills a block may pass its limit by four
    used_ = 0;
  }

  void PutHeaderOnce() {
    if (header_written_) return;
    header_written_ = true;
    bits_.Put('B', 8);
    bits_.Put('Z', 8);
    bits_.Put('h', 8);
    bits_.Put(static_cast<unsigned>('0' + level_), 8);
  }

  Result<void> Emit(const BlockBits& block) {
    PutHeaderOnce();
    bits_.Append(block);
    combined_crc_ = (combined_crc_ << 1U | combined_crc_ >> 31U) ^ block.crc;
    return out_.Write(AsBytes(bits_.Take()));
  }

  ByteSink& out_;
  int level_;
  std::size_t block_max_;
  std::string block_;  // run-length coded: at most 900 kB, however much input that stands for
  std::size_t used_ = 0;
  unsigned char run_byte_ = 0;
  std::size_t run_length_ = 0;
  BitWriter bits_;
  std::uint32_t combined_crc_ = 0;
  bool header_written_ = false;
  OrderedWorkers<BlockBits> workers_;  // last: its threads end before the rest goes
};

}  // namespace

std::unique_ptr<CodecSink> MakeBzip2Sink(ByteSink& out, const Bzip2Options& options) {
  PTPKG_ASSERT(options.level >= 1 && options.level <= 9 && options.jobs >= 1);
  return std::make_unique<Bzip2Sink>(out, options);
}

}  // namespace ptpkg::archive
