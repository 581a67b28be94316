// Slices arbitrary bytes as a library or a static archive with GPU code, in both forms. What PlanSlice
// accepts is a slice that the comparison with the original passes.

#include "elf/slice/slice_verify.h"
#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "support/files/read_only_file.h"
#include "unit/elf/fixtures/device_libraries.h"
#include "unit/elf/fixtures/device_objects.h"

namespace ptpkg::fuzz {
namespace {

void RequireExpected(const Error& error) {
  RequireFair(error);
  const ErrorCode why = error.code();
  Require(why == ErrorCode::kInvalidInput || why == ErrorCode::kCorrupt || why == ErrorCode::kUnsupported ||
              why == ErrorCode::kRefused,
          "a damaged file is reported as something else");
}

void SliceFor(std::string_view input, const elf::SliceRequest& request) {
  MemoryFile file(AsBytes(input));
  const auto plan = elf::PlanSlice(file, request);
  if (!plan) {
    RequireExpected(plan.error());
    return;
  }
  const auto sliced = elf::MakeSlicedFile(file, *plan);
  Require(sliced.has_value(), "a planned slice cannot be read");
  Require(plan->new_size <= input.size(), "a slice is larger than its original");
  const auto verified = elf::VerifySlice(file, **sliced, request);
  Require(verified.has_value(), verified ? "" : "a slice differs: " + verified.error().message());
  // Once more as bytes: what the file above takes from its original is not compared there.
  std::string bytes(plan->new_size, '\0');
  const auto read = (*sliced)->ReadAt(0, std::as_writable_bytes(std::span(bytes)));
  Require(read.has_value() && *read == bytes.size(), "a slice has not the size that was planned");
  MemoryFile written(AsBytes(bytes));
  const auto same = elf::VerifySlice(file, written, request);
  Require(same.has_value(), same ? "" : "a written slice differs: " + same.error().message());
}

}  // namespace

std::vector<std::string> Seeds() {
  using elf::test::Container;
  using elf::test::WrappedLibrary;
  const std::string small =
      Container({{.number = 80}, {.number = 90, .flags = elf::test::kFlagA}, {.kind = 1}});
  const std::string large = Container({{.number = 80, .payload = std::string(4200, 'p')}, {.number = 90}});
  std::vector<std::string> seeds;
  for (const bool packed : {false, true}) {
    for (const bool spare : {false, true}) {
      WrappedLibrary library{.containers = {large, small, Container({{.number = 75}, {.kind = 8}}), small},
                             .relocatable = {small, large},
                             .packed_relocations = packed,
                             .spare_segment = spare};
      seeds.push_back(library.Build());
    }
  }
  const std::string object = elf::test::DeviceLibrary(small, small, elf::kTypeRel);
  seeds.push_back(object);
  seeds.push_back(elf::test::StaticArchive({{"a.o", object}, {"a_name_of_many_letters.o", object}}));
  std::vector<std::string> objects;
  for (const bool named : {false, true}) {
    elf::test::DeviceObject built{.containers = {large, small}, .relocatable = small, .named = named};
    objects.push_back(built.Build());
  }
  seeds.push_back(elf::test::ArchiveWithSymbols({{"a.o", objects[0]}, {"b.o", objects[1]}},
                                                {{"one", 0}, {"two", 1}, {"three", 0}}));
  seeds.insert(seeds.end(), objects.begin(), objects.end());
  return seeds;
}

}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptpkg;  // NOLINT(google-build-using-namespace): one function is all there is
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  fuzz::SliceFor(input, {.gpus = {90}, .form = elf::SliceForm::kCompact});
  fuzz::SliceFor(input, {.gpus = {80, 90}, .form = elf::SliceForm::kInPlace, .keep_ptx = true});
  return 0;
}
