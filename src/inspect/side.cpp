#include "inspect/side.h"

#include <mutex>

#include "archive/member_pass.h"
#include "conda/member_pass.h"

namespace ptpkg::inspect {
namespace {

/// Device code that cannot be told is none here: `ptpkg check` says what is wrong with it.
Result<std::optional<elf::DeviceCode>> DeviceCodeOf(File& content) {
  auto code = elf::ReadDeviceCode(content);
  if (code) return *std::move(code);
  if (code.error().code() == ErrorCode::kIo || code.error().code() == ErrorCode::kCancelled) {
    return std::move(code).error();
  }
  return std::optional<elf::DeviceCode>();
}

Result<SideFile> ReadSideFile(const archive::PassedMember& passed) {
  const archive::ArchiveMember& member = passed.member;
  SideFile file{.is_link = member.kind == FileKind::kSymlink,
                .mode = member.mode,
                .size_bytes = member.size_bytes,
                .stored_bytes = member.stored_bytes,
                .index = passed.index,
                .sha256 = passed.sha256,
                .target = member.link_target,
                .file_class = ClassOfName(member.path.str())};
  if (file.is_link) {
    file.file_class = FileClass::kSymlink;
    return file;
  }
  PTPKG_TRY(std::optional<ElfContent> content, ReadElfContent(passed.content));
  if (content) {
    file.file_class = FileClass::kElf;
    file.elf = std::make_shared<const ElfContent>(*std::move(content));  // hard links share it
  } else if (file.file_class == FileClass::kElf) {
    file.file_class = FileClass::kData;
  }
  PTPKG_TRY(file.device_code, DeviceCodeOf(passed.content));
  return file;
}

/// Hard links of a tar come without content: they are what the end of their chain is.
void FillHardLinks(SideFiles& files) {
  const auto is_hard_link = [](const SideFile& file) { return !file.is_link && !file.target.empty(); };
  for (auto& [path, file] : files) {
    std::vector<SideFile*> chain;
    SideFile* end = &file;
    while (end != nullptr && is_hard_link(*end)) {
      const auto target = files.find(end->target);
      chain.push_back(end);
      // Targets come before their links, so no honest chain is longer than the list.
      end = target == files.end() || chain.size() > files.size() ? nullptr : &target->second;
    }
    if (end == nullptr) continue;
    for (SideFile* link : chain) {
      const std::size_t index = link->index;
      *link = *end;
      link->index = index;
    }
  }
}

}  // namespace

Result<Side> OpenSide(Env& env, const AbsPath& artifact) {
  Side side{.artifact = artifact};
  PTPKG_TRY(side.listing, ReadListing(env, artifact));
  PTPKG_TRY(const Digests digests, HashFile(env.fs, artifact));
  side.sha256 = digests.sha256;
  return side;
}

Result<void> ReadContents(Env& env, Side& side) {
  std::mutex mutex;
  const auto visit = [&](const archive::PassedMember& passed) -> Result<void> {
    PTPKG_TRY(SideFile file, ReadSideFile(passed));
    const std::lock_guard lock(mutex);
    side.files.insert_or_assign(passed.member.path.str(), std::move(file));
    return Ok();
  };
  const bool conda =
      side.listing.format == ArtifactFormat::kConda || side.listing.format == ArtifactFormat::kTarBz2;
  if (conda) {
    PTPKG_TRY(const conda::ContainerFacts facts, conda::VisitPackage(env, side.artifact, {}, visit));
    FillHardLinks(side.files);
    return Ok();
  }
  PTPKG_TRY(const archive::ZipMembers zip, archive::ZipMembers::Open(env, side.artifact));
  return zip.Visit({}, visit);
}

}  // namespace ptpkg::inspect
