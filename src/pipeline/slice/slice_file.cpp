// One library with GPU code becomes one sliced file. The plan of a slice (elf/slice) lists pieces of the
// original and new bytes. Packages need no written file: OpenedSlice reads the slice through the plan, and
// has its original open only while it is read itself, because a package may have hundreds of libraries.
//
// Each slice passes VerifySlice before it is used. Long unchanged stretches are host code, equal in all
// slices, and are passed on as shared ranges (archive::SharedRange).

#include "pipeline/slice/slice_file.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "elf/slice/slice_verify.h"
#include "support/files/read_only_file.h"

namespace ptpkg::pipeline {
namespace {

constexpr std::string_view kOther = "other";

void AddSizes(const elf::DeviceCodeStats& share, CodeSizes& sizes) {
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

/// Description of the file in the slice.
FileInSlice DescribeSlicedFile(const DeviceFile& file, const elf::SlicePlan& plan) {
  FileInSlice told{.path = file.place.path.str()};
  for (const auto& [gpu, containers] : plan.Gaps()) told.gaps[versions::CapabilityOf(gpu)] = containers;
  for (const elf::UntouchedContainer& one : plan.untouched) {
    WholeContainer whole{.member = one.member, .section = one.section, .offset = one.offset};
    AddSizes(one.code, whole.code);
    for (const std::uint32_t gpu : one.gaps) whole.gpus.push_back(versions::CapabilityOf(gpu));
    told.whole.push_back(std::move(whole));
  }
  if (!plan.Changes()) {
    told.size_bytes = file.place.size_bytes;
    told.code = SizesOf(file.code);
    told.kept_because = told.gaps.empty() ? "all of its code is for these GPUs"
                                          : "its other code is in fatbins without code for these GPUs";
    return told;
  }
  told.size_bytes = plan.new_size;
  AddSizes(plan.kept, told.code);
  told.form = elf::SliceFormName(plan.form);
  told.not_compact = plan.not_compact;
  return told;
}

/// A slice that has its original open only while it is read itself: a package may have hundreds of libraries.
class OpenedSlice final : public ReadOnlyFile {
 public:
  // Shared by all that read the slice.
  using Plan = std::shared_ptr<const elf::SlicePlan>;

  /// `sliced` borrows the others.
  OpenedSlice(const FileStat& stat, Plan plan, std::unique_ptr<File> original, std::unique_ptr<File> sliced)
      : ReadOnlyFile(stat),
        plan_(std::move(plan)),
        original_(std::move(original)),
        sliced_(std::move(sliced)) {}

  /// Errors: as Fs::Open and elf::MakeSlicedFile.
  static Result<std::unique_ptr<File>> Open(Fs& fs, const AbsPath& path, Plan plan) {
    PTPKG_TRY(std::unique_ptr<File> original, fs.Open(path, OpenMode::kRead));
    PTPKG_TRY(std::unique_ptr<File> sliced, elf::MakeSlicedFile(*original, *plan));
    PTPKG_TRY(const FileStat stat, sliced->Stat());
    return std::unique_ptr<File>(
        std::make_unique<OpenedSlice>(stat, std::move(plan), std::move(original), std::move(sliced)));
  }

  Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes buffer) override {
    return sliced_->ReadAt(offset, buffer);
  }
  Result<std::uint64_t> NextData(std::uint64_t offset) override { return sliced_->NextData(offset); }

 private:
  Plan plan_;
  std::unique_ptr<File> original_;
  std::unique_ptr<File> sliced_;
};

Result<void> WriteFileSlice(Env& env, File& original, const elf::SlicePlan& plan, const SliceTarget& target,
                            std::uint32_t mode) {
  PTPKG_CHECK(env.fs.MakeDirs(target.path.Parent()));
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(target.path, OpenMode::kCreateNew));
  PTPKG_CHECK(elf::WriteSlice(original, plan, *file, env.jobs));
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
  return elf::HasCodeFor(code.EffectiveCode(), gpu);
}

std::vector<std::uint32_t> GpusOf(const elf::DeviceCode& code) {
  std::set<std::uint32_t> gpus;
  for (const auto& [architecture, amount] : code.EffectiveCode().sass) gpus.insert(architecture.number);
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
  PTPKG_TRY(elf::SlicePlan planned, elf::PlanSlice(*original, request));
  // Shared with whoever reads the slice later.
  const auto plan = std::make_shared<const elf::SlicePlan>(std::move(planned));
  SliceOfFile slice{.told = DescribeSlicedFile(file, *plan)};
  if (!plan->Changes() || !target) return slice;
  PTPKG_TRY(const std::unique_ptr<File> sliced, elf::MakeSlicedFile(*original, *plan));
  PTPKG_CHECK(elf::VerifySlice(*original, *sliced, request, env.jobs));
  slice.file = SlicedEntry{.path = file.place.path,
                           .file = target->path,
                           .mode = file.place.mode,
                           .sha256 = {},
                           .size_bytes = plan->new_size,
                           .shared = SharedParts(*plan)};
  if (target->is_written) {
    PTPKG_CHECK(WriteFileSlice(env, *original, *plan, *target, file.place.mode));
    return slice;
  }
  slice.make = [&fs = env.fs, place = file.place.file, plan] { return OpenedSlice::Open(fs, place, plan); };
  HashingSink hasher(nullptr);
  FileSource content(*sliced);
  PTPKG_TRY([[maybe_unused]] const std::uint64_t bytes, Pump(content, hasher));
  slice.file->sha256 = hasher.Finish().sha256;
  return slice;
}

}  // namespace ptpkg::pipeline
