// The named levels of compression and the libdeflate level of each. The table is indexed by the enumerator,
// so both must keep the same order. Levels above 6 give up the shortcuts for incompressible pieces
// (archive/deflate/deflate_runs.cpp).

#include "archive/codec/compression.h"

#include <array>
#include <fmt/core.h>
#include <libdeflate.h>

#include "support/text/text.h"

namespace ptpkg::archive {
namespace {

struct CompressionRow {
  Compression compression;
  std::string_view name;
  int level;  // of libdeflate
};
constexpr std::array<CompressionRow, 4> kCompressions = {{{Compression::kStore, "store", 0},
                                                          {Compression::kFast, "fast", 1},
                                                          {Compression::kDefault, "default", 6},
                                                          {Compression::kMax, "max", 12}}};

const CompressionRow& RowOf(Compression compression) {
  return kCompressions.at(static_cast<std::size_t>(compression));
}

}  // namespace

std::string_view CompressionName(Compression compression) { return RowOf(compression).name; }

std::vector<std::string> CompressionNames() {
  std::vector<std::string> names;
  for (const CompressionRow& row : kCompressions) names.emplace_back(row.name);
  return names;
}

Result<Compression> ParseCompression(std::string_view name) {
  for (const CompressionRow& row : kCompressions) {
    if (row.name == name) return row.compression;
  }
  return Error(ErrorCode::kUsage, fmt::format("unknown compression '{}'", name))
      .WithHint(fmt::format("use one of: {}", Join(CompressionNames(), ", ")));
}

int DeflateLevel(Compression compression) { return RowOf(compression).level; }

std::string Deflater() { return "libdeflate " LIBDEFLATE_VERSION_STRING; }

}  // namespace ptpkg::archive
