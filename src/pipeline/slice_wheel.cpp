// Slices of a wheel: everything but the libraries and .dist-info is copied as it is stored. Layer: pipeline.

#include <algorithm>
#include <fmt/core.h>

#include "archive/extract.h"
#include "pipeline/edited_wheel.h"
#include "pipeline/slice_source.h"
#include "pipeline/vendor_code.h"
#include "support/text.h"
#include "wheel/retag.h"

namespace ptpkg::pipeline {
namespace {

constexpr std::string_view kElfMagic = "\177ELF";
constexpr std::string_view kArchiveMagic = "!<ar";
constexpr std::uint64_t kMaxLicenceBytes = 16U << 20U;

bool MayHoldCode(std::string_view /*name*/, Bytes head) {
  return AsText(head) == kElfMagic || AsText(head) == kArchiveMagic;
}

class WheelSource final : public SliceSource {
 public:
  WheelSource(Env& env, const AbsPath& wheel) : env_(env), wheel_(wheel) {}

  Result<std::vector<UnpackedFile>> Unpack(const AbsPath& folder) override {
    archive::ExtractOptions options;
    options.wanted = MayHoldCode;
    PTPKG_CHECK(archive::ExtractZip(env_, wheel_, folder, options));
    PTPKG_TRY(const StagedTree tree, ScanTree(env_, folder, {.hash = false}));
    std::vector<UnpackedFile> files;
    for (const TreeEntry& entry : tree.entries) {
      files.push_back({.path = entry.path,
                       .file = folder / entry.path,
                       .mode = entry.mode,
                       .size_bytes = entry.size_bytes});
    }
    return files;
  }

  Result<std::string> VendorLicence() override {
    PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env_.fs, wheel_));
    for (const archive::ZipReader::Member& member : zip.members()) {
      const std::string top = member.name.substr(0, member.name.find('/'));
      if (!top.ends_with(".dist-info") || !IsLicenceName(member.name)) continue;
      if (member.name.ends_with('/') || member.size_bytes > kMaxLicenceBytes) continue;
      PTPKG_TRY(const std::string text, zip.ReadText(member.name, kMaxLicenceBytes));
      if (IsVendorLicence(text)) return member.name;
    }
    return std::string();
  }

  Result<RelPath> NameOf(const spec::GpuSlice& slice) override {
    PTPKG_TRY(const wheel::RetagRequest request, RequestFor(slice));
    PTPKG_TRY(const wheel::Retagging plan, wheel::PlanRetag(env_, wheel_, request));
    return RelPath::Parse(plan.name.str());
  }

  Result<void> Write(const spec::GpuSlice& slice, const std::vector<SlicedFile>& files, const AbsPath& target,
                     OnExisting on_existing) override {
    PTPKG_TRY(const wheel::RetagRequest request, RequestFor(slice));
    wheel::NewContent content;
    for (const SlicedFile& file : files) {
      content.files.push_back({.path = file.path,
                               .file = file.file,
                               .mode = file.mode,
                               .sha256 = file.sha256,
                               .size_bytes = file.size_bytes});
    }
    PTPKG_TRY(const wheel::Retagging plan, wheel::PlanRetag(env_, wheel_, request, content));
    return WriteEditedWheel(env_, {.from = wheel_, .to = target, .edits = plan.edits}, on_existing,
                            std::nullopt);
  }

 private:
  /// "cu130.sm90" of "cu130", of "cu130.sm80.sm90" too.
  Result<wheel::RetagRequest> RequestFor(const spec::GpuSlice& slice) const {
    PTPKG_TRY(const wheel::FileName name, wheel::FileName::Parse(wheel_.Name()));
    PTPKG_TRY(const wheel::Version version, wheel::ParseVersion(name.version));
    const std::string before = spec::WithoutLabel(Join(version.local, "."), '.');
    return wheel::RetagRequest{.local = before.empty() ? slice.Label() : before + "." + slice.Label()};
  }

  Env& env_;
  AbsPath wheel_;
};

}  // namespace

std::unique_ptr<SliceSource> MakeWheelSource(Env& env, const AbsPath& wheel) {
  return std::make_unique<WheelSource>(env, wheel);
}

}  // namespace ptpkg::pipeline
