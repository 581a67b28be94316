#include "pipeline/slice_file.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "elf/slice_verify.h"

namespace ptpkg::pipeline {
namespace {

constexpr std::string_view kOther = "other";

void AddSizes(const elf::DeviceShare& share, CodeSizes& sizes) {
  for (const auto& [architecture, amount] : share.sass) sizes[architecture.SassName()] += amount.size_bytes;
  for (const auto& [architecture, amount] : share.ptx) sizes[architecture.PtxName()] += amount.size_bytes;
  if (share.other_bytes != 0) sizes[std::string(kOther)] += share.other_bytes;
}

/// Where in the slice long parts begin that lie elsewhere in the original: behind the GPU code.
std::vector<std::uint64_t> MovedParts(const elf::SlicePlan& plan) {
  constexpr std::uint64_t kLeastBytes = 4U << 20U;
  std::vector<std::uint64_t> parts;
  std::uint64_t offset = 0;
  std::uint64_t begin = 0;
  std::uint64_t shift = 0;  // how much further in front the part is than in the original
  for (const elf::SlicePiece& piece : plan.pieces) {
    if (piece.kind == elf::SlicePiece::Kind::kCopy && piece.from - offset != shift) {
      if (shift != 0 && offset - begin >= kLeastBytes) parts.push_back(begin);
      begin = offset;
      shift = piece.from - offset;
    }
    offset += piece.size_bytes;
  }
  if (shift != 0 && offset - begin >= kLeastBytes) parts.push_back(begin);
  return parts;
}

}  // namespace

CodeSizes SizesOf(const elf::DeviceCode& code) {
  CodeSizes sizes;
  AddSizes(code.embedded, sizes);
  AddSizes(code.relocatable, sizes);
  return sizes;
}

bool HasCodeFor(const elf::DeviceCode& code, std::uint32_t gpu) {
  return elf::HasCodeFor(code.Judged(), gpu);
}

std::vector<std::uint32_t> GpusOf(const elf::DeviceCode& code) {
  std::set<std::uint32_t> gpus;
  for (const auto& [architecture, amount] : code.Judged().sass) gpus.insert(architecture.number);
  return {gpus.begin(), gpus.end()};
}

Result<std::optional<DeviceFile>> ReadDeviceFile(Env& env, const UnpackedFile& place) {
  PTPKG_CHECK(env.cancel.Check());
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(place.file, OpenMode::kRead));
  PTPKG_TRY(std::optional<elf::DeviceCode> code, elf::ReadDeviceCode(*file),
            fmt::format("while reading '{}'", place.path.str()));
  if (!code) return std::optional<DeviceFile>();
  return std::optional(DeviceFile{.place = place, .code = *std::move(code)});
}

Result<SliceOfFile> SliceDeviceFile(Env& env, const DeviceFile& file, const elf::SliceRequest& request,
                                    const std::optional<SliceTarget>& target) {
  PTPKG_CHECK(env.cancel.Check());
  PTPKG_TRY(const std::unique_ptr<File> original, env.fs.Open(file.place.file, OpenMode::kRead));
  PTPKG_TRY(const elf::SlicePlan plan, elf::PlanSlice(*original, request));
  SliceOfFile slice{
      .told = {.path = file.place.path.str(), .size_bytes = plan.new_size, .not_compact = plan.not_compact}};
  for (const auto& [gpu, containers] : plan.Gaps()) slice.told.gaps[spec::CapabilityOf(gpu)] = containers;
  for (const elf::UntouchedContainer& one : plan.untouched) {
    WholeContainer whole{.member = one.member, .section = one.section, .offset = one.offset};
    AddSizes(one.code, whole.code);
    for (const std::uint32_t gpu : one.gaps) whole.gpus.push_back(spec::CapabilityOf(gpu));
    slice.told.whole.push_back(std::move(whole));
  }
  if (!plan.Changes()) {
    slice.told.size_bytes = file.place.size_bytes;
    slice.told.code = SizesOf(file.code);
    slice.told.kept_because = slice.told.gaps.empty()
                                  ? "all of its code is for these GPUs"
                                  : "what it could lose is in containers without code for these GPUs";
    slice.told.not_compact.clear();
    return slice;
  }
  slice.told.form = elf::SliceFormName(plan.form);
  AddSizes(plan.kept, slice.told.code);
  if (!target) return slice;
  const AbsPath& path = target->path;
  PTPKG_CHECK(env.fs.MakeDirs(path.Parent()));
  PTPKG_TRY(const std::unique_ptr<File> unwritten, elf::MakeSlicedFile(*original, plan));
  PTPKG_CHECK(elf::VerifySlice(*original, *unwritten, request, env.jobs));
  PTPKG_TRY(const std::unique_ptr<File> sliced, env.fs.Open(path, OpenMode::kCreateNew));
  PTPKG_CHECK(elf::WriteSlice(*original, plan, *sliced, env.jobs));
  PTPKG_CHECK(sliced->Close());
  PTPKG_CHECK(env.fs.SetMode(path, file.place.mode));
  slice.file = SlicedFile{.path = file.place.path,
                          .file = path,
                          .mode = file.place.mode,
                          .sha256 = {},
                          .size_bytes = plan.new_size,
                          .cuts = MovedParts(plan)};
  if (target->hash) {
    PTPKG_TRY(const Digests digests, HashFile(env.fs, path));
    slice.file->sha256 = digests.sha256;
  }
  return slice;
}

}  // namespace ptpkg::pipeline
