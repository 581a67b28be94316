// Unpacks arbitrary bytes as a zip, and reads them as the strict check does.

#include "archive/deflate/deflate_chunk.h"
#include "archive/extract.h"
#include "archive/zip/zip_strict.h"
#include "fuzz/extract_check.h"
#include "fuzz/fuzz.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::fuzz {

using namespace archive::test;  // NOLINT(google-build-using-namespace): one function is all there is: the
                                // builders of hostile archives

std::vector<std::string> Seeds() {
  archive::DeflatePool pool(6);
  const std::string text = WordyText(3000);
  const std::string packed = *pool.Deflate(AsBytes(text), archive::ChunkPlace::kLast);
  const std::string sizes = archive::zip::Fields().U16(1).U16(16).U64(4).U64(4).str();
  return {ToText(ZipText{.members = {{.name = "d/a", .content = "text", .unix_mode = 0100755},
                                     {.name = "d/"},
                                     {.name = "l", .content = "d/a", .unix_mode = 0120777}}}),
          ToText(ZipText{.members = {{.name = "deflated",
                                      .content = packed,
                                      .method = 8,
                                      .crc = CrcOf(text),
                                      .size = static_cast<std::uint32_t>(text.size())}}}),
          ToText(ZipText{.members = {{.name = "a",
                                      .content = "text",
                                      .local_size = 0xFFFFFFFF,
                                      .local_stored = 0xFFFFFFFF,
                                      .local_extra = sizes}},
                         .comment = "comment"})};
}

}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptpkg;  // NOLINT(google-build-using-namespace): one function is all there is
  test::MemFs fs;
  fs.AddDir("/out");
  fs.AddFile("/x.zip", std::string_view(reinterpret_cast<const char*>(data), size));
  fuzz::CheckExtraction(fs, [](Env& env) {
    return archive::ExtractZip(env, AbsPath::Literal("/x.zip"), AbsPath::Literal("/out"),
                               {.limits = {.max_bytes = 16U << 20U, .max_entries = 1000}});
  });
  const auto file = fs.Open(AbsPath::Literal("/x.zip"), OpenMode::kRead);
  if (!file || !archive::StrictZipProblems(**file)) std::abort();
  return 0;
}
