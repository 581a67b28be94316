// Writes the members of an archive, treated as hostile input, below a destination.
//
// Invariant: no write passes through a symlink. Symlinks are therefore created last, after every file is
// written and after MemberNames has followed each one, so no member can lead a later one out of the tree.
// Directories are checked with lstat, because the destination may have held links before. Files are created
// exclusively, so an existing file is never overwritten.
//
// Hard links become copies of a file of the same archive, and the copy counts as unpacked bytes. Only the
// executable bit of modes is kept.

#include "archive/extract_tree.h"

#include <cerrno>
#include <fmt/core.h>

#include "support/digest/scratch_buffer.h"

namespace ptpkg::archive {
namespace {

constexpr std::size_t kWriteBytes = 256U << 10U;

}  // namespace

ExtractTree::ExtractTree(Env& env, const AbsPath& destination, const ExtractOptions& options,
                         std::string_view archive, std::uint64_t packed_bytes)
    : env_(env),
      destination_(destination),
      strip_single_root_(options.strip_single_root),
      names_(env.cancel, options, archive, packed_bytes) {}

Result<void> ExtractTree::MakeFolder(std::string_view raw_name, const std::string& folder) {
  if (made_.contains(folder)) return Ok();
  const AbsPath path = destination_ / RelPath::Literal(folder);
  const auto stat = env_.fs.Lstat(path);
  if (!stat) {
    if (stat.error().code() != ErrorCode::kNotFound) return stat.error();
    PTPKG_CHECK(env_.fs.MakeDirs(path));
  } else if (stat->kind != FileKind::kDirectory) {
    return Refuse(raw_name, fmt::format("is below '{}', which is not a directory", path.str()));
  }
  made_.insert(folder);
  return Ok();
}

Result<void> ExtractTree::MakeParents(std::string_view raw_name, const RelPath& name) {
  const std::string& text = name.str();
  for (std::size_t slash = text.find('/'); slash != std::string::npos; slash = text.find('/', slash + 1)) {
    PTPKG_CHECK(MakeFolder(raw_name, text.substr(0, slash)));
  }
  return Ok();
}

Result<void> ExtractTree::AddFolder(std::string_view raw_name) {
  PTPKG_TRY(const std::optional<RelPath> name, names_.AddFolder(raw_name));
  if (!name.has_value()) return Ok();
  PTPKG_CHECK(MakeParents(raw_name, *name));
  return MakeFolder(raw_name, name->str());
}

Result<std::optional<RelPath>> ExtractTree::AddFile(std::string_view raw_name) {
  PTPKG_TRY(std::optional<RelPath> name, names_.AddFile(raw_name));
  if (name.has_value()) PTPKG_CHECK(MakeParents(raw_name, *name));
  return name;
}

Result<void> ExtractTree::AddSymlink(std::string_view raw_name, std::string_view target) {
  PTPKG_TRY(const std::optional<RelPath> name, names_.AddSymlink(raw_name, target));
  return name.has_value() ? MakeParents(raw_name, *name) : Ok();
}

Result<void> ExtractTree::AddHardLink(std::string_view raw_name, std::string_view raw_target) {
  PTPKG_TRY(const std::optional<MemberNames::HardLink> link, names_.AddHardLink(raw_name, raw_target));
  if (!link.has_value()) return Ok();
  PTPKG_CHECK(MakeParents(raw_name, link->name));
  const AbsPath from = destination_ / link->target;
  PTPKG_TRY(const FileStat stat, env_.fs.Lstat(from));
  PTPKG_CHECK(CountBytes(stat.size_bytes));
  return env_.fs.CopyFile(from, destination_ / link->name);
}

Result<void> ExtractTree::WriteContent(const RelPath& name, std::uint32_t mode, ByteSource& content) {
  const AbsPath path = destination_ / name;
  PTPKG_TRY(const std::unique_ptr<File> file, env_.fs.Open(path, OpenMode::kCreateNew));
  ScratchBuffer buffer(kWriteBytes);
  std::uint64_t offset = 0;
  while (true) {
    PTPKG_CHECK(env_.cancel.Check());
    PTPKG_TRY(const std::size_t got, content.Read(buffer.bytes()));
    if (got == 0) break;
    PTPKG_CHECK(CountBytes(got));
    PTPKG_CHECK(file->WriteAt(offset, buffer.First(got)));
    offset += got;
  }
  PTPKG_CHECK(file->Close());
  return env_.fs.SetMode(path, (mode & 0100U) != 0 ? 0755 : 0644);
}

Result<void> ExtractTree::StripSingleRoot() {
  const std::optional<std::string> root = names_.StripSingleRoot();
  if (!root.has_value()) return Ok();

  // Under another name first, as the root may hold a member of its own name.
  const AbsPath from = destination_ / RelPath::Literal(*root + ".ptpkg-strip");
  PTPKG_CHECK(env_.fs.Rename(destination_ / RelPath::Literal(*root), from));
  PTPKG_TRY(const std::vector<std::string> children, env_.fs.ListDir(from));
  for (const std::string& child : children) {
    const AbsPath to = destination_ / RelPath::Literal(child);
    PTPKG_TRY(const bool exists, Exists(env_.fs, to));
    if (exists) return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' already exists", to.str()));
    PTPKG_CHECK(env_.fs.Rename(from / RelPath::Literal(child), to));
  }
  return env_.fs.Remove(from);
}

/// The target of the symlink that is at `path`.
Result<std::optional<std::string>> ExtractTree::LinkOnDisk(const std::string& path) const {
  const AbsPath on_disk = destination_ / RelPath::Literal(path);
  const auto stat = env_.fs.Lstat(on_disk);
  if (!stat) {
    // Names that no file can have lead nowhere, which is allowed.
    const int reason = stat.error().sys_errno();
    const bool is_nowhere =
        stat.error().code() == ErrorCode::kNotFound || reason == ENOTDIR || reason == ENAMETOOLONG;
    if (!is_nowhere) return stat.error();
    return std::optional<std::string>();
  }
  if (stat->kind != FileKind::kSymlink) return std::optional<std::string>();
  PTPKG_TRY(std::string target, env_.fs.ReadLink(on_disk));
  return std::optional<std::string>(std::move(target));
}

Result<void> ExtractTree::Finish() {
  // The root goes first: links are checked and made at their final places.
  if (strip_single_root_) PTPKG_CHECK(StripSingleRoot());
  PTPKG_CHECK(names_.CheckLinks([this](const std::string& path) { return LinkOnDisk(path); }));
  for (const auto& [name, target] : names_.links()) {
    PTPKG_CHECK(env_.fs.CreateSymlink(target, destination_ / RelPath::Literal(name)));
  }
  return Ok();
}

}  // namespace ptpkg::archive
