// Reads arbitrary bytes as RECORD, and as the other texts of a .dist-info: METADATA, WHEEL, entry_points.txt.

#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "support/limits.h"
#include "wheel/core_metadata.h"
#include "wheel/entry_points.h"
#include "wheel/record.h"
#include "wheel/wheel_file.h"

namespace ptpkg::fuzz {

std::vector<std::string> Seeds() {
  const std::string digest = "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";
  return {
      "toy/__init__.py," + digest + ",0\r\n\"a,\"\"b\"\"\n\"," + digest + ",12\ntoy-1.dist-info/RECORD,,\n",
      "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\nSummary: a\n        b\nRequires-Dist: x>=1\n\nText.\n",
      "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py2.py3-none-any\nBuild: 1\n",
      "[console_scripts]\ntoy = toy.main:run [extra]\n# comment\n[x.y]\na=b\n"};
}

namespace {

void CheckRecord(std::string_view text) {
  const auto rows = wheel::ParseRecord(text, "RECORD");
  if (!rows) return RequireFair(rows.error());
  const auto again = wheel::ParseRecord(wheel::FormatRecord(*rows), "RECORD");
  Require(again && *again == *rows, "RECORD written again differs");
}

void CheckMetadata(std::string_view text) {
  const auto metadata = wheel::ParseCoreMetadata(text, "METADATA");
  if (!metadata) return RequireFair(metadata.error());
  const auto again = wheel::ParseCoreMetadata(wheel::FormatCoreMetadata(*metadata), "METADATA");
  Require(again && again->fields == metadata->fields && again->description == metadata->description,
          "METADATA written again differs");
}

void CheckWheelFile(std::string_view text) {
  const auto file = wheel::ParseWheelFile(text, "WHEEL");
  if (!file) return RequireFair(file.error());
  std::size_t plain = 0;
  for (const wheel::Tag& tag : file->tags) plain += wheel::ExpandTag(tag).size();
  Require(plain <= limits::kTags, "more tags than the limit");
}

void CheckEntryPoints(std::string_view text) {
  const auto points = wheel::ParseEntryPoints(text, "entry_points.txt");
  if (!points) return RequireFair(points.error());
  const auto again = wheel::ParseEntryPoints(wheel::FormatEntryPoints(*points), "entry_points.txt");
  Require(again && again->size() == points->size(), "entry points written again differ");
}

}  // namespace
}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptpkg;  // NOLINT(google-build-using-namespace): one function is all there is
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz::CheckRecord(text);
  fuzz::CheckMetadata(text);
  fuzz::CheckWheelFile(text);
  fuzz::CheckEntryPoints(text);
  return 0;
}
