// Slices of a wheel: everything but the libraries and .dist-info is copied as it is stored. Layer: pipeline.

#include <algorithm>
#include <fmt/core.h>
#include <mutex>
#include <set>

#include "archive/deflate/deflate_cache.h"
#include "archive/extract.h"
#include "elf/device/device_code.h"
#include "model/package_note.h"
#include "pipeline/edit_wheel/vendor_code.h"
#include "pipeline/slice/slice_source.h"
#include "pipeline/slice/slice_variant.h"
#include "support/files/copy_range.h"
#include "support/text/text.h"
#include "verify/check_artifact.h"
#include "wheel/retag_wheel.h"

namespace ptpkg::pipeline {
namespace {

constexpr std::string_view kElfMagic = "\177ELF";
constexpr std::string_view kArchiveMagic = "!<ar";
constexpr std::uint64_t kMaxLicenceBytes = 16U << 20U;

/// By its first bytes, and those of its headers; what is damaged may.
Result<bool> MayHoldCode(File& file) {
  std::string head(kElfMagic.size(), '\0');
  PTPKG_TRY(const std::size_t got, file.ReadAt(0, std::as_writable_bytes(std::span(head))));
  if (got != head.size() || (head != kElfMagic && head != kArchiveMagic)) return false;
  const Result<std::optional<elf::DeviceCode>> code = elf::ReadDeviceCode(file);
  return !code || code->has_value();
}

Result<void> CopyTo(Env& env, File& content, const AbsPath& path) {
  PTPKG_TRY(const FileStat stat, content.Stat());
  PTPKG_CHECK(env.fs.MakeDirs(path.Parent()));
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(path, OpenMode::kCreateNew));
  PTPKG_CHECK(CopyRange(content, *file, {.size_bytes = stat.size_bytes},
                        [&](std::uint64_t) { return env.cancel.Check(); }));
  return file->Close();
}

/// Refuses an unreadable wheel, and one that differs from RECORD: a slice would vouch for it.
Result<void> RequireSound(const Report& report) {
  for (const Finding& finding : report.findings) {
    if (finding.id == "artifact-unreadable")
      return Error(ErrorCode::kCorrupt, finding.message).WithHint(finding.fix);
    if (finding.id == "wheel-record-digest") {
      return Error(ErrorCode::kCorrupt, fmt::format("'{}': {}", finding.file, finding.message))
          .WithHint(
              "the wheel is damaged or was edited: fetch it again, or fix RECORD with 'ptpkg check --fix'");
    }
  }
  return Ok();
}

/// The wheel to slice.
struct SlicedWheel {
  AbsPath path;
  wheel::FileName name;
  std::vector<std::string> local;  ///< The local version.
};

/// What was found when the wheel was read.
struct WheelBaseline {
  std::shared_ptr<const verify::ZipScan> seen = {};  ///< Shared with the checks of slices; set if they run.
  std::vector<Finding> findings = {};
};

/// `cuda`: SliceRun::cuda, "": by the local version. The level is not known yet.
Result<VariantFacts> VariantFactsOf(const std::vector<std::string>& local, const std::string& cuda) {
  VariantFacts facts;
  facts.cuda = CudaOfLocal(local);
  if (!cuda.empty()) {
    PTPKG_TRY(facts.cuda, ParseCuda(cuda));
    facts.labels_cuda = facts.cuda != CudaOfLocal(local);
  }
  return facts;
}

class WheelSource final : public SliceSource {
 public:
  WheelSource(Env& env, SlicedWheel wheel, VariantFacts facts, const SliceSourceOptions& options)
      : env_(env), wheel_(std::move(wheel)), facts_(std::move(facts)), options_(options) {}

  /// Every member is read once: for its GPU code, and to know what is wrong with the wheel already.
  Result<std::vector<UnpackedFile>> Unpack(const AbsPath& folder) override {
    std::mutex mutex;
    std::set<std::string> unpacked;
    verify::CheckOptions options{.keep_seen = options_.check};
    options.on_file = [&](const RelPath& path, File& content) -> Result<void> {
      PTPKG_TRY(const bool wanted, MayHoldCode(content));
      if (!wanted) return Ok();
      PTPKG_CHECK(CopyTo(env_, content, folder / path));
      const std::lock_guard lock(mutex);
      unpacked.insert(path.str());
      return Ok();
    };
    PTPKG_TRY(const verify::Examination examined, verify::ExamineArtifact(env_, wheel_.path, options));
    PTPKG_CHECK(RequireSound(examined.report));
    if (options_.variant) facts_.level = HighestLevel(examined.files);
    baseline_ = {.seen = examined.seen, .findings = examined.report.findings};
    std::vector<UnpackedFile> files;
    for (const TreeEntry& entry : examined.entries) {
      if (!unpacked.contains(entry.path.str())) continue;
      files.push_back({.path = entry.path,
                       .file = folder / entry.path,
                       .mode = entry.mode,
                       .size_bytes = entry.size_bytes,
                       .sha256 = entry.sha256});
    }
    return files;
  }

  Result<std::string> VendorLicence() override {
    PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env_.fs, wheel_.path));
    std::vector<std::pair<std::string, std::string>> licences;
    for (const archive::ZipReader::Member& member : zip.members()) {
      const std::size_t slash = std::min(member.name.find('/'), member.name.size() - 1);
      if (!std::string_view(member.name).substr(0, slash).ends_with(".dist-info")) continue;
      if (!IsOwnLicence(std::string_view(member.name).substr(slash + 1))) continue;
      if (member.size_bytes > kMaxLicenceBytes) continue;
      PTPKG_TRY(std::string text, zip.ReadText(member.name, kMaxLicenceBytes));
      licences.emplace_back(member.name, std::move(text));
    }
    return VendorLicenceOf(licences);
  }

  Result<RelPath> NameOf(const versions::GpuSlice& slice) override {
    PTPKG_TRY(const wheel::Retagging plan, wheel::PlanRetag(env_, wheel_.path, RequestFor(slice)));
    return RelPath::Parse(plan.name.str());
  }

  Result<void> Expect(std::size_t slices, const AbsPath& scratch) override {
    // Slices of one wheel share most of their new content: the cache compresses it once for all of them.
    if (slices < 2) return Ok();
    PTPKG_TRY(cache_, archive::DeflateCache::Create(env_, scratch));
    return Ok();
  }

  Result<StagedSlice> Stage(Env& env, const versions::GpuSlice& slice, const std::vector<SlicedEntry>& files,
                            const AbsPath& folder) override {
    wheel::NewContent content;
    if (options_.variant) content.documents = Documents(VariantOf(slice, facts_));
    PTPKG_TRY(const std::optional<std::string> note, ReadNote());
    if (note) content.documents[std::string(kPackageNoteName)] = *note;
    for (const SlicedEntry& file : files) {
      content.files.push_back({.path = file.path,
                               .file = file.file,
                               .mode = file.mode,
                               .sha256 = file.sha256,
                               .size_bytes = file.size_bytes,
                               .shared = file.shared});
    }
    PTPKG_TRY(wheel::Retagging plan, wheel::PlanRetag(env_, wheel_.path, RequestFor(slice), content));
    plan.edits.deflate.cache = cache_.get();
    return StageEdited(env, plan, folder);
  }

  /// Other variants have their fallback elsewhere.
  Result<std::optional<RelPath>> FallbackName() override {
    const bool is_whole = wheel_.name.variant.empty() || wheel_.name.variant == wheel::kNullVariant;
    if (!options_.variant || !is_whole) return std::optional<RelPath>();
    wheel::FileName name = wheel_.name;
    name.variant = wheel::kNullVariant;
    PTPKG_TRY(RelPath path, RelPath::Parse(name.str()));
    return std::optional(std::move(path));
  }

  Result<StagedSlice> StageFallback(const AbsPath& folder) override {
    PTPKG_TRY(const wheel::Retagging plan,
              wheel::PlanRetag(env_, wheel_.path, {.variant = std::string(wheel::kNullVariant)},
                               {.documents = Documents(NullVariantOf(facts_))}));
    return StageEdited(env_, plan, folder);
  }

 private:
  Result<StagedSlice> StageEdited(Env& env, const wheel::Retagging& plan, const AbsPath& folder) const {
    StagedSlice staged{.file = folder / plan.name.str()};
    PTPKG_CHECK(
        archive::WriteEditedZip(env, wheel_.path, staged.file, ExistingFilePolicy::kRefuse, plan.edits));
    if (!options_.check) return staged;
    RegressionCheck judgement = RegressionCheckForSlice(
        BaselineFindings(baseline_.findings, OldAndNewNames(wheel_.path.Name(), plan.name, plan.edits)));
    verify::KnownContent& known = judgement.options.known;
    // Members that are copied as they are were examined in the original wheel, and are not read again.
    known.zip = baseline_.seen;
    for (const archive::Entry& entry : plan.edits.added) {
      if (entry.file) known.files.emplace(entry.name.str(), *entry.file);
    }
    PTPKG_TRY(staged.errors, CheckForRegressions(env, staged.file, judgement));
    return staged;
  }

  /// Result of NoteOfSlice for the wheel's note.
  [[nodiscard]] Result<std::optional<std::string>> ReadNote() const {
    PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env_.fs, wheel_.path));
    // The directory may be spelled in another way than the file name.
    const std::string end = fmt::format(".dist-info/{}", kPackageNoteName);
    for (const archive::ZipReader::Member& member : zip.members()) {
      if (!member.name.ends_with(end) ||
          member.name.find('/') + 1 + kPackageNoteName.size() != member.name.size())
        continue;
      PTPKG_TRY(const std::string text, zip.ReadText(member.name, wheel::DocumentLimit(kPackageNoteName)));
      return NoteOfSlice(text, member.name);
    }
    return std::optional<std::string>();
  }

  static std::map<std::string, std::string> Documents(const wheel::VariantDocument& document) {
    return {{std::string(wheel::kVariantDocument), wheel::FormatVariantDocument(document)}};
  }

  /// "cu130.sm90" of "cu130", of "cu130.sm80.sm90" too; or the label of the variant.
  [[nodiscard]] wheel::RetagRequest RequestFor(const versions::GpuSlice& slice) const {
    if (options_.variant) return {.variant = VariantLabel(slice, facts_)};
    const std::string before = versions::WithoutLabel(Join(wheel_.local, "."), '.');
    return {.local = before.empty() ? slice.Label() : before + "." + slice.Label()};
  }

  Env& env_;
  SlicedWheel wheel_;
  VariantFacts facts_;
  SliceSourceOptions options_;
  WheelBaseline baseline_;                        // set by Unpack
  std::unique_ptr<archive::DeflateCache> cache_;  // of several slices
};

}  // namespace

Result<std::unique_ptr<SliceSource>> MakeWheelSource(Env& env, const AbsPath& wheel,
                                                     const SliceSourceOptions& options) {
  PTPKG_TRY(wheel::FileName name, wheel::FileName::Parse(wheel.Name()));
  if (!name.variant.empty() && !options.variant) {
    return Error(ErrorCode::kUsage, fmt::format("'{}' is a variant wheel", wheel.str()))
        .WithHint("slice it with --variant, or slice the wheel that it was made from");
  }
  PTPKG_TRY(wheel::Version version, wheel::ParseVersion(name.version));
  PTPKG_TRY(VariantFacts facts, VariantFactsOf(version.local, options.cuda));
  SlicedWheel sliced{.path = wheel, .name = std::move(name), .local = std::move(version.local)};
  return std::unique_ptr<SliceSource>(
      std::make_unique<WheelSource>(env, std::move(sliced), std::move(facts), options));
}

}  // namespace ptpkg::pipeline
