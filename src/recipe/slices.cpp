// extra.ptpkg.slices of a recipe. Layer: recipe.
//
// `each` follows the recipe's own device_code: one slice per GPU with machine code. Code for sm_90 and sm_90a
// runs on the same GPU, so both give one slice. The word "any" means that a variant has no GPU code, and
// gives no slices, while an absent device_code is an error: nothing is known then.
//
// Slices are parsed after each item, together with the items before, so that an error about a repetition
// points at the second one. The formats are checked last (CheckSlices), because a slice needs a package that
// carries it.

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "recipe/document/sections.h"
#include "support/text/text.h"
#include "versions/cuda_archs.h"
#include "versions/gpu_slice.h"

namespace ptpkg::recipe {
namespace {

constexpr std::string_view kEach = "each";

Error InvalidSlices(std::string message, const SourceSpan& span) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

/// A slice for each GPU that `device_code` asks machine code for.
Result<std::vector<std::string>> SlicePerGpu(const std::vector<std::string>& device_code,
                                             const SourceSpan& span) {
  PTPKG_TRY(const versions::DeviceCodeRequest asked, versions::DeviceCodeRequest::Parse(device_code));
  std::vector<std::string> gpus;
  for (const std::string& name : asked.Sass()) {
    const bool is_cuda = name.starts_with("sm_");
    const bool suffixed = is_cuda && (name.ends_with('a') || name.ends_with('f'));
    const auto slice =
        versions::ParseGpuSlice(std::string_view(name).substr(0, name.size() - (suffixed ? 1 : 0)));
    if (!slice && !is_cuda) return Error(slice.error()).At(span);
    if (!slice) return Error(slice.error()).At(span).WithHint("list the GPUs instead of 'each'");
    // Code of sm_90 and sm_90a is for one GPU.
    if (std::find(gpus.begin(), gpus.end(), slice->str()) == gpus.end()) gpus.push_back(slice->str());
  }
  // "any" means that a variant has no GPU code. Without device_code nothing is known.
  const bool has_none = !device_code.empty() && !asked.RequestsCode();
  if (!gpus.empty() || has_none) return gpus;
  return InvalidSlices("'each' needs machine code in 'extra.ptpkg.device_code', which lists none", span)
      .WithHint("list the architectures there, such as \"8.0;9.0\", or list the GPUs here");
}

Result<std::vector<std::string>> ReadGpus(Reader& reader, const Node& node,
                                          const std::vector<std::string>& device_code) {
  PTPKG_TRY(const std::vector<Reader::PlacedText> texts, reader.ReadPlacedTexts(node));
  std::vector<std::string> gpus;
  for (const Reader::PlacedText& text : texts) {
    const SourceSpan& span = text.node->span;
    if (text.text == kEach) {
      if (texts.size() == 1) return SlicePerGpu(device_code, span);
      return InvalidSlices("'each' cannot be combined with other slices", span)
          .WithHint("'each' alone makes one slice for each GPU of 'device_code'");
    }
    gpus.push_back(text.text);
    // With the items before it, so that an error about a repeated slice points at the second one.
    const auto slices = versions::ParseGpuSlices(gpus);
    if (!slices) return Error(slices.error()).At(span);
    gpus.back() = slices->back().str();
  }
  return gpus;
}

Result<bool> ReadKeepPtx(Reader& reader, const Node& node) {
  PTPKG_TRY(const std::string text, reader.ReadText(node));
  if (text.empty() || text == "drop") return false;
  if (text == "keep") return true;
  return InvalidSlices(fmt::format("'extra.ptpkg.slices.ptx' is 'keep' or 'drop', not '{}'", text),
                       node.span);
}

Result<std::string> ReadCuda(Reader& reader, const Node& node) {
  PTPKG_TRY(const std::string text, reader.ReadText(node));
  if (text.empty()) return text;
  const auto version = versions::ParseCudaVersion(text);
  if (!version) return Error(version.error()).At(node.span);
  return *version;
}

bool MakesFormat(const PtpkgExtra& extra, std::string_view format) {
  return std::find(extra.formats.begin(), extra.formats.end(), format) != extra.formats.end();
}

}  // namespace

Result<GpuSlices> ReadSlices(Reader& reader, const Node& node, const std::vector<std::string>& device_code) {
  GpuSlices slices;
  if (node.kind != Node::Kind::kMapping) {
    PTPKG_TRY(slices.gpus, ReadGpus(reader, node, device_code));
    return slices;
  }
  const Node* gpus = node.Find("gpus");
  if (gpus == nullptr) {
    return InvalidSlices("'extra.ptpkg.slices' has no 'gpus'", node.span)
        .WithHint("list them, as gpus: [\"9.0\", \"8.0+8.6\"], or write gpus: each");
  }
  PTPKG_TRY(slices.gpus, ReadGpus(reader, *gpus, device_code));
  if (const Node* ptx = node.Find("ptx")) {
    PTPKG_TRY(slices.keep_ptx, ReadKeepPtx(reader, *ptx));
  }
  PTPKG_TRY(slices.allow, reader.TextsOf(&node, "allow"));
  PTPKG_TRY(slices.compact, reader.BoolOf(&node, "compact", false));
  PTPKG_TRY(slices.variant, reader.BoolOf(&node, "variant", false));
  if (const Node* cuda = node.Find("cuda")) {
    PTPKG_TRY(slices.cuda, ReadCuda(reader, *cuda));
    if (!slices.cuda.empty() && !slices.variant) {
      return InvalidSlices("'extra.ptpkg.slices.cuda' applies to variant wheels only", cuda->span)
          .WithHint("add 'variant: true', or remove 'cuda'");
    }
  }
  return slices;
}

Result<void> CheckSlices(const Node* section, const PtpkgExtra& extra, bool noarch) {
  const Node* slices = FindIn(section, "slices");
  if (slices == nullptr || extra.slices.gpus.empty()) return Ok();
  if (noarch) {
    return InvalidSlices("a noarch package cannot have 'extra.ptpkg.slices': it has no GPU code",
                         slices->span)
        .WithHint("remove 'slices'");
  }
  const bool wheel = MakesFormat(extra, "wheel");
  if (!wheel && !MakesFormat(extra, "conda") && !MakesFormat(extra, "tar.bz2")) {
    return InvalidSlices(
               fmt::format(
                   "'extra.ptpkg.slices' needs the format 'conda' or 'wheel', but 'formats' lists only '{}'",
                   Join(extra.formats, "', '")),
               slices->span)
        .WithHint("add 'conda' or 'wheel' to 'extra.ptpkg.formats', or remove 'slices'");
  }
  if (extra.slices.variant && !wheel) {
    return InvalidSlices(
               "'extra.ptpkg.slices.variant' needs the format 'wheel', which 'formats' does not list",
               slices->span)
        .WithHint("add 'wheel' to 'extra.ptpkg.formats', or remove 'variant'");
  }
  return Ok();
}

}  // namespace ptpkg::recipe
