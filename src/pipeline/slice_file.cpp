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

/// The long stretches that the slice has of its original: host code, which all slices have.
std::vector<archive::SharedRange> SharedParts(const elf::SlicePlan& plan) {
  constexpr std::uint64_t kLeastBytes = 4U << 20U;
  std::vector<archive::SharedRange> parts;
  std::uint64_t offset = 0;
  for (const elf::SlicePiece& piece : plan.pieces) {
    if (piece.kind == elf::SlicePiece::Kind::kCopy && piece.size_bytes >= kLeastBytes)
      parts.push_back({.offset = offset, .size_bytes = piece.size_bytes, .from = piece.from});
    offset += piece.size_bytes;
  }
  return parts;
}

/// What is said of the file in the slice.
FileInSlice TellPlan(const DeviceFile& file, const elf::SlicePlan& plan) {
  FileInSlice told{.path = file.place.path.str()};
  for (const auto& [gpu, containers] : plan.Gaps()) told.gaps[spec::CapabilityOf(gpu)] = containers;
  for (const elf::UntouchedContainer& one : plan.untouched) {
    WholeContainer whole{.member = one.member, .section = one.section, .offset = one.offset};
    AddSizes(one.code, whole.code);
    for (const std::uint32_t gpu : one.gaps) whole.gpus.push_back(spec::CapabilityOf(gpu));
    told.whole.push_back(std::move(whole));
  }
  if (!plan.Changes()) {
    told.size_bytes = file.place.size_bytes;
    told.code = SizesOf(file.code);
    told.kept_because = told.gaps.empty() ? "all of its code is for these GPUs"
                                          : "what it could lose is in containers without code for these GPUs";
    return told;
  }
  told.size_bytes = plan.new_size;
  AddSizes(plan.kept, told.code);
  told.form = elf::SliceFormName(plan.form);
  told.not_compact = plan.not_compact;
  return told;
}

struct PlannedSlice {
  std::unique_ptr<File> original;
  elf::SlicePlan plan;
};

Result<void> WriteFileSlice(Env& env, const PlannedSlice& planned, const SliceTarget& target,
                            std::uint32_t mode) {
  PTPKG_CHECK(env.fs.MakeDirs(target.path.Parent()));
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(target.path, OpenMode::kCreateNew));
  PTPKG_CHECK(elf::WriteSlice(*planned.original, planned.plan, *file, env.jobs));
  PTPKG_CHECK(file->Close());
  return env.fs.SetMode(target.path, mode);
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
  const auto planned = std::make_shared<PlannedSlice>();  // shared with whoever reads the slice later
  PTPKG_TRY(planned->original, env.fs.Open(file.place.file, OpenMode::kRead));
  PTPKG_TRY(planned->plan, elf::PlanSlice(*planned->original, request));
  const elf::SlicePlan& plan = planned->plan;
  SliceOfFile slice{.told = TellPlan(file, plan)};
  if (!plan.Changes() || !target) return slice;
  PTPKG_TRY(const std::unique_ptr<File> sliced, elf::MakeSlicedFile(*planned->original, plan));
  PTPKG_CHECK(elf::VerifySlice(*planned->original, *sliced, request, env.jobs));
  slice.file = SlicedFile{.path = file.place.path,
                          .file = target->path,
                          .mode = file.place.mode,
                          .sha256 = {},
                          .size_bytes = plan.new_size,
                          .shared = SharedParts(plan)};
  if (target->is_written) {
    PTPKG_CHECK(WriteFileSlice(env, *planned, *target, file.place.mode));
    return slice;
  }
  slice.make = [planned] { return elf::MakeSlicedFile(*planned->original, planned->plan); };
  HashingSink hasher(nullptr);
  FileSource content(*sliced);
  PTPKG_TRY([[maybe_unused]] const std::uint64_t bytes, Pump(content, hasher));
  slice.file->sha256 = hasher.Finish().sha256;
  return slice;
}

}  // namespace ptpkg::pipeline
