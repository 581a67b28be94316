// Plans a slice: a copy of a library, program or archive with only the GPU code that some GPUs need.
//
// The plan is a list of pieces: ranges of the original, new bytes, zeros. Nothing is written here. Each
// container is judged alone (elf/slice/device_choice.cpp) and becomes smaller. In place, zeros follow the
// kept elements, and no address changes. In the compact form the file becomes smaller too
// (elf/slice/slice_compact.cpp), section by section where that is safe.
//
// Refused: a GPU for which no container has code, and device sections that share bytes with anything else,
// since a slice would damage the other part. Members of an archive count as not linked: a later link may
// take any of them.

#include "elf/slice/device_slice.h"

#include <algorithm>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <set>

#include "elf/edit/edit.h"
#include "elf/read/section_table.h"
#include "elf/read/static_archive.h"
#include "elf/slice/slice_compact.h"
#include "support/files/read_only_file.h"

namespace ptpkg::elf {
namespace {

/// Limit for hostile files: libtorch_cuda.so has 476.
constexpr std::size_t kMaxContainers = 262'144;

std::string GpuName(std::uint32_t gpu) { return fmt::format("{}.{}", gpu / 10, gpu % 10); }

/// "sm_80, sm_90, compute_90"
std::string NamesOf(const DeviceCodeStats& share) {
  std::vector<std::string> names;
  for (const auto& [architecture, amount] : share.sass) names.push_back(architecture.SassName());
  for (const auto& [architecture, amount] : share.ptx) names.push_back(architecture.PtxName());
  return names.empty() ? "none for any GPU" : fmt::format("{}", fmt::join(names, ", "));
}

class SlicePlanner {
 public:
  explicit SlicePlanner(const SliceRequest& request) : request_(request) {}

  Result<SlicePlan> Run(File& file) {
    if (request_.gpus.empty()) {
      return Error(ErrorCode::kInvalidInput, "no GPU is named to slice for")
          .WithHint("name the compute capability, such as 9.0");
    }
    PTPKG_TRY(plan_.seen, file.Stat());
    plan_.old_size = plan_.seen.size_bytes;
    PTPKG_TRY(const bool is_archive, IsStaticArchive(file));
    PTPKG_CHECK(is_archive ? TakeArchive(file) : TakeElf(file, {}));
    if (plan_.kept.containers == 0) {
      return Error(ErrorCode::kInvalidInput, "the file has no device code")
          .WithHint("sections .nv_fatbin and __nv_relfatbin of ELF files and static archives are sliced");
    }
    // Judged for the whole file: a GPU may have its code in another section or member.
    PTPKG_CHECK(CheckCoverage());
    PTPKG_TRY(plan_.pieces, Assemble(plan_.old_size, std::move(replacements_)));
    plan_.new_size = SizeOf(plan_.pieces);
    return std::move(plan_);
  }

 private:
  Result<void> TakeArchive(File& file) {
    return ForEachMember(file, [&](const MemberPlace& place, File& member) -> Result<void> {
      const Result<void> taken = TakeElf(member, place);
      if (taken) return Ok();
      const Error& error = taken.error();
      return Error(error.code(), fmt::format("member '{}': {}", place.name, error.message()))
          .WithHint(error.hint());
    });
  }

  /// `place`: {} for a file that is not a member.
  Result<void> TakeElf(File& file, const MemberPlace& place) {
    PTPKG_TRY(const std::optional<Image> image, ReadImage(file));
    if (!image || image->sections.empty() || image->header.section_names_index == 0) return Ok();
    // An interrupted edit left an undo record at the end, which a slice would copy as content.
    if (place.name.empty()) PTPKG_CHECK(CheckFinished(file));
    PTPKG_TRY(const std::string names, ReadSectionNames(file, *image));
    std::vector<SlicedSection> sections;
    DeviceCode code{.is_linked = image->header.type != kTypeRel};
    PTPKG_CHECK(TakeSections({file, *image, names, place}, kEmbeddedCode, sections, code));
    PTPKG_CHECK(TakeSections({file, *image, names, place}, kRelocatableCode, sections, code));
    // Each part of an archive can be taken by a later link.
    if (!place.name.empty()) code.is_linked = false;
    AddDeviceCodeStats(code.EffectiveCode(), judged_);
    PTPKG_CHECK(CheckApartFromOthers(*image, sections));
    return PlanForm(file, *image, place, sections);
  }

  struct Where {
    File& file;
    const Image& image;
    std::string_view names;
    const MemberPlace& place;
  };

  Result<void> TakeSections(const Where& where, std::string_view name, std::vector<SlicedSection>& sections,
                            DeviceCode& code) {
    PTPKG_TRY(const std::vector<std::size_t> found, FindDeviceSections(where.image, where.names, name));
    for (const std::size_t index : found) {
      SlicedSection section{.index = index, .name = name, .containers = {}};
      PTPKG_CHECK(ForEachContainer(
          where.file, name, where.image.sections[index],
          [&](const DeviceContainer& container) { return TakeContainer(where, container, section, code); }));
      sections.push_back(std::move(section));
    }
    return Ok();
  }

  Result<void> TakeContainer(const Where& where, const DeviceContainer& container, SlicedSection& section,
                             DeviceCode& code) {
    if (++containers_ > kMaxContainers) {
      return Error(ErrorCode::kUnsupported,
                   fmt::format("more than {} containers of device code", kMaxContainers));
    }
    const DeviceChoice choice = ChooseElements(container, request_);
    const DeviceCodeStats share = DeviceCodeStatsOf(container);
    if (section.name == kEmbeddedCode) {
      AddDeviceCodeStats(share, code.embedded);
    } else {
      code.AddRelocatable(share);
    }
    ++plan_.kept.containers;
    if (choice.DropsElements(container)) ++plan_.dropped.containers;
    for (std::size_t i = 0; i < container.elements.size(); ++i) {
      const bool is_kept = std::binary_search(choice.kept.begin(), choice.kept.end(), i);
      AddElement(container.elements[i], is_kept ? plan_.kept : plan_.dropped);
    }
    if (!choice.gaps.empty()) {
      plan_.untouched.push_back({.member = where.place.name,
                                 .section = std::string(section.name),
                                 .offset = where.place.offset + container.offset,
                                 .gaps = choice.gaps,
                                 .code = share});
    }
    SlicedContainer sliced{.offset = container.offset, .size_bytes = container.size_bytes};
    PTPKG_TRY(sliced.pieces, KeptOf(where.file, container, choice));
    sliced.new_size = SizeOf(sliced.pieces);
    section.containers.push_back(std::move(sliced));
    return Ok();
  }

  struct UsedRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool is_device = false;
  };

  /// Containers that share bytes with another section or with headers would damage them.
  static Result<void> CheckApartFromOthers(const Image& image, const std::vector<SlicedSection>& sections) {
    std::set<std::size_t> device;
    for (const SlicedSection& section : sections) device.insert(section.index);
    std::vector<UsedRange> ranges;
    const auto add = [&](std::uint64_t offset, std::uint64_t size, bool is_device) {
      const std::uint64_t kept = std::min(size, image.file_size - std::min(image.file_size, offset));
      if (kept != 0) ranges.push_back({.begin = offset, .end = offset + kept, .is_device = is_device});
    };
    add(0, image.codec.FileHeaderSize(), false);
    add(image.header.program_headers_offset, image.segments.size() * image.codec.SegmentSize(), false);
    add(image.header.section_headers_offset, image.sections.size() * image.codec.SectionSize(), false);
    for (std::size_t i = 0; i < image.sections.size(); ++i) {
      const Section& section = image.sections[i];
      const bool has_bytes = section.type != 0 && section.type != kSectionNobits;
      if (has_bytes) add(section.offset, section.size, device.contains(i));
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const UsedRange& left, const UsedRange& right) { return left.begin < right.begin; });
    std::uint64_t end = 0;         // of the ranges before
    std::uint64_t device_end = 0;  // of the device code that came before
    for (const UsedRange& range : ranges) {
      if (range.begin < device_end || (range.is_device && range.begin < end)) {
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("file offset {}: a section of device code overlaps something else",
                                 range.begin))
            .WithHint("rebuild the file: two of its parts claim the same bytes");
      }
      end = std::max(end, range.end);
      if (range.is_device) device_end = std::max(device_end, range.end);
    }
    return Ok();
  }

  Result<void> PlanForm(File& file, const Image& image, const MemberPlace& place,
                        const std::vector<SlicedSection>& sections) {
    CompactPlan compact;
    if (request_.form == SliceForm::kCompact) {
      if (image.header.type == kTypeRel || !place.name.empty()) {
        plan_.not_compact = "only linked libraries and programs can be compact";
      } else {
        PTPKG_TRY(compact, PlanCompact(file, image, sections));
        plan_.not_compact = std::move(compact.why_not);
        replacements_ = std::move(compact.replacements);
        if (!compact.compacted.empty()) plan_.form = SliceForm::kCompact;
      }
    }
    const std::vector<std::size_t>& done = compact.compacted;
    for (const SlicedSection& section : sections) {
      if (std::find(done.begin(), done.end(), section.index) == done.end()) PlanInPlace(place, section);
    }
    return Ok();
  }

  void PlanInPlace(const MemberPlace& place, const SlicedSection& section) {
    for (const SlicedContainer& container : section.containers) {
      if (container.new_size == container.size_bytes) continue;
      Replacement replacement{.offset = container.offset,
                              .size_bytes = container.size_bytes,
                              .pieces = container.pieces,
                              .what = "a container of device code"};
      replacement.pieces.push_back(ZeroPiece(container.size_bytes - container.new_size));
      Add(place, std::move(replacement));
    }
  }

  /// `replacement`: in the member, by the member's own offsets.
  void Add(const MemberPlace& place, Replacement replacement) {
    replacement.offset += place.offset;
    for (SlicePiece& piece : replacement.pieces) {
      if (piece.kind == SlicePiece::Kind::kCopy) piece.from += place.offset;
    }
    replacements_.push_back(std::move(replacement));
  }

  [[nodiscard]] Result<void> CheckCoverage() const {
    for (const std::uint32_t gpu : request_.gpus) {
      if (HasCodeFor(judged_, gpu)) continue;
      return Error(ErrorCode::kRefused, fmt::format("there is no code for GPU {}: the file has {}",
                                                    GpuName(gpu), NamesOf(judged_)))
          .WithHint("name a GPU that it was built for, or build it for this one too");
    }
    return Ok();
  }

  const SliceRequest& request_;
  SlicePlan plan_;
  DeviceCodeStats judged_;  // the code that counts for the file
  std::vector<Replacement> replacements_;
  std::size_t containers_ = 0;
};

}  // namespace

std::string_view SliceFormName(SliceForm form) {
  return form == SliceForm::kCompact ? "compact" : "in place";
}

bool HasCodeFor(const DeviceCodeStats& share, std::uint32_t gpu) {
  const auto runs = [&](const DeviceAmounts& amounts, DeviceCodeKind kind) {
    return std::any_of(amounts.begin(), amounts.end(),
                       [&](const auto& one) { return RunsOn(kind, one.first, gpu); });
  };
  return runs(share.sass, DeviceCodeKind::kSass) || runs(share.ptx, DeviceCodeKind::kPtx);
}

std::map<std::uint32_t, std::size_t> SlicePlan::Gaps() const {
  std::map<std::uint32_t, std::size_t> gaps;
  for (const UntouchedContainer& container : untouched) {
    for (const std::uint32_t gpu : container.gaps) ++gaps[gpu];
  }
  return gaps;
}

Result<SlicePlan> PlanSlice(File& file, const SliceRequest& request) {
  return SlicePlanner(request).Run(file);
}

}  // namespace ptpkg::elf
