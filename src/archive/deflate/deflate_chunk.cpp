// Deflates one chunk so that chunks join into one raw deflate stream
// (docs/decisions/0003-own-zip-writer.md).
//
// libdeflate writes complete streams only. To continue a stream after one of them, its last block must lose
// the flag BFINAL, and the next chunk must begin at a byte boundary. An empty stored block brings the
// stream there, since the length field of a stored block is byte-aligned. The positions of the last block
// and of the end come from ScanDeflate, because libdeflate does not report them.
//
// Compressors are lent out: one per thread that deflates at the same time, and reused later.

#include "archive/deflate/deflate_chunk.h"

#include <libdeflate.h>

#include "archive/deflate/deflate_scan.h"

namespace ptpkg::archive {

class DeflatePool::Lease {
 public:
  explicit Lease(DeflatePool& pool) : pool_(pool) {
    {
      const std::lock_guard lock(pool_.mutex_);
      if (!pool_.idle_.empty()) {
        compressor_ = static_cast<libdeflate_compressor*>(pool_.idle_.back());
        pool_.idle_.pop_back();
      }
    }
    if (compressor_ == nullptr) compressor_ = libdeflate_alloc_compressor(pool_.level_);
  }
  ~Lease() {
    if (compressor_ == nullptr) return;
    const std::lock_guard lock(pool_.mutex_);
    pool_.idle_.push_back(compressor_);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  [[nodiscard]] libdeflate_compressor* get() const { return compressor_; }

 private:
  DeflatePool& pool_;
  libdeflate_compressor* compressor_ = nullptr;
};

DeflatePool::~DeflatePool() {
  for (void* compressor : idle_) libdeflate_free_compressor(static_cast<libdeflate_compressor*>(compressor));
}

Result<std::string> DeflatePool::Deflate(Bytes raw, ChunkPlace place) {
  const Lease compressor(*this);
  if (compressor.get() == nullptr) return Error(ErrorCode::kInternal, "libdeflate could not be started");
  std::string out(libdeflate_deflate_compress_bound(compressor.get(), raw.size()), '\0');
  const std::size_t written =
      libdeflate_deflate_compress(compressor.get(), raw.data(), raw.size(), out.data(), out.size());
  if (written == 0) return Error(ErrorCode::kInternal, "libdeflate exceeded its own bound");
  out.resize(written);
  if (place == ChunkPlace::kLast) return out;

  // Another chunk follows, so this one must neither be the last nor end inside a byte.
  PTPKG_TRY(const DeflateLayout layout, ScanDeflate(out));
  const auto flag_byte = (layout.last_block_bit / 8);
  const auto flag = static_cast<unsigned char>(1U << (layout.last_block_bit % 8));
  out[flag_byte] = static_cast<char>(static_cast<unsigned char>(out[flag_byte]) & ~flag);
  // An empty stored block (RFC 1951, 3.2.4), as zlib's Z_SYNC_FLUSH writes it, leads to a byte boundary:
  // three zero bits, padding, then the length 0 and its complement. Unused bits of the last byte are zero.
  out.resize(((layout.end_bit + 3 + 7) / 8));
  out.append("\x00\x00\xFF\xFF", 4);
  return out;
}

std::uint32_t Crc32(std::uint32_t crc, Bytes bytes) {
  return libdeflate_crc32(crc, bytes.data(), bytes.size());
}

}  // namespace ptpkg::archive
