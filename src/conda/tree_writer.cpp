// Safe creation of unpacked members. Layer: conda.
//
// Defence against hostile members:
// 1. Files are created with kCreateNew. An existing file or link is never opened for writing.
// 2. Each parent is examined with lstat before a file goes below it. Names of files, links and directories
//    exclude each other, so a checked directory cannot become a link afterwards.
// 3. Targets of symlinks are resolved as text and must stay inside the package.
//
// Invariant: created_ is in order of creation, so the destructor removes files before their directories.

#include "conda/tree_writer.h"

#include <fmt/core.h>

#include "support/text/name_problem.h"

namespace ptpkg::conda {
namespace {

Error Hostile(const RelPath& path, std::string_view why) {
  return {ErrorCode::kCorrupt, fmt::format("member '{}' {}", ShownName(path.str()), why)};
}

}  // namespace

TreeWriter::TreeWriter(Env& env, AbsPath root) : env_(env), root_(std::move(root)) {}

TreeWriter::~TreeWriter() {
  if (keep_) return;
  for (auto path = created_.rbegin(); path != created_.rend(); ++path) {
    // A directory that got files of others meanwhile stays; the first error is the one to report.
    static_cast<void>(env_.fs.Remove(*path));
  }
}

Result<void> TreeWriter::MakeParents(const RelPath& path) {
  std::string folder;
  std::vector<std::string> components = path.Components();
  components.pop_back();
  for (const std::string& component : components) {
    if (!folder.empty()) folder += '/';
    folder += component;
    if (folders_.count(folder) != 0) continue;
    const AbsPath place = root_ / folder;
    PTPKG_TRY(const bool exists, Exists(env_.fs, place));
    if (exists) {
      PTPKG_TRY(const FileStat stat, env_.fs.Lstat(place));
      // Writing through a link would let a package reach any place of the machine.
      if (stat.kind == FileKind::kSymlink)
        return Hostile(path, fmt::format("is below the symlink '{}'", folder));
      if (files_.count(folder) != 0)
        return Hostile(path, fmt::format("is below '{}', which is a file of the package", folder));
      if (stat.kind != FileKind::kDirectory) {
        return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' is a file, not a directory", place.str()));
      }
    } else {
      PTPKG_CHECK(env_.fs.MakeDir(place));
      created_.push_back(place);
    }
    folders_.insert(folder);
  }
  return Ok();
}

Result<WrittenFile> TreeWriter::WriteRegular(const AbsPath& target, ByteSource& content, bool executable) {
  PTPKG_TRY(const std::unique_ptr<File> file, env_.fs.Open(target, OpenMode::kCreateNew));
  created_.push_back(target);
  FileSink sink(*file);
  HashingSink hash(&sink);
  PTPKG_TRY(const std::uint64_t size, Pump(content, hash));
  PTPKG_CHECK(file->Close());
  // Only two modes exist afterwards: setuid, setgid and sticky bits of the archive are lost here.
  PTPKG_CHECK(env_.fs.SetMode(target, executable ? 0755 : 0644));
  return WrittenFile{.symlink = false,
                     .executable = executable,
                     .sha256 = hash.Finish().sha256,
                     .size_bytes = size,
                     .link_target = {}};
}

Result<WrittenFile> TreeWriter::WriteSymlink(const RelPath& path, const std::string& link_target) {
  // The kernel ends the text at a NUL byte. The link would lead elsewhere than the check sees.
  if (link_target.empty() || link_target.front() == '/' || link_target.find('\0') != std::string::npos ||
      !ResolveInTree(path.ParentText(), link_target)) {
    return Hostile(path, fmt::format("is a symlink to '{}', outside the package", link_target));
  }
  PTPKG_CHECK(env_.fs.CreateSymlink(link_target, root_ / path));
  created_.push_back(root_ / path);
  return WrittenFile{
      .symlink = true, .executable = false, .sha256 = {}, .size_bytes = 0, .link_target = link_target};
}

Result<WrittenFile> TreeWriter::WriteHardLink(const RelPath& path, const std::string& link_target) {
  const auto original = files_.find(link_target);
  if (original == files_.end() || original->second.symlink) {
    return Hostile(path, fmt::format("is a hard link to '{}', which no earlier member is", link_target));
  }
  // A copy, because prefixes are replaced in place: a change of one file must not reach the other.
  PTPKG_CHECK(env_.fs.CopyFile(root_ / link_target, root_ / path));
  created_.push_back(root_ / path);
  return original->second;
}

Result<void> TreeWriter::Write(const RelPath& path, const archive::TarMember& member, ByteSource& content) {
  if (member.kind == archive::TarKind::kDirectory) return Ok();
  if (member.kind == archive::TarKind::kOther) return Hostile(path, "is a device, a pipe or a socket");
  if (const auto problem = NameProblem(path.str())) return Hostile(path, *problem);
  if (files_.count(path.str()) != 0) return Hostile(path, "occurs twice");
  if (folders_.count(path.str()) != 0) return Hostile(path, "is also the directory of other members");
  PTPKG_CHECK(MakeParents(path));
  const AbsPath target = root_ / path;
  WrittenFile written;
  if (member.kind == archive::TarKind::kRegular) {
    PTPKG_TRY(written, WriteRegular(target, content, (member.mode & 0100U) != 0));
  } else if (member.kind == archive::TarKind::kSymlink) {
    PTPKG_TRY(written, WriteSymlink(path, member.link_target));
  } else {
    PTPKG_TRY(written, WriteHardLink(path, member.link_target));
  }
  files_.emplace(path.str(), std::move(written));
  return Ok();
}

Result<void> TreeWriter::WriteText(const RelPath& path, std::string_view text, bool executable) {
  StringSource content(text);
  archive::TarMember member;
  member.name = path.str();
  member.mode = executable ? 0755U : 0644U;
  return Write(path, member, content);
}

}  // namespace ptpkg::conda
