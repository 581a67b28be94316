// Compare, write to a temporary file, rename. Layer: index.
//
// A file with the same content is not written, so a run without changes keeps all times. Sizes are compared
// before contents.

#include "index/index_files.h"

#include "archive/codec/codec.h"
#include "support/files/lock_file.h"
#include "support/files/scratch.h"

namespace ptpkg::index {
namespace {

// conda-index compresses repodata.json at this level too.
constexpr int kZstdLevel = 16;

}  // namespace

Result<std::unique_ptr<File>> LockIndex(Env& env, const AbsPath& root) {
  return WaitForLock(env, root / ".ptpkg-lock", root.Name());
}

Result<std::string> ZstOf(std::string_view text) {
  StringSink packed;
  PTPKG_TRY(const auto codec,
            archive::MakeZstdSink(packed, {.level = kZstdLevel, .content_size = text.size()}));
  PTPKG_CHECK(codec->Write(AsBytes(text)));
  PTPKG_CHECK(codec->Finish());
  return packed.str();
}

Result<bool> HasText(Fs& fs, const AbsPath& path, std::string_view text) {
  PTPKG_TRY(const bool exists, Exists(fs, path));
  if (!exists) return false;
  PTPKG_TRY(const FileStat stat, fs.Lstat(path));
  if (stat.kind != FileKind::kRegular || stat.size_bytes != text.size()) return false;
  PTPKG_TRY(const std::string old, ReadFile(fs, path, text.size()));
  return old == text;
}

Result<void> IndexFiles::Write(const AbsPath& path, std::string_view text) {
  PTPKG_CHECK(Prepare(path.Parent()));
  PTPKG_TRY(const bool same, HasText(env_.fs, path, text));
  if (same) return Ok();
  PTPKG_CHECK(WriteFile(env_.fs, path, text));
  written_.push_back(path);
  return Ok();
}

Result<void> IndexFiles::WriteWithZst(const AbsPath& path, std::string_view text) {
  PTPKG_TRY(const std::string packed, ZstOf(text));
  // The .zst comes first: a client that sees the new .json next does not find an older .zst.
  PTPKG_TRY(const AbsPath zst, AbsPath::Parse(path.str() + ".zst"));
  PTPKG_CHECK(Write(zst, packed));
  return Write(path, text);
}

Result<void> IndexFiles::RemoveIfThere(const AbsPath& path) {
  PTPKG_CHECK(Prepare(path.Parent()));
  PTPKG_TRY(const bool exists, Exists(env_.fs, path));
  return exists ? env_.fs.Remove(path) : Ok();
}

Result<void> IndexFiles::Prepare(const AbsPath& folder) {
  if (prepared_.contains(folder)) return Ok();
  PTPKG_CHECK(env_.fs.MakeDirs(folder));
  PTPKG_CHECK(RemoveAbandoned(env_, folder));
  prepared_.insert(folder);
  return Ok();
}

}  // namespace ptpkg::index
