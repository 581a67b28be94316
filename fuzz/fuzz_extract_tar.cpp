// Unpacks arbitrary bytes as a tar in any of its compressions.

#include "archive/codec/codec.h"
#include "archive/extract.h"
#include "fuzz/extract_check.h"
#include "fuzz/fuzz.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::fuzz {
namespace {

using namespace archive::test;  // NOLINT(google-build-using-namespace): one function is all there is: the
                                // builders of hostile archives

std::string Packed(const std::string& tar, bool bzip2) {
  StringSink out;
  std::unique_ptr<archive::CodecSink> sink = archive::MakeBzip2Sink(out, {.level = 1, .jobs = 1});
  if (!bzip2) sink = *archive::MakeZstdSink(out, {.level = 1, .jobs = 1, .content_size = tar.size()});
  if (!sink->Write(AsBytes(tar)) || !sink->Finish()) std::abort();
  return out.str();
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string plain = TarFolder("d/") + TarFile("d/a", "text", 0755) + TarLink("l", "d/a") +
                            TarHardLink("d/h", "d/a") + TarEnd();
  const std::string pax = TarPax("path", "d/" + std::string(150, 'p')) + TarFile("short", "text") +
                          TarPax("linkpath", "../d") + TarLink("d/up", "x") + TarLink("d/up2", "../d/up/..") +
                          TarEnd();
  const std::string hostile = TarLink("d", "..") + TarFile("d/x", "") + TarFile("../x", "") + TarEnd();
  return {plain, pax, hostile, Packed(plain, true), Packed(pax, false)};
}

}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptpkg;  // NOLINT(google-build-using-namespace): one function is all there is
  test::MemFs fs;
  fs.AddDir("/out");
  fuzz::CheckExtraction(fs, [&](Env& env) {
    StringSource source(std::string_view(reinterpret_cast<const char*>(data), size));
    const archive::ExtractOptions options{.limits = {.max_bytes = 16U << 20U, .max_entries = 1000},
                                          .strip_components = size % 5 == 1 ? 1 : 0,
                                          .strip_single_root = size % 3 == 0};
    return archive::ExtractTar(env, source, "x.tar", AbsPath::Literal("/out"), options, size);
  });
  return 0;
}
