#include "archive/deflate_scan.h"

#include "archive/deflate_walk.h"

namespace ptpkg::archive {

Result<DeflateLayout> ScanDeflate(std::string_view stream) {
  deflate::BitReader reader(stream);
  deflate::NoSink sink;
  deflate::Walker<deflate::NoSink> walker(reader, sink);
  while (true) {
    PTPKG_TRY(const deflate::Block block, walker.NextBlock());
    if (block.is_last) return DeflateLayout{.last_block_bit = block.begin_bit, .end_bit = block.end_bit};
  }
}

}  // namespace ptpkg::archive
