// Reads one side of a comparison: digests, ELF contents and device code of every file, in one parallel
// pass.
//
// Hard links of a tar come without content. They are filled in afterwards from the end of their chain,
// whose length is limited by the number of files. Errors of the disk end the pass, while damaged device
// code of a single file only means that there is none to compare.

#include "inspect/side.h"

#include <mutex>

#include "archive/archive_member_pass.h"
#include "conda/conda_member_pass.h"

namespace ptpkg::inspect {
namespace {

/// Unreadable device code counts as none: `ptpkg check` reports the defect.
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

/// Hard links of a tar come without content: they get the content at the end of their chain.
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
      // The link keeps its own place in the archive.
      link->index = index;
    }
  }
}

/// Visits every file, or only the files in `only`.
Result<void> VisitFiles(Env& env, const Side& side, const std::set<std::string>* only,
                        const archive::VisitMember& visit) {
  archive::PassOptions options{.hash = only == nullptr};
  const bool conda = IsCondaPackage(side.listing.format);
  if (conda) {
    const auto visit_some = [&](const archive::PassedMember& passed) -> Result<void> {
      return only == nullptr || only->contains(passed.member.path.str()) ? visit(passed) : Ok();
    };
    PTPKG_TRY(const conda::ContainerFacts facts,
              conda::VisitPackage(env, side.artifact, options, visit_some));
    return Ok();
  }
  PTPKG_TRY(const archive::ZipMembers zip, archive::ZipMembers::Open(env, side.artifact));
  if (only != nullptr) {
    options.is_known = [&](std::size_t index) -> Result<bool> {
      return !only->contains(zip.members()[index].path.str());
    };
  }
  return zip.Visit(options, visit);
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
  PTPKG_CHECK(VisitFiles(env, side, nullptr, visit));
  FillHardLinks(side.files);
  return Ok();
}

Result<std::map<std::string, std::string>> ReadTexts(Env& env, const Side& side,
                                                     const std::set<std::string>& paths) {
  std::map<std::string, std::string> texts;
  if (paths.empty()) return texts;
  std::mutex mutex;
  const auto visit = [&](const archive::PassedMember& passed) -> Result<void> {
    if (!passed.member.link_target.empty()) return Ok();
    PTPKG_TRY(const auto bytes,
              elf::ReadExact(passed.content, 0, passed.member.size_bytes, passed.member.path.str()));
    const std::lock_guard lock(mutex);
    texts.insert_or_assign(passed.member.path.str(), std::string(AsText(bytes)));
    return Ok();
  };
  PTPKG_CHECK(VisitFiles(env, side, &paths, visit));
  return texts;
}

}  // namespace ptpkg::inspect
