#include "elf/model.h"

#include <algorithm>
#include <fmt/format.h>

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kChunkBytes = 1U << 20U;

Error Differs(std::string what) {
  return Error(ErrorCode::kInternal, fmt::format("deep verification: {}", what))
      .WithHint("the old content was restored; please report the file");
}

Result<void> CompareSymbols(const Model& before, const Model& after, bool versions) {
  if (before.symbols.size() != after.symbols.size()) {
    return Differs(fmt::format("{} dynamic symbols became {}", before.symbols.size(), after.symbols.size()));
  }
  for (std::size_t i = 0; i < before.symbols.size(); ++i) {
    ModelSymbol now = after.symbols[i];
    if (!versions) now.version = before.symbols[i].version;
    if (now != before.symbols[i])
      return Differs(fmt::format("the symbol '{}' changed", before.symbols[i].name));
  }
  return Ok();
}

}  // namespace

Result<Sha256> HashCode(File& file, const Image& image) {
  HashingSink sink(nullptr);
  for (const Segment& segment : image.segments) {
    if (segment.type != kSegmentLoad || (segment.flags & kFlagExecute) == 0) continue;
    for (std::uint64_t done = 0; done < segment.file_size; done += kChunkBytes) {
      const std::uint64_t size = std::min(kChunkBytes, segment.file_size - done);
      PTPKG_TRY(const auto bytes, ReadExact(file, segment.offset + done, size, "the code"));
      PTPKG_CHECK(sink.Write(bytes));
    }
  }
  return sink.Finish().sha256;
}

Result<void> CompareModels(const Model& before, const Model& after, const LinkFacts& expected) {
  LinkFacts facts = after.facts;
  facts.stack = expected.stack;  // not read through LIEF
  facts.flags_1 = expected.flags_1;
  facts.has_debug_entry = expected.has_debug_entry;
  if (facts != expected) return Differs("names or search path differ from the plan");
  PTPKG_CHECK(
      CompareSymbols(before, after, before.facts.version_files.size() == after.facts.version_files.size()));
  if (before.notes != after.notes) return Differs("a note, such as the build id, changed");
  return Ok();
}

}  // namespace ptpkg::elf
