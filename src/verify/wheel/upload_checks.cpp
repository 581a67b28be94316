#include "verify/wheel/upload_checks.h"

#include <fmt/core.h>
#include <optional>

#include "support/text/text.h"
#include "verify/wheel/metadata_fields.h"
#include "wheel/wheel.h"

namespace ptpkg::verify {
namespace {

constexpr std::uint64_t kAllowedBytes = 100ULL << 20U;  // a project may ask for more
constexpr std::uint64_t kMostBytes = 1ULL << 30U;       // what is granted at most

void CheckUploadSize(const UploadedFile& file, std::vector<Finding>& findings) {
  if (file.size_bytes <= kAllowedBytes) return;
  const bool too_large = file.size_bytes > kMostBytes;
  findings.push_back(
      {"wheel-upload-size", too_large ? Severity::kWarning : Severity::kInfo, "",
       fmt::format("the wheel has {} bytes; the index accepts files of {} MiB{}", file.size_bytes,
                   (too_large ? kMostBytes : kAllowedBytes) >> 20U,
                   too_large ? " at most" : ", and larger ones from projects with a raised limit"),
       too_large ? "split it, or serve it from your own index" : "ask for a larger limit if need be"});
}

}  // namespace

Result<void> CheckUpload(Env& env, const UploadedFile& file, const StagedTree& tree,
                         std::vector<Finding>& findings) {
  CheckUploadSize(file, findings);
  const Result<wheel::FileName> name = wheel::FileName::Parse(file.name);
  if (!name) return Ok();
  // A warning, since the wheel can be meant for another index. --target pypi makes it an error.
  if (name->version.find('+') != std::string::npos) {
    findings.push_back(
        {"wheel-local-version", Severity::kWarning, "",
         fmt::format("the version '{}' has a local part, which the index rejects", name->version),
         "remove it with 'ptpkg retag --no-local', or serve the wheel from your own index"});
  }
  if (file.dist_info_dir.empty()) return Ok();
  const std::string path = fmt::format("{}/METADATA", file.dist_info_dir);
  const TreeEntry* const entry = tree.Find(path);
  if (entry == nullptr || entry->kind != FileKind::kRegular ||
      entry->size_bytes > wheel::DocumentLimit("METADATA")) {
    return Ok();
  }
  PTPKG_TRY(const std::string text, ReadFile(env.fs, tree.root / RelPath::Literal(path)));
  const Result<wheel::CoreMetadata> metadata = wheel::ParseCoreMetadata(text, path);
  if (metadata) CheckMetadataFields(*metadata, path, findings);
  return Ok();
}

}  // namespace ptpkg::verify
